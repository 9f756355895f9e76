from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlmrt.bench import harness
from dlmrt.bench.server import ServerPlan
from dlmrt.cli import bench as verb
from dlmrt.cli.bench_options import Measured
from dlmrt.models.registry import list_models
from dlmrt.results.files import read_result
from tests.bench_server import BenchServer
from tests.bench_support import quick_rates

Run = Callable[..., Any]
needs_embedded = pytest.mark.skipif(not list_models(), reason="this checkout has no embedded model")
SHAPE = "d_model=16,n_layers=1,n_heads=2,d_ffn=24,vocab_size=1100,max_positions=256"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_rates(monkeypatch)


@pytest.fixture
def prompts(tmp_path: Path) -> str:
    path = tmp_path / "mine.txt"
    path.write_text("the end\nab ab\n")
    return str(path)


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if anything is loaded: what is wrong is found before."""

    def load(plan: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(harness, "open_subjects", load)


def test_it_prints_floors_then_speeds(dlmrt: Run, folder: str, prompts: str) -> None:
    done = dlmrt("bench", "-m", folder, "--suite", prompts, "-n", "9", "--repeats", "1")
    assert done.code == 0
    floors, speeds = done.out.index("floor of a forward"), done.out.index("speed on ")
    assert floors < speeds
    assert "GB/s" in done.out[:speeds]
    for word in (
        "% of floor",
        "tokens/s decode",
        "tokens/s end to end",
        "first block ms",
        "memory MB",
        "[middle half]",
    ):
        assert word in done.out[speeds:]
    rows = [line.split("│") for line in done.out[speeds:].splitlines() if line.startswith("│")]
    assert [row[2].strip() for row in rows] == ["diffusion", "ar", "lookup"]
    assert all(float(row[6]) > 0 for row in rows)
    assert "bottleneck" not in done.out
    assert "peak memory is" in done.err


def test_breakdown_answers_the_question_for_every_arm(dlmrt: Run, folder: str, prompts: str) -> None:
    args = ("bench", "-m", folder, "--suite", prompts, "--arms", "ar", "fast:threshold=0.1", "--repeats", "1")
    done = dlmrt(*args, "--breakdown")
    assert "where a request's time goes" in done.out
    question = done.out.index("is single-request latency the bottleneck")
    for arm in ("ar", "fast"):
        assert f"mine.txt, {arm}: yes, forwards" in done.out[question:]


def test_json_is_one_result(dlmrt: Run, folder: str, prompts: str, tmp_path: Path) -> None:
    done = dlmrt("bench", "-m", folder, "--suite", prompts, "--baseline", "none", "--json", "--who", "Ada")
    assert json.loads(done.out)["kind"] == "bench"
    path = tmp_path / "printed.json"
    path.write_text(done.out)
    result = read_result(path)
    assert [cell.arm for cell in result.speeds] == ["diffusion"]
    assert result.speeds[0].repeats == 3
    assert result.run.who == "Ada"
    assert "floor: mine.txt, diffusion, batch 1:" in done.err


def test_results_are_written_and_never_overwritten(
    dlmrt: Run, folder: str, prompts: str, tmp_path: Path
) -> None:
    out, shelf = tmp_path / "new.json", tmp_path / "shelf"
    args = (
        "bench",
        "-m",
        folder,
        "--suite",
        prompts,
        "--baseline",
        "none",
        "--repeats",
        "1",
        "--out",
        str(out),
    )
    done = dlmrt(*args, "--results", str(shelf))
    assert done.code == 0
    (named,) = shelf.iterdir()
    assert named.name.startswith("tiny_")
    assert read_result(out) == read_result(named)
    again = dlmrt(*args)
    assert again.code == 2
    assert "never overwritten" in again.err


def test_settings_reach_the_cells(dlmrt: Run, folder: str, prompts: str) -> None:
    done = dlmrt(
        "bench", "-m", folder, "--suite", prompts, "--baseline", "ar", "--batch", "1,2", "-n", "5,9",
        "--policy", "fixed", "--per-step", "4", "--warmup", "0", "--repeats", "2", "--limit", "1", "--json",
    )  # fmt: skip
    cells = json.loads(done.out)["speeds"]
    assert [(c["max_new_tokens"], c["batch_size"], c["arm"]) for c in cells] == [
        (n, b, arm) for n in (5, 9) for b in (1, 2) for arm in ("diffusion", "ar")
    ]
    assert cells[0]["options"] == {"policy": "fixed", "per_step": 4}
    assert (cells[0]["warmups"], cells[0]["repeats"], len(cells[0]["prompts"])) == (0, 2, 1)


@needs_embedded
def test_random_weights_run_without_a_model(dlmrt: Run, prompts: str) -> None:
    done = dlmrt(
        "bench", "--random-weights", SHAPE, "--suite", prompts, "--block-size", "8", "--per-step", "4",
        "-n", "16", "--noise", "uniform", "--repeats", "1", "--json",
    )  # fmt: skip
    document = json.loads(done.out)
    assert document["settings"]["random_weights"]["steps_per_block"] == 2
    assert document["models"]["random-custom"]["noise"] == "uniform"
    assert [cell["arm"] for cell in document["speeds"]] == ["diffusion", "ar"]


@pytest.mark.parametrize("option", [(), ("--no-stream",), ("--api", "completions")])
def test_a_server_alone(dlmrt: Run, prompts: str, option: tuple[str, ...], unloaded: None) -> None:
    with BenchServer() as server:
        done = dlmrt("bench", "--server", server.url, "--suite", prompts, "--breakdown", *option)
    assert done.code == 0, done.err
    assert "floor of a forward" not in done.out
    assert "│ client │" in done.out
    assert "a client waits" in done.out


def test_the_key_of_a_server_stays_secret(
    dlmrt: Run, prompts: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("THE_KEY", "s3cret-value")
    with BenchServer() as server:
        done = dlmrt(
            "bench", "--server", server.url, "--suite", prompts, "--api-key-env", "THE_KEY", "--json"
        )
    assert done.code == 0, done.err
    assert "s3cret-value" not in done.out + done.err


def test_a_claim_is_judged(dlmrt: Run, folder: str, tmp_path: Path) -> None:
    eight = tmp_path / "eight.txt"
    eight.write_text("\n".join("ab the one two three four five six".split()))
    done = dlmrt(
        "bench", "-m", folder, "--suite", str(eight), "--baseline", "none", "-n", "9", "--repeats", "1",
        "--claim", "0.01", "--claim-measure", "end_to_end",
    )  # fmt: skip
    assert "claim, eight.txt, diffusion: " in done.out
    assert "8 of 8 prompts" in done.out


def test_an_interrupt_writes_what_there_is(
    dlmrt: Run, folder: str, prompts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = harness.run_batch, iter(range(100))

    def run_batch(*args: Any, **more: Any) -> Any:
        if next(calls) == 3:  # a warm-up, one prompt, and the next one begins
            raise KeyboardInterrupt
        return real(*args, **more)

    monkeypatch.setattr(harness, "run_batch", run_batch)
    out = tmp_path / "part.json"
    args = (
        "bench",
        "-m",
        folder,
        "--suite",
        prompts,
        "--baseline",
        "none",
        "--repeats",
        "2",
        "--out",
        str(out),
    )
    done = dlmrt(*args)
    assert done.code == 130
    assert "incomplete: interrupted" in done.err
    result = read_result(out)
    assert "interrupted" in result.settings["incomplete"]
    assert len(result.speeds[0].prompts) == 1


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--suite", "chatt"), "did you mean 'chat'"),
        (("--suite", "chat,,code"), "a name in it is empty"),
        (("--batch", "1,x"), "--batch is '1,x'"),
        (("--batch", "0"), "--batch is 0"),
        (("--max-new-tokens", "1.5"), "--max-new-tokens is '1.5'"),
        (("--repeats", "0"), "--repeats is 0"),
        (("--baseline", "ar,lookpu"), "did you mean 'lookup'"),
        (("--arms", "ar", "--baseline", "ar"), "drop one of them"),
        (("--arms", "ra"), "did you mean 'ar'"),
        (("--claim", "-1"), "must be"),
        (("--claim-measure", "decode"), "add --claim"),
        (("--claim", "5", "--claim-measure", "middle"), "end_to_end"),
        (("--per-step", "4"), "per_step has no effect"),
        (("--api", "chat"), "--api is for --server"),
        (("--no-stream",), "--no-stream is for --server"),
        (("--timeout", "9"), "--timeout is for --server"),
        (("--concurrency", "0"), "--concurrency is for --server"),
        (("--block-size", "8"), "--block-size is for --random-weights"),
        (("--random-weights", "qwen3-4b"), "--model and --random-weights"),
        (("--out", f"{__file__}/x.json"), "is a file"),
        (("--results", __file__), "is a file"),
        (("--batchsize", "1"), "no option '--batchsize'"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_loaded(
    dlmrt: Run, folder: str, args: tuple[str, ...], words: str
) -> None:
    done = dlmrt("bench", "-m", folder, *args)
    assert done.code == 2
    assert words in done.err
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
    assert done.out == ""


@needs_embedded
@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--random-weights", "qwen3-5b"), "no shape 'qwen3-5b'"),
        (("--random-weights", SHAPE, "--threshold", "0.5"), "threshold has no place"),
        (("--random-weights", SHAPE, "--noise", "white"), "--noise is 'white'"),
        (("--random-weights", SHAPE, "--block-size", "0"), "--block-size is 0"),
        (("--server", "http://localhost:1", "--threshold", "0.5"), "only the server is measured"),
        (("--server", "http://localhost:1", "--no-residual"), "--no-residual is for decoding here"),
        (("--server", "http://localhost:1", "--timeout", "0"), "timeout is 0"),
        (("--server", "http://localhost:1", "--timeout", "-1"), "timeout is -1"),
        (("--server", "http://localhost:1", "--batch", "4"), "only the server is measured"),
        (("--server", "http://localhost:1", "--api-key-env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE"),
        (("--server", "http://localhost:1", "--api", "chats"), "chats"),
        (("--server", "http://localhost:1", "--concurrency", "0"), "concurrency"),
    ],
)
def test_so_is_what_needs_no_model(dlmrt: Run, args: tuple[str, ...], words: str) -> None:
    done = dlmrt("bench", *args)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


@pytest.mark.usefixtures("unloaded")
@pytest.mark.parametrize("measure", [(), ("--claim-measure", "decode")])
def test_whole_answers_have_no_decode_rate_to_claim(
    dlmrt: Run, prompts: str, measure: tuple[str, ...]
) -> None:
    with BenchServer() as server:
        args = ("bench", "--server", server.url, "--suite", prompts, "--no-stream", "--claim", "5")
        done = dlmrt(*args, *measure)
        assert server.requests == []
    assert done.code == 2
    assert "use --claim-measure end_to_end" in done.err
    assert done.err.count("\n") == 1


def test_the_timeout_of_a_request_is_its_own(dlmrt: Run, prompts: str) -> None:
    with BenchServer() as server:
        args = ("bench", "--server", server.url, "--suite", prompts, "--repeats", "1", "--json")
        settings = json.loads(dlmrt(*args, "--timeout", "7.5").out)["settings"]
    assert settings["server"]["timeout_seconds"] == 7.5
    assert f"may take. Default: {ServerPlan.timeout:g}." in " ".join(dlmrt("bench", "--help").out.split())


@pytest.mark.parametrize("argv0", ["dlmrt", "/somewhere/dlmrt/cli/app.py"])
def test_the_command_is_told_by_the_programs_name(
    dlmrt: Run, folder: str, prompts: str, monkeypatch: pytest.MonkeyPatch, argv0: str
) -> None:
    args = ("bench", "-m", folder, "--suite", prompts, "--baseline", "none", "--repeats", "1", "--json")
    monkeypatch.setattr(sys, "argv", [argv0, *args])
    assert json.loads(dlmrt(*args).out)["run"]["command"].startswith("dlmrt bench -m ")


@needs_embedded
@pytest.mark.parametrize(
    ("model", "random", "expected"),
    [
        (None, False, "repair"),
        ("first-light", False, "repair"),
        ("models/mine", False, "chat"),
        (None, True, "chat"),
    ],
)
def test_the_default_suite_is_what_the_model_is_for(model: str | None, random: bool, expected: str) -> None:
    assert verb._default_suite(model, random=random) == expected


def test_suites_are_joined_by_commas() -> None:
    assert Measured(suite=["chat, code", "json"]).suites("repair") == ["chat", "code", "json"]
    assert Measured().suites("repair") == ["repair"]
