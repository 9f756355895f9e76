"""Refuse a result whose numbers contradict each other: which value, and what it should be.

Types were checked by reading (:func:`dlmrt.config.from_mapping`); here it is about meaning.
"""

from __future__ import annotations

import re
from datetime import datetime

from dlmrt.results.check_parts import (
    at_least,
    check_calibration,
    check_counts,
    check_distribution,
    check_fields,
    check_floor,
    check_forwards,
    check_interval,
    check_phases,
    check_share,
    check_text,
    check_tokens_per_forward,
    close,
    need,
)
from dlmrt.results.recount import (
    bench_key,
    check_unique,
    eval_key,
    recount_bench,
    recount_claim,
    recount_comparison,
    recount_eval,
)
from dlmrt.results.schema import (
    SCHEMA_VERSION,
    BenchCell,
    Claim,
    Curve,
    EvalCell,
    PairedComparison,
    PromptTimes,
    ResultFile,
    SeedSummary,
)
from dlmrt.stats.curve import FORMULA, area_under_points
from dlmrt.stats.paired import Pairs, difference_interval, items_for_difference, mcnemar_exact

# Which lists each kind fills; the first must hold something.
LISTS = {"eval": ("cells", "curves", "comparisons", "seeds"), "bench": ("speeds", "claims")}
CLAIM_MEASURES = ("decode", "end_to_end")


def check_result(result: ResultFile) -> None:
    """Raise DataError, with the place of the first value that can't be, unless the result is sound."""
    need(result.schema == SCHEMA_VERSION, "schema", f"is {result.schema}; it must be {SCHEMA_VERSION}")
    _check_envelope(result)
    mine = LISTS[result.kind]
    need(
        bool(getattr(result, mine[0])),
        mine[0],
        f"is empty; a result of kind '{result.kind}' holds at least one",
    )
    for kind, names in LISTS.items():
        for name in names:
            empty = not getattr(result, name)
            need(
                kind == result.kind or empty,
                name,
                f"is filled; a result of kind '{result.kind}' leaves it empty",
            )
    check_unique(map(eval_key, result.cells), "cells")
    check_unique(map(bench_key, result.speeds), "speeds")
    for i, cell in enumerate(result.cells):
        _check_owner(result, cell.model, cell.task, "task", f"cells[{i}]")
        _check_eval(cell, f"cells[{i}]")
        recount_eval(cell, f"cells[{i}]")
    for i, curve in enumerate(result.curves):
        _check_data(result, curve.task, f"curves[{i}].task")
        _check_curve(curve, f"curves[{i}]")
    for i, comparison in enumerate(result.comparisons):
        _check_data(result, comparison.task, f"comparisons[{i}].task")
        _check_comparison(comparison, f"comparisons[{i}]")
        recount_comparison(comparison, result, f"comparisons[{i}]")
    for i, summary in enumerate(result.seeds):
        _check_data(result, summary.task, f"seeds[{i}].task")
        _check_seeds(summary, result.cells, f"seeds[{i}]")
    for i, speed in enumerate(result.speeds):
        _check_owner(result, speed.model, speed.suite, "suite", f"speeds[{i}]")
        _check_bench(speed, f"speeds[{i}]")
        recount_bench(speed, f"speeds[{i}]")
    for i, claim in enumerate(result.claims):
        _check_claim(claim, f"claims[{i}]")
        recount_claim(claim, result, f"claims[{i}]")


