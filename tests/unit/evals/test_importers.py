"""Importing task files: their own formats in, the one format out, whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dlmrt.errors import DataError, RequestError
from dlmrt.evals import importers
from dlmrt.evals.importers import import_task, imported_path, list_imported, tasks_folder
from dlmrt.evals.tasks import open_tasks

SUM = {"question": "Ann has 3 pens and buys 4. How many?", "answer": "3 + 4 = <<3+4=7>>7\n#### 1,007"}


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLMRT_DATA_HOME", str(tmp_path / "home"))


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def problem(key: int, **fields: Any) -> dict[str, Any]:
    tests = [f"assert add{key}(1, 2) == 3 ", f"assert add{key}(0, 0) == 0"]
    base = {"text": "Write a function to add two numbers.\r\n", "task_id": key, "test_list": tests}
    return {**base, "code": "", "test_setup_code": "", "challenge_test_list": [], **fields}


def test_where_tasks_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DLMRT_DATA_HOME", "/own")
    assert tasks_folder() == Path("/own/tasks")
    monkeypatch.delenv("DLMRT_DATA_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert tasks_folder() == Path("/xdg/dlmrt/tasks")
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/ann")
    assert tasks_folder() == Path("/home/ann/.local/share/dlmrt/tasks")


def test_gsm8k(tmp_path: Path) -> None:
    file = write(tmp_path / "test.jsonl", SUM, {"question": "2-5?", "answer": "#### -3"})
    imported = import_task("gsm8k", file)
    assert (imported.name, imported.items, imported.verifier) == ("gsm8k", 2, "number")
    assert imported.sha256 == hashlib.sha256(imported_path("gsm8k").read_bytes()).hexdigest()
    (task,) = open_tasks(["gsm8k"]).tasks
    first = task.items[0]
    assert first.id == "gsm8k/1" and first.answer == "1,007"
    assert SUM["question"] in first.prompt and "####" in first.prompt and first.prompt.endswith("Answer:")
    assert "1007" not in first.prompt
    texts = ["... so it is\n#### 1007", "#### 3"]
    assert [v.correct for v in task.verify_all(task.items, texts)] == [True, False]


def test_mbpp_takes_one_split_and_mends_line_ends(tmp_path: Path) -> None:
    setup = "class Node:\r\n\tvalue = 3\r\n"
    records = [problem(key) for key in (1, 10, 511, 600, 601, 974)]
    file = write(tmp_path / "mbpp.jsonl", *records, problem(11, test_setup_code=setup), problem(510))
    imported = import_task("mbpp", file)
    assert (imported.items, imported.verifier) == (2, "python_tests")
    (task,) = open_tasks(["mbpp"]).tasks
    assert [item.id for item in task.items] == ["mbpp/11", "mbpp/510"]
    assert task.items[0].meta["setup"] == "class Node:\n\tvalue = 3\n" and "setup" not in task.items[1].meta
    assert "assert add11(1, 2) == 3\nassert add11(0, 0) == 0" in task.items[0].prompt
    texts = ["```python\ndef add11(a, b):\n    return a + b\n```", "def add510(a, b):\n    return a * b\n"]
    assert [v.correct for v in task.verify_all(task.items, texts)] == [True, False]
    for split, keys in {"prompt": [1, 10], "validation": [511, 600], "train": [601, 974]}.items():
        import_task("mbpp", file, split=split, force=True)
        assert [item.id for item in open_tasks(["mbpp"]).tasks[0].items] == [f"mbpp/{key}" for key in keys]


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    file = write(tmp_path / "test.jsonl", SUM)
    first = import_task("gsm8k", file).sha256
    spaced = tmp_path / "spaced.jsonl.gz"
    spaced.write_bytes(gzip.compress(json.dumps(SUM, separators=(" ,", " : ")).encode()))
    assert import_task("gsm8k", spaced, force=True).sha256 == first


def test_a_users_own_file_is_copied_with_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl.gz"
    plain = b'{"prompt": "a", "answer": "b", "doc": 1}\n'
    file.write_bytes(gzip.compress(plain))
    (tmp_path / "questions.task.json").write_text('{"stop": ["."]}')
    imported = import_task("my-task", file)
    assert imported_path("my-task").read_bytes() == plain
    (task,) = open_tasks(["my-task"]).tasks
    assert task.stop == (".",) and task.verifier == "exact"
    (tmp_path / "questions.task.json").unlink()
    assert import_task("my-task", file, force=True) == imported
    assert open_tasks(["my-task"]).tasks[0].stop == ()


@pytest.mark.parametrize(
    ("name", "records", "said"),
    [
        ("gsm8k", [SUM, {"question": "q"}], ":2: no field 'answer'"),
        ("gsm8k", [SUM, {"question": "q", "answer": "7"}], ":2: 'answer' has no '#### number'"),
        ("gsm8k", [{"question": "q", "answer": "#### seven"}], ":1: 'answer' has no '#### number'"),
        ("mbpp", [problem(11), problem(11)], ":2: task_id 11 is that of line 1"),
        ("mbpp", [problem(11, test_list=[])], ":1: 'test_list' must be a list of at least one assertion"),
        ("mbpp", [problem(3)], "has no task of the split 'test' (task ids 11 to 510)"),
        ("mbpp", [SUM], ":1: no field 'task_id'"),
        ("own", [{"prompt": "a", "verifier": "nose"}], ":1: unknown verifier 'nose'"),
    ],
)
def test_a_file_that_does_not_fit_changes_nothing(
    name: str, records: list[Any], said: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "in.jsonl", *records)
    with pytest.raises(DataError) as caught:
        import_task(name, file)
    assert said in str(caught.value) and str(file) in str(caught.value)
    assert not tasks_folder().exists()


@pytest.mark.parametrize(
    ("name", "split", "said"),
    [
        ("repair", None, "'repair' is not imported: the name is taken"),
        ("all", None, "'all' is not imported"),
        ("../x", None, "'../x' can't be a task's name"),
        ("Own", None, "can't be a task's name"),
        ("gsm8k", "test", "--split has no effect with 'gsm8k'"),
        ("mbpp", "tests", "--split is 'tests'; did you mean 'test'?"),
    ],
)
def test_names_and_splits_that_are_refused(name: str, split: str | None, said: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as caught:
        import_task(name, write(tmp_path / "in.jsonl", problem(11)), split=split)
    assert said in str(caught.value)


def test_what_is_there_is_replaced_only_by_force_and_only_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "in.jsonl", SUM)
    import_task("gsm8k", file)
    before = imported_path("gsm8k").read_bytes()
    with pytest.raises(RequestError, match="exists; pass --force to replace it"):
        import_task("gsm8k", file)

    def fail(*paths: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(importers.os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        import_task("gsm8k", write(tmp_path / "new.jsonl", SUM, SUM), force=True)
    assert imported_path("gsm8k").read_bytes() == before
    assert [path.name for path in tasks_folder().iterdir()] == ["gsm8k.jsonl"]


def test_the_list_tells_what_can_not_be_read(tmp_path: Path) -> None:
    assert list_imported() == []
    import_task("gsm8k", write(tmp_path / "in.jsonl", SUM))
    write(imported_path("broken"), {"prompt": 3})
    broken, gsm8k = list_imported()
    assert (gsm8k.name, gsm8k.items, gsm8k.problem) == ("gsm8k", 1, None)
    assert broken.name == "broken" and broken.items == 0 and "'prompt' is a int" in str(broken.problem)
