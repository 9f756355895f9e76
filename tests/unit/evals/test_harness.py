"""The harness: what is counted, what is wrong, what is written, and what a second start does."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dlmrt.config import PromptFormat
from dlmrt.engine.arms import Place
from dlmrt.engine.llm import LLM
from dlmrt.errors import DataError, RequestError
from dlmrt.evals import harness
from dlmrt.evals.decoding import NOT_FINITE, Decoder
from dlmrt.evals.harness import Silent, run_eval
from dlmrt.evals.item import Item, Verdict
from dlmrt.evals.plan import EvalPlan, prepare
from dlmrt.evals.record import ItemRecord
from dlmrt.evals.task import Task
from dlmrt.results.files import read_result
from dlmrt.results.schema import EvalCell, ResultFile
from dlmrt.rows import RowRequest
from tests import tiny_folder as tiny
from tests.unit.evals.harness_support import make_plan, make_task

pytestmark = pytest.mark.usefixtures("quick_report")
Script = Callable[[RowRequest], Sequence[int]]


def decoder_of(folder: Path, script: Script, plan: EvalPlan) -> Decoder:
    llm, _ = tiny.scripted(folder, script)
    return Decoder({arm.place: llm for arm in plan.arms}, observe_steps=False)


def answers(folder: Path, script: Script, task: Task, **options: Any) -> list[ItemRecord]:
    """What one arm's records hold when the backend recites ``script``; all items in one batch."""
    plan = make_plan(folder, tasks=[task], options=options)
    (lane,) = prepare(plan).lanes
    return decoder_of(folder, script, plan).answer(task, task.items, lane)


@pytest.fixture
def recite(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, Script], list[tiny.ScriptedBackend]]:
    """Let the harness load a model that recites a script."""

    def start(folder: Path, script: Script) -> list[tiny.ScriptedBackend]:
        llm, backend = tiny.scripted(folder, script)
        monkeypatch.setattr(harness, "open_arms", lambda arms: {arm.place: llm for arm in arms})
        return [backend]

    return start


def prompt_of(request: RowRequest) -> list[int]:
    """The text ids of a prompt in the tiny folder's format."""
    return [i for i in request.prompt_ids if i not in (tiny.PAD, tiny.TASK)]


# What is counted, on traces made by hand. Blocks of 8; a prompt is aligned to 8, so answers begin a block.


def test_an_eos_in_the_middle_of_a_block(folder: Path) -> None:
    script = [*tiny.encode("the ab"), tiny.EOS, *tiny.encode("not this")]
    (record,) = answers(folder, lambda _: script, make_task([("x", "the ab")]))
    assert record.text == "the ab"
    assert record.ids == tuple(tiny.encode("the ab"))
    assert record.decided_tokens == len(record.ids) + 1
    assert (record.prefill, record.denoise, record.commit) == (1, 2, 0)
    assert record.finish == "stop"
    assert record.prompt_tokens == 8  # <task>, the text, padding to the block's edge


def test_an_answer_over_two_blocks_counts_its_commit(folder: Path) -> None:
    script = [*tiny.encode("q" * 11), tiny.EOS]
    (record,) = answers(folder, lambda _: script, make_task([("x", "y")]))
    assert (len(record.ids), record.decided_tokens) == (11, 12)
    assert (record.prefill, record.denoise, record.commit) == (1, 4, 1)


def test_a_stop_string_over_a_block_edge_is_neither_emitted_nor_counted(folder: Path) -> None:
    script = [*tiny.encode("qqqqqq" + "END" + "more"), tiny.EOS]
    assert len(script) == 14
    (record,) = answers(folder, lambda _: script, make_task([("x", "y")], stop=("END",)))
    assert record.text == "qqqqqq"
    assert (len(record.ids), record.decided_tokens) == (6, 6)  # the model's EOS came too late to count
    assert (record.denoise, record.commit) == (4, 1)  # both blocks were decoded
    assert record.finish == "stop"


def test_padding_of_the_prompt_never_shifts_an_answer(tmp_path: Path) -> None:
    plain = tiny.write_folder(tmp_path / "plain", prompt=PromptFormat(align=False))
    script = tiny.encode("qqqqq")
    (record,) = answers(plain, lambda _: script, make_task([("xyz", "y")]), max_new_tokens=5)
    assert record.prompt_tokens == 3
    assert (record.prefill, record.denoise, record.commit) == (0, 2, 0)  # five tokens end the first block
    (record,) = answers(plain, lambda _: tiny.encode("q" * 6), make_task([("xyz", "y")]), max_new_tokens=6)
    assert (record.denoise, record.commit) == (4, 1)


