"""Policies on cases worked by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dlmrt.config import POLICIES, DecoderConfig
from dlmrt.reference.policy import Decision, decide
from dlmrt.reference.sampling import Proposal


def run(
    decoder: DecoderConfig,
    *,
    confidence: Sequence[float] = (0.5, 0.5, 0.5, 0.5, 0.5, 0.5),
    entropy: Sequence[float] = (0, 0, 0, 0, 0, 0),
    token: Sequence[int] = (9, 9, 9, 9, 9, 9),
    canvas: Sequence[int] = (9, 9, 9, 9, 9, 9),
    is_open: str = "oooooo",
    last: bool = False,
) -> Decision:
    """``is_open``: a letter a position: o(pen), d(ecided) or f(ixed)."""
    proposal = Proposal(np.array(token), np.float32(confidence), np.float32(entropy))
    kinds = np.array(list(is_open))
    return decide(decoder, proposal, np.array(canvas), kinds == "o", kinds == "f", last)


def where(mask: np.ndarray) -> list[int]:
    return np.flatnonzero(mask).tolist()


def test_threshold_accepts_the_confident_ones() -> None:
    decision = run(DecoderConfig(threshold=0.7), confidence=(0.9, 0.69, 0.7, 0.8, 1.0, 0.1), is_open="ooodfo")
    assert where(decision.accept_S) == [0, 2]
    assert where(decision.candidate_S) == [0, 1, 2, 5]


def test_threshold_accepts_the_best_when_none_is_confident_and_the_lower_of_two() -> None:
    decision = run(DecoderConfig(threshold=0.7), confidence=(0.1, 0.6, 0.2, 0.6, 0.9, 0.3), is_open="ooooff")
    assert where(decision.accept_S) == [1]


def test_threshold_compares_in_float32() -> None:
    tenth = float(np.float32(0.1))  # a little more than 0.1
    decision = run(DecoderConfig(threshold=0.1), confidence=(tenth, 0.9, tenth, 0.05, 0.0, 0.0))
    assert where(decision.accept_S) == [0, 1, 2]
    nine = np.nextafter(np.float32(0.9), np.float32(0))
    decision = run(DecoderConfig(threshold=0.9), confidence=(0.95, nine, 0.9, 0, 0, 0))
    assert where(decision.accept_S) == [0, 2]


@pytest.mark.parametrize(("per_step", "accepted"), [(1, [3]), (2, [1, 3]), (3, [1, 2, 3]), (9, [0, 1, 2, 3])])
def test_fixed_accepts_so_many_and_lower_positions_first(per_step: int, accepted: list[int]) -> None:
    confidence = (0.1, 0.6, 0.6, 0.7, 0.9, 0.9)
    decision = run(DecoderConfig(policy="fixed", per_step=per_step), confidence=confidence, is_open="oooodf")
    assert where(decision.accept_S) == accepted


def test_entropy_bound_sums_what_lies_before_a_position() -> None:
    # In order: 0.25 (before: 0), 0.5 (0.25), 0.5 (0.75), 1 (1.25), 2 (2.25).
    entropy = (2.0, 0.5, 0.25, 1.0, 0.5, 0.0)
    for bound, accepted in [
        (0, [2]),
        (0.25, [1, 2]),
        (0.74, [1, 2]),
        (0.75, [1, 2, 4]),
        (2.25, [0, 1, 2, 3, 4]),
    ]:
        decoder = DecoderConfig(policy="entropy_bound", entropy_bound=bound)
        assert where(run(decoder, entropy=entropy, is_open="ooooof").accept_S) == accepted


def test_entropy_bound_judges_decided_positions_again() -> None:
    decoder = DecoderConfig(policy="entropy_bound", entropy_bound=0.25)
    decision = run(decoder, entropy=(0.4, 0.3, 0.2, 0.1, 0.0, 0.0), is_open="odoodf")
    assert where(decision.accept_S) == [2, 3, 4]  # before position 1: 0 + 0.1 + 0.2
    assert where(decision.candidate_S) == [0, 1, 2, 3, 4]


def test_joint_rewrites_decided_positions_only() -> None:
    decoder = DecoderConfig(policy="joint", threshold=0.9, edit_threshold=0.6)
    decision = run(
        decoder,
        confidence=(0.95, 0.6, 0.59, 0.99, 0.99, 0.7),
        token=(8, 8, 8, 9, 8, 8),
        is_open="odddfo",
    )
    assert where(decision.accept_S) == [0]
    assert where(decision.edit_S) == [1]


def test_prefix_accepts_from_the_first_open_position_while_it_is_confident() -> None:
    decoder = DecoderConfig(policy="prefix", threshold=0.7)
    decision = run(decoder, confidence=(0.9, 0.1, 0.7, 0.9, 0.2, 0.9), is_open="fooooo")
    assert where(decision.accept_S) == [1, 2, 3]  # the first whatever its confidence
    decision = run(decoder, confidence=(0.9, 0.1, 0.6, 0.9, 0.9, 0.9), is_open="fooooo")
    assert where(decision.accept_S) == [1]
    decision = run(decoder, confidence=(0.9,) * 6, is_open="fddddf")
    assert where(decision.accept_S) == []


def test_joint_with_nothing_open_accepts_nothing() -> None:
    decision = run(DecoderConfig(policy="joint"), confidence=(0.95,) * 6, is_open="dddddf")
    assert where(decision.accept_S) == []


@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "joint"])
def test_other_policies_never_edit(policy: str) -> None:
    decision = run(DecoderConfig(policy=policy), confidence=(0.95,) * 6, token=(8,) * 6, is_open="dddooo")
    assert where(decision.edit_S) == []


@pytest.mark.parametrize("policy", POLICIES)
def test_the_last_step_leaves_nothing_open(policy: str) -> None:
    decoder = DecoderConfig(policy=policy)
    decision = run(decoder, confidence=(0.1,) * 6, entropy=(3.0,) * 6, is_open="odoodf", last=True)
    assert where(decision.accept_S) == ([0, 1, 2, 3, 4] if policy == "entropy_bound" else [0, 2, 3])
    assert where(decision.candidate_S & ~decision.accept_S) == []
