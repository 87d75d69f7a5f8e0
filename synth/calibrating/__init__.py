"""A camera's calibration from raw files of the dark and of flat light."""
