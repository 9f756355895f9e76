"""``dlmrt eval`` as a user meets it: arms, tasks, tables, JSON, and one line for what can't be."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dlmrt.cli import eval_view
from dlmrt.evals import harness, plan
from dlmrt.evals.record import ItemRecord
from dlmrt.results import envelope
from dlmrt.results.files import read_result

Run = Callable[..., Any]
WORDS = ("the ab", "ab ab", "stop the", "a bee", "the the the")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with a task file, a short environment report and no questions to git."""
    records = [{"prompt": word, "answer": word} for word in WORDS]
    (tmp_path / "words.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    monkeypatch.chdir(tmp_path)
    report = {"cpu": {"model": "Test CPU", "usable_cores": 2}, "torch": None}
    monkeypatch.setattr(harness, "environment", lambda: report)
    for module in (plan, envelope):
        monkeypatch.setattr(module, "source_commit", lambda: "0" * 40)
    return tmp_path


@pytest.fixture
def evaluate(dlmrt: Run, folder: str) -> Run:
    """``dlmrt eval --tasks words.jsonl -m <tiny> -n 6 ...``"""

    def run(*argv: str, tasks: str = "words.jsonl") -> Any:
        return dlmrt("eval", "--tasks", tasks, "-m", folder, "-n", "6", *argv)

    return run


def test_arms_stand_beside_each_other_and_the_table_is_the_answer(evaluate: Run) -> None:
    done = evaluate("--arms", "diffusion", "ar", "lookup", "--paired", "--claim-margin", "0.05")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0] == "words, 5 items"
    rows = [line.split()[0] for line in lines if line.startswith(("  diffusion ", "  ar ", "  lookup "))]
    assert rows == ["diffusion", "ar", "lookup"]
    assert any(line.startswith("lookup - diffusion on words: +0.0 points") for line in lines)
    assert "ar on words, seed 0: " in done.out
    assert "15 answers" in done.err
    again = evaluate("--arms", "diffusion", "ar", "lookup", "--paired", "--claim-margin", "0.05")
    assert again.out == done.out
    assert "finished before, shown again" in again.err


