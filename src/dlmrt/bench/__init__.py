"""Measuring speed: floors, prompt suites, the benchmark harness and the client for other servers."""
