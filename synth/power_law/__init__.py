"""The power_law model: recipe, draw, low."""
