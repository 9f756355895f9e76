"""What the verbs share: where output goes, JSON, and the nearest-name hint.

The answer goes to stdout, everything else to stderr, so that ``dlmrt ... > file`` holds the
answer alone.

Exit codes: 0 done, 2 an error that the caller can mend, 130 interrupted, 141 the reader of stdout went
away.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.config import to_mapping
from dlmrt.errors import nearest

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "EXIT_BROKEN_PIPE",
    "EXIT_ERROR",
    "EXIT_INTERRUPTED",
    "JsonFlag",
    "answer",
    "command_line",
    "nearest",
    "note",
    "print_json",
    "stderr_console",
]

EXIT_ERROR = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141

# Every verb that reports takes it: `def verb(as_json: JsonFlag = False)`.
JsonFlag = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


def answer(text: str, *, end: str = "\n") -> None:
    """Write ``text`` to stdout at once: what the user asked for, and nothing else."""
    sys.stdout.write(text + end)
    sys.stdout.flush()


def note(text: str) -> None:
    """Write one line to stderr: progress, counts, hints."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def command_line() -> tuple[str, ...]:
    """Return what was typed, for a result file, by the program's name however it was started."""
    return ("dlmrt", *sys.argv[1:])


def print_json(value: Any) -> None:
    """Write ``value`` (plain data or configuration dataclasses) to stdout as one JSON document."""
    answer(json.dumps(to_mapping(value), ensure_ascii=False, indent=2))


def stderr_console() -> Console:
    """Return a rich console on stderr, for tables and progress (imports rich on first use)."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)
