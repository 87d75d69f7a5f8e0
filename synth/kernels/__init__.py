"""All that is compiled: loops over pixels, and the scalar functions that CPU and GPU share.

The latter are of one pixel, site or cell, and compiled for both from the same source.

The compiled code's hash covers this folder and nothing else.
"""
