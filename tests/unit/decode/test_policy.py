"""Each policy on hand-made confidences and entropies, and the rule when a block is done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from dlmrt.config import POLICIES, DecoderConfig
from dlmrt.decode.policy import (
    accept_entropy_bound,
    accept_most_confident,
    accept_prefix,
    accept_threshold,
    decide,
    horizon,
    is_done,
    nothing_open,
)
from dlmrt.decode.sampling import Proposal
from dlmrt.decode.state import DecodeState
from dlmrt.rows import RowRequest
from tests.helpers import BLOCK, EOS_ID
from tests.unit.decode.support import Start, prompt, start, tiny_backend

ON = torch.ones(1, 4, dtype=torch.bool)


def flags(text: str) -> torch.Tensor:
    return torch.tensor([[letter == "x" for letter in text]])


def shown(value: torch.Tensor) -> str:
    return "".join("x" if flag else "." for flag in value[0].tolist())


@pytest.mark.parametrize(
    ("confidence", "cand", "threshold", "expected"),
    [
        ([0.9, 0.5, 0.7, 0.1], "xxxx", 0.7, "x.x."),
        ([0.9, 0.5, 0.7, 0.1], ".xxx", 0.8, "..x."),  # always the most confident candidate
        ([0.5, 0.5, 0.5, 0.1], "xxxx", 0.8, "x..."),  # ties: the lower position
        ([0.0, 0.0, 0.0, 0.0], "..xx", 0.8, "..x."),
        ([0.9, 0.9, 0.9, 0.9], "....", 0.5, "...."),
    ],
)
def test_threshold(confidence: list[float], cand: str, threshold: float, expected: str) -> None:
    got = accept_threshold(torch.tensor([confidence]), flags(cand), torch.tensor([threshold]))
    assert shown(got) == expected


@pytest.mark.parametrize(
    ("confidence", "cand", "per_step", "expected"),
    [
        ([0.1, 0.5, 0.7, 0.6], "xxxx", 2, "..xx"),
        ([0.5, 0.5, 0.5, 0.5], "xxxx", 2, "xx.."),
        ([0.9, 0.0, 0.0, 0.5], ".xx.", 1, ".x.."),
        ([0.9, 0.1, 0.2, 0.5], ".xx.", 9, ".xx."),
    ],
)
def test_fixed(confidence: list[float], cand: str, per_step: int, expected: str) -> None:
    got = accept_most_confident(torch.tensor([confidence]), flags(cand), torch.tensor([per_step]))
    assert shown(got) == expected


@pytest.mark.parametrize(
    ("entropies", "cand", "bound", "expected"),
    [
        ([0.5, 0.25, 1.0, 0.25], "xxxx", 0.0, ".x.."),  # the first always: nothing lies before it
        ([0.5, 0.25, 1.0, 0.25], "xxxx", 0.25, ".x.x"),
        ([0.5, 0.25, 1.0, 0.25], "xxxx", 0.5, "xx.x"),
        ([0.5, 0.25, 1.0, 0.25], "xxxx", 1.0, "xxxx"),
        ([0.5, 0.25, 1.0, 0.25], "x.x.", 0.5, "x.x."),
        ([0.5, 0.25, 1.0, 0.25], "....", 9.0, "...."),
    ],
)
def test_entropy_bound(entropies: list[float], cand: str, bound: float, expected: str) -> None:
    got = accept_entropy_bound(torch.tensor([entropies]), flags(cand), torch.tensor([bound]))
    assert shown(got) == expected


@pytest.mark.parametrize(
    ("confidence", "cand", "threshold", "expected"),
    [
        ([0.9, 0.8, 0.2, 0.9], "xxxx", 0.8, "xx.."),
        ([0.1, 0.8, 0.9, 0.9], "xxxx", 0.8, "xxxx"),  # the first goes whatever its confidence
        ([0.1, 0.2, 0.9, 0.9], "xxxx", 0.8, "x..."),
        ([0.0, 0.1, 0.9, 0.2], "..xx", 0.8, "..x."),
        ([0.9, 0.0, 0.9, 0.2], "x.xx", 0.8, "x.x."),  # a decided position does not end the run
        ([0.9, 0.9, 0.9, 0.9], "....", 0.8, "...."),
    ],
)
def test_prefix(confidence: list[float], cand: str, threshold: float, expected: str) -> None:
    got = accept_prefix(torch.tensor([confidence]), flags(cand), torch.tensor([threshold]))
    assert shown(got) == expected


def begin(prompt_len: int = 2, new: int = 40, **decoder: Any) -> Start:
    requests = [RowRequest(prompt(prompt_len), new, DecoderConfig(**decoder))]
    return start(tiny_backend(), requests)


def with_canvas(state: DecodeState, canvas: list[int], open_: str) -> DecodeState:
    return replace(state, canvas_BS=torch.tensor([canvas]), open_BS=flags(open_))


def proposal(token: int, confidence: list[float]) -> Proposal:
    return Proposal(torch.full((1, BLOCK), token), torch.tensor([confidence]), torch.zeros(1, BLOCK))


def test_joint_edits_decided_positions_that_are_sure_and_differ_never_the_prompt() -> None:
    at = begin(policy="joint", threshold=0.9, edit_threshold=0.6)
    #                                prompt  decided         open
    state = with_canvas(at.state, [7, 7, 9, 7, 7, 7, 0, 0], "......xx")
    verdict = decide(proposal(9, [1.0, 1.0, 1.0, 0.7, 0.5, 0.6, 0.95, 0.5]), state, at.plan)
    assert shown(verdict.edit_BS) == "...x.x.."
    assert shown(verdict.accept_BS) == "......x."
    assert shown(verdict.open_BS) == ".......x"


def test_entropy_bound_judges_decided_positions_anew() -> None:
    at = begin(policy="entropy_bound", entropy_bound=0.0)
    state = with_canvas(at.state, [7] * BLOCK, "....xxxx")
    verdict = decide(proposal(9, [0.5] * BLOCK), state, at.plan)
    assert shown(verdict.accept_BS) == "..xxxxxx"  # all entropies are zero
    entropies = torch.ones(1, BLOCK)
    entropies[0, 5] = 0.5
    verdict = decide(proposal(9, [0.5] * BLOCK)._replace(entropy_BS=entropies), state, at.plan)
    assert shown(verdict.accept_BS) == ".....x.."
    assert shown(verdict.open_BS) == "..xxx.xx"


@pytest.mark.parametrize("policy", POLICIES)
def test_b09_the_budgets_last_step_accepts_all_that_is_open(policy: str) -> None:
    at = begin(policy=policy, threshold=1.0, entropy_bound=0.0, max_steps=3)
    guess = proposal(9, [0.5] * BLOCK)._replace(entropy_BS=torch.ones(1, BLOCK))
    before = replace(at.state, step_B=torch.tensor([1]))
    assert shown(decide(guess, before, at.plan).open_BS).count("x") == BLOCK - 3
    last = replace(at.state, step_B=torch.tensor([2]))
    assert shown(decide(guess, last, at.plan).open_BS) == "........"


@pytest.mark.parametrize(
    ("prompt_len", "new", "canvas", "open_", "expected"),
    [
        (2, 40, [7, 7, 7, 7, 7, 7, 7, 7], "........", 8),
        (2, 3, [7, 7, 7, 7, 7, 7, 7, 7], "........", 5),  # the length limit
        (2, 40, [7, 7, 7, EOS_ID, 7, EOS_ID, 7, 7], "........", 3),  # the first EOS
        (2, 40, [7, 7, 7, EOS_ID, 7, EOS_ID, 7, 7], "...x....", 5),  # an undecided EOS is none
        (2, 40, [7, EOS_ID, 7, 7, 7, 7, 7, 7], "........", 8),  # the prompt's EOS is none
        (2, 1, [7, 7, 7, EOS_ID, 7, 7, 7, 7], "........", 3),
    ],
)
def test_b06_horizon(prompt_len: int, new: int, canvas: list[int], open_: str, expected: int) -> None:
    at = begin(prompt_len, new)
    assert horizon(with_canvas(at.state, canvas, open_), at.tables).tolist() == [expected]


def test_b06_positions_at_or_after_the_horizon_may_stay_open() -> None:
    at = begin()
    state = with_canvas(at.state, [7] * BLOCK, "....x...")
    assert nothing_open(state, torch.tensor([4])).tolist() == [True]
    assert nothing_open(state, torch.tensor([5])).tolist() == [False]


@pytest.mark.parametrize(
    ("policy", "began_closed", "closed", "edits", "post", "step", "done"),
    [
        ("threshold", False, False, False, 0, 0, False),
        ("threshold", False, True, False, 0, 0, True),
        ("threshold", False, False, False, 0, 9, True),  # the budget's last step
        ("joint", False, True, False, 0, 0, False),  # decided in this very step: look once more
        ("joint", True, True, False, 1, 0, True),
        ("joint", True, True, True, 1, 0, False),
        ("joint", True, True, True, 2, 0, True),  # the post steps are used up
        ("joint", True, False, True, 2, 0, False),  # an edit took the EOS away
        ("joint", False, True, True, 0, 9, True),
    ],
)
def test_done(
    policy: str, began_closed: bool, closed: bool, edits: bool, post: int, step: int, done: bool
) -> None:
    at = begin(policy=policy, max_steps=10, max_post_steps=2)
    before = replace(at.state, step_B=torch.tensor([step]), closed_B=torch.tensor([began_closed]))
    after = replace(before, closed_B=torch.tensor([closed]), post_B=torch.tensor([post]))
    edit_BS = torch.zeros(1, BLOCK, dtype=torch.bool)
    edit_BS[0, 3] = edits
    assert is_done(before, after, edit_BS, at.plan).tolist() == [done]


def test_joint_without_post_steps_is_done_once_nothing_is_open() -> None:
    at = begin(policy="joint", max_post_steps=0, max_steps=10)
    after = replace(at.state, closed_B=torch.tensor([True]))
    edit_BS = torch.ones(1, BLOCK, dtype=torch.bool)
    assert is_done(at.state, after, edit_BS, at.plan).tolist() == [True]
