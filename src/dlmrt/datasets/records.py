"""Read JSONL files of records, with the line named when one does not fit."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from dlmrt.errors import DataError


def iterate_records(path: Path, required: Mapping[str, type]) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSONL file (also ``.gz``), each with the required fields of the given types.

    Blank lines are passed over. Raises DataError with the file and line for anything else, and for a
    file that cannot be read or holds no records.
    """
    for _, record in numbered_records(path, required):
        yield record


def numbered_records(path: Path, required: Mapping[str, type]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Like :func:`iterate_records`, each record with the number of its line (from 1)."""
    empty, number = True, 0
    try:
        with _open(path) as lines:
            for number, line in enumerate(lines, 1):  # bytes, so that a bad one is known by its line
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")  # some editors write a mark first
                if text.strip():
                    empty = False
                    yield number, _record(text, f"{path}:{number}", required)
    except FileNotFoundError:
        raise DataError(f"cannot read '{path}': it does not exist (looked in {Path.cwd()})") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{path}:{number + 1}: the gzip data is damaged or cut short ({error}); copy the file again"
        ) from None
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}; give a JSONL file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: not UTF-8 ({error.reason}); give a JSONL file") from None
    if empty:
        raise DataError(f"'{path}' holds no records; each line must be one JSON object")


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _record(line: str, place: str, required: Mapping[str, type]) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{place}: not JSON ({error}); each line must be one JSON object") from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: a {type(record).__name__}; each line must be one JSON object")
    for name, kind in required.items():
        value = record.get(name)
        if not isinstance(value, kind):
            found = f"'{name}' is a {type(value).__name__}" if name in record else f"no field '{name}'"
            raise DataError(
                f"{place}: {found}; each line needs "
                + ", ".join(f"{key} ({wanted.__name__})" for key, wanted in required.items())
            )
        if isinstance(value, str) and not value.isascii():
            _check_text(value, f"{place}: '{name}'")
    return record


def _check_text(value: str, place: str) -> None:
    """Refuse half of a surrogate pair, which JSON can spell and no text can hold."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"{place} holds the lone surrogate U+{ord(value[error.start]):04X} at character {error.start}, "
            "which is no text; remove it or write the whole pair"
        ) from None
