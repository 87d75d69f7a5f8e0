"""Memory that batches are written to again and again."""
