"""From timed batches to the numbers of one cell: medians over repeats, spread, floor and phases.

A distribution over prompts has one value a prompt, the median of its repeats (in batches: one value a
batch). ``ms_per_forward`` has one value a request, so that its median is that of forwards as they ran.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dlmrt.bench.floor import Forward, floor_of
from dlmrt.bench.measure import Answer, Batch, Subject
from dlmrt.engine.arms import Arm
from dlmrt.engine.request import check_options
from dlmrt.results.schema import BenchCell, Distribution, Floor, PhaseShares, PromptTimes
from dlmrt.results.summarise import distribution, forward_counts, tokens_per_forward
from dlmrt.stats.counting import count_answer

RANDOM_NOTE = (
    "random weights and fixed work a block: the speed is real, the text means nothing, no quality is claimed"
)
RANDOM_LOOKUP_NOTE = "how many drafts random weights accept says nothing about a trained model"


@dataclass(frozen=True)
class Setting:
    """What one cell is about."""

    arm: Arm
    subject: Subject
    suite: str
    batch: int
    length: int | None
    warmups: int
    repeats: int
    notes: tuple[str, ...] = ()


def make_cell(setting: Setting, batches: Sequence[Batch], extra: Iterable[str] = ()) -> BenchCell:
    """Summarise the measured batches of one arm; there is at least one. extra: further notes."""
    subject, method = setting.subject, setting.arm.options["method"]
    answers = [answer for batch in batches for answer in batch.answers if not answer.filler]
    first = [
        answer for batch in batches if batch.repeat == 0 for answer in batch.answers if not answer.filler
    ]
    counts = [count_answer(answer.result) for answer in first]
    floor = measured_floor(setting, batches)
    per_forward = distribution(ms for a in answers if (ms := a.ms_per_forward) is not None)
    decode_rates, rates = _rates(setting, batches)
    prompts = prompt_times(answers)
    return BenchCell(
        arm=setting.arm.name,
        suite=setting.suite,
        model=subject.name,
        method=method,
        options={name: value for name, value in setting.arm.options.items() if name != "method"},
        backend=subject.backend,
        clock="engine",
        batch_size=setting.batch,
        max_new_tokens=setting.arm.options.get("max_new_tokens", setting.length),
        warmups=setting.warmups,
        repeats=setting.repeats,
        prompts=prompts,
        forwards=forward_counts(counts),
        tokens_per_forward=tokens_per_forward(counts),
        ms_per_forward=per_forward,
        floor=floor,
        percent_of_floor=100 * floor.ms / per_forward.median if floor and per_forward else None,
        tokens_per_second_decode=decode_rates,
        tokens_per_second=rates,
        first_block_ms=_over_prompts(answers, lambda answer: 1000 * answer.first_block),
        total_ms=_over_prompts(answers, lambda answer: 1000 * answer.total),
        phases=phase_shares(answers),
        peak_memory_bytes=max(batch.peak for batch in batches),
        notes=tuple(dict.fromkeys((*_notes(setting, batches), *extra))),
    )


def _rates(setting: Setting, batches: Sequence[Batch]) -> tuple[Distribution | None, Distribution | None]:
    """Tokens a second while decoding and of the whole: of prompts, or of batches when there are any."""
    if setting.batch == 1:
        answers = [answer for batch in batches for answer in batch.answers]
        return _over_prompts(answers, lambda a: a.decode_rate), _over_prompts(answers, lambda a: a.rate)
    by_batch = defaultdict(list)
    for batch in batches:
        by_batch[tuple(answer.prompt for answer in batch.answers)].append(batch)
    groups = by_batch.values()
    return _medians([[b.decode_rate for b in group] for group in groups]), _medians(
        [[b.rate for b in group] for group in groups]
    )


def _over_prompts(answers: Sequence[Answer], value: Callable[[Answer], float | None]) -> Distribution | None:
    return _medians([[value(answer) for answer in group] for group in by_prompt(answers).values()])


def _medians(groups: Iterable[Sequence[float | None]]) -> Distribution | None:
    known = [[value for value in group if value is not None] for group in groups]
    return distribution(statistics.median(group) for group in known if group)


def by_prompt(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    """Group answers by their prompt, in order."""
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(answer.prompt, []).append(answer)
    return groups


def prompt_times(answers: Sequence[Answer]) -> tuple[PromptTimes, ...]:
    """One entry a prompt: medians over its repeats."""
    return tuple(_prompt_times(prompt, group) for prompt, group in by_prompt(answers).items())


def _prompt_times(prompt: str, group: Sequence[Answer]) -> PromptTimes:
    totals = [1000 * answer.total for answer in group]
    decode = [rate for answer in group if (rate := answer.decode_rate) is not None]
    first = group[0].result  # counts: equal in all repeats, or a note says so
    return PromptTimes(
        prompt=prompt,
        prompt_tokens=first.prompt_tokens,
        tokens=len(first.ids),
        denoise_forwards=first.forwards.denoise,
        commit_forwards=first.forwards.commit,
        prefill_forwards=first.forwards.prefill,
        tokens_per_second_decode=statistics.median(decode) if decode else None,
        tokens_per_second=statistics.median(answer.rate for answer in group),
        first_block_ms=statistics.median(1000 * answer.first_block for answer in group),
        total_ms=statistics.median(totals),
        total_ms_spread=(min(totals), max(totals)),
        finish=first.finish_reason,
    )


def phase_shares(answers: Sequence[Answer]) -> PhaseShares | None:
    """Mean seconds a request spends in each phase; None without answers.

    ``other`` is what the engine's clock didn't name: keeping the state, the Python around the model.
    """
    if not answers:
        return None
    timings = [answer.result.timings for answer in answers]

    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return math.fsum(known) / len(known) if len(known) == len(values) else None

    named = {
        "queue": mean([t.queue for t in timings]),
        "tokenise": mean([t.tokenise for t in timings]),
        "prefill": mean([t.prefill for t in timings]),
        "denoise": mean([t.denoise for t in timings]),
        "commit": mean([t.commit for t in timings]),
        "detokenise": mean([t.detokenise for t in timings]),
    }
    total = math.fsum(answer.total for answer in answers) / len(answers)
    known = [value for value in named.values() if value is not None]
    return PhaseShares(**named, other=max(0.0, total - math.fsum(known)), total=total)


def planned_floor(setting: Setting, prompt_tokens: float) -> Floor:
    """The floor as known before decoding: a forward right after a prompt of that length (a mean)."""
    subject, method = setting.subject, setting.arm.options["method"]
    size = subject.llm.folder.generation.diffusion.block_size
    context = prompt_tokens // size * size if method == "diffusion" else prompt_tokens
    forward = Forward(
        positions=size if method == "diffusion" else 1,
        context=context,
        rows=setting.batch if subject.together(method) else 1,
        residual=float(_uses_residual(setting)),
    )
    return floor_of(subject.llm.folder.config, forward, subject.width, subject.rates)


def measured_floor(setting: Setting, batches: Sequence[Batch]) -> Floor | None:
    """The floor of the mean forward that ran; None when none did (answers from the prefill alone)."""
    subject, method = setting.subject, setting.arm.options["method"]
    results = [answer.result for batch in batches for answer in batch.answers]
    row_forwards = sum(result.forwards.denoise for result in results)
    forwards = sum(batch.forwards for batch in batches)
    if not forwards:
        return None
    size = subject.llm.folder.generation.diffusion.block_size
    context = sum(
        _context(answer, size) * answer.result.forwards.denoise
        for batch in batches
        for answer in batch.answers
    )
    positions, residual = float(size), float(_uses_residual(setting))
    if method != "diffusion":
        positions = 1 + sum(result.proposed_tokens for result in results) / row_forwards
    elif subject.backend.name == "numpy":  # it skips the pathway at a block's first step
        residual *= 1 - sum(len(result.steps_per_block) for result in results) / row_forwards
    forward = Forward(positions, context / row_forwards, row_forwards / forwards, residual)
    return floor_of(subject.llm.folder.config, forward, subject.width, subject.rates)


def _context(answer: Answer, size: int) -> float:
    """Mean number of committed tokens behind a denoising forward of one answer."""
    result = answer.result
    if result.method != "diffusion":
        # From the prompt's end (the prefill's token is the first input) to one short of the last token.
        return result.prompt_tokens + max(0, result.decided_tokens - 2) / 2
    whole = result.prompt_tokens // size * size
    weighted = sum(steps * at * size for at, steps in enumerate(result.steps_per_block))
    return whole + weighted / max(1, sum(result.steps_per_block))


def _uses_residual(setting: Setting) -> bool:
    folder = setting.subject.llm.folder
    settings = check_options(setting.arm.options, folder.generation)
    return settings.method == "diffusion" and settings.decoder.residual and folder.config.residual is not None


def _notes(setting: Setting, batches: Sequence[Batch]) -> list[str]:
    subject = setting.subject
    notes = [*setting.notes, subject.memory.meaning]
    if subject.random:
        notes.append(RANDOM_NOTE)
        if setting.arm.options["method"] == "ar_lookup":
            notes.append(RANDOM_LOOKUP_NOTE)
    if setting.batch > 1:
        how = "share their forwards" if batches[0].together else "are decoded one after another"
        notes.append(
            f"batches of {setting.batch}, whose rows {how}: tokens/s are a whole batch's over its wall "
            "time, the times of a prompt are those of one request among the others"
        )
        if any(answer.filler for batch in batches for answer in batch.answers):
            notes.append("the last batch was filled up with the first prompts again")
    answers = [answer for batch in batches for answer in batch.answers]
    changed = [
        prompt for prompt, group in by_prompt(answers).items() if len({a.result.ids for a in group}) > 1
    ]
    if changed:
        notes.append(
            f"{len(changed)} prompts got another answer in a repeat (the first: {changed[0]}): "
            "this place doesn't compute the same numbers twice"
        )
    return notes


def lookup_mismatch(plain: Sequence[Batch], lookup: Sequence[Batch]) -> str:
    """One sentence when `ar` and `ar_lookup` answered differently, which exact arithmetic excludes."""
    mine, theirs = (by_prompt(a for batch in batches for a in batch.answers) for batches in (plain, lookup))
    differing = [
        prompt
        for prompt in mine
        if prompt in theirs and mine[prompt][0].result.ids != theirs[prompt][0].result.ids
    ]
    if not differing:
        return ""
    return (
        f"{len(differing)} of {len(mine)} answers differ from those of plain ar (the first: {differing[0]}): "
        "sums of another shape round differently, and near ties then fall the other way"
    )
