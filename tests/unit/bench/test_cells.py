from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dlmrt.bench.cells import (
    RANDOM_NOTE,
    Setting,
    lookup_mismatch,
    make_cell,
    measured_floor,
    phase_shares,
    planned_floor,
)
from dlmrt.bench.floor import Forward, floor_of
from dlmrt.bench.measure import Answer
from dlmrt.engine.arms import Arm
from dlmrt.engine.request import Forwards
from tests import tiny_folder as tiny
from tests.bench_support import RATES, ar_result, batch, result, subject, timings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny", residual=True)


def setting(folder: Path, method: str = "diffusion", *, size: int = 1, **subject_changes: bool) -> Setting:
    arm = Arm(method, {"method": method})
    return Setting(arm, subject(folder, **subject_changes), "mine", size, None, 1, 3)


def three_repeats(name: str, totals: tuple[float, float, float]) -> list[Answer]:
    return [Answer(name, result(), total) for total in totals]


def test_a_prompt_counts_with_the_median_of_its_repeats(folder: Path) -> None:
    batches = [
        batch(answer, repeat=i, peak=peak)
        for totals, name, peak in (((1.0, 4.0, 2.0), "a", 7), ((6.0, 6.0, 3.0), "b", 9))
        for i, answer in enumerate(three_repeats(name, totals))  # type: ignore[arg-type]
    ]
    cell = make_cell(setting(folder), batches)
    assert [prompt.prompt for prompt in cell.prompts] == ["a", "b"]
    assert [prompt.total_ms for prompt in cell.prompts] == [2000.0, 6000.0]
    assert cell.prompts[0].total_ms_spread == (1000.0, 4000.0)
    assert [prompt.tokens_per_second for prompt in cell.prompts] == [6.0, 2.0]
    assert cell.tokens_per_second is not None
    assert (cell.tokens_per_second.count, cell.tokens_per_second.median) == (2, 4.0)
    assert cell.ms_per_forward is not None
    assert (cell.ms_per_forward.count, cell.ms_per_forward.median) == (6, pytest.approx(100.0))
    assert cell.peak_memory_bytes == 9
    # Forwards and tokens per forward: of one repeat, so that more repeats don't count more.
    assert cell.forwards is not None
    assert (cell.forwards.prefill, cell.forwards.denoise, cell.forwards.commit) == (2, 12, 2)
    assert cell.tokens_per_forward is not None
    assert cell.tokens_per_forward.ratio_of_sums == pytest.approx(24 / 14)
    assert cell.tokens_per_forward.ratio_of_sums_without_commits == pytest.approx(24 / 12)


def test_percent_of_floor_compares_with_the_median_forward(folder: Path) -> None:
    cell = make_cell(setting(folder), [batch(Answer("a", result(), 1.0))])
    assert cell.floor is not None
    assert cell.percent_of_floor == pytest.approx(100 * cell.floor.ms / 100.0)


def test_the_floor_is_that_of_the_mean_forward_that_ran(folder: Path) -> None:
    one = setting(folder)
    config = one.subject.llm.folder.config
    floor = measured_floor(one, [batch(Answer("a", result(), 1.0))])
    # Four steps behind 16 tokens, two behind 24; NumPy takes no residual at a block's first step.
    context = (4 * 16 + 2 * 24) / 6
    assert floor == floor_of(config, Forward(8, context, 1, residual=1 - 2 / 6), 4, RATES)


def test_rows_that_decode_together_share_the_weights_of_a_forward(folder: Path) -> None:
    one = setting(folder, size=2, eager=True)
    short = result(range(6), forwards=Forwards(1, 3, 0), steps_per_block=(3,))
    floor = measured_floor(one, [batch(Answer("a", result(), 1.0), Answer("b", short, 1.0), together=True)])
    context = (4 * 16 + 2 * 24 + 3 * 16) / 9
    expected = floor_of(one.subject.llm.folder.config, Forward(8, context, 9 / 6, residual=1.0), 4, RATES)
    assert floor == expected
    assert floor is not None
    assert floor.positions == 12


