"""Sets on disk: samples, shards or folders, receipts, its own files; verifying and copying it."""
