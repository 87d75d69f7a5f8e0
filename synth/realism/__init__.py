"""Whether lows can be told from real ones, and by what: a two-sample test by a classifier."""
