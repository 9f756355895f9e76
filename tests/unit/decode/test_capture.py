"""A capture holds what the hooks see, for every row, whatever batch it was in."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dlmrt.config import POLICIES
from dlmrt.decode.kv_cache import KVCache
from dlmrt.decode.step import denoise_step
from dlmrt.errors import RequestError
from dlmrt.rows import RowRequest
from tests.helpers import BLOCK
from tests.unit.decode.support import (
    LENGTHS,
    LIVELY,
    NOISES,
    SAMPLED,
    prompt,
    run,
    same_record,
    start,
    tiny_backend,
)


def rows_of_all_kinds() -> list[RowRequest]:
    limits = (21, 3, 30, 2 * BLOCK, 1)
    rows = [
        RowRequest(prompt(length), new, replace(SAMPLED, policy=POLICIES[i % len(POLICIES)], seed=i))
        for i, (length, new) in enumerate(zip(LENGTHS, limits, strict=True))
    ]
    return [*rows, RowRequest(prompt(5), 20, replace(LIVELY, residual=False))]


@pytest.mark.parametrize("noise", NOISES)
def test_b25_capture_equals_what_the_hooks_see(noise: str) -> None:
    backend = tiny_backend(noise)
    requests = rows_of_all_kinds()
    capture = backend.new_capture(requests)
    got = run(backend, requests, capture=capture)
    seen = [record for row in range(len(requests)) for record in got.steps[row]]
    captured = list(capture.records())
    assert len(captured) == len(seen) > 20
    for a, b in zip(captured, seen, strict=True):
        assert same_record(a, b), (a, b)
    assert captured[-1].residual_ids_SR.shape == (BLOCK, 0)
    for row, output in enumerate(got.outputs):
        steps = [count for count in capture.steps_BN[row].tolist() if count]
        assert tuple(steps) == output.steps_per_block


def test_capture_alone_changes_no_answer_and_asks_for_entropies() -> None:
    backend = tiny_backend()
    requests = rows_of_all_kinds()
    capture = backend.new_capture(requests)
    assert backend.generate(requests, capture=capture) == backend.generate(requests)
    taken = capture.steps_BN[0, 0]
    assert (capture.entropy_BNMS[0, 0, :taken] > 0).any()


def test_a_frozen_row_adds_nothing_to_its_trajectory() -> None:
    backend = tiny_backend("uniform")
    requests = [RowRequest(prompt(3), 5, replace(LIVELY, seed=row, max_steps=4)) for row in range(2)]
    capture = backend.new_capture(requests)
    at = start(backend, requests)
    cache = KVCache(backend.model.config, 2, 0, device=torch.device("cpu"), dtype=torch.float32)
    attend = cache.canvas([0, 0], BLOCK)
    state, trace = denoise_step(backend.model, at.state, attend, at.plan, at.tables)
    capture.record(at.state, trace, state)
    state = replace(state, done_B=torch.tensor([True, False]))
    before = list(capture.records())
    for _ in range(4):  # more than row 0 has slots left for
        after, trace = denoise_step(backend.model, state, attend, at.plan, at.tables)
        capture.record(state, trace, after)
        state = after
    now = list(capture.records())
    row_0 = [record for record in now if record.row == 0]
    assert len(row_0) == 1
    assert same_record(row_0[0], before[0])
    assert len([record for record in now if record.row == 1]) == 4


def test_a_capture_of_other_requests_is_refused() -> None:
    backend = tiny_backend()
    requests = rows_of_all_kinds()
    with pytest.raises(RequestError, match="room for 2 rows and 6 were given"):
        backend.generate(requests, capture=backend.new_capture(requests[:2]))


def test_captured_tensors_are_fit_for_a_training_graph() -> None:
    backend = tiny_backend()
    requests = rows_of_all_kinds()
    capture = backend.new_capture(requests)
    backend.generate(requests, capture=capture)
    weight = torch.ones(49, 2, requires_grad=True)
    torch.nn.functional.embedding(capture.canvas_BNMS, weight).sum().backward()
    assert weight.grad is not None
