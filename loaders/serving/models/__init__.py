"""Models that Triton's Python backend runs: copied into a repository, not imported by gloam."""
