"""Bring a task's file into the user's data folder, in the one task format.

``gsm8k`` reads the JSONL of openai/grade-school-math (``question``, ``answer`` that ends in
``#### number``), ``mbpp`` Google's mbpp.jsonl; any other name takes a file that is in the task format
already. The same input gives the same bytes, so results of two people can be compared by the hash.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlmrt.datasets.records import numbered_records
from dlmrt.errors import DataError, RequestError, nearest
from dlmrt.evals.format import read_items, read_settings, settings_path, sha256_of
from dlmrt.evals.verifiers import find_number

RESERVED = ("all", "repair", "humaneval")
# Task ids of MBPP's splits, both ends included (Austin et al. 2021, arXiv 2108.07732).
MBPP_SPLITS = {"prompt": (1, 10), "test": (11, 510), "validation": (511, 600), "train": (601, 974)}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")

GSM8K_PROMPT = """Question: {question}
Work it out step by step. Then write one last line: ####, a blank, and the result as a bare number.
Answer:"""
MBPP_PROMPT = """Write a Python program for this task.

{text}

It has to pass these tests:

{tests}

Answer with the program alone.
"""


@dataclass(frozen=True)
class Imported:
    """A task in the data folder. problem: why it can't be used (None: it can)."""

    name: str
    path: str
    sha256: str
    items: int
    verifier: str | None
    problem: str | None = None


def tasks_folder() -> Path:
    """Where imported tasks lie: ``$DLMRT_DATA_HOME/tasks``, else below the XDG data folder."""
    own, xdg = os.environ.get("DLMRT_DATA_HOME"), os.environ.get("XDG_DATA_HOME")
    if own:
        return Path(own).expanduser() / "tasks"
    # A relative XDG_DATA_HOME is to be ignored (XDG Base Directory Specification).
    base = Path(xdg) if xdg and Path(xdg).is_absolute() else Path.home() / ".local" / "share"
    return base / "dlmrt" / "tasks"


def imported_path(name: str) -> Path:
    """Where an imported task of that name lies, or would."""
    return tasks_folder() / f"{name}.jsonl"


def imported_names() -> list[str]:
    """Names of all imported tasks, sorted."""
    return sorted(path.stem for path in tasks_folder().glob("*.jsonl") if _NAME.fullmatch(path.stem))


def list_imported() -> list[Imported]:
    """All imported tasks, by name; one that can't be read tells why."""
    return [_facts(name) for name in imported_names()]


def import_task(name: str, file: Path, *, split: str | None = None, force: bool = False) -> Imported:
    """Check ``file``, and write it to :func:`imported_path` aside and in one rename.

    split: of ``mbpp`` alone (default test). force: replace what is there.
    Raises RequestError: a name or split that can't be used, a task that is there already. DataError:
    the file, with the line. Nothing is written then.
    """
    _check_name(name)
    if split is not None and name != "mbpp":
        raise RequestError(f"--split has no effect with '{name}'; leave it out (it chooses a part of mbpp)")
    target = imported_path(name)
    if target.exists() and not force:
        raise RequestError(f"'{target}' exists; pass --force to replace it, or import under another name")
    settings: bytes | None = None
    if name == "gsm8k":
        data = _dump(_gsm8k(file))
    elif name == "mbpp":
        data = _dump(_mbpp(file, split or "test"))
    else:
        data, settings = _own(file)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = settings_path(target)
    if settings is None:
        beside.unlink(missing_ok=True)  # of the task that is being replaced
    else:
        _replace(beside, settings)
    _replace(target, data)
    return _facts(name)


def _check_name(name: str) -> None:
    if name in RESERVED:
        raise RequestError(f"'{name}' is not imported: the name is taken; give another one")
    if not _NAME.fullmatch(name):
        raise RequestError(
            f"'{name}' can't be a task's name; use lower-case letters, digits, '-' and '_', as in 'my-task'"
        )


def _facts(name: str) -> Imported:
    path = imported_path(name)
    try:
        items, verifier = read_items(path)
    except DataError as error:
        return Imported(name, str(path), sha256_of(path), 0, None, str(error))
    return Imported(name, str(path), sha256_of(path), len(items), verifier)


def _gsm8k(file: Path) -> Iterator[dict[str, Any]]:
    for number, record in numbered_records(file, {"question": str, "answer": str}):
        *_, last = record["answer"].split("####")
        value, _ = find_number(last)
        if "####" not in record["answer"] or value is None:
            raise DataError(f"{file}:{number}: 'answer' has no '#### number'; give GSM8K's own JSONL file")
        yield {
            "id": f"gsm8k/{number}",
            "prompt": GSM8K_PROMPT.format(question=record["question"].strip()),
            "answer": last.strip(),
            "verifier": "number",
        }


def _mbpp(file: Path, split: str) -> Iterator[dict[str, Any]]:
    if split not in MBPP_SPLITS:
        raise RequestError(
            f"--split is '{split}'{nearest(split, MBPP_SPLITS)} (allowed: {', '.join(MBPP_SPLITS)})"
        )
    first, last = MBPP_SPLITS[split]
    fields = {"task_id": int, "text": str, "test_list": list, "test_setup_code": str}
    lines: dict[int, int] = {}
    for number, record in numbered_records(file, fields):
        key, tests = record["task_id"], record["test_list"]
        if key in lines:
            raise DataError(f"{file}:{number}: task_id {key} is that of line {lines[key]}; ids must differ")
        lines[key] = number
        if not tests or not all(isinstance(test, str) for test in tests):
            raise DataError(f"{file}:{number}: 'test_list' must be a list of at least one assertion")
        if first <= key <= last:
            yield _mbpp_item(key, record)
    if not any(first <= key <= last for key in lines):
        raise DataError(f"'{file}' has no task of the split '{split}' (task ids {first} to {last})")


def _mbpp_item(key: int, record: dict[str, Any]) -> dict[str, Any]:
    tests = [test.replace("\r\n", "\n").strip() for test in record["test_list"]]
    item = {
        "id": f"mbpp/{key}",
        "prompt": MBPP_PROMPT.format(text=record["text"].strip(), tests="\n".join(tests)),
        "verifier": "python_tests",
        "tests": tests,
    }
    setup = record["test_setup_code"].replace("\r\n", "\n")
    return {**item, "setup": setup} if setup.strip() else item


def _own(file: Path) -> tuple[bytes, bytes | None]:
    """The bytes of a user's file and of its settings, both checked."""
    beside = settings_path(file)
    settings = read_settings(beside) if beside.exists() else None
    read_items(file, *([settings.template] if settings else []))
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return data, beside.read_bytes() if settings else None


def _dump(records: Iterator[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode("utf-8")


def _replace(path: Path, data: bytes) -> None:
    """Write ``data`` aside, then put it in place of what is there."""
    handle, name = tempfile.mkstemp(prefix=".import-", dir=path.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
