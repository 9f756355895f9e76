"""The folder of a built data set: checked first, written aside, renamed when it is whole."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dlmrt.errors import DataError

MANIFEST = "manifest.json"
Progress = Callable[[str, int, int], None]  # stage, done, total


def open_target(out: Path, *, force: bool) -> Path:
    """The folder to write.

    Raises DataError when it exists (without ``force``), or would replace something that is no data set.
    """
    target = out.resolve()
    if target.exists() and not force:
        raise DataError(f"'{out}' exists; choose another --out or pass --force to replace it")
    if target.exists() and not (target / MANIFEST).is_file():
        raise DataError(f"'{out}' is not a data set (it has no {MANIFEST}); --force does not replace it")
    return target


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """A folder beside ``target`` to write into; it takes the target's place when the block ends well."""
    aside = target.with_name(f".{target.name}.partial-{os.getpid()}")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        _replace(aside, target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Write ``manifest.json``."""
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _replace(aside: Path, target: Path) -> None:
    """Put the finished folder in place; an old one is moved away first and removed last."""
    old = target.with_name(f".{target.name}.old-{os.getpid()}")
    if target.exists():
        target.rename(old)
    aside.rename(target)
    if old.is_dir():
        shutil.rmtree(old)
    elif old.exists():
        old.unlink()
