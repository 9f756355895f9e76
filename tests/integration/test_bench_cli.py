"""`dlmrt bench` as a user runs it: the embedded model, what it imports, and Ctrl-C."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlmrt.models.registry import list_models
from dlmrt.results.files import read_result
from tests import tiny_folder as tiny

PROGRAM = [sys.executable, "-m", "dlmrt.cli.app", "bench"]
# Starts the program and sends it Ctrl-C when its first progress report is out, on any machine.
INTERRUPTED = """
import os, signal, sys
from dlmrt.bench import harness
from dlmrt.cli.app import main

tick = harness._Run.tick
def stop(run, what):
    tick(run, what)
    if run.done == 12:
        os.kill(os.getpid(), signal.SIGINT)
harness._Run.tick = stop
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(not list_models(), reason="this checkout has no embedded model")
def test_a_light_install_benches_the_embedded_model(tmp_path: Path) -> None:
    for name in ("torch", "matplotlib"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [*PROGRAM, "--limit", "2", "--repeats", "1", "--results", str(tmp_path / "results"), "--json"],
        capture_output=True,
        timeout=300,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    document = json.loads(done.stdout)
    assert [cell["arm"] for cell in document["speeds"]] == ["diffusion", "ar", "lookup"]
    assert {cell["suite"] for cell in document["speeds"]} == {"repair"}
    assert all(cell["percent_of_floor"] > 0 for cell in document["speeds"])
    ar, lookup = document["speeds"][1:]
    assert [p["tokens"] for p in ar["prompts"]] == [p["tokens"] for p in lookup["prompts"]]
    (written,) = (tmp_path / "results").iterdir()
    assert read_result(written).models["first-light"].weights_sha256
    assert b"Traceback" not in done.stderr


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path) -> None:
    folder = tiny.write_folder(tmp_path / "tiny")
    prompts, out = tmp_path / "mine.txt", tmp_path / "part.json"
    prompts.write_text("the end\nab ab\nthe the\nab\n")
    argv = [
        "bench",
        "-m",
        str(folder),
        "--suite",
        str(prompts),
        "-n",
        "9",
        "--repeats",
        "2",
        "--out",
        str(out),
    ]
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, *argv], capture_output=True, timeout=300, check=False
    )
    assert process.returncode == 130, process.stderr
    assert b"Traceback" not in process.stderr
    assert b"incomplete: interrupted" in process.stderr
    result = read_result(out)
    assert [len(cell.prompts) for cell in result.speeds] == [1, 1, 1]
