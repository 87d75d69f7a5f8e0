"""What a set holds: sources, suitability, plan, splits, shards and lists, receipts,
verification.
"""
