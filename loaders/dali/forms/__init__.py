"""Decoded pairs brought into form: live lows, resident pairs, and what DALI then does with them."""
