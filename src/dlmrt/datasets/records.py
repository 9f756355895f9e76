"""Read JSONL files of records, with the line named when one does not fit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dlmrt.errors import DataError


def iterate_records(path: Path, required: Mapping[str, type]) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSONL file, each with the required fields of the given types.

    Blank lines are passed over. Raises DataError with the file and line for anything else, and for a
    file that cannot be read or holds no records.
    """
    empty = True
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    empty = False
                    yield _record(line, f"{path}:{number}", required)
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}; give a JSONL file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"'{path}' is not UTF-8 ({error.reason}); give a JSONL file") from None
    if empty:
        raise DataError(f"'{path}' holds no records; each line must be one JSON object")


def _record(line: str, place: str, required: Mapping[str, type]) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{place}: not JSON ({error}); each line must be one JSON object") from None
    if not isinstance(record, dict):
        raise DataError(f"{place}: a {type(record).__name__}; each line must be one JSON object")
    for name, kind in required.items():
        if not isinstance(record.get(name), kind):
            found = f"'{name}' is a {type(record[name]).__name__}" if name in record else f"no field '{name}'"
            raise DataError(
                f"{place}: {found}; each line needs "
                + ", ".join(f"{key} ({wanted.__name__})" for key, wanted in required.items())
            )
    return record
