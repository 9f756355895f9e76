"""Reading prompts and writing answers to files, with errors before any work is done."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from dlmrt.errors import PromptError, RequestError


def read_stdin() -> str:
    """Read stdin to its end as UTF-8; raises PromptError with the offset of the first bad byte."""
    return decode_utf8(sys.stdin.buffer.read(), "stdin")


def read_file(path: Path) -> str:
    """Read a text file as UTF-8; raises PromptError if it can't be read or is not UTF-8."""
    try:
        return decode_utf8(path.read_bytes(), f"'{path}'")
    except OSError as error:
        raise PromptError(f"cannot read '{path}': {error.strerror}") from None


def decode_utf8(data: bytes, where: str, offset: int = 0) -> str:
    """Decode what lies at ``offset`` of ``where``; a byte order mark is dropped.

    Raises PromptError with the offset of the first byte that is not UTF-8.
    """
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise PromptError(
            f"{where} is not UTF-8: byte 0x{data[error.start]:02x} at offset {offset + error.start}; "
            "convert it first, for example with iconv"
        ) from None


def check_folder(folder: Path, option: str) -> None:
    """Refuse, before any work, a folder that can't be made or written; raises RequestError."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        raise RequestError(f"{option}: '{there}' is a file, not a folder; give another path")
    if not os.access(there, os.W_OK):
        raise RequestError(
            f"{option}: '{there}' cannot be written; change its permissions or give another path"
        )


class OutputFile:
    """A file that is known to be writable before the work, and written after it.

    Used as a context manager: left without :meth:`write`, a file that was there keeps its content and
    one that was not is gone again. Raises RequestError at once if it can't be opened for writing.
    """

    def __init__(self, path: Path, option: str) -> None:
        self.path = path
        self._option = option
        self._is_new = not path.exists()
        try:
            # Appending opens for writing without touching what is there.
            self._file = path.open("a", encoding="utf-8", newline="")
        except OSError as error:
            raise self._error(error) from None
        self._done = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):  # the rest of a write that failed, which was told then
            self._file.close()
        if self._is_new and not self._done:
            self.path.unlink(missing_ok=True)

    def write(self, text: str) -> None:
        """Replace the file's content; raises RequestError (a full disk, say)."""
        self._done = True
        try:
            if self.path.is_file():
                self._file.truncate(0)
            self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> RequestError:
        return RequestError(
            f"{self._option} '{self.path}' cannot be written: {error.strerror}; give another path"
        )
