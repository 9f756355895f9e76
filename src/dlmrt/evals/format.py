"""The one file format of tasks: JSONL, one question a line, and optional settings beside it.

A record has ``prompt``, mostly ``answer``, optionally ``id`` (text or a whole number; left out: the
line number) and ``verifier``, and the verifier's own fields. Without ``verifier`` a record with
``errors`` is judged by ``repair``, any other by ``exact``. Other fields are kept and ignored. All
records of a file have the same verifier.

Settings are a JSON file beside it, ``NAME.task.json`` for ``NAME.jsonl``: see :class:`Settings`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlmrt.config import from_mapping
from dlmrt.datasets.records import numbered_records
from dlmrt.errors import ConfigError, DataError
from dlmrt.evals.item import Item
from dlmrt.evals.verifiers import Verifier, find_verifier

PLACEHOLDER = "{prompt}"
DATA_SUFFIXES = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Settings:
    """How a task wants to be decoded.

    max_new_tokens: at most this many tokens an answer (None: the model's default). stop: the answer
    ends before the first of these. template: text put around each prompt, with ``{prompt}`` in it once.
    """

    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()
    template: str = PLACEHOLDER

    def __post_init__(self) -> None:
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens is {self.max_new_tokens}; it must be >= 1 or null")
        if not all(self.stop):
            raise ConfigError("a stop string is empty; it must be text of at least one character")
        if self.template.count(PLACEHOLDER) != 1:
            raise ConfigError(f"template is {self.template!r}; it must hold {PLACEHOLDER} exactly once")


def stem_of(path: Path) -> str:
    """The file's name without ``.jsonl`` or ``.jsonl.gz``."""
    suffix = next((s for s in reversed(DATA_SUFFIXES) if path.name.endswith(s)), path.suffix)
    return path.name.removesuffix(suffix)


def settings_path(path: Path) -> Path:
    """Where the settings of a task file are looked for."""
    return path.with_name(f"{stem_of(path)}.task.json")


def read_settings(path: Path) -> Settings:
    """Read a settings file; raises DataError naming it: not JSON, an unknown key, a wrong value."""
    try:
        return from_mapping(Settings, json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}; check the path") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"'{path}' is not JSON ({error}); it must be one object of settings") from None
    except ConfigError as error:
        raise DataError(f"'{path}': {error}") from None


def read_items(path: Path, template: str = PLACEHOLDER) -> tuple[tuple[Item, ...], str]:
    """Read all items of a task file, and their verifier's name.

    Raises DataError with file and line: not a record, a field that is missing or of the wrong type,
    a value that the verifier can't use, an unknown or a second verifier, an id used twice.
    """
    items: list[Item] = []
    lines: dict[str, int] = {}
    first = ""
    for number, record in numbered_records(path, {"prompt": str}):
        where = f"{path}:{number}"
        item, name = _item(record, number, where, template)
        if item.id in lines:
            raise DataError(f"{where}: the id '{item.id}' is that of line {lines[item.id]}; ids must differ")
        first = first or name
        if name != first:
            raise DataError(
                f"{where}: verifier '{name}' after '{first}'; a task has one verifier: write two files"
            )
        lines[item.id] = number
        items.append(item)
    return tuple(items), first


def sha256_of(path: Path) -> str:
    """Hash of a file's bytes; raises DataError if it can't be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}; give a JSONL file") from None


def _item(record: dict[str, Any], number: int, where: str, template: str) -> tuple[Item, str]:
    name = record.get("verifier", "repair" if "errors" in record else "exact")
    try:
        verifier = find_verifier(name)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    _check_fields(record, name, verifier, where)
    meta = {k: v for k, v in record.items() if k not in ("id", "prompt", "answer", "verifier")}
    prompt = record["prompt"]
    if template != PLACEHOLDER:
        meta["unwrapped_prompt"] = prompt
    item = Item(_id(record, number, where), template.replace(PLACEHOLDER, prompt), record.get("answer"), meta)
    problem = verifier.check(item)
    if problem:
        raise DataError(f"{where}: {problem}")
    return item, name


def _id(record: Mapping[str, Any], number: int, where: str) -> str:
    value = record.get("id", number)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(f"{where}: 'id' is {value!r}; it must be text or a whole number")
    return str(value)


def _check_fields(record: Mapping[str, Any], name: str, verifier: Verifier, where: str) -> None:
    for key, kind in verifier.needs.items():
        if not isinstance(record.get(key), kind):
            found = f"'{key}' is a {type(record[key]).__name__}" if key in record else f"no field '{key}'"
            needs = ", ".join(f"{field} ({wanted.__name__})" for field, wanted in verifier.needs.items())
            hint = "" if "verifier" in record else "; or name another verifier in the field 'verifier'"
            raise DataError(f"{where}: {found}; verifier '{name}' needs {needs}{hint}")
    for key, kinds in {"answer": str, **verifier.optional}.items():
        value = record.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, kinds)):
            raise DataError(f"{where}: '{key}' is a {type(value).__name__}, which can't be used")
    _check_surrogates(record, where)


def _check_surrogates(record: Mapping[str, Any], where: str) -> None:
    """Refuse half of a surrogate pair, which JSON can spell and no text can hold."""
    try:
        json.dumps(record, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{where}: a lone surrogate (U+{ord(error.object[error.start]):04X}) is no text; remove it"
        ) from None
