"""Naming, writing and reading result files. A file that was written is never changed.

The name is ``MODEL_HARDWARE_DATE_WHO.json``, or ``..._2.json`` and so on for further ones of that day.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dlmrt.config import from_mapping, to_mapping
from dlmrt.errors import ConfigError, DataError
from dlmrt.results.check import check_result
from dlmrt.results.envelope import slug
from dlmrt.results.schema import SCHEMA_VERSION, ResultFile

# No count, size or rate comes near it, and a float still holds it.
LARGEST = 10**30


def result_name(result: ResultFile) -> str:
    """Return the file name of a result, the number of further files of that day left out.

    Each part is in lower case and in the characters ``a-z 0-9 . -``. The models are those that the
    cells of the result's kind decoded with; more than two are named by the first and their number.
    """
    cells = result.cells if result.kind == "eval" else result.speeds
    used = [*dict.fromkeys(cell.model for cell in cells)] or [*result.models]
    models = [slug(name.replace("\\", "/").rpartition("/")[2]) or "model" for name in used] or ["model"]
    model = "-and-".join(models) if len(models) <= 2 else f"{models[0]}-and-{len(models) - 1}-more"
    date = result.run.started[:10]
    return f"{model}_{slug(result.hardware) or 'unknown'}_{date}_{slug(result.run.who) or 'anonymous'}.json"


def is_name_of(name: str, result: ResultFile) -> bool:
    """Whether a file called ``name`` is named as :func:`write_result` names this result."""
    stem, whole = Path(result_name(result)).stem, Path(name)
    number = whole.stem.removeprefix(f"{stem}_")
    numbered = number.isascii() and number.isdigit() and not number.startswith("0") and int(number) >= 2
    return whole.suffix == ".json" and (whole.stem == stem or (number != whole.stem and numbered))


def write_result(result: ResultFile, folder: Path) -> Path:
    """Write a result into ``folder`` under its own name and return the path.

    The folder is made if need be; an existing file is never overwritten, the next free number is
    taken. Raises DataError: numbers that :func:`read_result` would refuse, or a write that fails.
    """
    return write_result_to(result, folder / result_name(result))


def write_result_to(result: ResultFile, path: Path) -> Path:
    """Write a result to ``path``, or beside it with the next free number when that exists.

    Returns the path that was written. To refuse an existing file, look before the work begins. Raises
    DataError: numbers that :func:`read_result` would refuse, or a write that fails.
    """
    check_result(result)
    text = to_json(result).encode("utf-8")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for free in _names(path):
            with contextlib.suppress(FileExistsError), free.open("xb") as file:
                try:
                    file.write(text)
                    file.flush()
                except OSError:  # a full disk: no half file stays
                    free.unlink(missing_ok=True)
                    raise
                return free
    except OSError as error:
        raise DataError(
            f"cannot write '{path}': {error.strerror}; give a folder that can be written"
        ) from None
    raise AssertionError("the names never end")


def _names(path: Path) -> Iterator[Path]:
    yield path
    number = 2
    while True:
        yield path.with_name(f"{path.stem}_{number}{path.suffix}")
        number += 1


def to_json(result: ResultFile) -> str:
    """Return a result as JSON text with a final newline.

    Raises DataError, with the place named: NaN, infinity, or text that is no text (half a surrogate pair).
    """
    data = to_mapping(result)
    _refuse_unwritable(data, "")
    return json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read_result(path: Path) -> ResultFile:
    """Read and check a result file.

    Raises DataError, with the file and the place in it: unreadable, not JSON, a key twice, another
    schema number, an unknown or missing key, a value of the wrong type, NaN or infinity, or numbers
    that contradict each other.
    """
    try:
        data = _parse(path.read_bytes().decode("utf-8"))
        _refuse_unwritable(data, "")
        _require_schema(data)
        result = from_mapping(ResultFile, data)
        check_result(result)
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}; give a result file") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}; give a result file") from None
    except RecursionError:
        raise DataError(f"{path}: nested too deeply for a result file") from None
    except (ConfigError, DataError) as error:
        raise DataError(f"{path}: {error}") from None
    return result


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON ({error}); was the file cut short or edited?") from None
    except ValueError as error:  # a number of too many digits
        raise DataError(f"not JSON ({error})") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DataError(f"the key '{twice}' stands twice in one object; which value counts is not known")
    return found


def _refuse_unwritable(value: Any, at: str) -> None:
    where = at or "the document"
    if isinstance(value, int) and abs(value) > LARGEST:
        raise DataError(f"{where} is beyond {LARGEST:g}; nothing that is measured here is as large")
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"{where} is {value}; numbers must be finite, and null if not measured")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise DataError(f"{where} holds half a surrogate pair, which is no text") from None
    if isinstance(value, Mapping):
        for key, each in value.items():
            _refuse_unwritable(each, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list | tuple):
        for i, each in enumerate(value):
            _refuse_unwritable(each, f"{at}[{i}]")


def _require_schema(data: Any) -> None:
    if not isinstance(data, Mapping):
        raise DataError(f"holds a {type(data).__name__}; a result file is one JSON object")
    if "schema" not in data:
        raise DataError(
            "has no 'schema'; this is no result file of `dlmrt eval` or `dlmrt bench`, or an older format"
        )
    number = data["schema"]
    if isinstance(number, bool) or number != SCHEMA_VERSION:
        newer = isinstance(number, int) and number > SCHEMA_VERSION
        todo = "upgrade dlmrt to read it" if newer else "measure again with this version"
        raise DataError(f"schema is {number!r}; this version of dlmrt reads {SCHEMA_VERSION}: {todo}")
