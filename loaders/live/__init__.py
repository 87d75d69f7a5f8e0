"""Lows that are made when they are read: in one's own pipeline, or behind a loader."""
