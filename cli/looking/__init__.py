"""Commands that look: at sets, recipes, cameras and this machine."""
