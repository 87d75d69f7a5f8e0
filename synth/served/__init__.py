"""Lows made by other processes, each of which owns a GPU: contexts of many would take turns."""
