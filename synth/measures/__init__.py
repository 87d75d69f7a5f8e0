"""Measures of pairs: statistics, pages, sheets, and whether lows are told from real ones."""

WIDTH = 320
"""Of each picture of a sheet, in pixels; here, where help finds it sooner than the sheet's code."""