def _check_envelope(result: ResultFile) -> None:
    run = result.run
    for value, at in (
        (result.hardware, "hardware"),
        (run.command, "run.command"),
        (run.version, "run.version"),
        (run.who, "run.who"),
    ):
        check_text(value, at)
    need(
        run.commit is None or re.fullmatch(r"[0-9a-f]{40}\+?", run.commit) is not None,
        "run.commit",
        f"is '{run.commit}'; it must be 40 hexadecimal digits, with + for a changed checkout, or null",
    )
    at_least(run.seconds, 0, "run.seconds")
    try:
        started = datetime.fromisoformat(run.started)
    except ValueError:
        started = None
    need(
        started is not None and started.tzinfo is not None and run.started[:10] == f"{started:%Y-%m-%d}",
        "run.started",
        f"is '{run.started}'; it must be like 2026-01-31T08:30:00+00:00",
    )
    need(bool(result.environment), "environment", "is empty; a result says where it was measured")
    need(bool(result.models), "models", "is empty; what was measured must be named")
    for name, model in result.models.items():
        at = f"models.{name}"
        check_text(model.name, f"{at}.name")
        need(not model.name.startswith(("/", "~", "\\")) and ".." not in model.name.split("/"),
             f"{at}.name", f"is '{model.name}'; it must not hold a path of the machine")  # fmt: skip
        check_fields(model, "parameters block_size", at, 1)
        vouched = bool(model.weights_sha256) or model.random_weights or model.parameters is None
        need(vouched, f"{at}.weights_sha256", "is empty; weights are named by their hashes")
        for file, digest in model.weights_sha256.items():
            _check_sha256(digest, f"{at}.weights_sha256.{file}")
    for name, data in result.data.items():
        at = f"data.{name}"
        check_text(data.file, f"{at}.file")
        need("/" not in data.file and "\\" not in data.file, f"{at}.file", f"is '{data.file}'; it must be a "
             "name without its folder")  # fmt: skip
        _check_sha256(data.sha256, f"{at}.sha256")
        at_least(data.items, 0, f"{at}.items")


def _check_sha256(digest: str, at: str) -> None:
    need(re.fullmatch(r"[0-9a-f]{64}", digest) is not None, at, f"is '{digest}'; it must be a sha256, "
         "64 hexadecimal digits")  # fmt: skip


def _check_owner(result: ResultFile, model: str, data: str, name: str, at: str) -> None:
    known = ", ".join(result.models)
    need(model in result.models, f"{at}.model", f"is '{model}', which is not in models ({known})")
    _check_data(result, data, f"{at}.{name}")


def _check_data(result: ResultFile, name: str, at: str) -> None:
    need(name in result.data, at, f"is '{name}', which is not in data ({', '.join(result.data) or 'empty'})")


def _check_eval(cell: EvalCell, at: str) -> None:
    for name in ("arm", "method"):
        check_text(getattr(cell, name), f"{at}.{name}")
    check_text(cell.backend.name, f"{at}.backend.name")
    check_fields(cell, "batch_size items", at, 1)
    check_counts(cell.failed, f"{at}.failed")
    check_counts(cell.finish, f"{at}.finish")
    failed = sum(cell.failed.values())
    need(failed <= cell.items, f"{at}.failed", f"adds up to {failed} of {cell.items} items")
    answered = cell.items - failed
    check_share(cell.accuracy, f"{at}.accuracy")
    total, hits = cell.accuracy.total, cell.accuracy.hits
    need(total == cell.items, f"{at}.accuracy.total", f"is {total}; items is {cell.items}")
    need(hits <= answered, f"{at}.accuracy.hits", f"is {hits}, but only {answered} items were answered")
    check_fields(cell, "tokens decided_tokens model_seconds tokens_per_second seconds_to_correct", at)
    check_fields(cell, "median_seconds_of_correct repeated_8grams", at)
    need(cell.tokens <= cell.decided_tokens <= cell.tokens + cell.items, f"{at}.decided_tokens",
         f"is {cell.decided_tokens}; it must be tokens ({cell.tokens}) and <= 1 EOS an item")  # fmt: skip
    check_forwards(cell.forwards, f"{at}.forwards")
    check_tokens_per_forward(
        cell.tokens_per_forward, f"{at}.tokens_per_forward", cell.decided_tokens, cell.forwards
    )
    for name in ("tokens_per_second_per_answer", "seconds", "first_block_seconds", "answer_tokens"):
        check_distribution(getattr(cell, name), f"{at}.{name}", count=cell.items)
    if hits == 0:
        for name in ("seconds_to_correct", "median_seconds_of_correct"):
            value = getattr(cell, name)
            need(value is None, f"{at}.{name}", f"is {value} without a correct answer; it must be null")
    if cell.repeated_8grams is not None:
        need(
            cell.repeated_8grams <= 1, f"{at}.repeated_8grams", f"is {cell.repeated_8grams}; a share is <= 1"
        )
    check_calibration(cell.calibration, f"{at}.calibration")
    _check_entropy(cell, f"{at}.entropy_per_step")


