"""``dlmrt data``: build data sets from documents, import tasks, look at pairs, score outputs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli import data_import
from dlmrt.cli.common import JsonFlag, answer, note, print_json, stderr_console
from dlmrt.errors import DataError, RequestError

if TYPE_CHECKING:
    from rich.text import Text

    from dlmrt.datasets.build import Progress

SourceFolders = Annotated[
    list[Path],
    typer.Option("--sources", metavar="FOLDER", help="Folder of documents; give it once for each folder."),
]
RecordFile = Annotated[Path, typer.Argument(metavar="FILE", help="JSONL file.")]

BUILD_HELP = """Build the text repair set: sentences of documents, with recorded errors injected.

Reads HTML, XML (DocBook, Mallard), Markdown, reStructuredText, Info, POD and plain text, also gzipped.
Writes train.jsonl, dev.jsonl, test.jsonl, train.sentences.txt, words.txt, sources.txt, manifest.json.
The same documents, options and seed give the same files byte for byte.

\b
Example:
  dlmrt data build repair --sources docs/git-doc --sources docs/perl-doc --out data/repair --seed 1
"""
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
    """Add the verbs ``data build repair``, ``data import``, ``data score`` and ``data peek`` to ``app``."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    families = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    families.command("repair", help=BUILD_HELP)(build_repair_set)
    group.add_typer(families, name="build", help="Build a data set from a family's sources.")
    data_import.register(group)
    group.command("score", help=SCORE_HELP)(score)
    group.command("peek", help=PEEK_HELP)(peek)
    app.add_typer(group, name="data", help="Build or import data sets, look at them, score outputs.")


def build_repair_set(
    sources: SourceFolders,
    out: Annotated[Path, typer.Option("--out", help="Folder to write.")],
    seed: Annotated[int, typer.Option("--seed", help="Seed of choice and errors.")] = 0,
    max_train: Annotated[
        int | None, typer.Option("--max-train", help="Most training sentences; all when left out.")
    ] = None,
    dev: Annotated[int, typer.Option("--dev", help="Sentences of dev.jsonl.")] = 1500,
    test: Annotated[int, typer.Option("--test", help="Sentences of test.jsonl.")] = 1500,
    train_copies: Annotated[
        int,
        typer.Option("--train-copies", help="Pairs for each training sentence, each with its own errors."),
    ] = 1,
    max_per_source: Annotated[
        int, typer.Option("--max-per-source", help="Most training sentences of one source folder.")
    ] = 60_000,
    jobs: Annotated[int, typer.Option("--jobs", help="Processes that read documents.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace the folder if it exists.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Build the set that the options describe."""
    from dlmrt.datasets.build import RepairBuild, build_repair

    plan = RepairBuild(
        tuple(sources), out, seed=seed, max_train=max_train, dev=dev, test=test, train_copies=train_copies,
        max_per_source=max_per_source, jobs=jobs, force=force,
    )  # fmt: skip
    with _progress() as progress:
        manifest = build_repair(plan, progress)
    if as_json:
        print_json(manifest)
        return
    for name, facts in manifest["files"].items():
        size = facts.get("pairs", facts.get("lines"))
        note(f"{name}: {size:,} {'pairs' if 'pairs' in facts else 'lines'}, sha256 {facts['sha256'][:16]}")
    answer(str(out))


@contextmanager
def _progress() -> Iterator[Progress]:
    """One bar on stderr for each stage."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    # Started by the first report: an error before any work stays the only line on stderr.
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=stderr_console())
    tasks: dict[str, Any] = {}

    def report(stage: str, done: int, total: int) -> None:
        if not tasks:
            bars.start()
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=total)
        bars.update(tasks[stage], completed=done)

    try:
        yield report
    finally:
        if tasks:
            bars.stop()


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
        for line in _marked(record["prompt"], record["answer"]):
            console.print(line)
        kinds = ", ".join(str(error.get("type")) for error in record.get("errors") or [])
        console.print(f"  {index}: {record.get('doc', '')} {kinds}".rstrip(), style="dim", markup=False)


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
