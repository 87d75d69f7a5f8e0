"""Engines: worker processes of this machine, their start, their end, signals."""
