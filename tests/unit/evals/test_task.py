"""The task file format and its settings, with every error found by file and line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dlmrt.errors import DataError
from dlmrt.evals.format import Settings, read_items, read_settings, settings_path, stem_of
from dlmrt.evals.task import Item, Task, Verdict
from dlmrt.results.schema import DataFacts

ERROR = {"type": "typo.drop", "words": [0, 1]}


def write(path: Path, *records: Any) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_prompt_and_answer_are_enough(tmp_path: Path) -> None:
    path = write(
        tmp_path / "t.jsonl", {"prompt": "a", "answer": "b"}, {"prompt": "c", "answer": "d", "doc": "x"}
    )
    items, verifier = read_items(path)
    assert verifier == "exact"
    assert items == (Item("1", "a", "b"), Item("2", "c", "d", {"doc": "x"}))


def test_errors_make_it_repair_and_a_name_decides(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", {"id": 7, "prompt": "a", "answer": "b", "errors": [ERROR]})
    items, verifier = read_items(path)
    assert verifier == "repair" and items[0].id == "7" and items[0].meta == {"errors": [ERROR]}
    path = write(tmp_path / "t.jsonl", {"prompt": "a", "verifier": "regex", "pattern": "x", "id": "q"})
    items, verifier = read_items(path)
    assert verifier == "regex" and items == (Item("q", "a", None, {"pattern": "x"}),)


def test_gzip_and_blank_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'\n{"prompt": "a", "answer": "b"}\n\n'))
    assert read_items(path)[0][0].id == "2"
    assert stem_of(path) == "t" and settings_path(path) == tmp_path / "t.task.json"


GOOD = {"prompt": "a", "answer": "b"}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"answer": "b"}, "no field 'prompt'"),
        ({"prompt": "a"}, "no field 'answer'; verifier 'exact' needs answer (str); or name another verifier"),
        ({"prompt": "a", "answer": 3}, "'answer' is a int; verifier 'exact' needs answer (str)"),
        ({**GOOD, "verifier": "exct"}, "unknown verifier 'exct'; did you mean 'exact'?"),
        ({**GOOD, "verifier": "number"}, "'answer' holds no number"),
        ({**GOOD, "verifier": "contains"}, "verifier 'contains' after 'exact'; a task has one verifier"),
        ({**GOOD, "verifier": "regex"}, "no field 'pattern'; verifier 'regex' needs pattern (str)"),
        ({**GOOD, "verifier": "python_tests", "tests": "x"}, "'tests' is a str"),
        ({**GOOD, "verifier": "python_tests", "tests": ["x"], "seconds": True}, "'seconds' is a bool"),
        ({**GOOD, "verifier": "python_tests", "tests": ["x"], "setup": 1}, "'setup' is a int"),
        ({**GOOD, "errors": 3}, "'errors' is a int; verifier 'repair' needs answer (str), errors (list)"),
        ({**GOOD, "errors": [{"type": "a", "words": [3, 4]}]}, "does not fit an answer of 1 words"),
        ({**GOOD, "id": "1"}, "the id '1' is that of line 1; ids must differ"),
        ({**GOOD, "id": True}, "'id' is True; it must be text or a whole number"),
        ({**GOOD, "id": ""}, "'id' is ''"),
        ({**GOOD, "doc": "\ud800"}, "a lone surrogate (U+D800) is no text"),
        ([1], "a list; each line must be one JSON object"),
    ],
)
def test_a_bad_record_is_named_by_its_line(record: Any, said: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", GOOD, record)
    with pytest.raises(DataError) as caught:
        read_items(path)
    assert str(caught.value).startswith(f"{path}:2: ") and said in str(caught.value)


def test_settings_wrap_the_prompt(tmp_path: Path) -> None:
    beside = tmp_path / "t.task.json"
    beside.write_text('{"max_new_tokens": 9, "stop": ["\\n"], "template": "Q: {prompt} {x}\\nA:"}')
    settings = read_settings(beside)
    assert settings == Settings(9, ("\n",), "Q: {prompt} {x}\nA:")
    items, _ = read_items(write(tmp_path / "t.jsonl", GOOD), settings.template)
    assert items[0].prompt == "Q: a {x}\nA:" and items[0].meta == {"unwrapped_prompt": "a"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "must be a mapping"),
        ('{"stops": []}', "unknown option 'stops'; did you mean 'stop'?"),
        ('{"max_new_tokens": 0}', "max_new_tokens is 0"),
        ('{"stop": [""]}', "a stop string is empty"),
        ('{"template": "no place"}', "it must hold {prompt} exactly once"),
    ],
)
def test_bad_settings_name_their_file(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "t.task.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        read_settings(path)
    assert str(path) in str(caught.value) and said in str(caught.value)


def test_a_task_judges_through_its_verifier() -> None:
    items = (Item("1", "p", "yes"), Item("2", "p", "no"))
    task = Task("t", items, "exact", DataFacts("t.jsonl", "0" * 64, 2, "test"))
    assert task.verify(items[0], " yes\n") == Verdict(True)
    assert [v.correct for v in task.verify_all(items, ["yes", "yes"], jobs=2)] == [True, False]
    assert task.quality(items, ["yes", "yes"]) == {}
    assert task.max_new_tokens is None and task.stop == () and task.notes == ()
