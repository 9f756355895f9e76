"""Count once more what a result holds twice: totals against the answers, prompts and cells they come from.

Each raises DataError that begins with the place of the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from dlmrt.config import from_mapping
from dlmrt.errors import ConfigError, DataError
from dlmrt.results.check_parts import check_share, close, need
from dlmrt.results.schema import (
    BenchCell,
    Claim,
    Distribution,
    EvalCell,
    PairedComparison,
    PromptTimes,
    ResultFile,
    ShareOf,
)
from dlmrt.results.summarise import distribution, share_of

_SHARE_KEYS = {field.name for field in fields(ShareOf)}


def check_unique(keys: Iterable[tuple[object, ...]], at: str) -> None:
    """Refuse two cells of the same arm on the same items."""
    seen: set[tuple[object, ...]] = set()
    for i, key in enumerate(keys):
        need(key not in seen, f"{at}[{i}]", f"is of {', '.join(map(str, key))} like one before it")
        seen.add(key)


def eval_key(cell: EvalCell) -> tuple[object, ...]:
    """What is different in every cell of an evaluation."""
    return cell.arm, cell.task, cell.seed


def bench_key(cell: BenchCell) -> tuple[object, ...]:
    """What is different in every cell of a benchmark."""
    return cell.arm, cell.suite, f"batch {cell.batch_size}", f"length {cell.max_new_tokens}"


def recount_eval(cell: EvalCell, at: str) -> None:
    """The rates of a cell from its tokens, seconds and correct answers, and the shares of its quality."""
    answered, hits = cell.items - sum(cell.failed.values()), cell.accuracy.hits
    finished = sum(cell.finish.values())
    need(finished == answered, f"{at}.finish", f"adds up to {finished}; {answered} items were answered")
    rate = cell.tokens / cell.model_seconds if cell.model_seconds > 0 else None
    to_correct = cell.model_seconds / hits if hits else None
    for name, expected in (("tokens_per_second", rate), ("seconds_to_correct", to_correct)):
        _same(getattr(cell, name), expected, f"{at}.{name}", "tokens, model_seconds and correct answers")
    _check_quality(cell.quality, f"{at}.quality")


def _check_quality(part: Mapping[str, Any], at: str) -> None:
    if part.keys() >= _SHARE_KEYS:
        try:
            share = from_mapping(ShareOf, {name: part[name] for name in _SHARE_KEYS})
        except ConfigError as error:
            raise DataError(f"{at}: {error}") from None
        check_share(share, at)
    for name, value in part.items():
        if isinstance(value, Mapping):
            _check_quality(value, f"{at}.{name}")


def recount_comparison(part: PairedComparison, result: ResultFile, at: str) -> None:
    """The correct answers of both arms from the four counts."""
    both = ((part.first, part.both + part.only_first), (part.second, part.both + part.only_second))
    for name, (arm, hits) in zip(("first", "second"), both, strict=True):
        cells = [cell for cell in result.cells if (cell.arm, cell.task) == (arm, part.task)]
        need(bool(cells), f"{at}.{name}", f"is '{arm}' on '{part.task}', of which there is no cell")
        found = [(cell.accuracy.hits, cell.items) for cell in cells]
        said = (
            f"has {hits} of {part.items} correct by these counts; its cell has {found[0][0]} of {found[0][1]}"
        )
        need((hits, part.items) in found, f"{at}.{name}", said)


def recount_bench(cell: BenchCell, at: str) -> None:
    """The distributions and forwards of a benchmark's cell from its prompts.

    Rates of a batch of several are a whole batch's, which no prompt holds; the others are the prompts' own.
    """
    names = ["total_ms", "first_block_ms"]
    if cell.batch_size == 1 or cell.clock == "client":
        names += ["tokens_per_second", "tokens_per_second_decode"]
    for name in names:
        values = [getattr(prompt, name) for prompt in cell.prompts]
        expected = distribution(value for value in values if value is not None)
        _same_distribution(getattr(cell, name), expected, f"{at}.{name}")
    if cell.forwards is None:
        return
    for name in ("prefill", "denoise", "commit"):
        counts = [getattr(prompt, f"{name}_forwards") for prompt in cell.prompts]
        if None not in counts:
            given, expected_count = getattr(cell.forwards, name), sum(counts)
            need(given == expected_count, f"{at}.forwards.{name}",
                 f"is {given}; the prompts add up to {expected_count}")  # fmt: skip


def recount_claim(claim: Claim, result: ResultFile, at: str) -> None:
    """On how many prompts the claim was met, from the prompts of its cell."""
    key = (claim.arm, claim.suite, f"batch {claim.batch_size}", f"length {claim.max_new_tokens}")
    cell = next((cell for cell in result.speeds if bench_key(cell) == key), None)
    where = f"'{claim.arm}' on suite '{claim.suite}' at {key[2]}, {key[3]}"
    need(cell is not None, f"{at}.arm", f"is {where}, of which speeds has no cell")
    assert cell is not None
    known = [
        rate for rate in (claimed_rate(prompt, claim.measure) for prompt in cell.prompts) if rate is not None
    ]
    met = share_of(sum(rate >= claim.tokens_per_second for rate in known), len(known))
    need(
        (claim.met.hits, claim.met.total) == (met.hits, met.total),
        f"{at}.met",
        f"is {claim.met.hits} of {claim.met.total}; the prompts give {met.hits} of {met.total}",
    )
    _same_distribution(claim.measured, distribution(known), f"{at}.measured")


def claimed_rate(prompt: PromptTimes, measure: str) -> float | None:
    """The rate of a prompt that a claim speaks of."""
    return prompt.tokens_per_second_decode if measure == "decode" else prompt.tokens_per_second


def _same(given: float | None, expected: float | None, at: str, source: str) -> None:
    same = given is None or (expected is not None and close(given, expected))  # null: not measured
    need(same, at, f"is {given}; {source} give {expected}")


def _same_distribution(given: Distribution | None, expected: Distribution | None, at: str) -> None:
    if given is None:  # not measured
        return
    need(expected is not None, at, "is given, and no prompt has it; it must be null")
    assert expected is not None
    for field in fields(Distribution):
        value, wanted = getattr(given, field.name), getattr(expected, field.name)
        need(close(value, wanted), f"{at}.{field.name}", f"is {value}; the prompts give {wanted}")