def test_rows_of_a_batch_keep_their_own_counts(folder: Path) -> None:
    scripts = {"a": "ab", "b": "q" * 9, "c": "q" * 20}

    def script(request: RowRequest) -> list[int]:
        (name,) = [name for name in scripts if tiny.encode(name) == prompt_of(request)]
        return [*tiny.encode(scripts[name]), tiny.EOS]

    task = make_task(list(scripts.items()))
    batch = answers(folder, script, task)
    assert [record.text for record in batch] == list(scripts.values())
    assert [len(record.ids) for record in batch] == [1, 9, 20]
    assert [(r.denoise, r.commit) for r in batch] == [(2, 0), (4, 1), (6, 2)]
    assert [r.decided_tokens for r in batch] == [2, 10, 21]
    # The rows share the batch's time: their parts add up to what passed, not to three times of it.
    assert batch[0].machine_seconds < batch[2].seconds
    parts = sum(record.machine_seconds for record in batch)
    assert parts <= sum(record.seconds for record in batch)


def test_a_limit_beyond_the_context_ends_there(folder: Path) -> None:
    """The context is 96 and the prompt 8 tokens."""
    for task, options in (
        (make_task([("x", "y")], max_new_tokens=500), {}),
        (make_task([("x", "y")], max_new_tokens=2), {"max_new_tokens": 500}),
    ):
        (record,) = answers(folder, lambda _: [9] * 500, task, **options)
        assert (len(record.ids), record.finish, record.error) == (88, "length", None)
    (record,) = answers(folder, lambda _: [9] * 500, make_task([("x", "y")], max_new_tokens=3))
    assert len(record.ids) == 3
    (record,) = answers(folder, lambda _: [9] * 500, make_task([("x", "y")]))
    assert len(record.ids) == 24  # the model's default


# The whole run.


def test_one_pass_gives_the_whole_cell(
    folder: Path, tmp_path: Path, recite: Callable[[Path, Script], list[tiny.ScriptedBackend]]
) -> None:
    recite(folder, lambda request: [*prompt_of(request), tiny.EOS])
    task = make_task([("the ab", "the ab"), ("ab", "wrong"), ("w" * 60, "too long"), ("q" * 10, "q" * 10)])
    result = run_eval(make_plan(folder, tasks=[task], out=tmp_path / "run", observe=False))
    (cell,) = result.cells
    assert (cell.items, cell.accuracy.hits, cell.accuracy.total) == (4, 2, 4)
    assert cell.failed == {"the text is N tokens and this model takes at most N": 1}
    assert cell.finish == {"stop": 3}
    lengths = [len(tiny.encode(text)) for text in ("the ab", "ab", "q" * 10)]
    assert cell.tokens == sum(lengths)
    assert cell.decided_tokens == sum(lengths) + 3
    assert (cell.forwards.denoise, cell.forwards.commit) == (2 + 2 + 4, 1)
    rate = cell.tokens_per_forward
    assert rate is not None
    assert rate.ratio_of_sums == pytest.approx((sum(lengths) + 3) / 9)
    assert rate.ratio_of_sums_without_commits == pytest.approx((sum(lengths) + 3) / 8)
    ratios = [(lengths[0] + 1) / 2, (lengths[1] + 1) / 2, (lengths[2] + 1) / 5]
    assert rate.mean_of_ratios == pytest.approx(sum(ratios) / 3)
    assert cell.repeated_8grams == pytest.approx(2 / 3)  # of ten equal tokens
    assert cell.answer_tokens is not None
    assert cell.answer_tokens.maximum == 10
    assert cell.tokens_per_second == pytest.approx(cell.tokens / cell.model_seconds)
    assert cell.seconds_to_correct == pytest.approx(cell.model_seconds / 2)
    assert not cell.steps_observed
    assert cell.calibration is None
    assert cell.entropy_per_step == ()
    assert result.models["tiny"].weights_sha256
    assert result.data["words"] == task.data
    assert read_result(tmp_path / "run" / "result.json") == result


