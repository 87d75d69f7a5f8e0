"""Degradations of a low besides darkness: blur, bands, a fixed pattern, JPEG."""
