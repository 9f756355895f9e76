from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dlmrt.bench import harness
from dlmrt.bench.harness import INCOMPLETE, FloorRow, run_bench
from dlmrt.bench.measure import Batch, Subject
from dlmrt.bench.measure import run_batch as real_run_batch
from dlmrt.bench.plan import BenchPlan, ClaimPlan
from dlmrt.bench.random_model import RandomModel, read_shape
from dlmrt.bench.suites import SuitePrompt
from dlmrt.engine.arms import Arm, Place, parse_arms
from dlmrt.errors import RequestError
from dlmrt.models.registry import list_models
from dlmrt.results.files import read_result, write_result
from tests import tiny_folder as tiny
from tests.bench_server import BenchServer
from tests.bench_server import plan as server_plan
from tests.bench_support import quick_rates, suite

THREE = ("diffusion", "ar", "lookup")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny", residual=True)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_rates(monkeypatch)


def plan(folder: Path, *specs: str, **changes: Any) -> BenchPlan:
    arms = parse_arms(specs or THREE, Place(str(folder)), {})
    made = BenchPlan((suite("the end", "ab ab ab", "one"),), arms, lengths=(11,), warmups=1, repeats=2)
    return dataclasses.replace(made, **changes)


Seen = list[tuple[str, tuple[str, ...], int]]


def watch(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None] = lambda call: None) -> Seen:
    """Note the arm, prompts and repeat of every measured batch; ``before`` may raise."""
    seen: Seen = []

    def run_batch(subject: Subject, arm: Arm, prompts: list[SuitePrompt], *rest: Any, **more: Any) -> Batch:
        before(len(seen))
        seen.append((arm.name, tuple(prompt.id for prompt in prompts), more.get("repeat", -1)))
        return real_run_batch(subject, arm, prompts, *rest, **more)

    monkeypatch.setattr(harness, "run_batch", run_batch)
    return seen


def test_one_run_has_floors_and_the_three_decoders_of_the_same_weights(folder: Path, tmp_path: Path) -> None:
    result = run_bench(plan(folder))
    assert [cell.arm for cell in result.speeds] == list(THREE)
    assert list(result.models) == ["tiny"]
    for cell in result.speeds:
        assert cell.clock == "engine"
        assert (cell.backend.name, cell.backend.device, cell.backend.dtype) == ("numpy", "cpu", "float32")
        assert cell.backend.reason.startswith("small model")
        assert cell.floor is not None
        assert cell.ms_per_forward is not None
        assert cell.percent_of_floor == pytest.approx(100 * cell.floor.ms / cell.ms_per_forward.median)
        assert [prompt.prompt for prompt in cell.prompts] == ["p0", "p1", "p2"]
        assert cell.tokens_per_second is not None
        assert cell.tokens_per_second_decode is not None
        assert cell.tokens_per_second_decode.median > cell.tokens_per_second.median
        assert cell.phases is not None
        assert cell.peak_memory_bytes
    ar, lookup = result.speeds[1:]
    assert [prompt.tokens for prompt in ar.prompts] == [prompt.tokens for prompt in lookup.prompts]
    assert not any("differ from those of plain ar" in note for note in lookup.notes)
    assert read_result(write_result(result, tmp_path)) == result


def test_arms_take_turns_on_each_prompt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    run_bench(plan(folder, suites=(suite("the end", "ab"),)))
    warm, measured = seen[:3], seen[3:]
    assert [(arm, repeat) for arm, _, repeat in warm] == [(arm, -1) for arm in THREE]
    turned = [*THREE[1:], THREE[0]]  # another arm goes first in the next repeat
    expected = [
        (arm, (p,), i) for p in ("p0", "p1") for i, arms in enumerate((THREE, turned)) for arm in arms
    ]
    assert measured == expected


def test_floors_come_before_anything_is_decoded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = watch(monkeypatch)
    rows: list[FloorRow] = []

    def on_floors(found: Any) -> None:
        assert seen == []
        rows.extend(found)

    run_bench(plan(folder, batches=(1, 2), lengths=(5, 11)), on_floors=on_floors)
    assert [(row.arm, row.batch) for row in rows] == [(arm, size) for arm in THREE for size in (1, 2)]
    assert all(row.backend == "numpy cpu float32" for row in rows)
    assert all(row.floor.ms > 0 for row in rows)


