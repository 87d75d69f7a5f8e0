"""Labels (classes, boxes, masks, captions): read, moved to stored normals, written again."""
