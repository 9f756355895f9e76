"""From records to cells, curves, comparisons and seeds, against numbers worked out by hand."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from dlmrt.errors import RequestError
from dlmrt.evals.aggregate import make_cell, reason_kind
from dlmrt.evals.compare import compare, margins, seed_summaries, smallest_difference
from dlmrt.evals.plan import Lane, prepare
from dlmrt.evals.record import ItemRecord, Observation, StepEntropy
from dlmrt.evals.sweep import Sweep, SweptArm, curves, expand, parse_sweep
from dlmrt.results.schema import BackendFacts, EvalCell
from tests.unit.evals.harness_support import make_plan, make_task

BACKEND = BackendFacts("numpy", "a test", "cpu", "float32")
TASK = make_task([("a", "a"), ("b", "b"), ("c", "c"), ("d", "d")])
pytestmark = pytest.mark.usefixtures("quick_report")


@pytest.fixture
def lane(folder: Path) -> Lane:
    return prepare(make_plan(folder, tasks=[TASK])).lanes[0]


def record(item: int, **changes: Any) -> ItemRecord:
    values = {
        "correct": False, "text": "t", "ids": (1,) * 4, "prompt_tokens": 8, "decided_tokens": 5, "prefill": 1,
        "denoise": 2, "commit": 0, "seconds": 1.0, "first_block": 0.5, "machine_seconds": 1.0,
        "finish": "stop", **changes,
    }  # fmt: skip
    return ItemRecord("diffusion", "words", 0, f"i{item}", **values)


def failure(item: int, error: str = "the text is 99 tokens and 40 fit; shorten it") -> ItemRecord:
    return ItemRecord("diffusion", "words", 0, f"i{item}", correct=False, error=error)


def cell_of(lane: Lane, *records: ItemRecord) -> EvalCell:
    return make_cell(
        lane, TASK, records, model="tiny", backend=BACKEND, batch_size=1, observed=True
    )  # fmt: skip


def test_counts_rates_and_times(lane: Lane) -> None:
    cell = cell_of(
        lane,
        record(0, correct=True, seconds=2.0, machine_seconds=1.0),
        record(1, correct=True, seconds=4.0, machine_seconds=1.0, ids=(1,) * 20, decided_tokens=20, denoise=8,
               commit=2, finish="length"),
        record(2, seconds=1.0, machine_seconds=2.0),
        failure(3),
    )  # fmt: skip
    assert (cell.accuracy.hits, cell.accuracy.total) == (2, 4)
    assert cell.failed == {"the text is N tokens and N fit": 1}
    assert cell.finish == {"stop": 2, "length": 1}
    assert (cell.tokens, cell.decided_tokens) == (28, 30)
    rate = cell.tokens_per_forward
    assert rate is not None
    assert rate.ratio_of_sums == 30 / 14
    assert rate.ratio_of_sums_without_commits == 30 / 12
    assert rate.mean_of_ratios == pytest.approx((5 / 2 + 2.0 + 5 / 2) / 3)
    assert cell.model_seconds == 4.0
    assert cell.tokens_per_second == 7.0
    assert cell.seconds_to_correct == 2.0
    assert cell.median_seconds_of_correct == 3.0
    assert cell.seconds is not None
    assert cell.seconds.median == 2.0
    assert cell.repeated_8grams == 12 / 13


def test_nothing_correct_and_nothing_decoded(lane: Lane) -> None:
    wrong = cell_of(lane, *(record(i) for i in range(4)))
    assert (wrong.seconds_to_correct, wrong.median_seconds_of_correct) == (None, None)
    assert wrong.repeated_8grams is None  # four tokens hold no 8-gram
    none = cell_of(lane, *(failure(i, "it is 3; x" if i % 2 else "other") for i in range(4)))
    assert none.accuracy.share == 0
    assert none.failed == {"it is N": 2, "other": 2}
    assert none.tokens_per_forward is none.tokens_per_second is none.seconds is none.calibration is None


def test_reasons_of_one_kind_are_one() -> None:
    assert reason_kind("the prompt is 12 tokens; shorten") == reason_kind("the prompt is 7 tokens; shorten")


def test_the_entropy_curve_weighs_positions_alike(lane: Lane) -> None:
    first = Observation((StepEntropy(0, 1, 4, 8.0), StepEntropy(1, 1, 1, 0.5)), ())
    second = Observation((StepEntropy(0, 2, 6, 2.0),), ())
    cell = cell_of(lane, record(0, observation=first), record(1, observation=second), record(2), failure(3))
    assert [(e.step, e.blocks, e.mean_entropy) for e in cell.entropy_per_step] == [(0, 3, 1.0), (1, 1, 0.5)]


def test_calibration_by_reference_and_by_verdict(lane: Lane) -> None:
    aligned = Observation((), (0.95, 0.85, None), (True, False, True))
    other = Observation((), (0.95,), (True,))
    cell = cell_of(lane, record(0, observation=aligned), record(1, observation=other), failure(2), failure(3))
    assert cell.calibration is not None
    assert cell.calibration.basis == "reference"
    assert cell.calibration.tokens == 3
    assert [(b.count, b.correct) for b in cell.calibration.bins[-2:]] == [(1, 0.0), (2, 1.0)]
    error = (1 * 0.85 + 2 * 0.05) / 3
    assert cell.calibration.expected_calibration_error == pytest.approx(error)
    unaligned = Observation((), (0.75, 0.65))
    cell = cell_of(lane, record(0, observation=aligned), record(1, correct=True, observation=unaligned),
                   failure(2), failure(3))  # fmt: skip
    assert cell.calibration is not None
    assert cell.calibration.basis == "verified"
    assert [(b.count, b.correct) for b in cell.calibration.bins[6:]] == [(1, 1), (1, 1), (1, 0), (1, 0)]


def test_a_sweep_is_exact_and_inclusive() -> None:
    assert parse_sweep("threshold=0.5:0.95:0.05").values == (
        0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95,
    )  # fmt: skip
    assert parse_sweep("per_step=1:8:3").values == (1, 4, 7)
    assert all(isinstance(value, int) for value in parse_sweep("per_step=1:8:3").values)
    assert parse_sweep("temperature=1:1:1").values == (1.0,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("threshold", "write OPTION=START:STOP:STEP"),
        ("threshold=0.5:0.9", "write OPTION=START:STOP:STEP"),
        ("treshold=0:1:0.1", "did you mean 'threshold'"),
        ("seed=0:3:1", "what can be swept"),
        ("threshold=a:b:c", "must be numbers"),
        ("threshold=0:inf:1", "must be finite"),
        ("threshold=0.5:0.9:0", "a STEP > 0"),
        ("threshold=0.5:0.9:-0.1", "a STEP > 0"),
        ("threshold=0.9:0.5:0.1", "START <= STOP"),
        ("threshold=0:1:0.0001", "10001 values; at most 200"),
        ("per_step=1:2:0.5", "takes whole numbers"),
    ],
)
def test_sweeps_that_are_none(text: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        parse_sweep(text)


def test_a_sweep_makes_an_arm_a_value_of_what_reads_it(folder: Path) -> None:
    sweep = Sweep("threshold", (0.5, 0.9))
    arms, swept = expand(make_plan(folder, ("diffusion", "ar", "b:max_steps=3")).arms, sweep)
    assert [arm.name for arm in arms] == ["diffusion@0.5", "diffusion@0.9", "ar", "b@0.5", "b@0.9"]
    assert arms[1].options == {"method": "diffusion", "threshold": 0.9}
    assert swept[3] == SweptArm("b@0.9", "b", 0.9)
    temperatures, _ = expand(make_plan(folder, ("ar",)).arms, Sweep("temperature", (0.5,)))
    assert [arm.options["temperature"] for arm in temperatures] == [0.5]
    with pytest.raises(RequestError, match="no arm reads it"):
        expand(make_plan(folder, ("ar", "lookup")).arms, sweep)
    with pytest.raises(RequestError, match=r"arm 'a' sets threshold to 0.7 and the sweep varies it"):
        expand(make_plan(folder, ("a:threshold=0.7",)).arms, sweep)


def swept_cell(lane: Lane, arm: str, hits: int, forwards: int) -> EvalCell:
    records = [record(i, correct=i < hits, denoise=forwards) for i in range(4)]
    return dataclasses.replace(cell_of(lane, *records), arm=arm)


def test_the_curve_is_sorted_by_speed_and_its_area_is_quoted(lane: Lane) -> None:
    """Points (1, 1.0), (2.5, 0.75) of 4 items."""
    swept = [SweptArm("d@0.5", "d", 0.5), SweptArm("d@0.9", "d", 0.9), SweptArm("d@1", "d", 1.0)]
    broken = dataclasses.replace(cell_of(lane, *(failure(i) for i in range(4))), arm="d@1")
    cells = [swept_cell(lane, "d@0.5", 3, 2), swept_cell(lane, "d@0.9", 4, 5), broken]
    (curve,) = curves(
        [*cells, swept_cell(lane, "ar", 4, 5)], Sweep("threshold", (0.5, 0.9, 1.0)), swept, None
    )
    assert [(p.value, p.accuracy, p.tokens_per_forward) for p in curve.points] == [
        (0.9, 1, 1),
        (0.5, 0.75, 2.5),
    ]
    assert (curve.arm, curve.task, curve.option, curve.y_max, curve.alpha) == (
        "d",
        "words",
        "threshold",
        1,
        3,
    )
    assert curve.area == pytest.approx(100 * 1 * 1.0)  # the second point lies more than 5 points below
    (curve,) = curves(cells[:2], Sweep("threshold", (0.5, 0.9)), swept, 0.5)
    assert curve.y_max == 0.5
    rival = swept_cell(lane, "ar", 4, 5)  # not swept, and the best of the run
    (curve,) = curves([cells[0], rival], Sweep("threshold", (0.5,)), swept[:1], None)
    assert curve.y_max == 1
    assert curves([broken], Sweep("threshold", (1.0,)), swept[2:], None) == ()


def test_a_paired_comparison_says_what_the_items_can_show() -> None:
    first = [True] * 60 + [False] * 40
    second = [True] * 50 + [False] * 10 + [True] * 25 + [False] * 15
    found = compare("a", "b", "t", (first, second), seeds=(0, 0), margin=0.01)
    assert (found.both, found.only_first, found.only_second, found.neither) == (50, 10, 25, 15)
    assert found.difference == pytest.approx(0.15)
    assert found.p_value == pytest.approx(2 * sum(math.comb(35, k) for k in range(11)) / 2**35)
    assert "Seed 0." in found.note
    assert "Equal accuracy can't be claimed from fewer than 1,000 items." in found.note
    assert "A difference of 1 points needs 27,469 items." in found.note
    least = smallest_difference(100, 0.35)
    assert least is not None
    assert f"show a difference of {100 * least:.1f} points or more" in found.note
    assert 0.15 < least < 0.17  # (1.96 sqrt(0.35) + 0.84 sqrt(0.35 - d^2)) / 10


def test_a_comparison_without_a_difference() -> None:
    same = [True, False] * 600
    found = compare("a", "b", "t", (same, same), seeds=(1, 2), margin=0.01)
    assert found.note == (
        "Seeds 1 and 2. The arms never differ. A difference of 1 points can't be: the arms differ on 0.0%."
    )
    assert found.items_needed is None
    few = compare("a", "b", "t", ([True, False], [False, True]), seeds=(0, 0), margin=None)
    assert "too few for 2 items to show a difference" in few.note


def test_seeds_are_summed_up_for_arms_that_have_several(lane: Lane) -> None:
    cells = [
        dataclasses.replace(swept_cell(lane, "d", hits, 5), seed=seed) for seed, hits in enumerate((1, 2, 3))
    ]
    (summary,) = seed_summaries([*cells, swept_cell(lane, "ar", 4, 5)])
    assert (summary.arm, summary.seeds, summary.accuracy_mean) == ("d", (0, 1, 2), 0.5)
    assert summary.accuracy_95 is not None
    half = 4.302652729911275 * 0.25 / math.sqrt(3)
    assert summary.accuracy_95 == pytest.approx((0.5 - half, 0.5 + half))
    assert summary.tokens_per_forward_mean == 1.0
    assert summary.tokens_per_forward_95 == pytest.approx((1, 1))


def test_margins_of_a_single_accuracy(lane: Lane) -> None:
    found = margins([swept_cell(lane, "d", 2, 5)], 0.01)
    assert found == {"d on words, seed 0": 9600}
