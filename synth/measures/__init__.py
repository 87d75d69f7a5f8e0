"""Measures of pairs: statistics, pages, sheets, and whether lows are told from real ones."""
