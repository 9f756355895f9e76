"""From a server's answers to a benchmark cell: medians, an estimate of the decode rate, and notes.

A client sees when text arrives, not when a model ran. What it can only estimate is named in the notes.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dlmrt.bench.openai_client import Answer, Ask
from dlmrt.bench.suites import SuitePrompt
from dlmrt.results.schema import BackendFacts, BenchCell, PromptTimes
from dlmrt.results.summarise import distribution

# Text that came within this time of each other came at once: a proxy, the network or the server held
# it back, and dividing by the span would give any speed one likes.
LEAST_SPAN_SECONDS = 0.005
SHOWN_ENGINE_NUMBERS = 12


@dataclass
class Asked:
    """One prompt, what its repeats gave, and what failed."""

    prompt: SuitePrompt
    limit: int
    answers: list[Answer] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Setting:
    """What all cells of a run share. notes: what was found out before measuring."""

    ask: Ask
    model: str  # as shown
    url: str
    max_new_tokens: int | None
    warmups: int
    repeats: int
    concurrency: int
    notes: tuple[str, ...] = ()


def decode_rate(answer: Answer) -> float | None:
    """Tokens after the first text, a second between first and last text; a client's estimate.

    None: not streamed, or all at once. The first text's tokens are what the server had counted by then,
    else the answer's tokens times the first text's share of its characters.
    """
    if answer.first is None or answer.last is None or answer.tokens is None:
        return None
    span = answer.last - answer.first
    if span < LEAST_SPAN_SECONDS:
        return None
    first: float
    if answer.first_tokens is not None:
        first = answer.first_tokens
    else:
        first = answer.tokens * answer.first_characters / max(1, len(answer.text))
    return max(0.0, answer.tokens - first) / span


def build_cell(suite: str, asked: Sequence[Asked], setting: Setting, seconds: float) -> BenchCell:
    """Summarise one suite, of which at least one request succeeded. seconds: wall time of all repeats."""
    answered = [each for each in asked if each.answers]
    prompts = tuple(_prompt_times(each) for each in answered)
    decode = [p.tokens_per_second_decode for p in prompts if p.tokens_per_second_decode is not None]
    first = [p.first_block_ms for p in prompts if p.first_block_ms is not None]
    request = setting.ask
    return BenchCell(
        arm="server",
        suite=suite,
        model=setting.model,
        method="server",
        options={
            "api": request.api,
            "stream": request.stream,
            "temperature": request.temperature,
            "seed": request.seed,
        },
        backend=BackendFacts("server", f"what decodes behind {setting.url} is not known"),
        clock="client",
        batch_size=setting.concurrency,
        max_new_tokens=setting.max_new_tokens,
        warmups=setting.warmups,
        repeats=setting.repeats,
        prompts=prompts,
        forwards=None,
        tokens_per_forward=None,
        ms_per_forward=None,
        floor=None,
        percent_of_floor=None,
        tokens_per_second_decode=distribution(decode),
        tokens_per_second=distribution([p.tokens_per_second for p in prompts]),
        first_block_ms=distribution(first),
        total_ms=distribution([p.total_ms for p in prompts]),
        phases=None,
        peak_memory_bytes=None,
        notes=(*setting.notes, *_notes(asked, setting, seconds)),
    )


def _prompt_times(asked: Asked) -> PromptTimes:
    answers = asked.answers
    totals = [answer.total * 1e3 for answer in answers]
    decode = [rate for rate in map(decode_rate, answers) if rate is not None]
    first = [answer.first * 1e3 for answer in answers if answer.first is not None]
    prompt_tokens = [answer.prompt_tokens for answer in answers if answer.prompt_tokens is not None]
    finish = Counter(answer.finish or "unknown" for answer in answers)
    return PromptTimes(
        prompt=asked.prompt.id,
        prompt_tokens=statistics.median_low(prompt_tokens) if prompt_tokens else None,
        tokens=statistics.median_low([answer.tokens or 0 for answer in answers]),
        denoise_forwards=None,
        commit_forwards=None,
        prefill_forwards=None,
        tokens_per_second_decode=statistics.median(decode) if decode else None,
        tokens_per_second=statistics.median((answer.tokens or 0) / answer.total for answer in answers),
        first_block_ms=statistics.median(first) if first else None,
        total_ms=statistics.median(totals),
        total_ms_spread=(min(totals), max(totals)),
        finish=finish.most_common(1)[0][0],
    )


def _notes(asked: Sequence[Asked], setting: Setting, seconds: float) -> Iterator[str]:
    answers = [answer for each in asked for answer in each.answers]
    sources = sorted({answer.counted_by for answer in answers if answer.counted_by})
    yield "times by the client's clock, from sending a request to its last byte; making the connection apart"
    yield f"tokens as the server counts them ({', '.join(sources)})"
    if setting.ask.stream:
        yield from _stream_notes(answers)
    if setting.repeats > 1:
        yield (
            f"every prompt was sent {setting.repeats} times: a server with a prefix cache may skip the "
            "prefill of repeats"
        )
    if setting.concurrency > 1:
        tokens = sum(answer.tokens or 0 for answer in answers)
        yield (
            f"up to {setting.concurrency} requests in flight; all together {tokens / seconds:.1f} tokens/s "
            f"({tokens} tokens in {seconds:.2f} s)"
        )
    yield from _fault_notes(asked, answers)
    yield from _engine_notes(answers)


def _stream_notes(answers: Sequence[Answer]) -> Iterator[str]:
    running = all(answer.first_tokens is not None for answer in answers if answer.first is not None)
    how = "as the server had counted them" if running else "by its share of the characters"
    yield (
        "tokens_per_second_decode is the client's estimate, not an engine's: tokens after the first text "
        f"over the time from the first to the last text; the first text's tokens {how}"
    )
    yield "first_block_ms: from sending the request to the first text"
    at_once = sum(answer.tokens != 0 and decode_rate(answer) is None for answer in answers)
    if at_once:
        yield (
            f"{at_once} of {len(answers)} answers came at once (within {LEAST_SPAN_SECONDS * 1e3:g} ms); "
            "no decode rate can be told from those"
        )


def _fault_notes(asked: Sequence[Asked], answers: Sequence[Answer]) -> Iterator[str]:
    failures = [reason for each in asked for reason in each.failures]
    if failures:
        lost = sum(not each.answers for each in asked)
        yield (
            f"{len(failures)} of {len(failures) + len(answers)} requests failed and are left out"
            + (f", with them {lost} of {len(asked)} prompts" if lost else "")
            + f"; the first: {failures[0]}"
        )
    over = [answer.tokens for each in asked for answer in each.answers if (answer.tokens or 0) > each.limit]
    if over:
        yield (
            f"{len(over)} answers are longer than max_tokens allowed (up to {max(t or 0 for t in over)} "
            "tokens): the server ignores it or counts otherwise"
        )
    empty = sum(answer.tokens == 0 for answer in answers)
    if empty:
        yield f"{empty} of {len(answers)} answers are empty and count as 0 tokens/s"
    differing = sum(len({answer.text for answer in each.answers}) > 1 for each in asked)
    if differing:
        yield (
            f"{differing} of {len(asked)} prompts got different texts in their repeats, though temperature 0 "
            "and a seed were sent"
        )
    if any(answer.reasoning for answer in answers):
        yield "the answers hold reasoning text, which is timed and counted with the rest"


def _engine_notes(answers: Sequence[Answer]) -> Iterator[str]:
    values: dict[str, list[float]] = {}
    for answer in answers:
        for name, value in answer.engine.items():
            values.setdefault(name, []).append(value)
    if values:
        names = list(values)[:SHOWN_ENGINE_NUMBERS]
        shown = ", ".join(f"{name} {statistics.median(values[name]):.6g}" for name in names)
        left = len(values) - len(names)
        yield (
            "the server's own numbers, medians over the requests, in its units and not used above: "
            f"{shown}{f' and {left} more' if left else ''}"
        )
