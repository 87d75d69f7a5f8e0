"""SHA-256 of what a worker packs: two sums side by side."""
