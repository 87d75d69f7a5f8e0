"""Make lows: recipes, draws, illumination, sensor, kernels; and build sets."""
