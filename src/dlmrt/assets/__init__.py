"""Models that ship with the package: one folder each, and ``default.json`` naming the default."""
