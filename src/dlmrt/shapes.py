"""The letters that name array dimensions, one legend for the whole project.

A suffix such as ``logits_BSV`` says which axes an array has, in order. Where a function needs an
axis of its own, its docstring says what the letter means there.
"""

from __future__ import annotations

LEGEND: dict[str, str] = {
    "B": "requests in a batch (rows)",
    "S": "positions in a block",
    "L": "positions in a sequence",
    "D": "model width",
    "N": "query heads",
    "K": "key/value heads",
    "H": "head width",
    "V": "vocabulary",
    "E": "experts",
    "G": "rollouts a prompt",
    "R": "entries kept of a residual's distribution (its top-k)",
    "F": "feed-forward width",
    "M": "positions in the noisy copies of a training row",
}