def test_every_setting_is_a_cell_and_progress_reaches_the_end(folder: Path) -> None:
    told: list[tuple[int, int]] = []
    result = run_bench(
        plan(folder, "diffusion", "ar", batches=(1, 2), lengths=(5, 11)),
        progress=lambda done, total, what: told.append((done, total)),
    )
    cells = [(cell.max_new_tokens, cell.batch_size, cell.arm) for cell in result.speeds]
    assert cells == [(n, b, arm) for n in (5, 11) for b in (1, 2) for arm in ("diffusion", "ar")]
    assert told[-1][0] == told[-1][1] == len(told)
    assert any("filled up" in note for note in result.speeds[2].notes)


def interrupt_at(call: int, error: type[BaseException] = KeyboardInterrupt) -> Callable[[int], None]:
    def before(now: int) -> None:
        if now == call:
            raise error

    return before


def test_an_interrupt_keeps_the_prompts_that_all_arms_finished(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Two arms: 2 warm-ups, then 4 batches a prompt; the third prompt is under way.
    watch(monkeypatch, interrupt_at(2 + 4 + 4 + 1))
    result = run_bench(plan(folder, "diffusion", "ar"))
    assert "interrupted" in result.settings[INCOMPLETE]
    for cell in result.speeds:
        assert [prompt.prompt for prompt in cell.prompts] == ["p0", "p1"]
        assert "2 of 3 prompts finished" in cell.notes
    assert read_result(write_result(result, tmp_path)) == result


def test_an_interrupt_before_the_first_prompt_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch, interrupt_at(3))
    with pytest.raises(KeyboardInterrupt):
        run_bench(plan(folder, "diffusion", "ar"))


def test_an_interrupted_claim_keeps_its_numbers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch, interrupt_at(9))
    eight = suite(*("ab the one two three four five six".split()))
    result = run_bench(plan(folder, "ar", suites=(eight,), claim=ClaimPlan(5.0)))
    assert result.claims == ()
    assert "takes at least 8" in result.skipped["claim on mine, arm ar, batch 1"]
    assert len(result.speeds[0].prompts) == 4


def test_a_batch_that_does_not_fit_the_memory_ends_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch, interrupt_at(1 + 6, MemoryError))  # the first batch of two
    result = run_bench(plan(folder, "ar", batches=(1, 2)))
    assert [cell.batch_size for cell in result.speeds] == [1]
    assert "out of memory" in result.skipped["mine, 11 new tokens, batch 2"]


def test_other_errors_are_not_swallowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch, interrupt_at(4, ZeroDivisionError))
    with pytest.raises(ZeroDivisionError):
        run_bench(plan(folder, "ar"))


def test_a_claim_is_judged_on_every_cell_or_refused_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watch(monkeypatch)
    with pytest.raises(RequestError, match="5 more"):
        run_bench(plan(folder, claim=ClaimPlan(5.0)))
    assert seen == []
    eight = suite(*("ab the one two three four five six".split()))
    result = run_bench(plan(folder, suites=(eight,), repeats=1, claim=ClaimPlan(0.001, "end_to_end")))
    assert [claim.arm for claim in result.claims] == list(THREE)
    assert all(claim.met.hits == 8 for claim in result.claims)


def test_prompts_that_do_not_fit_are_named(folder: Path) -> None:
    result = run_bench(plan(folder, "ar", suites=(suite("x" * 200, "ab"),)))
    assert "1 of 2 prompts don't fit" in result.skipped["mine, 11 new tokens"]
    assert any("1 of 2 prompts don't fit" in note for note in result.speeds[0].notes)


def test_two_folders_of_one_name_stay_apart(folder: Path, tmp_path: Path) -> None:
    twin = tiny.write_folder(tmp_path / "tiny", seed=1)
    result = run_bench(plan(folder, "ar", f"twin:method=ar,model={twin}", repeats=1))
    assert [cell.model for cell in result.speeds] == ["tiny", "tiny-2"]
    assert result.models["tiny"].weights_sha256 != result.models["tiny-2"].weights_sha256


