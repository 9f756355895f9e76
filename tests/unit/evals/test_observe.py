"""Entropy curves and confidences, reduced from traces made by hand and from those of the reference."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlmrt import LLM
from dlmrt.evals.observe import NotFiniteError, StepLog, aligned, observe
from dlmrt.evals.record import StepEntropy
from dlmrt.rows import StepRecord

NAN = float("nan")


def step(number: int, start: int = 0, row: int = 0, **columns: list[Any]) -> StepRecord:
    """A record of a four-token block; what isn't given is plain."""
    values = {
        "canvas": [1] * 4, "open": [True] * 4, "fixed": [False] * 4, "token": [7] * 4,
        "confidence": [0.5] * 4, "entropy": [1.0] * 4, "accept": [False] * 4,
        "canvas_after": [1] * 4, "open_after": [True] * 4, **columns,
    }  # fmt: skip
    arrays = {f"{name}_S": np.array(value) for name, value in values.items()}
    empty = np.zeros((4, 0))
    return StepRecord(
        row=row, block=start // 4, step=number, start=start, residual_ids_SR=empty,
        residual_probs_SR=empty, **arrays,
    )  # fmt: skip


def test_a_mid_block_eos_ends_what_counts() -> None:
    """Block of 4 with one prompt token; ids at 1 and 2, the EOS would be at 3, then a second block."""
    first = step(
        0,
        open=[False, True, True, True],
        fixed=[True, False, False, False],
        entropy=[9.0, 0.5, 1.5, 2.0],
        confidence=[0.1, 0.9, 0.4, 0.3],
        accept=[False, True, False, False],
        open_after=[False, False, True, True],
    )
    second = step(
        1,
        open=[False, False, True, True],
        fixed=[True, False, False, False],
        entropy=[9.0, 9.0, 0.25, 0.125],
        confidence=[0.1, 0.2, 0.75, 0.95],
        accept=[False, False, True, True],
        open_after=[False] * 4,
    )
    found = observe([first, second], 1, [7, 7], ended_by_eos=True)
    assert found.entropy == (StepEntropy(0, 1, 3, 4.0), StepEntropy(1, 1, 2, 0.375))
    assert found.confidence == (0.9, 0.75)
    without_eos = observe([first, second], 1, [7, 7], ended_by_eos=False)
    assert without_eos.entropy == (StepEntropy(0, 1, 2, 2.0), StepEntropy(1, 1, 1, 0.25))


def test_blocks_add_up_by_step_index_and_what_lies_behind_the_answer_is_left_out() -> None:
    whole = step(0, accept=[True] * 4, open_after=[False] * 4)
    behind = step(0, start=4, accept=[True] * 4, open_after=[False] * 4, entropy=[3.0, 5.0, NAN, NAN])
    found = observe([whole, behind], 0, [7] * 5, ended_by_eos=False)
    assert found.entropy == (StepEntropy(0, 2, 5, 7.0),)
    assert found.confidence == (0.5,) * 5


def test_a_token_that_was_opened_again_or_edited_has_its_last_confidence() -> None:
    opened_again = [
        step(0, accept=[True, True, False, False], open_after=[False, False, True, True],
             confidence=[0.9, 0.8, 0.1, 0.1]),
        step(1, open=[False, False, True, True], accept=[True, False, True, False],
             open_after=[False, True, False, True], confidence=[0.6, 0.5, 0.7, 0.2]),
    ]  # fmt: skip
    found = observe(opened_again, 0, [7] * 4, ended_by_eos=False)
    assert found.confidence == (0.6, None, 0.7, None)
    edited = step(
        2, open=[False] * 4, open_after=[False] * 4, canvas=[1, 2, 3, 4], canvas_after=[1, 2, 9, 4],
        confidence=[0.99, 0.99, 0.97, 0.99],
    )  # fmt: skip
    found = observe([*opened_again, edited], 0, [7] * 4, ended_by_eos=False)
    assert found.confidence == (0.6, None, 0.97, None)
    assert 2 not in [each.step for each in found.entropy]  # nothing was open any more


@pytest.mark.parametrize("column", ["entropy", "confidence"])
def test_broken_numbers_are_not_hidden(column: str) -> None:
    broken = step(0, accept=[True] * 4, open_after=[False] * 4, **{column: [0.1, NAN, 0.1, 0.1]})
    with pytest.raises(NotFiniteError):
        observe([broken], 0, [7] * 4, ended_by_eos=False)


def test_alignment_is_by_matching_blocks() -> None:
    assert aligned([1, 2, 3, 4], [1, 9, 3, 4, 4]) == (True, False, True, True, False)
    assert aligned([], [1]) == (False,)
    assert aligned([1], []) == ()
    frequent = [5] * 300  # difflib's shortcut for long sequences would call it junk
    assert all(aligned(frequent, frequent))


def test_records_do_not_change_after_the_hook_returned(folder: Path) -> None:
    """The log keeps references, so a backend must not write into a record's arrays later."""
    copies = []
    log = StepLog()

    def listen(record: StepRecord) -> None:
        log(record)
        copies.append(copy.deepcopy(record))

    for policy in ("threshold", "entropy_bound", "joint"):
        LLM.load(str(folder), backend="numpy").generate("the ab", on_step=listen, policy=policy)
    kept = log.of_row(0)
    assert len(kept) == len(copies) > 6
    for mine, then in zip(kept, copies, strict=True):
        for name, value in vars(then).items():
            assert np.array_equal(np.asarray(getattr(mine, name)), np.asarray(value)), name


@pytest.mark.parametrize("policy", ["threshold", "prefix", "entropy_bound"])
def test_every_emitted_token_has_the_confidence_of_its_step(folder: Path, policy: str) -> None:
    log = StepLog()
    result = LLM.load(str(folder), backend="numpy").generate(
        "the ab", on_step=log, policy=policy, max_new_tokens=20
    )
    steps = log.of_row(0)
    found = observe(steps, result.prompt_tokens, result.ids, ended_by_eos=result.ended_by_eos)
    assert len(found.confidence) == len(result.ids) > 0
    assert None not in found.confidence
    for at, (token, value) in enumerate(zip(result.ids, found.confidence, strict=True)):
        position = result.prompt_tokens + at
        said = [
            round(float(s.confidence_S[position - s.start]), 6)
            for s in steps
            if s.start <= position < s.start + 8
            and s.accept_S[position - s.start]
            and s.token_S[position - s.start] == token
        ]
        assert value == said[-1]
    assert found.entropy[0].step == 0
    assert found.entropy[0].blocks == len(result.steps_per_block)
    assert found.entropy[0].positions == len(result.ids) + result.ended_by_eos
