"""Every kind of contradiction is refused, with the place of the value and what it should be."""

from __future__ import annotations

from typing import Any

import pytest

from dlmrt.config import from_mapping, to_mapping
from dlmrt.errors import DataError
from dlmrt.results.check import check_result
from dlmrt.results.schema import ResultFile
from dlmrt.results.summarise import share_of
from tests.unit.results.support import bench_result, eval_result, plain, put

Case = tuple[str, Any, str]

EVAL: list[Case] = [
    ("kind", "bench", "speeds is empty"),
    ("cells", [], "cells is empty"),
    ("hardware", " ", "hardware is empty"),
    ("models", {}, "models is empty"),
    ("run.who", "", "run.who is empty"),
    ("run.command", "", "run.command is empty"),
    ("run.commit", "main", "run.commit is 'main'"),
    ("run.seconds", -1.0, "run.seconds is -1.0"),
    ("run.started", "yesterday", "run.started is 'yesterday'"),
    ("run.started", "2026-11-30T22:21:00", "run.started is"),
    ("run.started", "20261130T222100+00:00", "run.started is"),
    ("models.first-light.name", "/home/me/model", "models.first-light.name is '/home/me/model'"),
    ("models.first-light.name", "a/../../b", "models.first-light.name"),
    ("models.first-light.parameters", 0, "models.first-light.parameters is 0"),
    (
        "models.first-light.weights_sha256",
        {"model.safetensors": "AB"},
        "weights_sha256.model.safetensors is 'AB'",
    ),
    ("data.repair.file", "data/test.jsonl", "data.repair.file is 'data/test.jsonl'"),
    ("data.repair.sha256", "", "data.repair.sha256 is ''"),
    ("data.repair.items", -1, "data.repair.items is -1"),
    ("cells.2.accuracy.hits", 9, "cells[2].accuracy.hits is 9 of 5"),
    ("cells.2.accuracy.hits", -1, "cells[2].accuracy.hits is -1 of 5"),
    ("cells.0.accuracy.share", 0.61, "cells[0].accuracy.share is 0.61; 3 of 5 is 0.6"),
    ("cells.0.accuracy.share", None, "cells[0].accuracy.share is None"),
    ("cells.0.accuracy.interval_95", None, "cells[0].accuracy.interval_95 is null"),
    (
        "cells.0.accuracy.interval_95",
        [-0.1, 0.9],
        "cells[0].accuracy.interval_95 is [-0.1, 0.9]; it must lie inside [0, 1]",
    ),
    ("cells.0.accuracy.interval_95", [0.5, 0.8], "cells[0].accuracy.interval_95 is [0.5, 0.8]; Wilson's"),
    ("cells.0.accuracy.interval_95", [0.7, 0.8], "does not hold 0.6"),
    ("cells.0.items", 6, "cells[0].accuracy.total is 5; items is 6"),
    ("cells.0.items", 0, "cells[0].items is 0"),
    ("cells.0.model", "other", "cells[0].model is 'other', which is not in models (first-light)"),
    ("cells.0.task", "other", "cells[0].task is 'other', which is not in data (repair)"),
    ("cells.0.arm", "", "cells[0].arm is empty"),
    ("cells.0.failed", {"timeout": 3}, "cells[0].accuracy.hits is 3, but only 2 items were answered"),
    ("cells.0.failed", {"timeout": 6}, "cells[0].failed adds up to 6 of 5"),
    ("cells.0.failed", {"timeout": 0}, "cells[0].failed.timeout is 0"),
    ("cells.0.finish", {"stop": 4, "length": 2}, "cells[0].finish adds up to 6; 5 items were answered"),
    ("cells.0.tokens_per_second", 1550.0, "cells[0].tokens_per_second is 1550.0; tokens, model_seconds"),
    ("cells.0.seconds_to_correct", 0.01, "cells[0].seconds_to_correct is 0.01; tokens, model_seconds"),
    ("cells.0.quality.errors_gone.hits", 5, "cells[0].quality.errors_gone.share is 0.6"),
    ("cells.0.quality.errors_gone.hits", "3", "cells[0].quality.errors_gone: hits is '3' (str)"),
    ("cells.0.quality.errors_gone.interval_95", [0.1], "cells[0].quality.errors_gone: interval_95"),
    ("cells.1.arm", "diffusion", "cells[1] is of diffusion, repair, 0 like one before it"),
    ("cells.1.arm", "other", "comparisons[0].first is 'ar' on 'repair', of which there is no cell"),
    ("cells.0.tokens", -1, "cells[0].tokens is -1"),
    ("cells.0.decided_tokens", 30, "cells[0].decided_tokens is 30"),
    ("cells.0.decided_tokens", 37, "cells[0].decided_tokens is 37"),
    ("cells.0.forwards.commit", -1, "cells[0].forwards.commit is -1"),
    ("cells.0.forwards.denoise", 17, "cells[0].tokens_per_forward.ratio_of_sums is"),
    ("cells.0.tokens_per_forward.mean_of_ratios", -1.0, "cells[0].tokens_per_forward.mean_of_ratios is -1.0"),
    ("cells.0.tokens_per_forward.mean_of_ratios", 1.0, "the mean of per_answer is"),
    ("cells.0.tokens_per_forward.ratio_of_sums", 0.5, "the cell's decided_tokens and forwards give"),
    ("cells.0.tokens_per_forward.ratio_of_sums_without_commits", 0.5, "leaving forwards out can't lower it"),
    ("cells.0.tokens_per_forward.per_answer.count", 0, "per_answer.count is 0"),
    ("cells.0.tokens_per_second", -3.0, "cells[0].tokens_per_second is -3.0"),
    ("cells.0.seconds.count", 6, "cells[0].seconds.count is 6; there are only 5"),
    ("cells.0.seconds.minimum", -0.5, "cells[0].seconds.minimum is -0.5"),
    ("cells.0.seconds.median", 0.6, "cells[0].seconds.median is 0.6, more than p75"),
    ("cells.0.seconds.mean", 0.6, "cells[0].seconds.mean is 0.6, outside"),
    ("cells.0.repeated_8grams", 1.5, "cells[0].repeated_8grams is 1.5"),
    ("cells.0.model_seconds", -1.0, "cells[0].model_seconds is -1.0"),
    ("cells.0.entropy_per_step.1.step", 0, "cells[0].entropy_per_step has the steps [0, 0]"),
    ("cells.0.entropy_per_step.1.blocks", 0, "cells[0].entropy_per_step[1].blocks is 0"),
    ("cells.0.entropy_per_step.1.mean_entropy", -0.1, "cells[0].entropy_per_step[1].mean_entropy is -0.1"),
    ("cells.0.calibration.tokens", 5, "cells[0].calibration.tokens is 5; the bins hold 4"),
    (
        "cells.0.calibration.expected_calibration_error",
        0.5,
        "expected_calibration_error is 0.5; the bins give",
    ),
    ("cells.0.calibration.expected_calibration_error", None, "expected_calibration_error is None"),
    ("cells.0.calibration.bins", [], "cells[0].calibration.bins is empty"),
    ("cells.0.calibration.bins.3.low", 0.35, "cells[0].calibration.bins[3].low is 0.35"),
    ("cells.0.calibration.bins.9.high", 0.99, "cells[0].calibration.bins end at 0.99"),
    ("cells.0.calibration.bins.9.correct", 1.2, "cells[0].calibration.bins[9].correct is 1.2"),
    (
        "cells.0.calibration.bins.9.correct",
        None,
        "cells[0].calibration.bins[9].correct is None with 3 tokens",
    ),
    ("cells.0.calibration.bins.9.mean_confidence", 0.5, "bins[9].mean_confidence is 0.5"),
    ("curves.0.task", "other", "curves[0].task is 'other'"),
    ("curves.0.points.1.accuracy", 58.0, "curves[0].points[1].accuracy is 58.0"),
    ("curves.0.points.1.tokens_per_forward", -2.0, "curves[0].points[1].tokens_per_forward is -2.0"),
    ("curves.0.y_max", 60.0, "curves[0].y_max is 60.0"),
    ("curves.0.alpha", -1.0, "curves[0].alpha is -1.0"),
    ("curves.0.area", 500.0, "curves[0].area is 500.0; the formula gives"),
    ("curves.0.formula", "", "curves[0].formula is empty"),
    ("comparisons.0.task", "other", "comparisons[0].task is 'other'"),
    ("comparisons.0.second", "ar", "comparisons[0].second is 'ar', the same arm"),
    ("comparisons.0.items", 6, "comparisons[0].items is 6; the four counts add up to 5"),
    ("comparisons.0.both", -1, "comparisons[0].both is -1"),
    ("comparisons.0.p_value", 0.01, "comparisons[0].p_value is 0.01; the counts give 0.5"),
    ("comparisons.0.difference", -0.4, "comparisons[0].difference is -0.4; the counts give 0.4"),
    (
        "comparisons.0.difference_95",
        [0.3, 0.5],
        "comparisons[0].difference_95 is [0.3, 0.5]; the counts give",
    ),
    ("comparisons.0.difference_95", [-2.0, 0.5], "it must lie inside [-1, 1]"),
    ("comparisons.0.items_needed", 3, "comparisons[0].items_needed is 3"),
    ("seeds.0.task", "other", "seeds[0].task is 'other'"),
    ("seeds.0.seeds", [], "seeds[0].seeds is []"),
    ("seeds.0.seeds", [1, 1], "seeds[0].seeds is [1, 1]"),
    ("seeds.0.seeds", [0], "seeds[0].accuracy_95 is given for one seed"),
    ("seeds.0.accuracy_mean", 60.0, "seeds[0].accuracy_mean is 60.0"),
    ("seeds.0.accuracy_mean", 0.7, "does not hold 0.7"),
    ("seeds.0.tokens_per_forward_mean", None, "seeds[0].tokens_per_forward_mean is null beside its interval"),
]