def test_observed_steps_give_an_entropy_curve_and_calibration(folder: Path, tmp_path: Path) -> None:
    arms = ("diffusion", "ar", "lookup")
    result = run_eval(make_plan(folder, arms, out=tmp_path / "run", options={"max_new_tokens": 12}))
    diffusion, ar, lookup = result.cells
    assert diffusion.steps_observed
    assert diffusion.calibration is not None
    assert diffusion.calibration.basis == "reference"
    assert diffusion.calibration.tokens == diffusion.tokens
    first = diffusion.entropy_per_step[0]
    assert first.step == 0
    assert first.blocks >= 8  # each of the eight answers has a block
    assert first.mean_entropy > 0
    for cell in (ar, lookup):
        assert cell.entropy_per_step == ()
        assert cell.calibration is None
        assert not cell.steps_observed
    assert ar.tokens == lookup.tokens
    lines = (tmp_path / "run" / "items.jsonl").read_text().splitlines()
    texts = {name: [] for name in arms}  # type: dict[str, list[str]]
    for line in map(json.loads, lines):
        texts[line["arm"]].append(line["text"])
    assert texts["ar"] == texts["lookup"]


def test_all_arms_answer_an_item_before_the_next(folder: Path, tmp_path: Path) -> None:
    run_eval(make_plan(folder, ("diffusion", "ar"), out=tmp_path / "one", options={"max_new_tokens": 4}))
    order = [json.loads(line) for line in (tmp_path / "one" / "items.jsonl").read_text().splitlines()]
    assert [(each["item"], each["arm"]) for each in order[:4]] == [
        ("i0", "diffusion"), ("i0", "ar"), ("i1", "diffusion"), ("i1", "ar"),
    ]  # fmt: skip


def test_batches_change_no_answer(folder: Path, tmp_path: Path) -> None:
    one, three = (
        run_eval(make_plan(folder, out=tmp_path / str(size), batch_size=size, options={"max_new_tokens": 12}))
        for size in (1, 3)
    )
    assert timeless(one, batch_size=1) == timeless(three, batch_size=1)


def test_weights_that_give_nan_are_wrong_with_a_reason(folder: Path, tmp_path: Path) -> None:
    class Broken:
        def __init__(self, llm: LLM) -> None:
            self.llm = llm

        def __getattr__(self, name: str) -> Any:
            return getattr(self.llm, name)

        def decode(self, rows: Any, on_step: Any = None, batch_size: int | None = None) -> Any:
            def listen(record: Any) -> None:
                on_step(dataclasses.replace(record, entropy_S=record.entropy_S * float("nan")))

            return self.llm.decode(rows, on_step=listen if on_step else None, batch_size=batch_size)

    task = make_task()
    plan = make_plan(folder, tasks=[task])
    (lane,) = prepare(plan).lanes
    broken = Decoder({Place(str(folder)): Broken(LLM.load(str(folder)))}, observe_steps=True)  # type: ignore[dict-item]
    records = broken.answer(task, task.items[:2], lane)
    assert [record.error for record in records] == [NOT_FINITE] * 2


class OddTask(Task):
    """A task whose verifier gives a number that JSON can't hold."""

    def verify_all(self, items: Sequence[Item], texts: Sequence[str], *, jobs: int = 1) -> list[Verdict]:
        return [Verdict(True, {"score": float("nan")}) for _ in items]


def test_a_verifier_that_gives_nan_is_named(folder: Path, tmp_path: Path) -> None:
    task = make_task([("the", "the")])
    odd = OddTask(**{f.name: getattr(task, f.name) for f in dataclasses.fields(task)})
    with pytest.raises(DataError, match=r"task 'words', item 'i0', arm 'diffusion'.*'score' is nan"):
        run_eval(make_plan(folder, tasks=[odd], out=tmp_path / "run", options={"max_new_tokens": 4}))


