"""Many images at once: their draws as columns, and what a GPU's kernels read and write."""
