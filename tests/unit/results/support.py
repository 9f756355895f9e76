"""Sound results to break: one of each kind, made of numbers that agree with each other."""

from __future__ import annotations

import dataclasses
from typing import Any

from dlmrt.config import to_mapping
from dlmrt.results.schema import (
    BackendFacts,
    BenchCell,
    Calibration,
    CalibrationBin,
    Claim,
    Curve,
    CurvePoint,
    DataFacts,
    EntropyStep,
    EvalCell,
    Floor,
    ForwardCounts,
    ModelFacts,
    PairedComparison,
    PhaseShares,
    PromptTimes,
    ResultFile,
    RunFacts,
    SeedSummary,
)
from dlmrt.results.summarise import distribution, forward_counts, share_of, tokens_per_forward
from dlmrt.stats.calibration import bins, expected_calibration_error
from dlmrt.stats.counting import AnswerCounts
from dlmrt.stats.curve import ALPHA, FORMULA, area_under_points
from dlmrt.stats.paired import difference_interval, items_for_difference, mcnemar_exact, pair_up

RUN = RunFacts(
    command="dlmrt eval --tasks repair --seeds 0 1",
    commit="0123456789abcdef0123456789abcdef01234567",
    version="0.1.0",
    started="2026-11-30T22:21:00+00:00",
    seconds=12.5,
    who="A. Tester",
)
ENVIRONMENT: dict[str, Any] = {
    "dlmrt": {"version": "0.1.0"},
    "cpu": {"model": "AMD EPYC", "usable_cores": 2},
    "memory_gb": {"total": 25.3, "available": 24.6},
    "packages": {"numpy": "2.4.6", "torch": None},
}
MODEL = ModelFacts("first-light", 3_000_000, {"model.safetensors": "ab" * 32}, 16, "mask")
DATA = DataFacts("test.jsonl", "cd" * 32, 1500, "dlmrt data build repair")
BACKEND = BackendFacts("numpy", "small model", "cpu", "float32")
OUTCOMES = {"diffusion": [True, True, False, True, False], "ar": [True, False, False, False, False]}
COUNTS = [AnswerCounts(7, 8, 1, 4, 2, 0.5, 0.25)] * 3 + [AnswerCounts(5, 5, 1, 2, 1, 0.25, 0.125)] * 2


def calibration() -> Calibration:
    found = bins([0.95] * 3 + [0.55] * 1, [True, True, False, True])
    return Calibration(
        "reference", 4, expected_calibration_error(found), tuple(CalibrationBin(*each) for each in found)
    )


def eval_cell(arm: str = "diffusion", seed: int = 0) -> EvalCell:
    hits = sum(OUTCOMES[arm])
    return EvalCell(
        arm=arm,
        task="repair",
        seed=seed,
        model="first-light",
        method="diffusion",
        options={"policy": "threshold", "threshold": 0.9},
        backend=BACKEND,
        batch_size=1,
        items=5,
        failed={},
        accuracy=share_of(hits, 5),
        quality={"errors_gone": to_mapping(share_of(3, 5)), "word_error_rate_after": 0.25},
        tokens=31,
        decided_tokens=34,
        forwards=forward_counts(COUNTS),
        tokens_per_forward=tokens_per_forward(COUNTS),
        tokens_per_second=31 / 2.0,
        tokens_per_second_per_answer=distribution([14.0, 14.0, 14.0, 20.0, 20.0]),
        seconds=distribution([each.seconds for each in COUNTS]),
        first_block_seconds=distribution([each.first_block for each in COUNTS]),
        answer_tokens=distribution([each.tokens for each in COUNTS]),
        seconds_to_correct=2.0 / hits,
        median_seconds_of_correct=0.5,
        repeated_8grams=None,
        entropy_per_step=(EntropyStep(0, 5, 1.5), EntropyStep(1, 4, 0.25)),
        calibration=calibration(),
        finish={"stop": 3, "length": 2},
        steps_observed=True,
        model_seconds=2.0,
    )


