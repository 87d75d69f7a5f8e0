"""The camera model over a whole batch of images of any sizes, for a GPU.

Each step is a scalar function of one pixel, cell or table place, launched once for all images.
"""
