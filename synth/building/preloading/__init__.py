"""What the process that workers are forked from loads, so that none of them has to."""
