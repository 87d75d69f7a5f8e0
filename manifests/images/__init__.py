"""Photographs as bytes and pixels: headers, decoding, normals, encoding."""
