"""Write the tables of README.md and docs/*.md from the result files; with ``--check``, compare them.

A block stands between two lines of its own::

    <!-- table: KIND FILE [FILE...] -->
    <!-- end table -->

KIND is one of ``dlmrt.report.tables.TABLE_KINDS``, FILE a name in benchmarks/results. The check also
reads every result file there and compares its name with the one it is given by writing it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from source import ROOT

RESULTS = Path("benchmarks/results")
START = re.compile(r"<!-- table: (\S+)((?: \S+)+) -->")
END = "<!-- end table -->"
COMMAND = "python tools/gen_tables.py"


@dataclass(frozen=True)
class Block:
    """A table's place in a page: the index of its first and last line, and what it is made of."""

    first: int
    last: int
    kind: str
    files: tuple[str, ...]


class BadBlockError(Exception):
    """A marker that can't be read; the message begins with its line number."""


def pages(root: Path = ROOT) -> list[Path]:
    """Return the pages that may hold tables."""
    return [path for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))) if path.is_file()]


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page in order; markers inside fenced code are text."""
    first, opened, fence = 0, None, ""
    for i, line in enumerate(text.split("\n")):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if mark and opened is None:
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        if fence:
            continue
        start = START.fullmatch(line)
        if start or line.startswith("<!-- table"):
            if not start:
                raise BadBlockError(f"{i + 1}: '{line}'; write <!-- table: KIND FILE [FILE...] -->")
            if opened:
                raise BadBlockError(f"{i + 1}: a table begins inside the one of line {first + 1}")
            first, opened = i, start
        elif line == END:
            if not opened:
                raise BadBlockError(f"{i + 1}: '{END}' ends no table")
            yield Block(first, i, opened[1], tuple(opened[2].split()))
            opened = None
    if opened:
        raise BadBlockError(f"{first + 1}: the table has no '{END}'")


def filled(text: str, root: Path = ROOT) -> str:
    """Return a page with the tables that its blocks should hold.

    Raises BadBlockError; DlmrtError for a file that is missing or broken, or an unknown kind.
    """
    lines = text.split("\n")
    for block in reversed(list(blocks(text))):
        lines[block.first + 1 : block.last] = ["", *_table(block, root).strip("\n").split("\n"), ""]
    return "\n".join(lines)


def _table(block: Block, root: Path) -> str:
    from dlmrt.errors import DlmrtError
    from dlmrt.report.tables import render_table
    from dlmrt.results.files import read_result

    try:
        for name in block.files:
            if Path(name).name != name:
                raise BadBlockError(f"'{name}' is a path; name a file of {RESULTS}")
        return render_table(block.kind, [read_result(root / RESULTS / name) for name in block.files])
    except (DlmrtError, BadBlockError) as error:
        raise BadBlockError(f"{block.first + 1}: {_relative(str(error), root)}") from None


def _relative(message: str, root: Path) -> str:
    return message.replace(f"{root}/", "")


def problems(root: Path = ROOT) -> list[str]:
    """Return one line for each page whose tables are not current and each result file that is not sound."""
    found = list(_result_problems(root))
    for path in pages(root):
        name, text = path.relative_to(root), path.read_text(encoding="utf-8")
        try:
            if filled(text, root) != text:
                found.append(f"{name}: a table is not what {RESULTS} says; run '{COMMAND}'")
        except BadBlockError as error:
            found.append(f"{name}:{error}")
    return found


def _result_problems(root: Path) -> Iterator[str]:
    from dlmrt.errors import DlmrtError
    from dlmrt.results.files import is_name_of, read_result, result_name

    for path in sorted((root / RESULTS).glob("*.json")):
        try:
            result = read_result(path)
        except DlmrtError as error:
            yield _relative(str(error), root)
            continue
        if not is_name_of(path.name, result):
            yield f"{RESULTS / path.name}: the file must be called {result_name(result)}"


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the tables, or with ``--check`` compare them."""
    if arguments not in ([], ["--check"]):
        print(f"error: unknown arguments; run '{COMMAND} [--check]'", file=sys.stderr)
        return 2
    if not arguments:
        for path in pages(root):
            text = path.read_text(encoding="utf-8")
            try:
                new = filled(text, root)
            except BadBlockError:
                continue  # reported below, with what else is wrong
            if new != text:
                path.write_text(new, encoding="utf-8")
                print(f"wrote {path.relative_to(root)}")
    found = problems(root)
    print("\n".join(found) or "all tables are current")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
