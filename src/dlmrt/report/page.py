"""The HTML page: one file with nothing outside it, no script, readable offline, on a phone and on paper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from dlmrt.errors import MissingExtraError, RequestError
from dlmrt.report import bench_plots, bench_tables, between, eval_plots, eval_tables, facts, phases
from dlmrt.report.layout import Table, escape, to_html
from dlmrt.report.series import all_series
from dlmrt.report.sources import Source, bench_cells, gather, label
from dlmrt.report.svg import Plot, require_matplotlib
from dlmrt.report.tables import NO_RATIOS
from dlmrt.results.schema import ResultFile

# Nothing may be loaded and nothing runs: a page made of a stranger's file can't phone home.
FOOTER = "Written by dlmrt report. docs/report.md says how every number is made."
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A card of the page. about: plain text under the heading; body: HTML. An empty body is left out."""

    anchor: str
    title: str
    about: str
    body: str


def write_page(results: Sequence[ResultFile], path: Path) -> None:
    """Write :func:`render_page` to ``path``, without plots where matplotlib is missing.

    Raises DataError as :func:`gather` before the file is touched; RequestError if it can't be written.
    """
    try:
        require_matplotlib()
        missing = None
    except MissingExtraError as error:
        missing = str(error)
    text = render_page(results, without_plots=missing)
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise RequestError(f"'{path}' cannot be written: {error.strerror}; give another path") from None


