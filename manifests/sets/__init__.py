"""Sets on disk.

Samples, shards or folders, receipts, its own files; verifying and copying it.
"""
