"""Mixtures of sources: which sample comes when, and loaders of them."""
