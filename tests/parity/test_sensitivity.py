"""Tests of the parity tests: one deliberate fault in the reference, and the comparison must see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dlmrt.reference import loop, model, rng, sampling
from dlmrt.reference import policy as policies
from dlmrt.reference.context import CachedContext
from dlmrt.reference.loop import NumpyBackend, _Row
from tests.helpers import BLOCK, random_weights, tiny_config, tiny_diffusion
from tests.parity.support import SAMPLED, WEIGHTS_SEED, backends, differences, run, uneven_rows

Patch = pytest.MonkeyPatch


def wrong_clean_mask(patch: Patch) -> None:
    """Prompt and committed blocks attend causally in a model whose blocks see themselves whole."""
    extend = CachedContext.extend
    patch.setattr(
        CachedContext,
        "extend",
        lambda self, tokens, _: extend(self, tokens, self.length + np.arange(len(tokens))),
    )


def causal_canvas(patch: Patch) -> None:
    def canvas(self: CachedContext, tokens: Any, residual: Any) -> Any:
        last_key = self.length + np.arange(len(tokens))
        return self._model.forward(tokens, self.length, last_key, self._cache, residual)

    patch.setattr(CachedContext, "canvas", canvas)


def gap_in_positions(patch: Patch) -> None:
    """Every position after the first block is one too high."""
    new_cache = model.NumpyModel.new_cache

    def shifted(self: model.NumpyModel, capacity: int) -> model.Cache:
        cache, more = new_cache(self, capacity), new_cache(self, capacity + 1)
        for table, source in ((cache.cos_T1R, more.cos_T1R), (cache.sin_T1R, more.sin_T1R)):
            table[BLOCK:] = source[BLOCK + 1 :]
        return cache

    patch.setattr(model.NumpyModel, "new_cache", shifted)


def stale_keys(patch: Patch) -> None:
    """The block's last noisy forward stands in for its commit."""
    extend = CachedContext.extend

    def lazy(self: CachedContext, tokens: Any, last_key: Any) -> Any:
        if self.length == 0:
            return extend(self, tokens, last_key)
        self._length += len(tokens)
        return None

    patch.setattr(CachedContext, "extend", lazy)


def residual_of_decided_positions(patch: Patch) -> None:
    next_residual = sampling.next_residual
    patch.setattr(loop, "next_residual", lambda raw, r, is_open: next_residual(raw, r, np.ones_like(is_open)))


def renormalised_residual(patch: Patch) -> None:
    next_residual = sampling.next_residual

    def renormalised(raw: Any, columns: int, is_open: Any) -> model.Residual:
        ids, probs = next_residual(raw, columns, is_open)
        return model.Residual(ids, probs / np.maximum(probs.sum(axis=1, keepdims=True), 1e-30))

    patch.setattr(loop, "next_residual", renormalised)


def residual_kept_over_blocks(patch: Patch) -> None:
    new_block = _Row.new_block

    def keep(self: _Row, tail: Any, ids: Any) -> Any:
        block = new_block(self, tail, ids)
        block.residual.ids_SR[:], block.residual.probs_SR[:] = 9, 0.2
        return block

    patch.setattr(_Row, "new_block", keep)


def wrong_temperature(patch: Patch) -> None:
    propose = sampling.propose
    patch.setattr(
        loop,
        "propose",
        lambda logits, raw, decoder, noise: propose(
            logits, raw, replace(decoder, temperature=decoder.temperature * 1.02), noise
        ),
    )


def residual_from_the_processed_distribution(patch: Patch) -> None:
    next_residual = sampling.next_residual
    patch.setattr(
        loop,
        "next_residual",
        lambda raw, r, is_open: next_residual(model.softmax(np.log(raw + 1e-30) / 0.8), r, is_open),
    )


def step_counter_off_by_one(patch: Patch) -> None:
    gumbel = rng.gumbel
    patch.setattr(rng, "gumbel", lambda seed, where, step, *rest: gumbel(seed, where, step + 1, *rest))


def position_counter_relative_to_the_block(patch: Patch) -> None:
    gumbel = rng.gumbel
    patch.setattr(rng, "gumbel", lambda seed, where, *rest: gumbel(seed, where % BLOCK, *rest))


def noise_counter_off_by_one(patch: Patch) -> None:
    noise_ids = rng.noise_ids
    patch.setattr(rng, "noise_ids", lambda seed, where, step, ids: noise_ids(seed, where, step + 1, ids))


def best_candidate_not_accepted(patch: Patch) -> None:
    def strict(decoder: Any, proposal: Any, candidate: Any) -> Any:
        return candidate & (proposal.confidence_S >= np.float32(decoder.threshold))

    patch.setitem(policies._POLICIES, "threshold", strict)


def eos_at_open_positions(patch: Patch) -> None:
    """An EOS that is only noise ends the answer."""
    horizon = _Row.horizon
    patch.setattr(
        _Row, "horizon", lambda self, block: horizon(self, replace(block, open_S=np.zeros_like(block.open_S)))
    )


FAULTS: list[Callable[[Patch], None]] = [
    wrong_clean_mask,
    causal_canvas,
    gap_in_positions,
    stale_keys,
    residual_of_decided_positions,
    renormalised_residual,
    residual_kept_over_blocks,
    residual_from_the_processed_distribution,
    wrong_temperature,
    step_counter_off_by_one,
    position_counter_relative_to_the_block,
    noise_counter_off_by_one,
    best_candidate_not_accepted,
    eos_at_open_positions,
]
ROWS = uneven_rows(policy="threshold", threshold=0.6, **SAMPLED, seed=11)


@pytest.fixture(scope="module")
def torch_run() -> Any:
    return run(backends(tiny_config(), tiny_diffusion(noise="uniform"))[1], ROWS)


def reference() -> NumpyBackend:
    config = tiny_config()
    return NumpyBackend(random_weights(config, WEIGHTS_SEED), config, tiny_diffusion(noise="uniform"))


def test_without_a_fault_there_is_no_difference(torch_run: Any) -> None:
    assert differences(torch_run, run(reference(), ROWS)) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_seen(fault: Callable[[Patch], None], torch_run: Any, monkeypatch: Patch) -> None:
    fault(monkeypatch)
    assert differences(torch_run, run(reference(), ROWS)) != []


@pytest.mark.parametrize("field", ["finish_reason", "denoise_forwards", "steps_per_block", "ids"])
def test_every_field_of_an_output_counts(field: str, torch_run: Any) -> None:
    wrong: dict[str, Any] = {
        "finish_reason": "cancelled",
        "denoise_forwards": 99,
        "steps_per_block": (),
        "ids": (),
    }
    outputs = [replace(torch_run.outputs[0], **{field: wrong[field]}), *torch_run.outputs[1:]]
    assert differences(torch_run, replace(torch_run, outputs=outputs)) != []