def comparison() -> PairedComparison:
    pairs = pair_up(OUTCOMES["ar"], OUTCOMES["diffusion"])
    return PairedComparison(
        first="ar",
        second="diffusion",
        task="repair",
        items=pairs.items,
        both=pairs.both,
        only_first=pairs.only_first,
        only_second=pairs.only_second,
        neither=pairs.neither,
        p_value=mcnemar_exact(pairs.only_first, pairs.only_second),
        difference=pairs.difference,
        difference_95=difference_interval(pairs),
        items_needed=items_for_difference(pairs.difference, pairs.discordant_share),
        note="",
    )


def curve() -> Curve:
    points = (CurvePoint(0.9, 0.6, 1.25), CurvePoint(0.5, 0.58, 2.5))
    area = area_under_points([(p.tokens_per_forward, p.accuracy) for p in points], y_max=0.6)
    return Curve("diffusion", "repair", "threshold", points, area, FORMULA, ALPHA, 0.6)


def eval_result(**changes: Any) -> ResultFile:
    result = ResultFile(
        schema=1,
        kind="eval",
        hardware="epyc-2-cores",
        run=RUN,
        environment=ENVIRONMENT,
        models={"first-light": MODEL},
        data={"repair": DATA},
        settings={"limit": 5},
        skipped={"gsm8k": "no file"},
        cells=(eval_cell(), eval_cell("ar"), eval_cell(seed=1)),
        curves=(curve(),),
        comparisons=(comparison(),),
        seeds=(SeedSummary("diffusion", "repair", (0, 1), 0.6, (0.6, 0.6), 1.3, (1.2, 1.4)),),
    )
    return dataclasses.replace(result, **changes)


def bench_cell() -> BenchCell:
    ms = distribution([2.0, 2.5, 4.0])
    assert ms is not None
    floor = Floor(16, 200, 12_000_000, 400_000, 96_000_000, 1.24e10, 1.2e11, 1.0, 0.8, 1.0, "measured here")
    prompts = tuple(
        PromptTimes(f"chat-{i}", 40, 32, 12, 2, 1, 900.0 + i, 800.0 + i, 8.0, 40.0, (39.0, 44.0), "length")
        for i in range(3)
    )
    return BenchCell(
        arm="diffusion",
        suite="chat",
        model="first-light",
        method="diffusion",
        options={},
        backend=BACKEND,
        clock="engine",
        batch_size=1,
        max_new_tokens=32,
        warmups=1,
        repeats=3,
        prompts=prompts,
        forwards=ForwardCounts(3, 36, 6),
        tokens_per_forward=tokens_per_forward(COUNTS),
        ms_per_forward=ms,
        floor=floor,
        percent_of_floor=100 * floor.ms / ms.median,
        tokens_per_second_decode=distribution([900.0, 901.0, 902.0]),
        tokens_per_second=distribution([800.0, 801.0, 802.0]),
        first_block_ms=distribution([8.0, 8.0, 8.0]),
        total_ms=distribution([40.0, 40.0, 40.0]),
        phases=PhaseShares(0.001, 0.001, 0.004, 0.03, 0.004, 0.0005, 0.0005, 0.04),
        peak_memory_bytes=90_000_000,
    )


def bench_result(**changes: Any) -> ResultFile:
    measured = distribution([900.0, 901.0, 902.0])
    assert measured is not None
    met = share_of(2, 3)
    claim = Claim(901.0, "decode", "diffusion", "chat", 1, 32, "engine", met, measured, "met on 2 of 3")
    result = ResultFile(
        schema=1,
        kind="bench",
        hardware="epyc-2-cores",
        run=RUN,
        environment=ENVIRONMENT,
        models={"first-light": MODEL},
        data={"chat": DataFacts("chat.jsonl", "ef" * 32, 3, "dlmrt")},
        settings={},
        speeds=(bench_cell(),),
        claims=(claim,),
    )
    return dataclasses.replace(result, **changes)


def plain(result: ResultFile) -> dict[str, Any]:
    """As JSON would give it, free to be changed."""
    data: dict[str, Any] = to_mapping(result)
    return data


def put(data: Any, path: str, value: Any) -> None:
    """Set the value at a path such as ``cells.2.accuracy.hits``."""
    *parents, last = path.split(".")
    for name in parents:
        data = data[int(name)] if isinstance(data, list) else data[name]
    data[int(last) if isinstance(data, list) else last] = value
