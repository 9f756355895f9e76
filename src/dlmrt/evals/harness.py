"""Run an evaluation: decode, verify, stream to disk, resume, sum up.

:func:`run_eval` reads from top to bottom: check everything, open the run folder, answer what isn't there
yet, make the result file.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from dlmrt.config import to_mapping
from dlmrt.engine.arms import backend_facts, open_arms
from dlmrt.environment.report import environment
from dlmrt.errors import DataError
from dlmrt.evals.aggregate import make_cell
from dlmrt.evals.compare import comparisons, margins, seed_summaries
from dlmrt.evals.decoding import Decoder
from dlmrt.evals.plan import EvalPlan, Lane, Prepared, prepare
from dlmrt.evals.record import ItemRecord
from dlmrt.evals.store import RESULT, RunFolder
from dlmrt.evals.sweep import curves
from dlmrt.evals.task import Item, Task
from dlmrt.models.weights import count_parameters
from dlmrt.results.envelope import hardware_label, public_environment, run_facts
from dlmrt.results.files import read_result, write_result_to
from dlmrt.results.schema import SCHEMA_VERSION, BackendFacts, EvalCell, ModelFacts, ResultFile


class Progress(Protocol):
    """Hears how a run goes; the harness never writes to a terminal itself."""

    def started(self, folder: Path, total: int, done: Sequence[ItemRecord]) -> None:
        """The run folder is open: ``total`` answers belong to the run, ``done`` are there already."""

    def answered(self, record: ItemRecord) -> None:
        """An answer was decoded, verified and written."""


class Silent:
    """Hears nothing: for tests and for use as a library."""

    def started(self, folder: Path, total: int, done: Sequence[ItemRecord]) -> None:
        """Ignore it."""

    def answered(self, record: ItemRecord) -> None:
        """Ignore it."""


def run_eval(plan: EvalPlan, *, progress: Progress | None = None) -> ResultFile:
    """Answer and score all items with all arms and seeds, and return the result.

    The result is also ``result.json`` in the run folder. A run that was killed goes on where it was; of a
    finished one the result is made again from its answers, without decoding.
    Raises what :func:`~dlmrt.evals.plan.prepare`, :class:`~dlmrt.evals.store.RunFolder` and loading the
    models raise, all before anything is decoded. DataError: a verifier whose answer can't be recorded.
    """
    return run_prepared(prepare(plan), progress=progress)


def run_prepared(run: Prepared, *, progress: Progress | None = None) -> ResultFile:
    """:func:`run_eval` for a plan that was checked, so that its folder is known before."""
    progress = progress or Silent()
    with RunFolder(run.folder, run.parts, fresh=run.plan.fresh) as folder:
        began = time.perf_counter()
        earlier = _earlier_result(run, folder)
        progress.started(folder.path, run.total, list(folder.done.values()))
        if earlier is None:
            llms = open_arms(run.arms)
            backends = {arm.name: backend_facts(llms[arm.place]) for arm in run.arms}
            try:
                _answer_all(run, Decoder(llms, observe_steps=run.plan.observe), folder, progress)
            finally:
                folder.save_session(time.perf_counter() - began)
            seconds = folder.seconds + time.perf_counter() - began
            report = public_environment(environment())
        else:
            backends = {cell.arm: cell.backend for cell in earlier.cells}
            seconds, report = earlier.run.seconds, earlier.environment
        result = _result(run, folder, backends, seconds, report)
        _save(result, folder)
    return result


def _earlier_result(run: Prepared, folder: RunFolder) -> ResultFile | None:
    """The result that is there, if the run is finished."""
    path = folder.path / RESULT
    if len(folder.done) < run.total or not path.exists():
        return None
    try:
        found = read_result(path)
    except DataError:  # it is made of the answers, and is made again
        return None
    return found if {arm.name for arm in run.arms} <= {cell.arm for cell in found.cells} else None


def _save(result: ResultFile, folder: RunFolder) -> None:
    aside = folder.path / f"{RESULT}.part"
    aside.unlink(missing_ok=True)
    write_result_to(result, aside).replace(folder.path / RESULT)


def _answer_all(run: Prepared, decoder: Decoder, folder: RunFolder, progress: Progress) -> None:
    """Window after window of items: all lanes decode it, then its answers are verified and written."""
    plan = run.plan
    # Verifying several answers at a time needs several to verify.
    window = plan.batch_size * max(1, -(-plan.jobs // (plan.batch_size * len(run.lanes))))
    for task in plan.tasks:
        for items in _slices(task.items, window):
            batches = [
                (lane, missing)
                for batch in _slices(items, plan.batch_size)
                for lane in run.lanes
                if (missing := [item for item in batch if lane.key(task, item) not in folder.done])
            ]
            for lane, _ in batches:
                decoder.warm_up(task, task.items, lane)
            records = [record for lane, batch in batches for record in decoder.answer(task, batch, lane)]
            folder.append(judged := _judge(task, items, records, plan.jobs))
            for record in judged:
                progress.answered(record)


def _slices(items: Sequence[Item], size: int) -> Iterator[tuple[Item, ...]]:
    rest = iter(items)
    while part := tuple(islice(rest, size)):
        yield part


def _judge(task: Task, items: Sequence[Item], records: Sequence[ItemRecord], jobs: int) -> list[ItemRecord]:
    """Verify the answers; what could not be decoded is wrong without asking."""
    by_id = {item.id: item for item in items}
    decoded = [record for record in records if record.error is None]
    asked = [by_id[record.item] for record in decoded]
    verdicts = iter(task.verify_all(asked, [record.text for record in decoded], jobs=jobs) if asked else [])
    judged = []
    for record in records:
        if record.error is None:
            verdict = next(verdicts)
            record = replace(record, correct=verdict.correct, detail=dict(verdict.detail))
        judged.append(record)
    return judged


def _result(
    run: Prepared,
    folder: RunFolder,
    backends: Mapping[str, BackendFacts],
    seconds: float,
    report: dict[str, Any],
) -> ResultFile:
    plan = run.plan
    records = {(lane.arm.name, task.name, lane.seed): _of(lane, task, folder) for task in plan.tasks
               for lane in run.lanes}  # fmt: skip
    cells = tuple(
        make_cell(
            lane,
            task,
            records[lane.arm.name, task.name, lane.seed],
            model=run.models[lane.arm.place].name,
            backend=backends[lane.arm.name],
            batch_size=plan.batch_size,
            observed=plan.observe,
        )
        for task in plan.tasks
        for lane in run.lanes
    )
    seeds = {lane.arm.name: lane.seed for lane in reversed(run.lanes)}  # the first of each arm
    outcomes = {
        (arm, task): [record.correct for record in found]
        for (arm, task, seed), found in records.items()
        if seed == seeds[arm]
    }
    names = [arm.name for arm in run.arms]
    return ResultFile(
        schema=SCHEMA_VERSION,
        kind="eval",
        hardware=hardware_label(report, backends[names[0]].device),
        run=run_facts(folder.started, seconds, plan.who, plan.argv),
        environment=report,
        models=_model_facts(run),
        data={task.name: task.data for task in plan.tasks},
        settings=_settings(run, cells),
        skipped=dict(plan.skipped),
        cells=cells,
        curves=() if plan.sweep is None else curves(cells, plan.sweep, run.swept, plan.y_max),
        comparisons=comparisons(names, outcomes, seeds, plan.claim_margin) if plan.paired else (),
        seeds=seed_summaries(cells),
    )


def _of(lane: Lane, task: Task, folder: RunFolder) -> list[ItemRecord]:
    return [folder.done[lane.key(task, item)] for item in task.items]


def _model_facts(run: Prepared) -> dict[str, ModelFacts]:
    facts = {}
    for model in run.models.values():
        config, diffusion = model.folder.config, model.folder.generation.diffusion
        facts[model.name] = ModelFacts(
            name=model.name,
            parameters=count_parameters(config),
            weights_sha256=model.weights_sha256,
            block_size=diffusion.block_size if diffusion.denoises else None,
            noise=diffusion.noise,
        )
    return facts


def _settings(run: Prepared, cells: Sequence[EvalCell]) -> dict[str, Any]:
    """What was asked for, as far as cells don't say it."""
    plan = run.plan
    settings: dict[str, Any] = {
        "arms": {arm.name: to_mapping(arm.options) for arm in run.arms},
        "limit": plan.limit,
        "seeds": None if plan.seeds is None else list(plan.seeds),
        "sweep": None if plan.sweep is None else to_mapping(plan.sweep),
        "y_max": plan.y_max,
        "paired": plan.paired,
        "batch_size": plan.batch_size,
        "steps_observed": plan.observe,
        "fingerprint": run.fingerprint,
        "tasks": {
            task.name: {
                "verifier": task.verifier,
                "max_new_tokens": task.max_new_tokens,
                "stop": list(task.stop),
                "notes": list(task.notes),
            }
            for task in plan.tasks
        },
    }
    if plan.claim_margin is not None:
        settings["claim_margin"] = plan.claim_margin
        settings["items_for_margin"] = margins(cells, plan.claim_margin)
    return settings
