"""Where work runs: worker processes of this machine, their start, their end, signals."""
