"""Measure how fast loaders are on this machine, compared with plain ones."""