def render_page(
    results: Sequence[ResultFile],
    *,
    names: Sequence[str] | None = None,
    without_plots: str | None = None,
) -> str:
    """Return the page as text.

    names: the files' names, as readers know them. without_plots: leave plots out, and say this reason
    on the page. Raises DataError as :func:`gather`; MissingExtraError when plots are wanted and
    matplotlib is missing.
    """
    sources = gather(results, names)
    if sources[0].result.kind == "eval":
        title, parts = "Evaluation", _eval_sections(sources, plots=without_plots is None)
    else:
        title, parts = "Benchmark", _bench_sections(sources, plots=without_plots is None)
    sections = [_measured(sources), *parts, _between(sources), _details(sources)]
    sections = [section for section in sections if section.body]
    heads = dict.fromkeys(label(source.result) for source in sources)
    warning = "" if without_plots is None else f'<p class="warn">No plots: {escape(without_plots)}.</p>\n'
    links = "".join(f'<a href="#{section.anchor}">{escape(section.title)}</a>\n' for section in sections)
    css = files("dlmrt.report").joinpath("page.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(f"{title}: {'; '.join(heads)}")}</title>
<link rel="icon" href="data:,">
<style>
{css}</style>
</head>
<body>
<main>
<header>
<h1>{title}</h1>
<p>{escape("; ".join(heads))}</p>
<nav>{links}</nav>
{warning}</header>
{"".join(map(_card, sections))}<footer>{FOOTER}</footer>
</main>
</body>
</html>
"""


def _card(section: Section) -> str:
    about = f'<p class="about">{escape(section.about)}</p>\n' if section.about else ""
    heading = f"<h2>{escape(section.title)}</h2>"
    return f'<section id="{section.anchor}">\n{heading}\n{about}{section.body}</section>\n'


def _tables(tables: Iterable[Table | None], *, headings: bool = False) -> str:
    parts = []
    for table in tables:
        if table is not None and table.rows:
            parts.append((f"<h3>{escape(table.title)}</h3>\n" if headings else "") + to_html(table))
    return "".join(parts)


def _plots(plots: Iterable[Plot | None]) -> str:
    figures = "".join(
        f"<figure>\n<h3>{escape(plot.title)}</h3>\n{plot.legend}\n{plot.svg}\n"
        f"<figcaption>{escape(plot.caption)}</figcaption>\n</figure>\n"
        for plot in plots
        if plot is not None
    )
    return f'<div class="plots">\n{figures}</div>\n' if figures else ""


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>\n{body}</details>\n" if body else ""


def _measured(sources: Sequence[Source]) -> Section:
    body = f'<div class="facts">{to_html(facts.runs(sources))}</div>\n'
    for source in sources:
        body += f"<pre>{escape(source.result.run.command)}</pre>\n"
    skipped = facts.skipped(sources)
    if skipped is not None:
        body += f"<h3>Asked for and not run</h3>\n{to_html(skipped)}"
    return Section("measured", "What was measured", "", body)


def _eval_sections(sources: Sequence[Source], *, plots: bool) -> list[Section]:
    series = all_series(sources) if plots else {}
    accuracy = eval_plots.accuracy_plots(sources, series) if plots else []
    entropy = eval_plots.entropy_plots(sources, series) if plots else []
    reliability = eval_plots.calibration_plots(sources, series) if plots else []
    areas = eval_tables.areas(sources)
    return [
        Section(
            "accuracy",
            "Accuracy and tokens a forward",
            "Shares with 95 % Wilson intervals. Tokens a forward (TPF): decided tokens over denoising and "
            "commit forwards, the prefill apart. The ratio of sums weighs every token alike, the mean of "
            "ratios every answer.",
            _tables([eval_tables.accuracy(sources)])
            + _tables(eval_tables.quality(sources), headings=True)
            + "".join(_folded(table.title, to_html(table)) for table in eval_tables.breakdowns(sources))
            + _plots(accuracy),
        ),
        Section(
            "speed",
            "Speed and answers",
            "Times are medians with the 10th and 90th percentile; tokens/s is all tokens over all seconds, "
            "prefill included. The time to a correct answer is all seconds spent over the correct answers.",
            _tables([eval_tables.speed(sources)]),
        ),
        Section(
            "curve",
            "Accuracy against tokens a forward as one number",
            "The area means nothing without its formula, alpha and y_max: compare only areas that share "
            "them.",
            _tables([areas]) + _folded("Every point of the sweep", _tables([eval_tables.curves(sources)])),
        ),
        Section(
            "pairs",
            "Paired comparisons",
            "McNemar's exact test on the same items. Items needed: to show this difference at 5 %, "
            "two-sided, with a power of 80 %.",
            _tables([eval_tables.pairs(sources)]),
        ),
        Section(
            "seeds",
            "Seeds",
            "Means over seeds with 95 % t intervals: how much chance in decoding moves the result.",
            _tables([eval_tables.seeds(sources)]),
        ),
        Section("entropy", "Entropy per step", "", _plots(entropy)),
        Section(
            "calibration",
            "Calibration",
            "Whether a token's confidence when it was accepted says how often such tokens are right.",
            _tables([eval_tables.calibration(sources)]) + _plots(reliability),
        ),
        Section("arms", "Arms", "", _tables([eval_tables.arms(sources)])),
    ]


def _bench_sections(sources: Sequence[Source], *, plots: bool) -> list[Section]:
    series = all_series(sources) if plots else {}
    floor = bench_plots.floor_plot(sources, series) if plots else None
    prompts = bench_plots.prompt_plots(sources, series) if plots else []
    phase = bench_plots.phase_plot(sources, series) if plots else None
    return [
        Section(
            "floor",
            "Floor",
            "The least time of one forward on this machine: bytes read over measured bandwidth, operations "
            "over measured matrix rate, whichever is larger.",
            _tables([bench_tables.floors(sources)]) + _plots([floor]),
        ),
        Section(
            "speed",
            "Speed",
            "Percent of floor: floor over median forward; 100 % is the best possible. Decode-only leaves the "
            "first block's prefill out, end to end is the whole request.",
            _tables([bench_tables.speed(sources)])
            + _plots(prompts)
            + _folded("Every prompt", _tables([bench_tables.prompts(sources)])),
        ),
        Section(
            "claims",
            "Claims",
            "A claim is met on a prompt when its median rate reaches it. The share of prompts counts, not "
            "the best of them.",
            _tables([bench_tables.claims(sources)]),
        ),
        Section("time", "Where a request's time goes", phases.ASKED, _time(sources) + _plots([phase])),
        Section(
            "ratios",
            "Arms of one run",
            "Measured in turn in the same run on the same prompts, so these may be divided.",
            _tables([bench_tables.ratios(sources)]),
        ),
        Section("memory", "Memory", "", _tables([bench_tables.memory(sources)])),
        Section("arms", "Arms", "", _tables([bench_tables.arms(sources)])),
    ]


def _time(sources: Sequence[Source]) -> str:
    several = len(sources) > 1
    items = "".join(
        f"<li>{escape((f'{source.letter}: ' if several else '') + phases.sentence(cell))}</li>\n"
        for source, cell in bench_cells(sources)
    )
    return f'<ul class="says">\n{items}</ul>\n' + _tables([bench_tables.phases(sources)])


def _between(sources: Sequence[Source]) -> Section:
    if len(sources) < 2:
        return Section("files", "Between files", "", "")
    reasons = between.what_differs(sources)
    if not reasons:
        return Section("files", "Between files", "", _tables([between.ratios(sources)]))
    listed = "".join(f"<li>{escape(reason)}</li>\n" for reason in reasons)
    body = f'<p class="warn">{escape(NO_RATIOS)}</p>\n<ul class="says">\n{listed}</ul>\n'
    return Section("files", "Between files", "", body)


def _details(sources: Sequence[Source]) -> Section:
    body = _tables([facts.models(sources), facts.data(sources)], headings=True)
    for source in sources:
        name = f"{source.letter}: " if len(sources) > 1 else ""
        for title, value in (
            ("Settings", source.result.settings),
            ("Environment", source.result.environment),
        ):
            text = json.dumps(value, indent=1, ensure_ascii=False)
            lines = "\n".join(_indented(line) for line in text.split("\n"))
            body += _folded(f"{name}{title}", f"<pre>{lines}</pre>\n")
    return Section("details", "Weights, data, environment", "", body)


def _indented(line: str) -> str:
    """Escape one line of JSON; cleaning would take its indentation."""
    return " " * (len(line) - len(line.lstrip(" "))) + escape(line)
