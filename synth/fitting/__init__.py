"""Fit a recipe to real lows, so that its lows have their statistics."""
