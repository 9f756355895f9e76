"""The run folder under kills, torn lines, other plans, other processes and bad paths."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dlmrt.errors import DataError, RequestError
from dlmrt.evals.record import ItemRecord, Observation, StepEntropy, from_line, to_line
from dlmrt.evals.store import RunFolder

PLAN: dict[str, Any] = {"format": 1, "arms": {"ar": {"options": {"seed": 1}}}, "batch_size": 1}


def record(item: str, **changes: Any) -> ItemRecord:
    return ItemRecord("ar", "words", 0, item, **{"correct": True, **changes})


def test_a_record_survives_its_line() -> None:
    observation = Observation((StepEntropy(0, 1, 3, 1.25),), (0.5, None), (True, False))
    full = record(
        "é\n", detail={"found": "x"}, text="a\u2028b\n", ids=(1, 2), prompt_tokens=3, decided_tokens=3,
        prefill=1, denoise=4, commit=2, seconds=0.1, first_block=0.05, machine_seconds=0.1, finish="stop",
        observation=observation,
    )  # fmt: skip
    line = to_line(full)
    assert line.endswith("\n") and line.count("\n") == 1
    assert from_line(line, "here") == full
    assert full.counts.tokens == 2
    assert (full.counts.denoise, full.counts.decided) == (4, 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "items.jsonl:3: no record of an answer"),
        ("[1]", "must be a mapping"),
        ('{"arm": "a"}', "'task' is missing"),
        ('{"arm": "a", "extra": 1}', "unknown option 'extra'"),
        ('{"arm": "a", "seconds": NaN}', "NaN is no number"),
    ],
)
def test_a_line_that_is_no_record_is_named(line: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        from_line(line, "items.jsonl:3")


def test_what_was_appended_is_there_again_and_a_torn_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one"
    with RunFolder(path, PLAN) as run:
        assert run.done == {}
        run.append([record("a"), record("b", text="\u2028")])
        run.append([])
        run.save_session(2.5)
        started = run.started
    items = path / "items.jsonl"
    whole = items.read_bytes()
    torn = to_line(record("cé")).encode()[:-2]
    for cut in (torn, torn[:1], torn[: torn.index("é".encode()) + 1]):
        items.write_bytes(whole + cut)
        with RunFolder(path, PLAN) as run:
            assert [key[3] for key in run.done] == ["a", "b"]
            assert run.started == started
            assert run.seconds == 2.5
        assert items.read_bytes() == whole
    with RunFolder(path, PLAN) as run:
        run.append([record("c")])
    with RunFolder(path, PLAN) as run:
        assert [key[3] for key in run.done] == ["a", "b", "c"]


def test_a_damaged_line_is_named_and_kept(tmp_path: Path) -> None:
    with RunFolder(tmp_path, PLAN) as run:
        run.append([record("a")])
    items = tmp_path / "items.jsonl"
    items.write_text("nonsense\n" + items.read_text())
    before = items.read_bytes()
    with pytest.raises(DataError, match=r"items.jsonl:1: no record.*--fresh"):
        RunFolder(tmp_path, PLAN)
    assert items.read_bytes() == before
    items.write_bytes(b"\xff\n" + before)
    with pytest.raises(DataError, match="is damaged"):
        RunFolder(tmp_path, PLAN)
    with RunFolder(tmp_path, PLAN, fresh=True) as run:
        assert run.done == {}
    assert items.read_bytes() == b""


@pytest.mark.parametrize("name", ["plan.json", "run.json"])
def test_damaged_files_of_the_folder_are_named(tmp_path: Path, name: str) -> None:
    RunFolder(tmp_path, PLAN).close()
    (tmp_path / name).write_text("{")
    with pytest.raises(DataError, match=f"{name}' is damaged"):
        RunFolder(tmp_path, PLAN)
    RunFolder(tmp_path, PLAN, fresh=True).close()
    RunFolder(tmp_path, PLAN).close()


def test_another_plan_is_refused_with_what_differs(tmp_path: Path) -> None:
    with RunFolder(tmp_path, PLAN) as run:
        run.append([record("a")])
    other = {**PLAN, "arms": {"ar": {"options": {"seed": 2}}}, "batch_size": 4}
    with pytest.raises(RequestError, match=r"arms.ar.options.seed was 1 and is 2; batch_size was 1 and is 4"):
        RunFolder(tmp_path, other)
    with RunFolder(tmp_path, other, fresh=True) as run:
        assert run.done == {}
    many = {**PLAN, "arms": {str(i): i for i in range(9)}}
    with pytest.raises(RequestError, match=r"; and \d+ more; give another --out, or --fresh"):
        RunFolder(tmp_path, many)


def test_places_that_can_be_no_run_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(RequestError, match=r"--out '.*file' is a file"):
        RunFolder(file, PLAN)
    with pytest.raises(RequestError, match="cannot be written: Not a directory"):
        RunFolder(file / "below", PLAN)
    for fresh in (False, True):
        with pytest.raises(RequestError, match=r"holds other files \(file\) and no run"):
            RunFolder(tmp_path, PLAN, fresh=fresh)
    assert file.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_or_disk_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> Any:
        def call(*arguments: Any) -> None:
            raise OSError(number, os.strerror(number))

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse(errno.EACCES))
        with pytest.raises(RequestError, match="cannot be written: Permission denied; give another --out"):
            RunFolder(tmp_path, PLAN)
    with RunFolder(tmp_path, PLAN) as run:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", refuse(errno.ENOSPC))
            with pytest.raises(RequestError, match="cannot be written: No space left on device"):
                run.append([record("a")])
        assert run.done == {}
    RunFolder(tmp_path, PLAN).close()


HOLDER = """
import json, sys
from pathlib import Path
from dlmrt.evals.record import ItemRecord
from dlmrt.evals.store import RunFolder

run = RunFolder(Path(sys.argv[1]), json.loads(sys.argv[2]))
run.append([ItemRecord("ar", "words", 0, "a", correct=True)])
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone_even_by_sigkill(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "run"), json.dumps(PLAN)]
    first = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with pytest.raises(RequestError, match=rf"another process \(pid {first.pid}\) is writing"):
            RunFolder(tmp_path / "run", PLAN, fresh=True)
    finally:
        first.send_signal(signal.SIGKILL)
        first.communicate()
    with RunFolder(tmp_path / "run", PLAN) as run:
        assert [key[3] for key in run.done] == ["a"]
        with pytest.raises(RequestError, match="another process"):
            RunFolder(tmp_path / "run", PLAN)
