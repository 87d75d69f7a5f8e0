"""Videos: the order of their clips, and who decodes their parts when."""
