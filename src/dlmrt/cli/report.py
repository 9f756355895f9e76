"""``dlmrt report``: pages and tables from result files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dlmrt.cli.common import JsonFlag, answer, note, print_json
from dlmrt.cli.files import OutputFile
from dlmrt.errors import MissingExtraError, RequestError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dlmrt.results.schema import ResultFile

HELP = """Turn result files into an HTML page or Markdown tables.

FILE is what 'dlmrt eval' or 'dlmrt bench' wrote; every file is checked first, so this is also the way to
check one. Several files stand side by side; their speeds are divided by each other only where machine,
software and data agree. The page needs nothing outside it. Its plots need matplotlib; without it the page
has tables only.

\b
Examples:
  dlmrt report result.json
  dlmrt report result.json --html page.html
  dlmrt report mine.json theirs.json --html both.html --markdown
"""


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("report", help=HELP)(report)


def report(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Result files of one kind.")],
    page: Annotated[
        Path | None, typer.Option("--html", metavar="PAGE", help="Write a page here; its path is printed.")
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown tables. Default without --html.")
    ] = False,
    no_plots: Annotated[bool, typer.Option("--no-plots", help="Leave the page's plots out.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Report the results of ``files``."""
    from dlmrt.report.tables import markdown_tables, tables_as_data

    _check_options(page, markdown, no_plots, as_json)
    results = _read(files, page)
    names = [file.name for file in files]
    if page is not None:
        _write_page(page, results, names, no_plots)
    if as_json:
        print_json({"html": None if page is None else str(page), **tables_as_data(results, names)})
    elif markdown or page is None:
        answer(markdown_tables(results, names), end="")
    else:
        answer(str(page))


def _check_options(page: Path | None, markdown: bool, no_plots: bool, as_json: bool) -> None:
    if markdown and as_json:
        raise RequestError("--markdown and --json both write to stdout; give one of them")
    if no_plots and page is None:
        raise RequestError("--no-plots is about the page; give --html PAGE too")


def _read(files: Sequence[Path], page: Path | None) -> list[ResultFile]:
    """Read all files before anything is written."""
    from dlmrt.report.sources import gather
    from dlmrt.results.files import read_result

    resolved = [file.resolve() for file in files]
    for file, path in zip(files, resolved, strict=True):
        if resolved.count(path) > 1:
            raise RequestError(f"'{file}' was given twice; give every file once")
    if page is not None and page.resolve() in resolved:
        raise RequestError(
            f"--html '{page}' is one of the result files, which never change; give another path"
        )
    results = [read_result(file) for file in files]
    gather(results, [str(file) for file in files])
    return results


def _write_page(page: Path, results: list[ResultFile], names: list[str], no_plots: bool) -> None:
    from dlmrt.report.page import render_page

    with OutputFile(page, "--html") as out:
        out.write(render_page(results, names=names, without_plots=_reason_for_no_plots(no_plots)))


def _reason_for_no_plots(no_plots: bool) -> str | None:
    from dlmrt.report.svg import require_matplotlib

    if no_plots:
        return "left out with --no-plots"
    try:
        require_matplotlib()
    except MissingExtraError as error:
        note(f"no plots: {error}")
        return str(error)
    return None