def _check_entropy(cell: EvalCell, at: str) -> None:
    steps = [each.step for each in cell.entropy_per_step]
    need(steps == sorted(set(steps)) and all(step >= 0 for step in steps), at, f"has the steps {steps}; they "
         "must be >= 0 and ascend")  # fmt: skip
    for i, each in enumerate(cell.entropy_per_step):
        check_fields(each, "blocks", f"{at}[{i}]", 1)
        check_fields(each, "mean_entropy", f"{at}[{i}]")


def _check_curve(curve: Curve, at: str) -> None:
    check_text(curve.option, f"{at}.option")
    check_text(curve.formula, f"{at}.formula")
    need(0 <= curve.y_max <= 1, f"{at}.y_max", f"is {curve.y_max}; it must be a share in [0, 1]")
    at_least(curve.alpha, 0, f"{at}.alpha")
    for i, point in enumerate(curve.points):
        where = f"{at}.points[{i}]"
        need(0 <= point.accuracy <= 1, f"{where}.accuracy", f"is {point.accuracy}; it must be in [0, 1]")
        at_least(point.tokens_per_forward, 0, f"{where}.tokens_per_forward")
    at_least(curve.area, 0, f"{at}.area")
    if curve.formula == FORMULA and curve.area is not None:
        points = [(point.tokens_per_forward, point.accuracy) for point in curve.points]
        area = area_under_points(points, y_max=curve.y_max, alpha=curve.alpha)
        need(
            area is not None and close(curve.area, area),
            f"{at}.area",
            f"is {curve.area}; the formula gives {area}",
        )


def _check_comparison(part: PairedComparison, at: str) -> None:
    need(part.first != part.second, f"{at}.second", f"is '{part.second}', the same arm as first")
    check_fields(part, "both only_first only_second neither", at)
    pairs = Pairs(part.both, part.only_first, part.only_second, part.neither)
    need(
        part.items == pairs.items >= 1,
        f"{at}.items",
        f"is {part.items}; the four counts add up to {pairs.items}",
    )
    need(close(part.difference, pairs.difference), f"{at}.difference",
         f"is {part.difference}; the counts give {pairs.difference}")  # fmt: skip
    p_value = mcnemar_exact(part.only_first, part.only_second)
    need(close(part.p_value, p_value), f"{at}.p_value", f"is {part.p_value}; the counts give {p_value}")
    check_interval(part.difference_95, part.difference, f"{at}.difference_95", -1, 1)
    interval = difference_interval(pairs)
    need(all(map(close, part.difference_95, interval)), f"{at}.difference_95",
         f"is {list(part.difference_95)}; the counts give {list(interval)}")  # fmt: skip
    needed = items_for_difference(pairs.difference, pairs.discordant_share)
    need(
        part.items_needed == needed, f"{at}.items_needed", f"is {part.items_needed}; the counts give {needed}"
    )


def _check_seeds(part: SeedSummary, cells: tuple[EvalCell, ...], at: str) -> None:
    need(bool(part.seeds) and len(set(part.seeds)) == len(part.seeds), f"{at}.seeds",
         f"is {list(part.seeds)}; it must name each seed once")  # fmt: skip
    need(
        0 <= part.accuracy_mean <= 1, f"{at}.accuracy_mean", f"is {part.accuracy_mean}; it must be in [0, 1]"
    )
    at_least(part.tokens_per_forward_mean, 0, f"{at}.tokens_per_forward_mean")
    for name in ("accuracy", "tokens_per_forward"):
        mean, interval = getattr(part, f"{name}_mean"), getattr(part, f"{name}_95")
        need(
            interval is None or len(part.seeds) > 1,
            f"{at}.{name}_95",
            "is given for one seed; it must be null",
        )
        if interval is not None:
            need(mean is not None, f"{at}.{name}_mean", "is null beside its interval")
            # Student's interval of a mean of shares may leave [0, 1].
            check_interval(interval, mean, f"{at}.{name}_95", -float("inf"), float("inf"))
    same = [each for each in cells if (each.arm, each.task) == (part.arm, part.task)]
    shares = [each.accuracy.share for each in same if each.seed in part.seeds]
    found = [share for share in shares if share is not None]
    if len(same) == len(found) == len(part.seeds):
        mean = sum(found) / len(found)
        need(
            close(part.accuracy_mean, mean),
            f"{at}.accuracy_mean",
            f"is {part.accuracy_mean}; the cells give {mean}",
        )