BENCH: list[Case] = [
    ("kind", "eval", "cells is empty"),
    ("speeds.0.model", "other", "speeds[0].model is 'other'"),
    ("speeds.0.suite", "other", "speeds[0].suite is 'other'"),
    ("speeds.0.batch_size", 0, "speeds[0].batch_size is 0"),
    ("speeds.0.repeats", 0, "speeds[0].repeats is 0"),
    ("speeds.0.warmups", -1, "speeds[0].warmups is -1"),
    ("speeds.0.max_new_tokens", 0, "speeds[0].max_new_tokens is 0"),
    ("speeds.0.prompts", [], "speeds[0].prompts is empty"),
    ("speeds.0.prompts.2.prompt", "chat-1", "speeds[0].prompts[1].prompt is 'chat-1', which stands twice"),
    ("speeds.0.prompts.1.total_ms", 50.0, "speeds[0].prompts[1].total_ms_spread is [39.0, 44.0]"),
    ("speeds.0.prompts.1.total_ms_spread", [44.0, 39.0], "speeds[0].prompts[1].total_ms_spread"),
    ("speeds.0.prompts.1.tokens", -1, "speeds[0].prompts[1].tokens is -1"),
    ("speeds.0.prompts.1.tokens_per_second", -1.0, "speeds[0].prompts[1].tokens_per_second is -1.0"),
    ("speeds.0.percent_of_floor", 0.0, "speeds[0].percent_of_floor is 0.0; it must be > 0"),
    ("speeds.0.percent_of_floor", 90.0, "speeds[0].percent_of_floor is 90.0; floor and median give 40"),
    ("speeds.0.floor", None, "speeds[0].percent_of_floor is 40.0 without a floor"),
    ("speeds.0.floor.ms", 0.8, "speeds[0].floor.ms is 0.8"),
    ("speeds.0.floor.memory_ms", 0.5, "speeds[0].floor.memory_ms is 0.5"),
    ("speeds.0.floor.arithmetic_ms", 0.5, "speeds[0].floor.arithmetic_ms is 0.5"),
    ("speeds.0.floor.bandwidth_bytes_per_second", 0.0, "bandwidth_bytes_per_second is 0.0"),
    ("speeds.0.floor.kv_bytes", -1, "speeds[0].floor.kv_bytes is -1"),
    ("speeds.0.phases.denoise", -0.1, "speeds[0].phases.denoise is -0.1"),
    ("speeds.0.phases.denoise", 0.1, "speeds[0].phases.total is 0.04 s; its parts add up to 0.11 s"),
    ("speeds.0.peak_memory_bytes", -1, "speeds[0].peak_memory_bytes is -1"),
    ("speeds.0.ms_per_forward.p90", 9.0, "speeds[0].ms_per_forward.p90 is 9.0, more than maximum"),
    ("claims.0.tokens_per_second", 0.0, "claims[0].tokens_per_second is 0.0"),
    ("claims.0.measure", "peak", "claims[0].measure is 'peak'; it must be one of decode, end_to_end"),
    ("claims.0.arm", "ar", "claims[0].arm is 'ar' on suite 'chat' at batch 1, length 32, of which"),
    ("claims.0.batch_size", 4, "claims[0].arm is 'diffusion' on suite 'chat' at batch 4, length 32"),
    ("claims.0.measured.mean", 900.5, "claims[0].measured.mean is 900.5; the prompts give 901.0"),
    ("claims.0.met", to_mapping(share_of(3, 3)), "claims[0].met is 3 of 3; the prompts give 2 of 3"),
    ("speeds.0.forwards.denoise", 72, "speeds[0].forwards.denoise is 72; the prompts add up to 36"),
    ("speeds.0.total_ms.mean", 39.5, "speeds[0].total_ms.mean is 39.5"),
    ("models.first-light.weights_sha256", {}, "models.first-light.weights_sha256 is empty"),
    ("environment", {}, "environment is empty"),
    ("speeds.0.prompts.0.tokens_per_second", 805.0, "speeds[0].tokens_per_second.mean is 801.0; the prompts"),
    ("claims.0.measured.count", 4, "claims[0].measured.count is 4; met.total is 3"),
    ("claims.0.met.hits", 4, "claims[0].met.hits is 4 of 3"),
    ("claims.0.verdict", "", "claims[0].verdict is empty"),
]  # fmt: skip


