"""Modules that the process loads that workers are forked from, so that none of them has to."""
