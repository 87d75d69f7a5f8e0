"""Loops of what may befall a picture: blur, a fixed pattern, bands, JPEG."""
