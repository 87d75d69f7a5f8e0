"""Decoded images that stay in memory."""
