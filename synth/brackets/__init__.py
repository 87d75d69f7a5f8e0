"""Real pairs from exposure brackets."""