def _check_bench(cell: BenchCell, at: str) -> None:
    for name in ("arm", "method"):
        check_text(getattr(cell, name), f"{at}.{name}")
    check_text(cell.backend.name, f"{at}.backend.name")
    check_fields(cell, "batch_size max_new_tokens repeats", at, 1)
    check_fields(cell, "warmups peak_memory_bytes", at)
    need(bool(cell.prompts), f"{at}.prompts", "is empty; a cell measures at least one prompt")
    names = [each.prompt for each in cell.prompts]
    for i, each in enumerate(cell.prompts):
        need(
            names.count(each.prompt) == 1,
            f"{at}.prompts[{i}].prompt",
            f"is '{each.prompt}', which stands twice",
        )
        _check_prompt(each, f"{at}.prompts[{i}]")
    check_forwards(cell.forwards, f"{at}.forwards")
    check_tokens_per_forward(cell.tokens_per_forward, f"{at}.tokens_per_forward")
    for name in (
        "ms_per_forward",
        "tokens_per_second_decode",
        "tokens_per_second",
        "first_block_ms",
        "total_ms",
    ):
        check_distribution(getattr(cell, name), f"{at}.{name}")
    check_floor(cell.floor, f"{at}.floor")
    if cell.percent_of_floor is not None:
        percent = cell.percent_of_floor
        need(percent > 0, f"{at}.percent_of_floor", f"is {percent}; it must be > 0")
        measured = cell.floor is not None and cell.ms_per_forward is not None
        need(measured, f"{at}.percent_of_floor", f"is {percent} without a floor and ms per forward")
        if cell.floor is not None and cell.ms_per_forward is not None:
            expected = 100 * cell.floor.ms / max(cell.ms_per_forward.median, 1e-12)
            need(
                close(percent, expected),
                f"{at}.percent_of_floor",
                f"is {percent}; floor and median give {expected}",
            )
    check_phases(cell.phases, f"{at}.phases")


def _check_prompt(part: PromptTimes, at: str) -> None:
    check_text(part.prompt, f"{at}.prompt")
    check_fields(part, "prompt_tokens tokens denoise_forwards commit_forwards prefill_forwards", at)
    check_fields(part, "tokens_per_second_decode tokens_per_second first_block_ms total_ms", at)
    check_interval(part.total_ms_spread, part.total_ms, f"{at}.total_ms_spread", 0, float("inf"))


def _check_claim(claim: Claim, at: str) -> None:
    rate = claim.tokens_per_second
    need(rate > 0, f"{at}.tokens_per_second", f"is {rate}; it must be > 0")
    need(claim.measure in CLAIM_MEASURES, f"{at}.measure", f"is '{claim.measure}'; it must be one of "
         + ", ".join(CLAIM_MEASURES))  # fmt: skip
    check_fields(claim, "batch_size max_new_tokens", at, 1)
    check_share(claim.met, f"{at}.met")
    need(claim.met.total >= 1, f"{at}.met.total", "is 0; a claim is judged on at least one prompt")
    check_distribution(claim.measured, f"{at}.measured")
    count = claim.measured.count
    need(count == claim.met.total, f"{at}.measured.count", f"is {count}; met.total is {claim.met.total}")
    check_text(claim.verdict, f"{at}.verdict")
