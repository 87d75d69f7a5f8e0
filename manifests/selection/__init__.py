"""Which photographs become pairs: candidates, what is measured of them, bounds, near-duplicates,
the plan.
"""
