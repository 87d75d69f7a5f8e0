"""The parts of recipes: distributions, fields, keyed random numbers."""
