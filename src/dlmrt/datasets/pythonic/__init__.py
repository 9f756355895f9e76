"""Small Python functions composed of catalogued operations, described in English and judged by tests."""
