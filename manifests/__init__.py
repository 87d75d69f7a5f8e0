"""The content of sets: sources, suitability, plan, splits, shards, lists, receipts, checks."""
