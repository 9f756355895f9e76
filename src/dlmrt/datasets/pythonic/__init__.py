"""Small Python functions with their descriptions and tests: composed, run and checked here."""
