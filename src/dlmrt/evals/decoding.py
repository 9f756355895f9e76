"""Answering items: the part of an evaluation during which the clock runs.

All arms answer a batch of items before the next batch begins, so that a change of the machine's speed meets
every arm alike. Nothing else runs meanwhile: answers are verified after the clock stopped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from dlmrt.engine.arms import Place
from dlmrt.engine.llm import LLM, Prepared
from dlmrt.engine.request import Request, Result
from dlmrt.errors import PromptError, RequestError
from dlmrt.evals.observe import NotFiniteError, StepLog, observe
from dlmrt.evals.plan import Lane
from dlmrt.evals.record import ItemRecord
from dlmrt.evals.task import Item, Task
from dlmrt.rows import StepRecord
from dlmrt.stats.counting import count_answer

# Verifiers that judge how close an answer comes to the reference text, so that its tokens can be aligned
# with it. Elsewhere a reference is one of many right answers.
REFERENCE_VERIFIERS = frozenset({"repair", "exact"})
NOT_FINITE = "the model's confidences are not finite (NaN or infinite); its weights are broken"
WARM_UP_BLOCKS = 2


class Decoder:
    """The loaded models, and how a lane answers a batch of items with them."""

    def __init__(self, llms: Mapping[Place, LLM], *, observe_steps: bool) -> None:
        self.llms = llms
        self._observe = observe_steps
        self._warm: set[str] = set()  # arms
        self._tried: set[tuple[str, str]] = set()  # arm and task: none of its items could be decoded

    def warm_up(self, task: Task, items: Sequence[Item], lane: Lane) -> None:
        """Decode the start of an answer, once an arm, so that no measured answer is its first."""
        if lane.arm.name in self._warm or (lane.arm.name, task.name) in self._tried:
            return
        self._tried.add((lane.arm.name, task.name))
        llm = self.llms[lane.arm.place]
        for item in items:
            asked = prepare_item(llm, task, item, lane)
            if isinstance(asked, Prepared):
                few = WARM_UP_BLOCKS * llm.folder.generation.diffusion.block_size
                row = dataclasses.replace(asked.row, max_new_tokens=min(few, asked.row.max_new_tokens))
                llm.decode([dataclasses.replace(asked, row=row)], batch_size=1)
                self._warm.add(lane.arm.name)
                return

    def answer(self, task: Task, items: Sequence[Item], lane: Lane) -> list[ItemRecord]:
        """Decode ``items`` together; one record each, in order, not yet judged (``correct`` is False)."""
        llm = self.llms[lane.arm.place]
        asked = [prepare_item(llm, task, item, lane) for item in items]
        rows = [each for each in asked if isinstance(each, Prepared)]
        log = StepLog() if self._observe and lane.settings.method == "diffusion" else None
        results = llm.decode(rows, on_step=log, batch_size=len(rows)) if rows else []
        # The clock has stopped. Rows of a batch share its time, which its last row tells.
        share = max((result.timings.decode for result in results), default=0.0) / max(1, len(results))
        records, row = [], 0
        for item, each in zip(items, asked, strict=True):
            empty = ItemRecord(lane.arm.name, task.name, lane.seed, item.id, correct=False)
            if isinstance(each, str):
                records.append(dataclasses.replace(empty, error=each))
                continue
            steps = None if log is None else log.of_row(row)
            reference = None
            if steps is not None and item.answer is not None and task.verifier in REFERENCE_VERIFIERS:
                reference = llm.codec.encode_text(item.answer)
            records.append(_fill(empty, results[row], share, steps, reference))
            row += 1
        return records


def prepare_item(llm: LLM, task: Task, item: Item, lane: Lane) -> Prepared | str:
    """The request for an item, or why the model can't take it.

    A limit on new tokens, the arm's or else the task's, ends earlier where the model's context does; such a
    limit is no reason not to answer. A prompt that leaves no room is.
    """
    options = {**lane.options, "stop": task.stop} if task.stop else lane.options
    try:
        asked = llm.prepare(Request(prompt=item.prompt, options=options))
    except (PromptError, RequestError) as error:
        return str(error)
    limit = task.max_new_tokens if lane.max_new_tokens is None else lane.max_new_tokens
    if limit is None:
        return asked
    room = llm.folder.config.max_positions - len(asked.row.prompt_ids)
    return dataclasses.replace(asked, row=dataclasses.replace(asked.row, max_new_tokens=min(limit, room)))


def _fill(
    record: ItemRecord,
    result: Result,
    share: float,
    steps: Sequence[StepRecord] | None,
    reference: Sequence[int] | None,
) -> ItemRecord:
    """Put an answer's numbers into its record; counting is done on the result alone."""
    counts = count_answer(result)
    try:
        observation = None
        if steps is not None:
            observation = observe(
                steps,
                result.prompt_tokens,
                result.ids,
                ended_by_eos=result.ended_by_eos,
                reference=reference,
            )
    except NotFiniteError:
        return dataclasses.replace(record, error=NOT_FINITE)
    return dataclasses.replace(
        record,
        text=result.text,
        ids=result.ids,
        prompt_tokens=result.prompt_tokens,
        decided_tokens=counts.decided,
        prefill=counts.prefill,
        denoise=counts.denoise,
        commit=counts.commit,
        seconds=counts.seconds,
        first_block=counts.first_block,
        machine_seconds=result.timings.tokenise + share,
        finish=result.finish_reason,
        observation=observation,
    )
