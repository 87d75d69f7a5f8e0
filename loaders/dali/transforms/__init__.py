"""Transforms of decoded pairs: live lows, resident pairs, and crops, resizes and flips by DALI."""
