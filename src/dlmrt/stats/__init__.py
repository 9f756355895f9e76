"""Statistics of evaluations: intervals, paired tests, curves, calibration, counting. No torch, no files."""
