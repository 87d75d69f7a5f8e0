"""Which photographs become pairs.

Candidates, what is measured of them, bounds, near-duplicates, the plan.
"""
