"""NumPy model and loop: the oracle of the tests, and the runtime where torch is absent."""

from __future__ import annotations

from dlmrt.reference.loop import NumpyBackend

__all__ = ["NumpyBackend"]