@pytest.mark.skipif(not list_models(), reason="this checkout has no embedded model")
@pytest.mark.parametrize("backend", ["numpy", "eager"])
def test_random_weights_do_a_fixed_amount_of_work(folder: Path, backend: str) -> None:
    if backend == "eager":
        pytest.importorskip("torch")
    config = read_shape("d_model=16,n_layers=1,n_heads=2,d_ffn=24,vocab_size=1100,max_positions=256")[1]
    arms = parse_arms(["diffusion", "ar"], Place(backend=backend, device="cpu"), {})
    random = RandomModel("custom", config, block_size=8, per_step=3)
    result = run_bench(plan(folder, arms=arms, random=random, lengths=(16,), batches=(1, 2)))
    facts = result.models["random-custom"]
    assert facts.random_weights
    assert facts.weights_sha256 == {}
    assert result.settings["random_weights"]["steps_per_block"] == 3
    for cell in result.speeds:
        assert cell.backend.name == backend
        steps = 6 if cell.arm == "diffusion" else 15
        assert [prompt.denoise_forwards for prompt in cell.prompts] == [steps] * 3
        assert [prompt.tokens for prompt in cell.prompts] == [16] * 3
        assert any("no quality is claimed" in note for note in cell.notes)


@pytest.mark.skipif(not list_models(), reason="this checkout has no embedded model")
def test_random_weights_have_a_length_of_their_own(folder: Path) -> None:
    config = read_shape("d_model=16,n_layers=1,n_heads=2,d_ffn=24,vocab_size=1100,max_positions=512")[1]
    random = RandomModel("custom", config, block_size=32, per_step=32)
    arms = parse_arms(["diffusion"], Place(backend="numpy"), {})
    wish = suite("ab", limit=7)
    result = run_bench(plan(folder, arms=arms, random=random, lengths=(None,), suites=(wish,), repeats=1))
    assert [prompt.tokens for prompt in result.speeds[0].prompts] == [128]


@pytest.fixture
def server() -> Iterator[BenchServer]:
    with BenchServer() as running:
        yield running


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_stands_beside_the_local_decoders(
    folder: Path, server: BenchServer, stream: bool, tmp_path: Path
) -> None:
    asked = dataclasses.replace(server_plan(server), stream=stream)
    result = run_bench(plan(folder, "ar", server=asked, repeats=1))
    assert [(cell.arm, cell.clock) for cell in result.speeds] == [("server", "client"), ("ar", "engine")]
    assert len(result.speeds[0].prompts) == 3
    assert result.settings["server"]["url"].startswith("http://127.0.0.1")
    assert set(result.models) == {"tiny", result.speeds[0].model}
    assert read_result(write_result(result, tmp_path)) == result


def test_a_server_alone_needs_no_model(folder: Path, server: BenchServer, tmp_path: Path) -> None:
    result = run_bench(plan(folder, arms=(), server=server_plan(server), repeats=1, limit=2))
    assert [cell.clock for cell in result.speeds] == ["client"]
    assert len(result.speeds[0].prompts) == 2
    assert result.hardware == harness.NO_HARDWARE
    assert read_result(write_result(result, tmp_path)) == result


def test_a_server_model_named_like_a_local_one_is_another_model(folder: Path) -> None:
    with BenchServer(models=("tiny",)) as running:
        result = run_bench(plan(folder, "ar", server=server_plan(running), repeats=1))
    assert {cell.arm: cell.model for cell in result.speeds} == {"server": "tiny (server)", "ar": "tiny"}
    assert result.models["tiny (server)"].parameters is None
    assert result.models["tiny"].parameters


def test_an_interrupt_at_the_server_keeps_what_was_answered(
    folder: Path, server: BenchServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupt(done: int, total: int, what: str) -> None:
        if done == 3:  # the warm-up and two prompts
            raise KeyboardInterrupt

    suites = (suite("the end", "ab ab ab", "one"), suite("two", name="other"))
    asked = plan(folder, "ar", suites=suites, server=server_plan(server), repeats=1)
    result = run_bench(asked, progress=interrupt)
    (cell,) = result.speeds  # the second suite was not asked for any more
    assert [prompt.prompt for prompt in cell.prompts] == ["p0", "p1"]
    assert "interrupted; 2 of 3 prompts were asked" in cell.notes
    assert "interrupted" in result.settings[INCOMPLETE]
    assert read_result(write_result(result, tmp_path)) == result


def test_a_claim_that_whole_answers_cannot_carry_is_refused_before_asking(
    folder: Path, server: BenchServer
) -> None:
    asked = dataclasses.replace(server_plan(server), stream=False)
    with pytest.raises(RequestError, match="--claim-measure end_to_end"):
        run_bench(plan(folder, arms=(), server=asked, claim=ClaimPlan(5.0)))
    assert server.requests == []
