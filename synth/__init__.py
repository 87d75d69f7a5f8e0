"""How a low is made: recipe, draw, illumination, sensor, ISP, kernels; and the builder that runs it over a plan."""