def test_autoregressive_forwards_have_one_position_and_lookup_its_drafts(folder: Path) -> None:
    ar, lookup = setting(folder, "ar"), setting(folder, "ar_lookup")
    config = ar.subject.llm.folder.config
    floor = measured_floor(ar, [batch(Answer("a", ar_result(range(12)), 1.0))])
    assert floor == floor_of(config, Forward(1, 16 + 10 / 2, 1, 0.0), 4, RATES)
    drafted = ar_result(range(12), method="ar_lookup", forwards=Forwards(1, 4, 0), proposed_tokens=10)
    floor = measured_floor(lookup, [batch(Answer("a", drafted, 1.0))])
    assert floor == floor_of(config, Forward(1 + 10 / 4, 16 + 10 / 2, 1, 0.0), 4, RATES)


def test_an_answer_of_the_prefill_alone_has_no_forward_to_compare(folder: Path) -> None:
    single = ar_result((5,), forwards=Forwards(1, 0, 0), timings=timings(denoise=0.0, commit=0.0))
    cell = make_cell(setting(folder, "ar"), [batch(Answer("a", single, 1.0))])
    assert cell.floor is None
    assert cell.percent_of_floor is None
    assert cell.ms_per_forward is None
    assert cell.tokens_per_second_decode is None


def test_before_decoding_the_context_is_the_prompt(folder: Path) -> None:
    assert planned_floor(setting(folder), 21.5).context == 16  # whole blocks of 8
    assert planned_floor(setting(folder, "ar"), 21.5).context == 22
    assert planned_floor(setting(folder, size=4, eager=True), 16).positions == 32
    assert planned_floor(setting(folder, size=4), 16).positions == 8  # NumPy takes a row at a time


def test_phases_are_means_and_what_is_left_is_other() -> None:
    answers = [Answer("a", result(), 1.0), Answer("b", result(timings=timings(denoise=0.2)), 1.0)]
    phases = phase_shares(answers)
    assert phases is not None
    assert phases.denoise == pytest.approx(0.4)
    assert phases.other == pytest.approx(1.0 - (0.01 + 0.1 + 0.4 + 0.1 + 0.02))
    assert phases.total == 1.0
    assert phase_shares([]) is None


def test_phases_that_are_not_told_stay_none() -> None:
    untold = dataclasses.replace(result(), timings=dataclasses.replace(timings(), prefill=None))
    phases = phase_shares([Answer("a", untold, 1.0), Answer("b", result(), 1.0)])
    assert phases is not None
    assert phases.prefill is None
    assert phases.denoise == pytest.approx(0.6)


def test_batches_give_one_rate_each_and_fillers_no_prompt(folder: Path) -> None:
    filled = [
        batch(Answer("a", result(), 3.0), Answer("b", result(), 3.0)),
        batch(Answer("c", result(), 3.0), Answer("a", result(), 9.0, filler=True)),
    ]
    cell = make_cell(setting(folder, size=2), filled)
    assert [prompt.prompt for prompt in cell.prompts] == ["a", "b", "c"]
    assert cell.prompts[0].total_ms_spread == (3000.0, 3000.0)
    assert cell.tokens_per_second is not None
    assert (cell.tokens_per_second.count, cell.tokens_per_second.median) == (2, 12.0)  # 24 tokens in 2 s
    assert any("batches of 2" in note for note in cell.notes)
    assert any("filled up" in note for note in cell.notes)


def test_an_answer_that_changes_between_repeats_is_noted(folder: Path) -> None:
    same = [batch(Answer("a", result(), 1.0), repeat=i) for i in range(2)]
    other = batch(Answer("a", result(range(5, 17)), 1.0), repeat=2)
    assert not any("another answer" in note for note in make_cell(setting(folder), same).notes)
    assert any("1 prompts got another answer" in n for n in make_cell(setting(folder), [*same, other]).notes)


def test_lookup_must_answer_like_plain_ar() -> None:
    plain = [batch(Answer("a", ar_result(), 1.0)), batch(Answer("b", ar_result(), 1.0))]
    assert lookup_mismatch(plain, plain) == ""
    wrong = [plain[0], batch(Answer("b", ar_result(range(1, 13)), 1.0))]
    assert lookup_mismatch(plain, wrong).startswith(
        "1 of 2 answers differ from those of plain ar (the first: b)"
    )


def test_random_weights_claim_no_quality(folder: Path) -> None:
    cell = make_cell(setting(folder, random=True), [batch(Answer("a", result(), 1.0))], ["further"])
    assert RANDOM_NOTE in cell.notes
    assert cell.notes[-1] == "further"
    lookup = make_cell(setting(folder, "ar_lookup", random=True), [batch(Answer("a", ar_result(), 1.0))])
    assert any("drafts" in note for note in lookup.notes)
