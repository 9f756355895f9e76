"""Each torch step, started again by the reference from the very state that torch consumed.

Here no rounding difference lives longer than a step, and each backend's decision is taken on the
same numbers: so this also covers canvases with exact ties, such as a first block of masks alone.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from dlmrt.config import POLICIES, DiffusionConfig, Noise
from dlmrt.reference import NumpyBackend, rng
from dlmrt.reference.context import CachedContext
from dlmrt.reference.model import Residual, softmax
from dlmrt.reference.policy import decide
from dlmrt.reference.sampling import Proposal, next_residual, propose
from dlmrt.rows import RowRequest, StepRecord
from tests.helpers import BLOCK, VOCAB, tiny_config, tiny_diffusion
from tests.parity.support import (
    SAMPLED,
    TOLERANCE,
    backends,
    dense_residual,
    run,
    uneven_rows,
)


def assert_same_step(
    backend: NumpyBackend, context: CachedContext, request: RowRequest, record: StepRecord
) -> np.ndarray:
    """Compare one torch step with the reference's; return the raw distribution [S, V]."""
    arrays = {name: np.asarray(value) for name, value in vars(record).items()}
    decoder, positions = request.decoder, record.start + np.arange(BLOCK)
    residual = Residual(arrays["residual_ids_SR"], arrays["residual_probs_SR"])
    logits = backend.model.logits(context.canvas(arrays["canvas_S"], residual))
    logits[:, list(backend.diffusion.banned_ids)] = -np.inf
    raw = softmax(logits)
    noise = rng.gumbel(decoder.seed, positions, record.step, VOCAB) if decoder.temperature else None
    got = propose(logits, raw, decoder, noise)
    np.testing.assert_array_equal(got.token_S, arrays["token_S"])
    np.testing.assert_allclose(got.confidence_S, arrays["confidence_S"], atol=TOLERANCE)
    np.testing.assert_allclose(got.entropy_S, arrays["entropy_S"], atol=TOLERANCE)

    theirs = Proposal(arrays["token_S"], arrays["confidence_S"], arrays["entropy_S"])
    last = record.step == decoder.step_budget(BLOCK) - 1
    decision = decide(decoder, theirs, arrays["canvas_S"], arrays["open_S"], arrays["fixed_S"], last)
    still_open = decision.candidate_S & ~decision.accept_S
    np.testing.assert_array_equal(decision.accept_S, arrays["accept_S"])
    np.testing.assert_array_equal(still_open, arrays["open_after_S"])
    written = np.where(decision.accept_S | decision.edit_S, theirs.token_S, arrays["canvas_S"])
    np.testing.assert_array_equal(
        np.where(still_open, noise_at(backend.diffusion, decoder.seed, positions, record.step + 1), written),
        arrays["canvas_after_S"],
    )
    return raw


def noise_at(diffusion: DiffusionConfig, seed: int, positions: np.ndarray, counter: int) -> np.ndarray:
    if diffusion.noise == "mask":
        return np.full(BLOCK, diffusion.mask_token_id)
    allowed = np.array([i for i in range(VOCAB) if i not in diffusion.banned_ids])
    return rng.noise_ids(seed, positions, counter, allowed)


def replay(backend: NumpyBackend, request: RowRequest, records: list[StepRecord]) -> None:
    context = CachedContext(backend.model, 64)

    def commit(tokens: np.ndarray) -> None:
        positions = context.length + np.arange(len(tokens))
        context.extend(tokens, positions // BLOCK * BLOCK + BLOCK - 1)

    whole = len(request.prompt_ids) // BLOCK * BLOCK
    if whole:
        commit(np.array(request.prompt_ids[:whole]))
    raw = np.zeros((BLOCK, VOCAB), np.float32)
    for i, record in enumerate(records):
        if record.step == 0 and i > 0:
            commit(np.asarray(records[i - 1].canvas_after_S))
        columns = np.shape(record.residual_ids_SR)[1]
        if record.step == 0:
            assert not np.asarray(record.residual_probs_SR).any()
        else:
            expected = next_residual(raw, columns, np.asarray(record.open_S))
            probs = np.zeros((BLOCK, VOCAB), np.float32)
            np.put_along_axis(probs, expected.ids_SR, expected.probs_SR, axis=1)
            np.testing.assert_allclose(dense_residual(record), probs, atol=TOLERANCE)
        raw = assert_same_step(backend, context, request, record)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("noise", get_args(Noise))
@pytest.mark.parametrize("sampled", [False, True], ids=["greedy", "sampled"])
def test_every_torch_step_is_the_references_step(policy: str, noise: Noise, sampled: bool) -> None:
    reference, torch_loop = backends(tiny_config(), tiny_diffusion(noise=noise))
    rows = uneven_rows(policy=policy, **(SAMPLED if sampled else {}))[:3]
    steps = run(torch_loop, rows).steps
    assert sum(len(records) for records in steps.values()) > len(rows)
    for row, request in enumerate(rows):
        replay(reference, request, steps[row])
