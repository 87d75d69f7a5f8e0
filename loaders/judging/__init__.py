"""Judging outputs of a network by the normals of real pairs."""
