"""Where a request's time goes, as shares and as a sentence."""

from __future__ import annotations

import math

from dlmrt.report import format as fmt
from dlmrt.results.schema import BenchCell, PhaseShares

# In the order in which a request meets them.
PHASES = ("queue", "tokenise", "prefill", "denoise", "commit", "detokenise", "other")
WORDS = {
    "queue": "waiting in the queue",
    "tokenise": "tokenising",
    "prefill": "the prefill",
    "denoise": "denoising",
    "commit": "committing",
    "detokenise": "detokenising",
    "other": "work outside these phases",
}
# From this share on, one phase is said to dominate.
DOMINANT = 0.5
# Smaller ones are not worth a word in a sentence.
WORTH_NAMING = 0.03


def named(phases: PhaseShares) -> dict[str, float]:
    """Seconds by phase, without those that were not measured."""
    times = {name: getattr(phases, name) for name in PHASES}
    return {name: seconds for name, seconds in times.items() if seconds is not None}


def whole(phases: PhaseShares) -> float:
    """Seconds of the whole request. A clock that starts after the queue leaves that out of its total."""
    return max(phases.total, math.fsum(named(phases).values()))


def shares(phases: PhaseShares) -> dict[str, float]:
    """The share of the whole request by phase; empty when nothing was told apart."""
    request = whole(phases)
    return {name: seconds / request for name, seconds in named(phases).items()} if request > 0 else {}


def sentence(cell: BenchCell) -> str:
    """Say which phase a request's time is spent in, and its share."""
    start = f"{cell.suite}, {cell.arm}"
    if cell.phases is None:
        return f"{start}: phases were not measured."
    many = "" if cell.batch_size == 1 else f" at batch {cell.batch_size}"
    total = f"a request takes {fmt.milliseconds(whole(cell.phases))} ms{many}"
    known = shares(cell.phases)
    if not set(known) - {"other", "queue"}:
        return f"{start}: {total}; the {cell.clock}'s clock does not see its phases."
    ranked = sorted(known.items(), key=lambda item: -item[1])
    (top, share), rest = ranked[0], ranked[1:]
    if share >= DOMINANT:
        verdict = f"dominated by {_word(top, cell)} ({_whole(share)})"
    else:
        verdict = f"no phase dominates; the largest is {_word(top, cell)} ({_whole(share)})"
    others = [f"{_word(name, cell)} {_whole(part)}" for name, part in rest if part >= WORTH_NAMING]
    tail = f", then {fmt.words(others)}" if others else ""
    return f"{start}: {total}, {verdict}{tail}.{_headroom(cell, top)}"


def _headroom(cell: BenchCell, top: str) -> str:
    """What is left to gain in the forwards, when they are what the request waits for."""
    if cell.percent_of_floor is None or top != "denoise":
        return ""
    return f" Its forwards run at {cell.percent_of_floor:.0f} % of the machine's floor."


def _word(name: str, cell: BenchCell) -> str:
    if name == "denoise" and cell.method.startswith("ar"):
        return "decoding forwards"  # autoregressive: nothing is denoised
    return WORDS[name]


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"
