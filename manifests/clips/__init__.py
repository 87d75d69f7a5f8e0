"""Clips: some frames of a sequence under one key, of folders of frames or of video files."""
