"""Draws of the camera model: recipe and keys to a table of kernel columns, and to records."""
