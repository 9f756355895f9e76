"""What the parity tests share: prompts, requests, and a comparison of everything two backends did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dlmrt.config import DecoderConfig, DiffusionConfig, ModelConfig
from dlmrt.reference import NumpyBackend
from dlmrt.rows import Backend, RowOutput, RowRequest, StepRecord
from tests.helpers import BLOCK, FIRST_TEXT_ID, VOCAB, random_weights, torch_model

if TYPE_CHECKING:
    from dlmrt.decode.eager import EagerBackend

# Long enough for three blocks; the limits end inside a block, at its edge and after one token.
PROMPT_LENGTHS = (0, 1, BLOCK - 1, BLOCK, BLOCK + 1)
NEW_TOKENS = (21, BLOCK - 1, 20, 2 * BLOCK, 1)
# Thresholds at which the tiny model accepts some positions of most steps, not all and not one.
TINY_DECODER: dict[str, Any] = {
    "threshold": 0.5,
    "edit_threshold": 0.6,
    "per_step": 2,
    "entropy_bound": 4.0,
    "max_post_steps": 3,
}
SAMPLED: dict[str, Any] = {"temperature": 0.8, "top_k": 20, "top_p": 0.9}
TOLERANCE = 1e-4
# Chosen so that answers end both ways, and so that no decision hangs on the last bits: the answers of
# the whole grid stay the same when every weight changes by a millionth.
WEIGHTS_SEED = 4


def prompt(length: int, seed: int) -> tuple[int, ...]:
    """Text ids from a stream that no release of NumPy changes."""
    return tuple(np.random.RandomState(seed).randint(FIRST_TEXT_ID, VOCAB, length).tolist())


def uneven_rows(**decoder: Any) -> list[RowRequest]:
    """A row for every prompt length, with its own limit and its own seed."""
    return [
        RowRequest(
            prompt(length, seed=length),
            new,
            DecoderConfig(**{**TINY_DECODER, "seed": 2**40 + row, **decoder}),
        )
        for row, (length, new) in enumerate(zip(PROMPT_LENGTHS, NEW_TOKENS, strict=True))
    ]


def without_ties(rows: Sequence[RowRequest]) -> list[RowRequest]:
    """Let the row with an empty prompt accept a whole block a step.

    A canvas of nothing but masks looks the same from each of its positions: which of them is the
    most confident is then a matter of rounding, and no two libraries round alike.
    """
    whole = {"threshold": 0.0, "per_step": BLOCK, "entropy_bound": 1e6}
    return [row if row.prompt_ids else replace(row, decoder=replace(row.decoder, **whole)) for row in rows]


def backends(
    config: ModelConfig, diffusion: DiffusionConfig, seed: int = WEIGHTS_SEED
) -> tuple[NumpyBackend, EagerBackend]:
    """The reference and the torch loop on the same random weights."""
    from dlmrt.decode.eager import EagerBackend

    weights = random_weights(config, seed)
    return NumpyBackend(weights, config, diffusion), EagerBackend(torch_model(config, weights), diffusion)


@dataclass(frozen=True)
class Run:
    """Everything that a backend did for some requests."""

    outputs: list[RowOutput]
    steps: dict[int, list[StepRecord]]
    blocks: dict[int, list[tuple[int, ...]]]


def run(backend: Backend, requests: Sequence[RowRequest]) -> Run:
    steps: dict[int, list[StepRecord]] = defaultdict(list)
    blocks: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    outputs = backend.generate(
        requests,
        on_step=lambda record: steps[record.row].append(record),
        on_block=lambda row, ids: blocks[row].append(ids),
    )
    return Run(outputs, dict(steps), dict(blocks))


def differences(expected: Run, got: Run) -> list[str]:
    """All that differs, in words; empty when the runs agree token for token and step for step."""
    found = []
    for row, (a, b) in enumerate(zip(expected.outputs, got.outputs, strict=True)):
        if a != b:
            found.append(f"row {row}: output {a} != {b}")
        if expected.blocks[row] != got.blocks[row]:
            found.append(f"row {row}: blocks {expected.blocks[row]} != {got.blocks[row]}")
        steps = zip(expected.steps.get(row, []), got.steps.get(row, []), strict=False)
        for at, (step_a, step_b) in enumerate(steps):
            found += [f"row {row}, its step {at}: {text}" for text in step_differences(step_a, step_b)]
    return found


def step_differences(a: StepRecord, b: StepRecord) -> Iterator[str]:
    for field in fields(StepRecord):
        x, y = np.asarray(getattr(a, field.name)), np.asarray(getattr(b, field.name))
        if field.name.startswith("residual_"):
            continue
        close = x.shape == y.shape and np.allclose(x, y, atol=TOLERANCE if x.dtype.kind == "f" else 0, rtol=0)
        if not close:
            yield f"{field.name} {x} != {y}"
    if np.shape(a.residual_ids_SR) != np.shape(b.residual_ids_SR):
        yield f"residual shape {np.shape(a.residual_ids_SR)} != {np.shape(b.residual_ids_SR)}"
    elif not np.allclose(dense_residual(a), dense_residual(b), atol=TOLERANCE, rtol=0):
        yield "residual"


def dense_residual(record: StepRecord) -> np.ndarray:
    """The residual as probabilities over the vocabulary: equal entries may be stored in any order."""
    ids, probs = np.asarray(record.residual_ids_SR), np.asarray(record.residual_probs_SR)
    dense = np.zeros((len(ids), VOCAB), np.float32)
    for column in range(ids.shape[1]):
        dense[np.arange(len(ids)), ids[:, column]] += probs[:, column]
    return dense
