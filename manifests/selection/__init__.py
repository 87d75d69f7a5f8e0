"""Selection of the photographs that become pairs.

Candidates, their measures, bounds, near-duplicates, the plan.
"""
