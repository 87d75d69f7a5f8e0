"""Clips in training: frames of one moment each, low and normal, in step."""
