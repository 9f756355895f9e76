"""``dlmrt data``: build data sets, import tasks, look at pairs, score outputs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli import data_build, data_import
from dlmrt.cli.common import JsonFlag, print_json
from dlmrt.errors import DataError, RequestError

if TYPE_CHECKING:
    from rich.text import Text


RecordFile = Annotated[Path, typer.Argument(metavar="FILE", help="JSONL file.")]

SCORE_HELP = """Score outputs of the text repair task: errors gone by type, correct words changed.

FILE is a test.jsonl whose records got a field "output". The report is a table, or JSON with --json.
Shares come with 95 % Wilson intervals.

\b
Example:
  dlmrt data score outputs.jsonl
"""
PEEK_HELP = """Show a few pairs of a JSONL file, with what differs marked.

\b
Example:
  dlmrt data peek data/repair/test.jsonl -n 5 --skip 100
"""


def register(app: typer.Typer) -> None:
    """Add the verbs ``data build FAMILY``, ``data import``, ``data score`` and ``data peek`` to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    data_build.register(group)
    data_import.register(group)
    group.command("score", help=SCORE_HELP)(score)
    group.command("peek", help=PEEK_HELP)(peek)
    app.add_typer(group, name="data", help="Build or import data sets, look at them, score outputs.")


def score(file: RecordFile, as_json: JsonFlag = False) -> None:
    """Score the outputs in FILE."""
    from dlmrt.datasets.score import score_file

    report = score_file(file)
    if as_json:
        print_json(report)
    else:
        _print_report(report)


TOTALS = {
    "errors_gone": "errors gone",
    "untouched_words_changed": "untouched words changed",
    "exact_match": "exact match",
    "exact_match_corrupted": "exact match, corrupted sentences",
    "clean_left_alone": "clean sentences left alone",
}


def _print_report(report: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"text repair, {report['items']:,} items")
    for heading in ("measure", "share", "95 % interval", "count"):
        table.add_column(heading, justify="left" if heading == "measure" else "right")
    for key, label in TOTALS.items():
        table.add_row(label, *_cells(report[key]))
    table.add_section()
    for kind, share in report["errors_gone_by_type"].items():
        table.add_row(f"  {kind}" if "." in kind else f"gone: {kind}", *_cells(share))
    console = Console(highlight=False)
    console.print(table)
    before, after = report["word_error_rate_before"], report["word_error_rate_after"]
    console.print(f"word error rate: {before:.2%} before, {after:.2%} after")


def _cells(share: Mapping[str, Any]) -> tuple[str, str, str]:
    count = f"{share['hits']:,} / {share['total']:,}"
    if share["share"] is None:
        return "-", "-", count
    low, high = share["interval_95"]
    return f"{share['share']:.2%}", f"{low:.2%} .. {high:.2%}", count


def peek(
    file: RecordFile,
    number: Annotated[int, typer.Option("-n", "--number", help="Pairs to show.")] = 5,
    skip: Annotated[int, typer.Option("--skip", help="Pairs to pass over first.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Show pairs of FILE."""
    if number < 1 or skip < 0:
        raise RequestError(f"--number is {number} and --skip {skip}; allowed are --number >= 1, --skip >= 0")
    from dlmrt.datasets.records import iterate_records

    records = iterate_records(file, {"prompt": str, "answer": str})
    pairs = dict(itertools.islice(enumerate(records), skip, skip + number))
    if not pairs:
        raise DataError(f"'{file}' has no pair after the first {skip}; give a smaller --skip")
    if as_json:
        print_json({"pairs": [{"index": index, **record} for index, record in pairs.items()]})
    else:
        _print_pairs(pairs)


def _print_pairs(pairs: Mapping[int, Mapping[str, Any]]) -> None:
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    for index, record in pairs.items():
        if record.get("task") == "repair" or "errors" in record:  # nearly the same text twice
            for line in _marked(record["prompt"], record["answer"]):
                console.print(line)
        else:
            console.print(f"- {record['prompt']}\n+ {record['answer']}", markup=False)
        kinds = ", ".join(str(error.get("type")) for error in record.get("errors") or [])
        said = (record.get("id", f"pair {index}"), record.get("doc"), kinds)
        console.print("  " + " ".join(str(each) for each in said if each), style="dim", markup=False)


def _marked(prompt: str, clean: str) -> tuple[Text, Text]:
    """Both texts behind '- ' and '+ ', the characters that differ in red and green."""
    import difflib

    from rich.text import Text

    before, after = Text("- "), Text("+ ")
    matcher = difflib.SequenceMatcher(None, prompt, clean, autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        before.append(prompt[i:j], style=None if tag == "equal" else "bold white on red")
        after.append(clean[k:m], style=None if tag == "equal" else "bold white on green")
    return before, after
