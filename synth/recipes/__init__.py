"""Recipes: those that gloam ships, and reading them."""

DEFAULT = "train-any"
