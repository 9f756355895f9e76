"""The pure step: no host read, no surprise for rows that are done, nothing forbidden produced."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from dlmrt.config import POLICIES, DecoderConfig
from dlmrt.decode.kv_cache import KVCache
from dlmrt.decode.rng import noise_ids
from dlmrt.decode.state import DecodeState, next_block
from dlmrt.decode.step import commit_block, denoise_step
from dlmrt.rows import RowRequest
from tests.helpers import BLOCK, MASK_ID, RESERVED_ID, VOCAB
from tests.unit.decode.support import (
    LIVELY,
    NOISES,
    SAMPLED,
    Start,
    prompt,
    scripted_backend,
    start,
    tiny_backend,
)

FORBIDDEN = (
    "_local_scalar_dense",
    "nonzero",
    "unique",
    "masked_select",
    "item",
    "rand",
    "multinomial",
    "bernoulli",
    "normal_",
    "uniform_",
    "exponential_",
    "cauchy_",
    "geometric_",
)


class PureOnly(TorchDispatchMode):
    """Refuses operations that read a value on the host, give data-dependent shapes or draw numbers."""

    def __enter__(self) -> Any:
        # On the CPU these two read memory without any operation that a mode would see.
        self.patch = pytest.MonkeyPatch()
        for name in ("tolist", "numpy"):
            self.patch.setattr(torch.Tensor, name, self.refuse)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self.patch.undo()
        super().__exit__(*error)

    @staticmethod
    def refuse(tensor: torch.Tensor, *args: Any) -> None:
        raise AssertionError("a host read in a pure step")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert not any(word in name for word in FORBIDDEN), f"{name} in a pure step"
        if name.startswith("index"):
            masks = [i for i in args[1] if i is not None and i.dtype == torch.bool]
            assert not masks, f"{name} with a boolean index in a pure step"
        return func(*args, **(kwargs or {}))


def filled_cache(at: Start) -> KVCache:
    config = at.backend.model.config
    cache = KVCache(config, at.state.start_B.shape[0], 40, device=torch.device("cpu"), dtype=torch.float32)
    generator = torch.Generator().manual_seed(0)
    for store in (*cache.keys, *cache.values):
        store[:, :, :32] = torch.randn(store[:, :, :32].shape, generator=generator)
    return cache


def mixed_rows() -> list[RowRequest]:
    warm = [replace(SAMPLED, policy=policy, seed=3 + i) for i, policy in enumerate(POLICIES)]
    cold = [replace(LIVELY, policy=policy, residual=False) for policy in POLICIES]
    return [RowRequest(prompt(8 + i), 20, decoder) for i, decoder in enumerate([*warm, *cold])]


@pytest.mark.parametrize("noise", NOISES)
def test_step_commit_and_next_block_read_nothing_on_the_host(noise: str) -> None:
    backend = tiny_backend(noise)
    at = start(backend, mixed_rows())
    assert at.plan.sampling
    assert at.plan.max_top_k
    assert at.plan.top_p
    assert at.plan.residual_k
    cache, starts = filled_cache(at), at.state.start_B.tolist()
    canvas, append = cache.canvas(starts, BLOCK), cache.append(starts, BLOCK, "block")
    capture = backend.new_capture(mixed_rows())
    with torch.inference_mode(), PureOnly():
        after, trace = denoise_step(backend.model, at.state, canvas, at.plan, at.tables)
        capture.record(at.state, trace, after)
        commit_block(backend.model, after, append)
        next_block(after, at.plan, at.tables)


@pytest.mark.parametrize(
    "impure",
    [
        lambda x: x.sum().item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: bool(x.any()),
        lambda x: x.nonzero(),
        lambda x: x[x > 0],
        lambda x: x.unique(),
        lambda x: torch.rand_like(x),
    ],
)
def test_the_purity_check_notices(impure: Any) -> None:
    with pytest.raises(AssertionError, match="in a pure step"), PureOnly():
        impure(torch.ones(3))


@pytest.mark.parametrize("noise", NOISES)
def test_b15_a_row_that_is_done_is_frozen(noise: str) -> None:
    backend = tiny_backend(noise)
    at = start(backend, mixed_rows())
    attend = filled_cache(at).canvas(at.state.start_B.tolist(), BLOCK)
    state, _ = denoise_step(backend.model, at.state, attend, at.plan, at.tables)
    frozen = torch.tensor([True, False] * len(POLICIES))
    state = replace(state, done_B=frozen)
    after, _ = denoise_step(backend.model, state, attend, at.plan, at.tables)
    for field in fields(DecodeState):
        if field.name != "settings":
            before_rows, after_rows = getattr(state, field.name)[frozen], getattr(after, field.name)[frozen]
            assert torch.equal(before_rows, after_rows), field.name
    assert after.step_B.tolist() == [1, 2] * len(POLICIES)


def test_the_step_changes_nothing_it_was_given() -> None:
    backend = tiny_backend("uniform")
    at = start(backend, mixed_rows())
    attend = filled_cache(at).canvas(at.state.start_B.tolist(), BLOCK)
    names = [field.name for field in fields(DecodeState) if field.name != "settings"]
    copies = {name: getattr(at.state, name).clone() for name in names}
    first, _ = denoise_step(backend.model, at.state, attend, at.plan, at.tables)
    assert all(torch.equal(getattr(at.state, name), copies[name]) for name in names)
    second, _ = denoise_step(backend.model, at.state, attend, at.plan, at.tables)
    assert all(torch.equal(getattr(first, name), getattr(second, name)) for name in names)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_banned_ids_are_never_proposed(temperature: float) -> None:
    def wants_banned(positions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(*positions.shape, VOCAB)
        logits[..., [MASK_ID, RESERVED_ID]] = 50.0
        return logits

    backend = scripted_backend(wants_banned)
    decoder = DecoderConfig(temperature=temperature, threshold=0.0, max_steps=1)
    (output,) = backend.generate([RowRequest(prompt(3), 40, decoder)])
    assert not set(output.ids) & set(backend.diffusion.banned_ids)


def test_residual_is_kept_at_open_positions_of_rows_that_use_it() -> None:
    backend = tiny_backend()
    requests = [RowRequest(prompt(3), 9, replace(LIVELY, residual=flag)) for flag in (True, False)]
    at = start(backend, requests)
    attend = filled_cache(at).canvas([0, 0], BLOCK)
    after, _ = denoise_step(backend.model, at.state, attend, at.plan, at.tables)
    has_residual = after.residual_probs_BSR.sum(-1) > 0
    assert torch.equal(has_residual[0], after.open_BS[0])
    assert has_residual[0].any()
    assert not has_residual[1].any()
    assert after.residual_probs_BSR[0].sum(-1).max() < 1  # as they are, not renormalised


def test_open_positions_get_the_noise_of_the_next_step_counter() -> None:
    backend = tiny_backend("uniform")
    at = start(backend, [RowRequest(prompt(3), 9, replace(LIVELY, seed=6))])
    attend = filled_cache(at).canvas([0], BLOCK)
    state = at.state
    for step in range(2):
        state, _ = denoise_step(backend.model, state, attend, at.plan, at.tables)
        ids = noise_ids(torch.tensor([6]), state.position_BS, torch.tensor([step + 1]), at.tables.allowed)
        assert state.open_BS.any()
        assert torch.equal(state.canvas_BS[state.open_BS], ids[state.open_BS])
