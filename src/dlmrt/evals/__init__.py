"""Measuring quality: tasks, the harness that answers and scores them, arms and their comparison."""
