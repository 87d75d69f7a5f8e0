"""Which photographs become pairs: candidates, measures, bounds, near-duplicates, the plan."""
