"""How training reads a set: DALI pipelines and iterators."""