class Stopper(Silent):
    """Ends the run after some answers, as Ctrl-C would."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.there = -1
        self.answers = 0

    def started(self, folder: Path, total: int, done: Sequence[ItemRecord]) -> None:
        self.there = len(done)

    def answered(self, record: ItemRecord) -> None:
        self.answers += 1
        if self.answers == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_resumed_run_equals_an_uninterrupted_one(folder: Path, tmp_path: Path, batch_size: int) -> None:
    def plan(out: str) -> EvalPlan:
        options = {"max_new_tokens": 10}
        return make_plan(
            folder,
            ("diffusion", "ar"),
            out=tmp_path / out,
            options=options,
            batch_size=batch_size,
            paired=True,
        )

    whole = run_eval(plan("whole"))
    with pytest.raises(KeyboardInterrupt):
        run_eval(plan("cut"), progress=Stopper(5))
    items = tmp_path / "cut" / "items.jsonl"
    written = len(items.read_text().splitlines())
    assert 5 <= written < 16
    with items.open("a") as file:
        file.write('{"arm": "diffusion", "task": "words", "se')  # cut short by a kill
    watch = Stopper(-1)
    resumed = run_eval(plan("cut"), progress=watch)
    assert watch.there == written
    assert watch.answers == 16 - written
    assert timeless(resumed) == timeless(whole)
    assert len(items.read_text().splitlines()) == 16


def test_a_finished_run_is_shown_without_decoding(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(folder, ("diffusion", "ar"), out=tmp_path / "run", options={"max_new_tokens": 4})
    first = run_eval(plan)
    fresh = dataclasses.replace(plan, fresh=True)
    again = run_eval(fresh)
    assert timeless(again) == timeless(first)
    assert again.run.seconds != first.run.seconds

    def refuse(arms: Any) -> None:
        raise AssertionError("a finished run loads no model")

    monkeypatch.setattr(harness, "open_arms", refuse)
    assert run_eval(plan) == again
    # What is computed from the answers may be asked for afterwards.
    paired = run_eval(dataclasses.replace(plan, paired=True))
    assert [part.second for part in paired.comparisons] == ["ar"]
    with pytest.raises(AssertionError):
        run_eval(fresh)


def test_another_plan_in_the_same_folder_is_named(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_eval(make_plan(folder, out=out, options={"max_new_tokens": 4}))
    with pytest.raises(RequestError, match=r"arms.diffusion.options.max_new_tokens was 4 and is 5"):
        run_eval(make_plan(folder, out=out, options={"max_new_tokens": 5}))
    with pytest.raises(RequestError, match=r"arms.ar is new"):
        run_eval(make_plan(folder, ("diffusion", "ar"), out=out, options={"max_new_tokens": 4}))
    other = make_task(name="others")
    with pytest.raises(RequestError, match=r"tasks.words is only there; tasks.others is new"):
        run_eval(make_plan(folder, tasks=[other], out=out, options={"max_new_tokens": 4}))
    with pytest.raises(RequestError, match=r"batch_size was 1 and is 2"):
        run_eval(make_plan(folder, out=out, options={"max_new_tokens": 4}, batch_size=2))
    kept = (out / "items.jsonl").read_text()
    assert len(kept.splitlines()) == 8  # nothing of it was touched


def test_other_weights_are_another_plan(folder: Path, tmp_path: Path) -> None:
    other = tiny.write_folder(tmp_path / "tiny", seed=1)
    first, second = prepare(make_plan(folder)), prepare(make_plan(other))
    assert first.fingerprint != second.fingerprint
    assert prepare(make_plan(folder)).fingerprint == first.fingerprint
    assert first.folder == Path("runs") / f"eval-{first.fingerprint[:12]}"
    both = prepare(make_plan(folder, ["a:model=" + str(folder), "b:model=" + str(other)]))
    assert [model.name for model in both.models.values()] == ["tiny", "tiny-2"]


def timeless(result: ResultFile, **changes: Any) -> dict[str, Any]:
    """A result without its times, which differ from run to run."""

    def cell(each: EvalCell) -> dict[str, Any]:
        values = {**dataclasses.asdict(each), **changes}
        timed = ("seconds", "tokens_per_second", "tokens_per_second_per_answer", "first_block_seconds",
                 "seconds_to_correct", "median_seconds_of_correct", "model_seconds")  # fmt: skip
        return {name: value for name, value in values.items() if name not in timed}

    settings = {
        name: value for name, value in result.settings.items() if name not in ("fingerprint", *changes)
    }
    return {
        "cells": [cell(each) for each in result.cells],
        "comparisons": result.comparisons,
        "models": result.models,
        "data": result.data,
        "settings": settings,
    }


def test_every_arm_is_warmed_up_once_before_it_is_measured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task([("the ab", "x"), ("ab ab", "y")])
    plan = make_plan(folder, tasks=[task])
    (lane,) = prepare(plan).lanes
    decoder = decoder_of(folder, lambda request: [9, tiny.EOS], plan)
    (llm,) = decoder.llms.values()
    decoded: list[int] = []
    real = llm.decode

    def decode(rows: Sequence[Any], *rest: Any, **more: Any) -> Any:
        decoded.append(len(rows))
        return real(rows, *rest, **more)

    monkeypatch.setattr(llm, "decode", decode)
    decoder.warm_up(task, task.items, lane)
    decoder.warm_up(task, task.items, lane)
    assert decoded == [1]
