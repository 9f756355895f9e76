"""Results as `dlmrt eval` and `dlmrt bench` write them, small and the same in every run."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from dlmrt.results.check import check_result
from dlmrt.results.files import to_json
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
    TokensPerForward,
)
from dlmrt.results.summarise import distribution, share_of
from dlmrt.stats.calibration import expected_calibration_error
from dlmrt.stats.curve import FORMULA, area_under_points
from dlmrt.stats.intervals import mean_interval
from dlmrt.stats.paired import Pairs, difference_interval, items_for_difference, mcnemar_exact

BACKEND = BackendFacts(
    "numpy", "small model (3.0M parameters); importing torch would take longer", "cpu", "float32"
)
ENVIRONMENT: dict[str, Any] = {
    "dlmrt": {"version": "0.3.0"},
    "python": {"version": "3.11.7", "implementation": "CPython"},
    "system": {"os": "Debian GNU/Linux 12 (bookworm)", "machine": "x86_64"},
    "cpu": {"model": "AMD EPYC", "cores": 2, "usable_cores": 2},
    "memory_gb": {"total": 25.3, "available": 24.6},
    "packages": {"numpy": "2.4.6", "torch": "2.13.0+cpu", "triton": None},
    "torch": {"version": "2.13.0+cpu", "gpus": []},
    "threads": {"OPENBLAS_NUM_THREADS": "1"},
}
# name, method, accuracy, tokens a forward, ms an answer
ARMS = (
    ("diffusion", "diffusion", 0.62, 4.7, 34.0),
    ("ar", "ar", 0.66, 1.03, 36.0),
    ("lookup", "ar_lookup", 0.66, 5.8, 21.0),
)


def run_facts(command: str) -> RunFacts:
    return RunFacts(
        command, "0123456789abcdef0123456789abcdef01234567", "0.3.0", "2026-12-01T10:00:00+00:00", 81.5, "ada"
    )


def envelope(kind: str, names: tuple[str, ...], **parts: Any) -> ResultFile:
    result = ResultFile(
        schema=1,
        kind=kind,  # type: ignore[arg-type]
        hardware="epyc-2-cores",
        run=run_facts(f"dlmrt {kind} --json"),
        environment=json.loads(json.dumps(ENVIRONMENT)),
        models={
            "first-light": ModelFacts("first-light", 3_012_480, {"model.safetensors": "ab" * 32}, 32, "mask")
        },
        data={name: DataFacts(f"{name}.jsonl", "cd" * 32, 200, "dlmrt") for name in names},
        settings={"limit": 200, "batch_size": 1},
        **parts,
    )
    check_result(result)
    return result


def eval_cell(arm: str = "diffusion", task: str = "repair", seed: int = 0, items: int = 200) -> EvalCell:
    _, method, accuracy, tpf, ms = next(a for a in ARMS if a[0] == arm)
    rng = random.Random(f"{arm} {task} {seed}")
    seconds = [ms / 1000 * rng.lognormvariate(0, 0.3) for _ in range(items)]
    lengths = [rng.randint(8, 40) for _ in range(items)]
    tokens, hits = (
        sum(lengths),
        round((accuracy + rng.uniform(-0.02, 0.02)) * items) - (20 if task != "repair" else 0),
    )
    forwards = ForwardCounts(items, round(tokens / tpf), items // 4 if method == "diffusion" else 0)
    with_commits = (tokens + items) / (forwards.denoise + forwards.commit)
    without = (tokens + items) / forwards.denoise
    return EvalCell(
        arm=arm,
        task=task,
        seed=seed,
        model="first-light",
        method=method,
        options={
            "method": method,
            **({"policy": "prefix", "threshold": 0.8} if method == "diffusion" else {}),
        },
        backend=BACKEND,
        batch_size=1,
        items=items,
        failed={"prompt too long": 2} if task == "repair" else {},
        accuracy=share_of(hits, items),
        quality=repair_quality(items) if task == "repair" else {},
        tokens=tokens,
        decided_tokens=tokens + items,
        forwards=forwards,
        tokens_per_forward=TokensPerForward(with_commits * 1.05, with_commits, without * 1.05, without),
        tokens_per_second=tokens / sum(seconds),
        tokens_per_second_per_answer=distribution(n / s for n, s in zip(lengths, seconds, strict=True)),
        seconds=distribution(seconds),
        first_block_seconds=distribution(s / 2 for s in seconds),
        answer_tokens=distribution(map(float, lengths)),
        seconds_to_correct=sum(seconds) / hits,
        median_seconds_of_correct=ms / 1000,
        repeated_8grams=0.004,
        entropy_per_step=tuple(
            EntropyStep(i, max(1, round(260 * 0.62**i)), 0.4 + 1.4 * 0.7**i + rng.uniform(0, 0.1))
            for i in range(10)
        )
        if method == "diffusion"
        else (),
        calibration=calibration(rng) if method == "diffusion" else None,
        finish={"stop": items - 10, "length": 8 if task == "repair" else 10},
        steps_observed=method == "diffusion",
        model_seconds=sum(seconds),
    )


def repair_quality(items: int) -> dict[str, Any]:
    kinds = ("casing", "spacing", "typo.swap")
    return {
        "items": items,
        "errors_gone": _plain(share_of(round(0.65 * 370), 370)),
        "untouched_words_changed": _plain(share_of(46, 2410)),
        "word_error_rate_after": 0.0456,
        "errors_gone_by_type": {kind: _plain(share_of(30 + i, 60)) for i, kind in enumerate(kinds)},
    }


def _plain(part: Any) -> dict[str, Any]:
    return {
        "hits": part.hits,
        "total": part.total,
        "share": part.share,
        "interval_95": list(part.interval_95),
    }


def calibration(rng: random.Random) -> Calibration:
    bins = []
    for i in range(10):
        count = 0 if i == 0 else round(4 * 2.1**i)
        middle = (i + 0.5) / 10
        good = min(1.0, max(0.0, middle - 0.08 + rng.uniform(-0.03, 0.03)))
        bins.append((i / 10, (i + 1) / 10, count, middle if count else None, good if count else None))
    total = sum(b[2] for b in bins)
    error = expected_calibration_error(bins)
    return Calibration("reference", total, error, tuple(CalibrationBin(*b) for b in bins))


def eval_result(
    arms: tuple[str, ...] = ("diffusion", "ar", "lookup"), tasks: tuple[str, ...] = ("repair", "copy")
) -> ResultFile:
    cells = tuple(eval_cell(arm, task) for task in tasks for arm in arms)
    return envelope("eval", tasks, cells=cells)


def full_eval_result() -> ResultFile:
    """A sweep, a paired comparison, three seeds and a skipped task beside the cells."""
    base = eval_result()
    values = [0.5 + 0.05 * i for i in range(10)]
    points = tuple(CurvePoint(v, 0.66 - 0.5 * (0.95 - v) ** 2 * 2, 2.6 + 6 * (0.95 - v)) for v in values)
    area = area_under_points([(p.tokens_per_forward, p.accuracy) for p in points], y_max=0.66)
    curve = Curve("diffusion", "repair", "threshold", points, area, FORMULA, 3.0, 0.66)
    seeds = tuple(eval_cell("diffusion", "copy", seed) for seed in (1, 2))
    copies = [c.accuracy.share or 0.0 for c in (base.cells[3], *seeds)]
    mean, interval = mean_interval(copies)
    result = replace(
        base,
        cells=(*base.cells, *seeds),
        skipped={"gsm8k": "no file; import one with 'dlmrt data import gsm8k FILE'"},
        curves=(curve,),
        comparisons=(comparison("diffusion", "ar", agreeing(base.cells[0], base.cells[1])),),
        seeds=(SeedSummary("diffusion", "copy", (0, 1, 2), mean, interval, 4.6, (4.5, 4.7)),),
    )
    check_result(result)
    return result


def agreeing(first: EvalCell, second: EvalCell) -> Pairs:
    """Counts of a comparison that fit the correct answers of two cells."""
    a, b = first.accuracy.hits, second.accuracy.hits
    both = min(a, b) - 14
    return Pairs(both, a - both, b - both, first.items - a - b + both)


def comparison(first: str, second: str, pairs: Pairs) -> PairedComparison:
    return PairedComparison(
        first,
        second,
        "repair",
        pairs.items,
        pairs.both,
        pairs.only_first,
        pairs.only_second,
        pairs.neither,
        mcnemar_exact(pairs.only_first, pairs.only_second),
        pairs.difference,
        difference_interval(pairs),
        items_for_difference(pairs.difference, pairs.discordant_share),
        "too few items for a claim of equal accuracy",
    )


# suite, factor on the length
SUITES = (("chat", 1.0), ("long-context", 3.0), ("repair", 0.4))
# arm, method, ms a forward, tokens a forward
SPEEDS = (("diffusion", "diffusion", 1.9, 4.6), ("ar", "ar", 1.2, 1.0), ("lookup", "ar_lookup", 1.3, 2.2))


def bench_cell(arm: str = "diffusion", suite: str = "chat", prompts: int = 24) -> BenchCell:
    _, method, ms, tpf = next(s for s in SPEEDS if s[0] == arm)
    length = dict(SUITES)[suite]
    rng = random.Random(f"{arm} {suite}")
    floor = make_floor(32 if method == "diffusion" else 1)
    per_prompt, forwards_ms = [], []
    for i in range(prompts):
        tokens = max(4, round(60 * length * rng.lognormvariate(0, 0.4)))
        each = ms * rng.lognormvariate(0, 0.06)
        denoise = max(1, round(tokens / (tpf * rng.lognormvariate(0, 0.35))))
        commit = tokens // 32 if method == "diffusion" else 0
        prefill = 9.0 * length
        total = prefill + each * (denoise + commit) + 0.6
        forwards_ms.append(each)
        per_prompt.append(
            PromptTimes(
                f"{suite}-{i:02d}", round(40 * length), tokens, denoise, commit, 1,
                1000 * tokens / (total - prefill), 1000 * tokens / total, prefill + 4 * each, total,
                (0.97 * total, 1.05 * total), "stop" if tokens < 90 else "length",
            )
        )  # fmt: skip
    totals = [p.total_ms for p in per_prompt]
    mean = sum(totals) / len(totals) / 1000
    milliseconds = distribution(forwards_ms)
    assert milliseconds is not None
    prefill, commit = 0.009 * length, (0.05 if method == "diffusion" else 0.0) * mean
    counts = ForwardCounts(
        prompts,
        sum(p.denoise_forwards or 0 for p in per_prompt),
        sum(p.commit_forwards or 0 for p in per_prompt),
    )
    tokens = sum(p.tokens for p in per_prompt)
    rate, without = tokens / (counts.denoise + counts.commit), tokens / counts.denoise
    return BenchCell(
        arm=arm,
        suite=suite,
        model="first-light",
        method=method,
        options={"method": method},
        backend=BACKEND,
        clock="engine",
        batch_size=1,
        max_new_tokens=128,
        warmups=1,
        repeats=3,
        prompts=tuple(per_prompt),
        forwards=counts,
        tokens_per_forward=TokensPerForward(rate, rate, without, without),
        ms_per_forward=milliseconds,
        floor=floor,
        percent_of_floor=100 * floor.ms / milliseconds.median,
        tokens_per_second_decode=distribution(p.tokens_per_second_decode or 0.0 for p in per_prompt),
        tokens_per_second=distribution(p.tokens_per_second for p in per_prompt),
        first_block_ms=distribution(p.first_block_ms or 0.0 for p in per_prompt),
        total_ms=distribution(totals),
        phases=PhaseShares(
            0.0, 0.0002, prefill, mean - prefill - commit - 0.0006, commit, 0.0002, 0.0002, mean
        ),
        peak_memory_bytes=61_000_000,
    )


def make_floor(positions: int) -> Floor:
    weights, kv, flops, bandwidth, rate = (
        12_050_000,
        410_000,
        6_020_000 * positions,
        11.2e9,
        61e9 * (1 if positions == 1 else 2),
    )
    memory, arithmetic = 1e3 * (weights + kv) / bandwidth, 1e3 * flops / rate
    how = (
        "bandwidth: best of 5 reads of a 256 MB array; matrix rate: best of 5 float32 products of 1024 x 1024"
    )
    return Floor(
        positions, 128, weights, kv, flops, bandwidth, rate, memory, arithmetic, max(memory, arithmetic), how
    )


def bench_result(
    arms: tuple[str, ...] = ("diffusion", "ar", "lookup"),
    suites: tuple[str, ...] = ("chat", "long-context", "repair"),
) -> ResultFile:
    cells = tuple(bench_cell(arm, suite) for suite in suites for arm in arms)
    claims = tuple(make_claim(600.0, cell) for cell in cells if cell.arm == "diffusion")
    return envelope("bench", suites, speeds=cells, claims=claims)


def make_claim(rate: float, cell: BenchCell) -> Claim:
    values = [p.tokens_per_second_decode or 0.0 for p in cell.prompts]
    met, measured = share_of(sum(v >= rate for v in values), len(values)), distribution(values)
    assert measured is not None
    verdict = f"met on {met.hits} of {met.total} prompts"
    return Claim(
        rate,
        "decode",
        cell.arm,
        cell.suite,
        cell.batch_size,
        cell.max_new_tokens,
        "engine",
        met,
        measured,
        verdict,
    )


def elsewhere(result: ResultFile) -> ResultFile:
    """The same result as if another machine had made it."""
    environment = {**result.environment, "cpu": {"model": "Another CPU", "cores": 8, "usable_cores": 8}}
    return replace(
        result, environment=environment, hardware="another-8-cores", run=replace(result.run, who="grace")
    )


def write(result: ResultFile, path: Path) -> Path:
    path.write_text(to_json(result), encoding="utf-8")
    return path
