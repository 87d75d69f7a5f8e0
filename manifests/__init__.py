"""The content of sets.

Sources, suitability, plan, splits, shards and lists, receipts, verification.
"""
