"""``dlmrt data build FAMILY``: sets from documents (repair) and generated ones (words, python, ...)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.common import JsonFlag, answer, note, print_json, stderr_console
from dlmrt.cli.groups import grouped

if TYPE_CHECKING:
    from dlmrt.datasets.output import Progress

SourceFolders = Annotated[
    list[Path],
    typer.Option("--sources", metavar="FOLDER", help="Folder of documents; give it once for each folder."),
]
Out = Annotated[Path, typer.Option("--out", help="Folder to write.")]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same set.")]
Force = Annotated[bool, typer.Option("--force", help="Replace the folder if it exists.")]
BareShare = Annotated[
    float, typer.Option("--bare-share", help="Share of training prompts that get no prefix.")
]

REPAIR_HELP = """Build the text repair set: sentences of documents, with recorded errors injected.

Reads HTML, XML (DocBook, Mallard), Markdown, reStructuredText, Info, POD and plain text, also gzipped.
Writes train.jsonl, dev.jsonl, test.jsonl, train.sentences.txt, words.txt, sources.txt, manifest.json.
The same documents, options and seed give the same files byte for byte.

\b
Example:
  dlmrt data build repair --sources docs/git-doc --sources docs/perl-doc --out data/repair --seed 1
"""
WORDS_HELP = """Build word problems with worked solutions: 2 to 8 equations, and a harder set of 9 and 10.

Phrasings of the test set are never trained on. The same options and seed give the same bytes.

\b
Example:
  dlmrt data build words --out data/words --seed 1 --train 100000 --jobs 2
"""
PYTHON_HELP = """Build Python functions of two to six operations, described in English, with tests.

A test function has a pair of neighbouring operations that never occurs in training.

\b
Example:
  dlmrt data build python --out data/python --seed 1 --train 100000 --jobs 2
"""
EXTRACT_HELP = """Build free texts with the JSON record that each stands for: twelve kinds of records.

Combinations of fields and phrasings of the test set are never trained on.

\b
Example:
  dlmrt data build extract --out data/extract --seed 1 --train 100000 --jobs 2
"""
DATES_HELP = """Build English dates, durations and intervals with their ISO 8601 text, alone and in lists.

\b
Example:
  dlmrt data build dates --out data/dates --seed 1 --train 100000 --jobs 2
"""
GSM8K_HELP = """Renumber the training problems of GSM8K: other numbers, the calculations done again.

FILE is train.jsonl of openai/grade-school-math, whose solutions carry their calculations. About half of
its problems can be renumbered. Never give the test file.

\b
Example:
  dlmrt data build gsm8k --source grade-school-math/train.jsonl --out data/gsm8k --copies 10 --seed 1
"""


SUMS_HELP = """Build plain calculations of one to five steps, in signs or words, with their solutions.

Practice for a model of word problems, which come down to them. Needs no sources. Writes train, dev and test
as JSONL and a manifest.

Example:
  dlmrt data build sums --out data/sums --seed 1 --train 200000 --jobs 8
"""

_GENERATED = {"sums": SUMS_HELP, "python": PYTHON_HELP, "extract": EXTRACT_HELP, "dates": DATES_HELP}


@dataclass(frozen=True)
class Generated:
    """What the generated families are asked for, a group of options."""

    seed: Seed = 0
    train: Annotated[int, typer.Option("--train", help="Items of train.jsonl.")] = 100_000
    dev: Annotated[int, typer.Option("--dev", help="Items of dev.jsonl.")] = 500
    test: Annotated[int, typer.Option("--test", help="Items of test.jsonl.")] = 1_000
    bare_share: BareShare = 0.1
    jobs: Annotated[int, typer.Option("--jobs", help="Processes that work at a time.")] = 1
    force: Force = False


def register(group: typer.Typer) -> None:
    """Add ``build`` with a verb for each family to ``group``."""
    families = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
    families.command("repair", help=REPAIR_HELP)(build_repair_set)
    families.command("words", help=WORDS_HELP)(build_words)
    for name, text in _GENERATED.items():
        families.command(name, help=text)(_builder(name))
    families.command("gsm8k", help=GSM8K_HELP)(build_gsm8k)
    group.add_typer(families, name="build", help="Build a data set of a family.")


def build_repair_set(
    sources: SourceFolders,
    out: Out,
    seed: Seed = 0,
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
    prefix: Annotated[str, typer.Option("--prefix", help="Text before each training prompt.")] = "",
    bare_share: BareShare = 0.0,
    jobs: Annotated[int, typer.Option("--jobs", help="Processes that read documents.")] = 1,
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Build the set that the options describe."""
    from dlmrt.datasets.build import RepairBuild, build_repair

    plan = RepairBuild(
        tuple(sources), out, seed=seed, max_train=max_train, dev=dev, test=test, train_copies=train_copies,
        max_per_source=max_per_source, jobs=jobs, force=force, prefix=prefix, bare_share=bare_share,
    )  # fmt: skip
    with _progress() as progress:
        manifest = build_repair(plan, progress)
    _print(manifest, out, as_json)


@grouped
def build_words(
    out: Out,
    asked: Generated,
    harder: Annotated[int, typer.Option("--harder", help="Items of harder.jsonl.")] = 1_000,
    as_json: JsonFlag = False,
) -> None:
    """Build word problems."""
    _build("words", out, asked, as_json, harder=harder)


def _builder(family: str) -> Callable[..., None]:
    @grouped
    def build(out: Out, asked: Generated, as_json: JsonFlag = False) -> None:
        """Build the family's set."""
        _build(family, out, asked, as_json)

    return build


def _build(family: str, out: Path, asked: Generated, as_json: bool, **more: int) -> None:
    from dlmrt.datasets.procedural import ProceduralBuild, build_procedural

    counts = {"train": asked.train, "dev": asked.dev, "test": asked.test, **more}
    plan = ProceduralBuild(family, out, counts, asked.seed, asked.bare_share, asked.jobs, asked.force)
    with _progress() as progress:
        manifest = build_procedural(plan, progress)
    _print(manifest, out, as_json)


def build_gsm8k(
    source: Annotated[Path, typer.Option("--source", metavar="FILE", help="train.jsonl of GSM8K.")],
    out: Out,
    copies: Annotated[int, typer.Option("--copies", help="Problems made of each.")] = 5,
    seed: Seed = 0,
    bare_share: BareShare = 0.1,
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Renumber GSM8K's training problems."""
    from dlmrt.datasets.words.renumber import RenumberBuild, build_renumbered

    plan = RenumberBuild(source, out, copies, seed, bare_share, force)
    with _progress() as progress:
        manifest = build_renumbered(plan, progress)
    _print(manifest, out, as_json)


def _print(manifest: Mapping[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        print_json(manifest)
        return
    for name, facts in manifest["files"].items():
        unit = next(unit for unit in ("pairs", "items", "lines") if unit in facts)
        note(f"{name}: {facts[unit]:,} {unit}, sha256 {facts['sha256'][:16]}")
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
