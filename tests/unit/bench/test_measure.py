from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dlmrt.bench.measure import Answer, Batch, prepare, run_batch
from dlmrt.bench.suites import SuitePrompt
from dlmrt.engine.arms import Arm
from dlmrt.errors import PromptError, RequestError
from tests import tiny_folder as tiny
from tests.bench_support import ar_result, result, subject, timings

DIFFUSION, AR = Arm("diffusion", {"method": "diffusion"}), Arm("ar", {"method": "ar"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny")


def test_decode_only_leaves_prefill_and_text_out() -> None:
    answer = Answer("p", result(), total=1.0)
    assert answer.decode_seconds == pytest.approx(0.7)
    assert answer.decode_rate == pytest.approx(12 / 0.7)
    assert answer.rate == 12.0
    assert answer.ms_per_forward == pytest.approx(100.0)
    assert answer.first_block == pytest.approx(0.21)


def test_the_token_of_an_autoregressive_prefill_is_not_decoded() -> None:
    answer = Answer("p", ar_result(range(7)), total=1.0)
    assert answer.decode_rate == pytest.approx(6 / 0.6)
    assert answer.rate == 7.0
    assert answer.ms_per_forward == pytest.approx(100.0)


def test_what_the_backend_does_not_tell_is_none() -> None:
    untold = timings()
    untold = type(untold)(load=0, tokenise=0, first_block=1, decode=1)
    answer = Answer("p", result(timings=untold), total=1.0)
    assert answer.decode_rate is None
    assert answer.ms_per_forward is None
    only_prefill = Answer("p", ar_result((5,), timings=timings(denoise=0.0, commit=0.0)), total=1.0)
    assert only_prefill.decode_rate is None
    assert only_prefill.ms_per_forward is None
    assert Batch((answer, only_prefill), 2.0, False, 1).decode_rate is None


def test_rows_that_share_forwards_are_counted_once() -> None:
    slow, quick = result(), result(timings=timings(denoise=0.3))
    answers = tuple(Answer("p", each, 1.0) for each in (slow, quick))
    together, alone = Batch(answers, 2.0, True, 1), Batch(answers, 2.0, False, 1)
    assert together.rate == alone.rate == 12.0
    assert together.decode_rate == pytest.approx(24 / 0.7)
    assert alone.decode_rate == pytest.approx(24 / (0.7 + 0.4))
    assert (together.forwards, alone.forwards) == (6, 12)


def test_a_request_waits_for_everything_the_clock_saw(folder: Path) -> None:
    ticks = iter([10.0, 12.5])
    model = subject(folder)
    done = run_batch(model, DIFFUSION, [SuitePrompt("p", "the end")], 9, clock=lambda: next(ticks))
    assert done.wall == 2.5
    (answer,) = done.answers
    assert answer.total == 2.5
    assert answer.result.prompt_tokens % tiny.BLOCK == 0
    assert done.peak > 0


def test_the_clock_starts_before_a_prompt_is_tokenised(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def slow_prepare(*arguments: Any) -> Any:
        nonlocal now
        now += 1.5
        return prepare(*arguments)

    monkeypatch.setattr("dlmrt.bench.measure.prepare", slow_prepare)
    done = run_batch(subject(folder), AR, [SuitePrompt("p", "the end")], 5, clock=lambda: now)
    assert done.wall == done.answers[0].total == 1.5


def test_numpy_rows_queue_and_fillers_are_marked(folder: Path) -> None:
    prompts = [SuitePrompt(name, "the end") for name in "abc"]
    done = run_batch(subject(folder), AR, prompts, 5, fillers=1)
    assert [answer.filler for answer in done.answers] == [False, False, True]
    waits = [answer.result.timings.queue for answer in done.answers]
    assert waits == sorted(waits)
    for answer in done.answers:
        seconds = answer.result.timings
        assert answer.total >= seconds.queue + seconds.tokenise + seconds.decode
    assert not done.together


@pytest.mark.parametrize(
    ("arm", "length", "own", "expected"),
    [
        (DIFFUSION, 5, 7, 5),  # the run's length wins over the prompt's
        (DIFFUSION, None, 7, 7),
        (DIFFUSION, None, 900, tiny.CONTEXT - 8),  # a prompt's own limit is a wish
        (DIFFUSION, None, None, 24),  # the model's
        (Arm("short", {"method": "ar", "max_new_tokens": 3}), 5, 7, 3),
    ],
)
def test_whose_limit_counts(
    folder: Path, arm: Arm, length: int | None, own: int | None, expected: int
) -> None:
    prepared = prepare(subject(folder).llm, arm, SuitePrompt("p", "the end", own), length)
    assert len(prepared.row.prompt_ids) == 8
    assert prepared.row.max_new_tokens == expected


def test_a_prompt_that_does_not_fit_is_refused(folder: Path) -> None:
    llm = subject(folder).llm
    with pytest.raises(RequestError, match="ask for at most"):
        prepare(llm, DIFFUSION, SuitePrompt("p", "the end"), 500)
    with pytest.raises(PromptError, match="at most 40"):
        prepare(llm, DIFFUSION, SuitePrompt("p", "x" * 200), None)
