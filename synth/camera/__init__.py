"""The camera model: recipe, draw, sensors, illumination, low."""