def test_the_examples_are_sound() -> None:
    check_result(eval_result())
    check_result(bench_result())
    for result in (eval_result(), bench_result()):
        assert from_mapping(ResultFile, plain(result)) == result


def refusal(data: dict[str, Any]) -> str:
    with pytest.raises(DataError) as error:
        check_result(from_mapping(ResultFile, data))
    return str(error.value)


@pytest.mark.parametrize(("path", "value", "said"), EVAL)
def test_a_contradiction_in_an_evaluation_is_named(path: str, value: Any, said: str) -> None:
    data = plain(eval_result())
    put(data, path, value)
    assert said in refusal(data)


@pytest.mark.parametrize(("path", "value", "said"), BENCH)
def test_a_contradiction_in_a_benchmark_is_named(path: str, value: Any, said: str) -> None:
    data = plain(bench_result())
    put(data, path, value)
    assert said in refusal(data)


@pytest.mark.parametrize(
    ("name", "said"),
    [("speeds", "speeds is filled"), ("claims", "claims is filled")],
)
def test_an_evaluation_holds_no_speeds(name: str, said: str) -> None:
    data = plain(eval_result())
    data[name] = plain(bench_result())[name]
    assert f"{said}; a result of kind 'eval' leaves it empty" in refusal(data)


@pytest.mark.parametrize("name", ["cells", "curves", "comparisons", "seeds"])
def test_a_benchmark_holds_no_cells(name: str) -> None:
    data = plain(bench_result())
    data[name] = plain(eval_result())[name]
    assert f"{name} is filled" in refusal(data)


