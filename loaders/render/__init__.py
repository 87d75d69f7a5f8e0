"""Decoded images made into batches: by a CPU's threads, or on a GPU."""