@pytest.mark.parametrize(
    "arms",
    [
        ("--arms", "diffusion", "--arms", "ar"),
        ("--arms", "diffusion,ar"),
        ("diffusion", "ar"),
        ("--arms", "diffusion", "ar", "--seeds", "3"),
        ("--arms", "ar", "x:policy=threshold,threshold=0.7", "--threshold", "0.5"),
    ],
)
def test_ways_to_write_arms(evaluate: Run, arms: tuple[str, ...]) -> None:
    done = evaluate(*arms, "--limit", "2", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    names = [cell["arm"] for cell in found["cells"]]
    assert sorted(names) in (["ar", "diffusion"], ["ar", "x"])
    assert [cell["items"] for cell in found["cells"]] == [2, 2]
    assert {cell["seed"] for cell in found["cells"]} == {3 if "3" in arms else 0}
    if "x" in names:
        read = {cell["arm"]: cell["options"]["decoder"] for cell in found["cells"]}
        assert read["x"]["threshold"] == 0.7
        assert set(read["ar"]) == {"temperature", "top_k", "top_p", "seed"}  # what its method reads


def test_json_is_the_result_file_and_results_get_their_own_name(evaluate: Run, place: Path) -> None:
    argv = ("--json", "--results", "kept", "--who", "Ann", "--out", "run")
    done = evaluate(*argv)
    assert done.code == 0, done.err
    (kept,) = (place / "kept").iterdir()
    assert kept.name.startswith("tiny_test-2-cores_")
    assert kept.name.endswith("_ann.json")
    assert kept.read_text() == done.out == (place / "run" / "result.json").read_text()
    result = read_result(kept)
    assert result.kind == "eval"
    assert result.run.command.startswith("dlmrt ")
    assert (place / "run" / "items.jsonl").read_text().count("\n") == 5
    assert evaluate(*argv).code == 0
    assert [path.name for path in (place / "kept").iterdir()] == [kept.name]  # the same is not written twice


def test_the_default_arm_is_the_models_default(dlmrt: Run, evaluate: Run, place: Path) -> None:
    from tests import tiny_folder as tiny

    assert json.loads(evaluate("--json").out)["cells"][0]["arm"] == "diffusion"
    llama = str(tiny.write_llama_folder(place / "llama"))
    done = dlmrt("eval", "--tasks", "words.jsonl", "-m", llama, "-n", "4", "--json")
    assert done.code == 0, done.err
    (cell,) = json.loads(done.out)["cells"]
    assert (cell["arm"], cell["method"], cell["entropy_per_step"]) == ("ar", "ar", [])


def test_a_sweep_prints_its_curve(evaluate: Run) -> None:
    done = evaluate("--sweep", "threshold=0.01:0.03:0.01", "--y-max", "0.5")
    assert done.code == 0, done.err
    assert "diffusion on words: AUP " in done.out
    assert "alpha 3, y_max 0.5000" in done.out
    assert "AUP = r1 y1" in done.out
    for value in ("0.01", "0.02", "0.03"):
        assert f"  diffusion@{value} " in done.out


def test_seeds_are_summed_up(evaluate: Run) -> None:
    done = evaluate("--seeds", "0,1,2", "--temperature", "1.0", "--no-steps")
    assert done.code == 0, done.err
    assert "diffusion, seed 2" in done.out
    assert "diffusion on words, 3 seeds: mean 0.0% (0.0% .. 0.0%), " in done.out


def test_what_is_skipped_is_said_with_its_reason(evaluate: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(Path.cwd() / "none"))
    monkeypatch.setenv("HOME", str(Path.cwd() / "none"))
    done = evaluate("--json", tasks="words.jsonl,gsm8k")
    assert done.code == 0, done.err
    assert "skipped gsm8k: " in done.err
    assert "gsm8k" in json.loads(done.out)["skipped"]
    alone = evaluate(tasks="gsm8k")
    assert alone.code == 2
    assert alone.err.splitlines()[-1].startswith("error: there is no task to run (gsm8k: ")


def test_prompts_that_do_not_fit_are_counted_and_explained(evaluate: Run, place: Path) -> None:
    (place / "long.jsonl").write_text('{"prompt": "%s", "answer": "x"}\n' % ("w" * 60))
    done = evaluate(tasks="long.jsonl")
    assert done.code == 0, done.err
    assert "not decoded, counted as wrong: 1 x the text is N tokens" in done.out


@pytest.mark.parametrize(
    ("argv", "tasks", "message"),
    [
        ((), "repiar", "no task 'repiar'; did you mean 'repair'?"),
        ((), "nowhere.jsonl", "cannot read 'nowhere.jsonl'"),
        ((), "words.jsonl,", "--tasks is 'words.jsonl,'; a name in it is empty"),
        (("--limit", "0"), "words.jsonl", "--limit is 0; it must be >= 1"),
        (("--limit", ""), "words.jsonl", "invalid value for '--limit'"),
        (("difusion",), "words.jsonl", "arm 'difusion' is no method; did you mean 'diffusion'?"),
        (("--arms", "a:treshold=1"), "words.jsonl", "unknown key 'treshold'; did you mean 'threshold'?"),
        (
            ("--arms", "ar", "--threshold", "0.5"),
            "words.jsonl",
            "threshold has no effect: no arm reads it (ar)",
        ),
        (("--arms", "ar", "ar"), "words.jsonl", "two arms are called 'ar'"),
        (("--sweep", "threshold=0.5:0.9:0"), "words.jsonl", "a STEP > 0"),
        (("--sweep", "per_step=1:3:1"), "words.jsonl", "per_step has no effect with policy 'threshold'"),
        (("--paired",), "words.jsonl", "--paired compares two arms or more"),
        (("--seeds", "0,one"), "words.jsonl", "--seeds is '0,one'; give integers >= 0"),
        (("--seeds", "-1"), "words.jsonl", "--seeds is '-1'"),
        (("--seeds", ""), "words.jsonl", "--seeds is empty"),
        (("--seeds", "0,1"), "words.jsonl", "every seed gives the same answers"),
        (("--out", "words.jsonl"), "words.jsonl", "--out 'words.jsonl' is a file; give a folder"),
        (("--out", "."), "words.jsonl", "'.' holds other files (words.jsonl) and no run"),
        (("--results", "words.jsonl"), "words.jsonl", "--results: 'words.jsonl' is a file, not a folder"),
        (("--who", "??"), "words.jsonl", "--who is '??'"),
        (("--y-max", "0.9"), "words.jsonl", "--y-max belongs to the curve"),
        (("--backend", "nmpy"), "words.jsonl", "did you mean 'numpy'?"),
        (("--treshold", "1"), "words.jsonl", "no option '--treshold'; did you mean '--threshold'?"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    evaluate: Run, place: Path, argv: tuple[str, ...], tasks: str, message: str
) -> None:
    done = evaluate(*argv, tasks=tasks)
    assert done.code == 2
    assert done.out == ""
    (line,) = done.err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert os.listdir(place) == ["words.jsonl"]


def test_the_bar_shows_how_far_it_is_and_how_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, _environ={})
    monkeypatch.setattr(eval_view, "stderr_console", lambda: console)
    half = ItemRecord(
        "diffusion", "words", 0, "i0", correct=True, ids=(1,) * 40, machine_seconds=0.5, finish="stop"
    )

    def interrupted_run() -> None:
        with eval_view.Bar("diffusion") as bar:
            bar.started(Path("runs/one"), 4, [half])
            bar.answered(dataclasses.replace(half, item="i1", correct=False))
            bar.answered(dataclasses.replace(half, arm="ar"))  # the bar speaks of the first arm
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_run()
    shown = screen.getvalue()
    assert "words, diffusion: 50.0% right, 80 tokens/s" in shown
    assert "3/4" in shown
    said = capsys.readouterr().err
    assert said.startswith("runs/one: 4 answers, 1 of them there already\ninterrupted; ")


def test_help_has_examples(dlmrt: Run) -> None:
    done = dlmrt("eval", "--help")
    assert done.code == 0
    assert "dlmrt eval --tasks repair --sweep threshold=0.5:0.95:0.05" in done.out
