"""Realism: a two-sample test, by a classifier, of lows against real ones."""
