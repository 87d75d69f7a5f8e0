"""Lows of the camera model from rows of a draw table: one image on the CPU, a batch on a GPU."""
