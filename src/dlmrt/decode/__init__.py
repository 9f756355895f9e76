"""The decoding layer in torch: state, one pure step, and the loops that repeat it.

Read :mod:`dlmrt.decode.step` first.
"""

from __future__ import annotations
