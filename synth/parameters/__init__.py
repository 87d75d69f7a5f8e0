"""What recipes are made of: distributions, fields, keyed random numbers."""
