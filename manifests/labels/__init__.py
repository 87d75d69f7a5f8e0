"""Labels of photographs.

Classes, boxes, masks and captions: read, moved to the stored normals, and written again.
"""
