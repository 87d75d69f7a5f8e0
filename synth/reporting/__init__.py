"""A set, or folders of real pairs, as one page to look at."""
