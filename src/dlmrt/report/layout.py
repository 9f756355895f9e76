"""A table as data, and its two forms: Markdown and HTML. All text of a file is escaped here."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, replace

from dlmrt.report.format import MISSING, clean

SHORT = 24  # words up to this length stay on one line of a cell
# What Markdown could read as markup. `_` and `-` inside words are left: names have them.
MARKDOWN_SPECIAL = re.compile(r"([\\`*\[\]|])")


@dataclass(frozen=True)
class Column:
    """A heading. text: words, set to the left. foldable: dropped when all rows agree (see :func:`fold`)."""

    title: str
    text: bool = False
    foldable: bool = False


@dataclass(frozen=True)
class Table:
    """Cells are finished text. notes: sentences below the table."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table '{self.title}': every row needs {len(self.columns)} cells")


def columns(*titles: str) -> tuple[Column, ...]:
    """Build columns from titles: a leading ``<`` means text, a leading ``?`` foldable (``?<`` both)."""
    found = []
    for title in titles:
        foldable = title.startswith("?")
        title = title.removeprefix("?")
        found.append(Column(title.removeprefix("<"), title.startswith("<"), foldable))
    return tuple(found)


def fold(table: Table) -> Table:
    """Drop foldable columns in which all rows agree; a note says the common value unless it is missing."""
    if not table.rows:
        return table
    keep, same = [], []
    for i, column in enumerate(table.columns):
        values = {row[i] for row in table.rows}
        if not column.foldable or len(values) > 1:
            keep.append(i)
        elif values != {MISSING}:
            same.append(f"{column.title} {table.rows[0][i]}")
    notes = (f"In every row: {'; '.join(same).removesuffix('.')}.", *table.notes) if same else table.notes
    return replace(
        table,
        columns=tuple(table.columns[i] for i in keep),
        rows=tuple(tuple(row[i] for i in keep) for row in table.rows),
        notes=notes,
    )


def markdown_text(text: str) -> str:
    """Escape foreign text for Markdown: it stays on its line and is never markup."""
    return html.escape(MARKDOWN_SPECIAL.sub(r"\\\1", clean(text)), quote=False)


def to_markdown(table: Table, *, title: bool = True) -> str:
    """The table in Markdown, its notes below; without ``title`` no heading stands above."""
    head = " | ".join(markdown_text(column.title) for column in table.columns)
    rule = "|".join("---" if column.text else "---:" for column in table.columns)
    lines = [f"### {markdown_text(table.title)}", ""] if title else []
    lines += [f"| {head} |", f"|{rule}|"]
    lines += [f"| {' | '.join(markdown_text(cell) for cell in row)} |" for row in table.rows]
    for note in table.notes:
        lines += ["", markdown_text(note)]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Escape foreign text for HTML, also inside quoted attributes. A percent sign stays with its number."""
    return html.escape(clean(text), quote=True).replace(" %", "&nbsp;%")


def to_html(table: Table) -> str:
    """The table in HTML, in a box that scrolls sideways where the page is narrow."""
    kinds = ["t" if column.text else "n" for column in table.columns]
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(column.title)}</th>'
        for kind, column in zip(kinds, table.columns, strict=True)
    )
    body = "".join(f"<tr>{_row(kinds, row)}</tr>\n" for row in table.rows)
    notes = "".join(f'<p class="note">{escape(note)}</p>\n' for note in table.notes)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n{notes}"
    )


def _row(kinds: list[str], row: tuple[str, ...]) -> str:
    return "".join(
        f'<td class="{kind}{" k" if len(cell) <= SHORT else ""}">{escape(cell)}</td>'
        for kind, cell in zip(kinds, row, strict=True)
    )
