"""What recipes of several papers share: derived tables, calibration, language experiments."""
