"""Random bits, quantiles and noise: arithmetic that is equal on every machine."""
