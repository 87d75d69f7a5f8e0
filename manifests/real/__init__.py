"""Real sets as their authors lay them out: which file is whose low, in which split."""
