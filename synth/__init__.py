"""How a low is made: recipes, draws, illumination, sensor, kernels; and the builder of sets."""
