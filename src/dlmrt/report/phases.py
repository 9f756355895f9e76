"""Where a request's time goes: the names and order of its phases, their shares, and one sentence a cell.

The sentence answers :data:`QUESTION`. The answer is *yes* when most of a request is forwards of the model,
which run one after another: then nothing but a cheaper forward, or fewer of them, makes a single user
wait less. Waiting for other requests, or work around the model, makes it *no*. Only times that were
measured are told; what may have caused them is named as usual, never as found.
"""

from __future__ import annotations

import math

from dlmrt.report import format as fmt
from dlmrt.results.schema import BenchCell, PhaseShares

MODEL_PHASES = ("prefill", "denoise", "commit")
# In the order in which a request meets them.
PHASES = ("queue", "tokenise", *MODEL_PHASES, "detokenise", "other")
WORDS = {
    "queue": "waiting in the queue",
    "tokenise": "tokenising",
    "prefill": "the prefill",
    "denoise": "denoising",
    "commit": "committing",
    "detokenise": "detokenising",
    "other": "work outside these phases",
}
QUESTION = "is single-request latency the bottleneck, and where does it sit?"
ASKED = f"A single user asks: {QUESTION}"
# From this share on, something is most of a whole.
MOST = 0.5
# Smaller ones are not worth a word in a sentence.
WORTH_NAMING = 0.01


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


def above_floor(cell: BenchCell) -> float | None:
    """Seconds of a request's denoising that lie above the floor of its forwards.

    0 when they beat it; None when the cell has no floor, or denoising was not told apart.
    """
    if cell.percent_of_floor is None or cell.phases is None or cell.phases.denoise is None:
        return None
    return cell.phases.denoise * max(0.0, 1 - cell.percent_of_floor / 100)


def sentence(cell: BenchCell) -> str:
    """Answer :data:`QUESTION` for one cell, with its numbers."""
    where = f"{cell.suite}, {cell.arm}" + (f", batch {cell.batch_size}" if cell.batch_size > 1 else "")
    if cell.clock == "client":
        return f"{where}: {_outside(cell)}"
    known = {} if cell.phases is None else shares(cell.phases)
    if cell.phases is None or "denoise" not in known:
        return f"{where}: not known, the phases of a request were not measured."
    model, queue = math.fsum(known.get(name, 0.0) for name in MODEL_PHASES), known.get("queue", 0.0)
    request = f"{fmt.milliseconds(whole(cell.phases))} ms"
    if model >= MOST:
        verdict = f"yes, forwards that run one after another are {_whole(model)} of {request}"
    elif queue >= MOST:
        verdict = f"no, a request waits for others of its batch {_whole(queue)} of {request}"
    else:
        verdict = f"no, the model works only {_whole(model)} of {request}"
    ranked = sorted(named(cell.phases).items(), key=lambda item: -item[1])
    listed = fmt.words(_part(name, time, cell) for name, time in ranked if known[name] >= WORTH_NAMING)
    return f"{where}: {verdict}; it sits in {listed}.{_headroom(cell) if model >= MOST else ''}"


def _outside(cell: BenchCell) -> str:
    """What a client's clock tells."""
    if cell.total_ms is None:
        return "not known, the client's clock does not see the phases of a request."
    until = cell.first_block_ms
    first = "" if until is None else f", {fmt.median(until)} ms of it until the first text"
    return (
        f"a client waits {fmt.median(cell.total_ms)} ms for an answer{first} (medians); where inside the "
        "server that goes, its clock can't tell."
    )


def _part(name: str, seconds: float, cell: BenchCell) -> str:
    """One phase with its time and share; denoising in two, at its floor and above it."""
    assert cell.phases is not None
    autoregressive = cell.method.startswith("ar")  # there nothing is denoised
    word = "decoding forwards" if name == "denoise" and autoregressive else WORDS[name]
    text = f"{word} {fmt.milliseconds(seconds)} ms ({_whole(seconds / whole(cell.phases))}"
    above = above_floor(cell) if name == "denoise" else None
    if above is not None:
        text += (
            f": {fmt.milliseconds(seconds - above)} ms at the floor, {fmt.milliseconds(above)} ms above it"
        )
    return f"{text})"


def _headroom(cell: BenchCell) -> str:
    """How far the forwards are from the least this machine could take, and what that leaves open."""
    floor, percent = cell.floor, cell.percent_of_floor
    if floor is None or percent is None:
        return ""
    memory = floor.memory_ms >= floor.arithmetic_ms
    text = f" A forward runs at {fmt.percent_of_floor(percent)} of its floor"
    if percent < 100 * MOST:
        gpu = (cell.backend.device or "").startswith("cuda")
        causes = fmt.words([*(["launches"] if gpu else []), "small operations", "host work"])
        text += f": most of it lies above; {causes} are the usual causes."
    else:
        text += f", which {'memory' if memory else 'arithmetic'} sets: fewer "
        text += f"{'bytes' if memory else 'operations'}, or more tokens a forward, help."
    if memory:
        busy = 100 * floor.arithmetic_ms / floor.memory_ms
        text += f" At the floor, arithmetic would take {busy:.0f} % of the time; a batch could use the rest."
    return text


def _whole(share: float) -> str:
    return f"{100 * share:.0f} %"
