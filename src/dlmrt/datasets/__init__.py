"""Data sets: built from documents that the user has, never shipped. No torch, no numpy."""
