"""Prompt suites: the real text that speed is measured on, shipped ones and the user's own.

A shipped suite is ``assets/suites/NAME.jsonl``; a user's is a ``.jsonl`` file (one object a line with
``prompt``, and if wanted ``id`` and ``max_new_tokens``; other fields are passed over, so that a data
set's file serves too) or a ``.txt`` file (one prompt a line).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dlmrt.assets
from dlmrt.datasets.records import iterate_records
from dlmrt.errors import DataError, RequestError, nearest
from dlmrt.results.envelope import data_facts
from dlmrt.results.schema import DataFacts

SUITE_NAMES = ("chat", "code", "maths", "long", "json", "repair")
SUFFIXES = (".jsonl", ".txt")


@dataclass(frozen=True)
class SuitePrompt:
    """One prompt. max_new_tokens: the suite's own limit for its answer (``None``: the run's)."""

    id: str
    text: str
    max_new_tokens: int | None = None


@dataclass(frozen=True)
class Suite:
    """Prompts in the order of their file. name: the suite's, or the file's name (no folder)."""

    name: str
    prompts: tuple[SuitePrompt, ...]
    data: DataFacts


def load_suites(names: Sequence[str]) -> tuple[Suite, ...]:
    """Open suites by name, ``all`` (the shipped ones) or path, in the order asked for.

    Raises RequestError: an unknown name, a suite asked for twice, none at all. DataError: a file that
    can't be read, or a line in it that holds no prompt.
    """
    wanted = [name for given in names for name in (SUITE_NAMES if given == "all" else (given,))]
    if not wanted:
        raise RequestError(
            f"no suite was given; give one of {', '.join(SUITE_NAMES)}, all, or a .jsonl or .txt file"
        )
    suites = tuple(_load(name) for name in wanted)
    loaded = [suite.name for suite in suites]
    for name in loaded:
        if loaded.count(name) > 1:
            raise RequestError(f"suite '{name}' was given twice; give it once, or rename one of the files")
    return suites


def suite_path(name: str) -> Path:
    """Where a shipped suite lies."""
    return Path(str(dlmrt.assets.__file__)).parent / "suites" / f"{name}.jsonl"


def _load(name: str) -> Suite:
    if name in SUITE_NAMES:
        path = suite_path(name)
        prompts = _from_records(path)
        return Suite(name, prompts, data_facts(path, len(prompts), "written for dlmrt"))
    path = Path(name)
    if path.suffix not in SUFFIXES:
        raise RequestError(
            f"there is no suite '{name}'{nearest(name, (*SUITE_NAMES, 'all'))} "
            f"(allowed: {', '.join(SUITE_NAMES)}, all, or a file ending in .jsonl or .txt)"
        )
    prompts = _from_records(path) if path.suffix == ".jsonl" else _from_lines(path)
    return Suite(path.name, prompts, data_facts(path, len(prompts), "the user's own file"))


def _from_records(path: Path) -> tuple[SuitePrompt, ...]:
    records = enumerate(iterate_records(path, {"prompt": str}), 1)
    return _checked(path, (_prompt(path, number, record) for number, record in records))


def _prompt(path: Path, number: int, record: dict[str, Any]) -> SuitePrompt:
    place = f"{path}: prompt {number}"
    name, limit = record.get("id", number), record.get("max_new_tokens")
    if isinstance(name, bool) or not isinstance(name, str | int) or name == "":
        raise DataError(f"{place}: id is {name!r}; it must be text or a whole number, or left out")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise DataError(f"{place}: max_new_tokens is {limit!r}; it must be an integer >= 1, or left out")
    return SuitePrompt(str(name), record["prompt"], limit)


def _from_lines(path: Path) -> tuple[SuitePrompt, ...]:
    try:
        text = path.read_bytes().decode("utf-8").removeprefix("\ufeff")
    except FileNotFoundError:
        raise DataError(f"cannot read '{path}': it does not exist (looked in {Path.cwd()})") from None
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}; give a text file") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"'{path}' is not UTF-8 at byte {error.start} ({error.reason}); convert it first"
        ) from None
    # Only line feeds end a prompt: splitlines() would also cut at form feeds and Unicode separators.
    lines = enumerate((line.removesuffix("\r") for line in text.split("\n")), 1)
    return _checked(path, (SuitePrompt(str(number), line) for number, line in lines if line.strip()))


def _checked(path: Path, found: Iterable[SuitePrompt]) -> tuple[SuitePrompt, ...]:
    prompts: list[SuitePrompt] = []
    seen: dict[str, int] = {}
    for number, prompt in enumerate(found, 1):
        if not prompt.text.strip():
            raise DataError(f"{path}: prompt {number} is empty; write its text or remove it")
        if prompt.id in seen:
            raise DataError(
                f"{path}: prompts {seen[prompt.id]} and {number} have the same id '{prompt.id}'; "
                "ids must differ (without ids the prompts are numbered)"
            )
        seen[prompt.id] = number
        prompts.append(prompt)
    if not prompts:
        raise DataError(f"'{path}' holds no prompts; write one a line")
    return tuple(prompts)
