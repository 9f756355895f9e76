"""Measuring: the environment report, floors and the benchmark harness."""
