"""One benchmark run, from a plan to a result: floors, then every arm on every prompt, then the verdicts.

Arms take turns prompt by prompt and repeat by repeat, so that a machine that slows down slows all of them
down. A run that is interrupted keeps every prompt that all arms have finished.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dlmrt.bench.cells import Setting, lookup_mismatch, make_cell, planned_floor
from dlmrt.bench.claim import judge_claim
from dlmrt.bench.measure import Batch, Subject, prepare, run_batch
from dlmrt.bench.plan import BenchPlan, Fitted, check_claims, check_plan, fit_prompts, server_plan
from dlmrt.bench.random_model import DEFAULT_NEW_TOKENS
from dlmrt.bench.server import Progress, ServerFacts, measure_server
from dlmrt.bench.subjects import model_facts, open_subjects
from dlmrt.bench.suites import SuitePrompt
from dlmrt.config import to_mapping
from dlmrt.engine.arms import Arm, Place
from dlmrt.environment.report import environment
from dlmrt.results.envelope import hardware_label, public_environment, run_facts
from dlmrt.results.schema import SCHEMA_VERSION, BenchCell, Claim, Floor, ModelFacts, ResultFile
from dlmrt.validate import AR_METHODS

# Settings key of a result whose run did not come to its end.
INCOMPLETE = "incomplete"
NO_HARDWARE = "unknown-server"


@dataclass(frozen=True)
class FloorRow:
    """The floor of one arm as known before it decodes."""

    arm: str
    suite: str
    batch: int
    model: str
    backend: str  # name, device and precision
    floor: Floor


FloorsHook = Callable[[Sequence[FloorRow]], None]


@dataclass
class _Run:
    """What a run has gathered so far."""

    plan: BenchPlan
    progress: Progress
    subjects: dict[Place, Subject] = field(default_factory=dict)
    cells: list[BenchCell] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    server: list[ServerFacts] = field(default_factory=list)
    done: int = 0
    total: int = 0
    incomplete: str | None = None

    def tick(self, what: str) -> None:
        self.done += 1
        self.progress(self.done, self.total, what)


def run_bench(
    plan: BenchPlan, *, progress: Progress | None = None, on_floors: FloorsHook | None = None
) -> ResultFile:
    """Run a plan and return the result.

    progress: called after each decoded batch with (done, in all, what). on_floors: called with the floors
    before anything is decoded. An interrupt (Ctrl-C) ends the run early: what was finished is returned,
    and ``settings["incomplete"]`` says so; without anything finished it is raised again.

    Raises what :func:`~dlmrt.bench.plan.check_plan` and loading raise, RequestError when no prompt fits or
    the claim needs more prompts, and what :func:`~dlmrt.bench.server.measure_server` raises.
    """
    started, clock = datetime.now().astimezone(), time.perf_counter()
    if plan.random is not None and plan.lengths == (None,):  # a fixed amount of work
        plan = replace(plan, lengths=(DEFAULT_NEW_TOKENS,))
    check_plan(plan)
    run = _Run(plan, progress or (lambda done, total, what: None))
    try:
        _measure(run, on_floors)
    except KeyboardInterrupt:
        if not run.cells:
            raise
        run.incomplete = "interrupted; prompts and suites that were not finished are missing"
    run_time = time.perf_counter() - clock
    return _result(run, started, run_time)


def _measure(run: _Run, on_floors: FloorsHook | None) -> None:
    plan = run.plan
    if plan.arms:
        run.subjects = open_subjects(plan)
        fitted = fit_prompts(plan, run.subjects)
        check_claims(plan, {each.suite.name: len(each.prompts) for each in fitted if each.prompts})
        if on_floors is not None:
            on_floors(planned_floors(plan, fitted, run.subjects))
    else:
        fitted = [Fitted(suite, length, suite.prompts) for suite in plan.suites for length in plan.lengths]
    if plan.server is not None:
        _measure_server(run, fitted)
    if plan.arms:
        _measure_arms(run, fitted)


def _measure_server(run: _Run, fitted: Sequence[Fitted]) -> None:
    for length in run.plan.lengths:
        asked = server_plan(run.plan, [each for each in fitted if each.length == length], length)
        cells, facts = measure_server(asked, run.progress)
        local = {subject.name for subject in run.subjects.values()}
        if facts.model in local:  # the server's model of that name need not be the one measured here
            facts = replace(facts, model=f"{facts.model} (server)")
            cells = [replace(cell, model=facts.model) for cell in cells]
        run.cells += cells
        run.server.append(facts)
        for suite, reason in facts.skipped.items():
            run.skipped[f"server on {suite}"] = reason
        if facts.interrupted:
            raise KeyboardInterrupt


def _measure_arms(run: _Run, fitted: Sequence[Fitted]) -> None:
    plan = run.plan
    for each in fitted:
        if each.note:
            run.skipped[_key(each)] = each.note
    ready = [(each, batch) for each in fitted if each.prompts for batch in plan.batches]
    run.total = sum(
        len(plan.arms) * (plan.warmups + plan.repeats * len(_chunks(each.prompts, batch)))
        for each, batch in ready
    )
    for each, batch in ready:
        try:
            _measure_group(run, each, batch)
        except Exception as error:
            if not _out_of_memory(error):
                raise
            run.skipped[f"{_key(each)}, batch {batch}"] = "out of memory; take a smaller --batch or length"


def _measure_group(run: _Run, fitted: Fitted, size: int) -> None:
    """All arms on one suite at one batch size and length."""
    plan, what = run.plan, f"{fitted.suite.name}, batch {size}"
    chunks = _chunks(fitted.prompts, size)
    for arm in plan.arms:
        for _ in range(plan.warmups):
            run_batch(run.subjects[arm.place], arm, chunks[0][0], fitted.length)
            run.tick(f"{what}, warm-up")
    finished: dict[str, list[Batch]] = {arm.name: [] for arm in plan.arms}
    cut = 0
    try:
        for chunk, fillers in chunks:
            fresh: dict[str, list[Batch]] = {arm.name: [] for arm in plan.arms}
            for repeat in range(plan.repeats):
                for arm in _turn(plan.arms, repeat):
                    subject = run.subjects[arm.place]
                    fresh[arm.name].append(
                        run_batch(subject, arm, chunk, fitted.length, fillers=fillers, repeat=repeat)
                    )
                    run.tick(what)
            for name, batches in fresh.items():
                finished[name] += batches
            cut += len(chunk) - fillers
    finally:  # an interrupt keeps what all arms have finished
        if cut:
            ended_early = (
                "" if cut == len(fitted.prompts) else f"{cut} of {len(fitted.prompts)} prompts finished"
            )
            run.cells += _cells(run, fitted, size, finished, ended_early)


def _cells(
    run: _Run, fitted: Fitted, size: int, finished: dict[str, list[Batch]], ended_early: str
) -> list[BenchCell]:
    notes = tuple(note for note in (fitted.note, ended_early) if note)
    cells = []
    for arm in run.plan.arms:
        setting = _setting(run.plan, fitted, size, arm, run.subjects[arm.place], notes)
        plain = _plain_twin(run.plan.arms, arm)
        extra = lookup_mismatch(finished[plain.name], finished[arm.name]) if plain else ""
        cells.append(make_cell(setting, finished[arm.name], [extra] if extra else []))
    return cells


def _setting(
    plan: BenchPlan, fitted: Fitted, size: int, arm: Arm, subject: Subject, notes: tuple[str, ...] = ()
) -> Setting:
    return Setting(arm, subject, fitted.suite.name, size, fitted.length, plan.warmups, plan.repeats, notes)


def _plain_twin(arms: Sequence[Arm], arm: Arm) -> Arm | None:
    """The plain autoregressive arm that a lookup arm must answer like."""
    if arm.options["method"] != AR_METHODS[1]:
        return None
    wanted = {**arm.options, "method": AR_METHODS[0]}
    return next((other for other in arms if other.options == wanted and other.place == arm.place), None)


def planned_floors(
    plan: BenchPlan, fitted: Sequence[Fitted], subjects: dict[Place, Subject]
) -> list[FloorRow]:
    """The floors of all arms before anything is decoded, at the mean prompt length."""
    rows = []
    for each in fitted:
        for arm in plan.arms if each.prompts else ():
            subject = subjects[arm.place]
            lengths = [
                len(prepare(subject.llm, arm, prompt, each.length).row.prompt_ids) for prompt in each.prompts
            ]
            backend = " ".join(
                filter(None, (subject.backend.name, subject.backend.device, subject.backend.dtype))
            )
            for size in (
                plan.batches if each.length == plan.lengths[0] else ()
            ):  # a floor knows no answer length
                floor = planned_floor(_setting(plan, each, size, arm, subject), sum(lengths) / len(lengths))
                rows.append(FloorRow(arm.name, each.suite.name, size, subject.name, backend, floor))
    return rows


def _chunks(prompts: Sequence[SuitePrompt], size: int) -> list[tuple[list[SuitePrompt], int]]:
    """Cut prompts into full batches: (prompts, how many at the end only fill the last one up)."""
    chunks = []
    for first in range(0, len(prompts), size):
        chunk = list(prompts[first : first + size])
        fillers = size - len(chunk)
        chunk += [prompts[i % len(prompts)] for i in range(fillers)]
        chunks.append((chunk, fillers))
    return chunks


def _turn(arms: Sequence[Arm], repeat: int) -> list[Arm]:
    """The arms in another order each time: none always runs after the same one."""
    first = repeat % len(arms)
    return [*arms[first:], *arms[:first]]


def _key(fitted: Fitted) -> str:
    return fitted.suite.name + ("" if fitted.length is None else f", {fitted.length} new tokens")


def _out_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _result(run: _Run, started: datetime, seconds: float) -> ResultFile:
    # Last of all: on a machine with torch the report imports it, which takes time and memory.
    report = environment()
    plan, subjects = run.plan, list(run.subjects.values())
    models: dict[str, ModelFacts] = {}
    for subject in subjects:
        models[subject.name] = model_facts(subject)
    for facts in run.server:
        models.setdefault(facts.model, ModelFacts(name=facts.model, parameters=None))
    claims = _claims(run)
    used = {cell.suite for cell in run.cells}
    device = subjects[0].backend.device if subjects else None
    return ResultFile(
        schema=SCHEMA_VERSION,
        kind="bench",
        hardware=hardware_label(report, device) if subjects else NO_HARDWARE,
        run=run_facts(started, seconds, plan.who, plan.argv),
        environment=public_environment(report),
        models=models,
        data={suite.name: suite.data for suite in plan.suites if suite.name in used},
        settings=_settings(run),
        skipped=run.skipped,
        speeds=tuple(run.cells),
        claims=claims,
    )


def _claims(run: _Run) -> tuple[Claim, ...]:
    claim = run.plan.claim
    if claim is None:
        return ()
    claims, without = judge_claim(
        claim.tokens_per_second, run.cells, claim.measure, random_weights=run.plan.random is not None
    )
    run.skipped |= without
    return claims


def _settings(run: _Run) -> dict[str, Any]:
    plan = run.plan
    settings: dict[str, Any] = {
        "suites": [suite.name for suite in plan.suites],
        "arms": {arm.name: arm.options for arm in plan.arms},
        "batch": list(plan.batches),
        "max_new_tokens": list(plan.lengths),
        "warmups": plan.warmups,
        "repeats": plan.repeats,
        "limit": plan.limit,
        "order": "all arms on a batch of prompts, repeat by repeat in turn, before the next prompts"
        + ("; the server before them" if run.server and plan.arms else ""),
        "rates": {subject.name: subject.rates for subject in run.subjects.values()},
    }
    if plan.random is not None:
        settings["random_weights"] = {
            "shape": plan.random.name,
            "config": plan.random.config,
            "block_size": plan.random.block_size,
            "noise": plan.random.noise,
            "per_step": plan.random.per_step,
            "steps_per_block": plan.random.steps_per_block,
            "seed": plan.random.seed,
        }
    if run.server:
        facts = run.server[0]
        failed: Counter[str] = Counter()
        for each in run.server:
            failed.update(each.failed)
        settings["server"] = {
            **facts.settings, "url": facts.url, "software": facts.software, "failed": dict(failed),
        }  # fmt: skip
    if run.incomplete:
        settings[INCOMPLETE] = run.incomplete
    plain: dict[str, Any] = to_mapping(settings)
    return plain
