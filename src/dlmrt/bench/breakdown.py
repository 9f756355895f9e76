"""Where a request's time goes: is single-request latency the bottleneck, and where does it sit?

The answer is *yes* when most of a request is forwards of the model, which run one after another: then
nothing but a cheaper forward, or fewer of them, makes a single user wait less. Waiting for other requests,
or text work around the model, makes it *no*.
"""

from __future__ import annotations

from dlmrt.results.schema import BenchCell, PhaseShares

MODEL_PHASES = ("prefill", "denoise", "commit")
PHASES = ("queue", "tokenise", *MODEL_PHASES, "detokenise", "other")
HALF = 0.5


def parts(phases: PhaseShares) -> dict[str, float]:
    """Return the phases that are worth a word: half a per cent of the whole, or more."""
    named = {name: getattr(phases, name) or 0.0 for name in PHASES}
    return {name: value for name, value in named.items() if value >= 0.005 * phases.total}


def sentence(cell: BenchCell) -> str:
    """Answer the question for one cell, with its numbers."""
    where = f"{cell.suite}, {cell.arm}" + (f", batch {cell.batch_size}" if cell.batch_size > 1 else "")
    phases = cell.phases
    if cell.clock == "client" and cell.total_ms is not None:
        return f"{where}: {_outside(cell, cell.total_ms.median)}"
    if phases is None or phases.denoise is None or phases.total <= 0:
        return f"{where}: not known, the phases of a request were not measured"
    inside = [getattr(phases, name) for name in MODEL_PHASES]
    model = sum(value for value in inside if value is not None)
    waited = phases.queue or 0.0
    share_model, share_waited = _share(model, phases.total), _share(waited, phases.total)
    verdict = "yes" if model >= HALF * phases.total else "no"
    if verdict == "yes":
        why = f"forwards that run one after another are {share_model} of {_ms(phases.total)}"
    elif waited >= HALF * phases.total:
        why = f"a request waits for others of its batch {share_waited} of {_ms(phases.total)}"
    else:
        why = f"the model works only {share_model} of {_ms(phases.total)}, the rest is around it"
    listed = ", ".join(
        f"{name} {_ms(value)} ({_share(value, phases.total)}{_split(cell, name, value)})"
        for name, value in sorted(parts(phases).items(), key=lambda part: -part[1])
    )
    return f"{where}: {verdict}, {why}; it sits in {listed}.{_advice(cell, verdict)}"


def _outside(cell: BenchCell, total_ms: float) -> str:
    first = cell.first_block_ms
    until = "" if first is None else f", {_ms(first.median / 1000)} of it until the first text"
    return (
        f"a client waits {_ms(total_ms / 1000)} for an answer{until} (medians); where inside the server that "
        "goes, its clock can't tell"
    )


def _split(cell: BenchCell, name: str, seconds: float) -> str:
    """Denoising as floor and what lies above it."""
    share = floor_share(cell)
    if name != "denoise" or share is None:
        return ""
    return f": {_ms(seconds * share)} floor, {_ms(seconds * (1 - share))} overhead above it"


def floor_share(cell: BenchCell) -> float | None:
    """The share of denoising that the floor explains, at most 1; None when there is no floor."""
    return None if cell.percent_of_floor is None else min(1.0, cell.percent_of_floor / 100)


def _advice(cell: BenchCell, verdict: str) -> str:
    share, floor = floor_share(cell), cell.floor
    if verdict == "no" or share is None or floor is None:
        return ""
    bound = "memory" if floor.memory_ms >= floor.arithmetic_ms else "arithmetic"
    if share < HALF:
        gpu = (cell.backend.device or "").startswith("cuda")
        small = "launches and small operations" if gpu else "small operations and Python"
        text = f" Most of a forward is overhead: {small}, not the weights."
    else:
        text = f" Most of a forward is its floor ({bound}): fewer bytes, or more tokens a forward, help."
    if bound == "memory":
        spare = 100 * (1 - floor.arithmetic_ms / floor.memory_ms)
        text += f" At the floor {spare:.0f} % of the arithmetic idles, which a batch could use."
    return text


def _ms(seconds: float) -> str:
    ms = 1000 * seconds
    return f"{ms:.0f} ms" if ms >= 100 else f"{ms:.2g} ms" if ms >= 0.1 else f"{ms:.2f} ms"


def _share(part: float, total: float) -> str:
    return f"{100 * part / total:.0f} %"
