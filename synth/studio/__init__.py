"""A page on this machine in which a recipe is found: controls on one side, lows on the other."""
