"""What a set holds.

Sources, suitability, plan, splits, shards and lists, receipts, verification.
"""