def test_a_mean_over_seeds_that_its_cells_do_not_give() -> None:
    data = plain(eval_result())
    put(data, "seeds.0.accuracy_mean", 0.5)
    put(data, "seeds.0.accuracy_95", [0.4, 0.7])
    assert "seeds[0].accuracy_mean is 0.5; the cells give 0.6" in refusal(data)


def test_no_items_have_no_share() -> None:
    data = plain(bench_result())
    put(data, "claims.0.met", {"hits": 0, "total": 0, "share": 0.0, "interval_95": None})
    assert "claims[0].met.share is 0.0 of no items" in refusal(data)
    put(data, "claims.0.met", {"hits": 0, "total": 0, "share": None, "interval_95": None})
    assert "claims[0].met.total is 0" in refusal(data)


def test_without_a_correct_answer_there_is_no_time_to_one() -> None:
    data = plain(eval_result(seeds=(), comparisons=()))
    zero = {"hits": 0, "total": 5, "share": 0.0, "interval_95": [0.0, 0.43448246]}
    put(data, "cells.0.accuracy", zero)
    assert "cells[0].seconds_to_correct is" in refusal(data)
    put(data, "cells.0.seconds_to_correct", None)
    assert "cells[0].median_seconds_of_correct is 0.5 without a correct answer" in refusal(data)
    put(data, "cells.0.median_seconds_of_correct", None)
    check_result(from_mapping(ResultFile, data))


def test_what_was_not_measured_is_null() -> None:
    data = plain(eval_result())
    for name in ("tokens_per_forward", "tokens_per_second", "seconds", "calibration", "seconds_to_correct"):
        put(data, f"cells.0.{name}", None)
    check_result(from_mapping(ResultFile, data))
    data = plain(bench_result())
    for name in ("forwards", "floor", "percent_of_floor", "phases", "ms_per_forward", "peak_memory_bytes"):
        put(data, f"speeds.0.{name}", None)
    check_result(from_mapping(ResultFile, data))


def test_rounding_on_the_way_through_a_file_is_no_contradiction() -> None:
    data = plain(eval_result())
    put(data, "cells.0.accuracy.share", 0.6000000001)
    check_result(from_mapping(ResultFile, data))
