"""The installed program as a user runs it: processes, signals, pipes, and what it imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlmrt import LLM
from dlmrt.models.registry import list_models
from tests import tiny_folder as tiny

PROGRAM = [sys.executable, "-m", "dlmrt.cli.app"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model whose context is long enough to be interrupted in."""
    return str(tiny.write_folder(tmp_path_factory.mktemp("models") / "tiny", context=40_000))


def dlmrt(*argv: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PROGRAM, *argv], capture_output=True, timeout=300, check=False)


def test_ctrl_c_prints_what_was_committed_and_exits_130(folder: str) -> None:
    argv = ["generate", "hello", "-m", folder, "--policy", "fixed", "--per-step", "1"]
    command = [*PROGRAM, *argv, "-n", "39000", "--show-steps"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stdout is not None
    for line in process.stderr:  # until the third block of the answer is under way
        if line.startswith(b"block 3 "):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    committed = LLM.load(folder).generate("hello", policy="fixed", per_step=1, max_new_tokens=16)
    assert out.decode().startswith(committed.text)


def test_a_reader_that_went_away_is_no_traceback(folder: str) -> None:
    process = subprocess.Popen(
        [*PROGRAM, "generate", "--lines", "-m", folder, "-n", "9"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(b"one\n" * 40, timeout=300)
    assert process.returncode == 141
    assert err == b""


@pytest.mark.parametrize("verb", ["generate", "chat"])
def test_the_numpy_path_imports_neither_torch_nor_other_extras(folder: str, verb: str) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "dlmrt.cli.app", verb, "-m", folder, "-n", "8"]
    done = subprocess.run(command, input=b"hello\n", capture_output=True, timeout=300, check=True)
    imported = {line.rpartition(b"|")[2].strip().split(b".")[0] for line in done.stderr.splitlines()}
    assert b"tokenizers" in imported
    assert not imported & {b"torch", b"transformers", b"jinja2", b"scipy", b"rich"}


# Wall time, so not in the default suite: there, the test above says why the start is fast.
@pytest.mark.slow
@pytest.mark.parametrize(("backend", "seconds"), [("numpy", 3), ("eager", 6)])
def test_generate_answers_within_its_seconds(folder: str, backend: str, seconds: float) -> None:
    if backend == "eager":
        pytest.importorskip("torch")
    argv = ["generate", "hello", "-m", folder, "-n", "8", "--backend", backend]
    dlmrt(*argv)  # compiles the modules
    start = time.perf_counter()
    done = dlmrt(*argv)
    took = time.perf_counter() - start
    assert done.returncode == 0
    assert took < seconds


@pytest.mark.skipif(not list_models(), reason="this checkout has no embedded model")
def test_the_embedded_model_answers_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [*PROGRAM, "generate", "-", "--stats"],
        input=b"Thye cannot move to other  pages .\n",
        capture_output=True,
        timeout=300,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.stdout.strip()
    assert b"backend numpy" in done.stderr
