"""Write docs/cli.md from the command line itself; with ``--check``, say whether it is current."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from source import ROOT

PAGE = Path("docs/cli.md")
WIDTH = 100
HEAD = """\
# The command line

Written by `make docs` from the program itself; do not edit.

The answer goes to stdout, everything else to stderr. Exit codes: 0 done, 2 an error that you can
mend (one line on stderr), 130 interrupted.
"""


def page() -> str:
    """Return the whole page: the help of the program and of each verb."""
    from typer.main import get_command

    from dlmrt.cli.app import build_app

    sections = [f"## `{path}`\n\n```text\n{text}\n```\n" for path, text in _helps(get_command(build_app()))]
    return "\n".join([HEAD, *sections])


def _helps(command: Any, name: str = "dlmrt", parent: Any = None) -> Iterator[tuple[str, str]]:
    context = command.make_context(
        name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH, max_content_width=WIDTH
    )
    yield context.command_path, "\n".join(line.rstrip() for line in context.get_help().splitlines())
    for verb, child in getattr(command, "commands", {}).items():
        yield from _helps(child, verb, context)


def problems(root: Path = ROOT) -> list[str]:
    """Return one line when the page on disk differs from the program."""
    path = root / PAGE
    if not path.exists() or path.read_text(encoding="utf-8") != page():
        return [f"{PAGE}: differs from the command line; run 'make docs'"]
    return []


def main() -> int:
    """Write the page, or with ``--check`` compare it."""
    if sys.argv[1:] == ["--check"]:
        found = problems()
        print("\n".join(found) or f"{PAGE} is current")
        return int(bool(found))
    (ROOT / PAGE).write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
