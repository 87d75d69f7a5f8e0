"""All that is compiled: loops over pixels, and the scalar functions that CPU and GPU share.

The compiled code's hash covers this folder and nothing else.
"""
