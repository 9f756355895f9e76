"""The plots of a benchmark: every prompt's speed, forwards against their floor, where time goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dlmrt.report import format as fmt
from dlmrt.report.phases import PHASES, named, shares, whole
from dlmrt.report.series import Key, Series
from dlmrt.report.sources import Source, bench_cells
from dlmrt.report.svg import INK, LINE, PAPER, SOFT, Plot, draw, series_colour
from dlmrt.results.schema import BenchCell, Claim

Row = tuple[Series, BenchCell]
# The two rates of a prompt, and their names in a claim.
RATES = {
    "decode": ("tokens_per_second_decode", "decode only"),
    "end_to_end": ("tokens_per_second", "end to end"),
}
# Beyond this factor between least and most a linear axis hides the small ones.
LOGARITHMIC = 8.0
PHASE_COLOURS = dict(zip(PHASES, (7, 5, 1, 0, 4, 2, 6), strict=True))
LABEL = 25  # characters beside an axis


def prompt_plots(sources: Sequence[Source], series: Mapping[Key, Series]) -> list[Plot]:
    """One figure a suite and setting: tokens/s of every prompt as a dot, with quartiles, for both rates."""
    groups: dict[tuple[str, int, int | None], list[Row]] = {}
    for source, cell in bench_cells(sources):
        key = (cell.suite, cell.batch_size, cell.max_new_tokens)
        groups.setdefault(key, []).append((series[source.letter, cell.arm], cell))
    several = {suite: sum(k[0] == suite for k in groups) > 1 for suite, _, _ in groups}
    plots = []
    for i, ((suite, batch, limit), rows) in enumerate(groups.items()):
        rates = [r for r in RATES if any(_values(cell, r) for _, cell in rows)]
        claims = [c for source in sources for c in source.result.claims if c.suite == suite]
        setting = f" (batch {batch}, {fmt.count(limit)} tokens)" if several[suite] else ""
        title = f"{suite}{setting}: tokens/s of every prompt"
        height = len(rates) * (0.62 + 0.36 * len(rows))
        svg = draw(
            f"prompts{i}",
            title,
            height,
            partial(_prompts, rows=rows, rates=rates, claims=claims),
        )
        number = max(len(cell.prompts) for _, cell in rows)
        caption = (
            f"{number} prompts; a dot is one prompt (median of its repeats), the box holds the middle half, "
            "the bar is the median, the thin line spans the 10th to the 90th percentile."
        )
        caption += " The dashed line is the claim." if claims else ""
        plots.append(Plot(title, caption, "", svg))
    return plots


def _values(cell: BenchCell, rate: str) -> list[float]:
    values = (getattr(prompt, RATES[rate][0]) for prompt in cell.prompts)
    return [value for value in values if value is not None]


def _prompts(figure: Any, rows: Sequence[Row], rates: Sequence[str], claims: Sequence[Claim]) -> None:
    panels = figure.subplots(len(rates), 1, squeeze=False)[:, 0]
    for axes, rate in zip(panels, rates, strict=True):
        everything: list[float] = []
        for y, (each, cell) in enumerate(rows):
            values = _values(cell, rate)
            everything += values
            if values:
                _strip(axes, y, values, each)
        for value in {claim.tokens_per_second for claim in claims if claim.measure == rate}:
            axes.axvline(value, color=INK, linewidth=1.1, linestyle=(0, (4, 3)))
            everything.append(value)
        _rate_axis(axes, everything)
        _name_rows(axes, [each.label for each, _ in rows])
        axes.set_title(f"tokens/s, {RATES[rate][1]}")


def _strip(axes: Any, y: int, values: Sequence[float], each: Series) -> None:
    import numpy as np

    p10, p25, middle, p75, p90 = np.percentile(values, [10, 25, 50, 75, 90])
    axes.plot([p10, p90], [y, y], color=each.colour, linewidth=1)
    axes.barh(y, p75 - p25, left=p25, height=0.56, color=each.colour, alpha=0.25, linewidth=0)
    # Golden-ratio steps spread the dots evenly and alike in every run.
    heights = [y + 0.46 * ((i * 0.618034) % 1 - 0.5) for i in range(len(values))]
    axes.scatter(
        values,
        heights,
        s=11,
        color=each.colour,
        marker=each.marker,
        edgecolors=PAPER,
        linewidths=0.3,
        zorder=3,
    )
    axes.plot([middle, middle], [y - 0.36, y + 0.36], color=INK, linewidth=1.6, zorder=4)


def _rate_axis(axes: Any, values: Sequence[float]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    least, most = min(values), max(values)
    if least > 0 and most / least > LOGARITHMIC:
        axes.set_xscale("log")
        decades = 100 if most / least > 100 else 1
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 1 else (1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: fmt.number(value))


def _name_rows(axes: Any, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), [fmt.shorten(label, LABEL) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)  # the first row on top
    axes.grid(False, axis="y")
    axes.tick_params(axis="y", length=0, labelcolor=INK)


def floor_plot(sources: Sequence[Source], series: Mapping[Key, Series]) -> Plot | None:
    """One row a cell: milliseconds of a forward, beside the least this machine could take."""
    rows = [
        (series[source.letter, cell.arm], cell)
        for source, cell in bench_cells(sources)
        if cell.floor is not None and cell.ms_per_forward is not None
    ]
    if not rows:
        return None
    title = "A forward against its floor"
    svg = draw("floor0", title, 0.7 + 0.28 * len(rows), partial(_floor, rows=rows))
    caption = (
        "The grey bar is the floor, the least a forward could take here; the point is the median forward, "
        "the line its 10th to 90th percentile. At the right: percent of floor."
    )
    return Plot(title, caption, "", svg)


def _floor(figure: Any, rows: Sequence[Row]) -> None:
    axes = figure.subplots()
    for y, (each, cell) in enumerate(rows):
        floor, ms = cell.floor, cell.ms_per_forward
        assert floor is not None and ms is not None
        axes.barh(y, floor.ms, height=0.6, color=SOFT, alpha=0.4, linewidth=0)
        axes.plot([ms.p10, ms.p90], [y, y], color=each.colour, linewidth=2)
        axes.plot(
            [ms.median], [y], color=each.colour, marker=each.marker, markeredgecolor=PAPER, markersize=7
        )
        percent = fmt.percent_of_floor(cell.percent_of_floor)
        axes.text(1.02, y, percent, transform=axes.get_yaxis_transform(), va="center", fontsize=8, color=SOFT)
    _name_rows(axes, [each.on(cell.suite) for each, cell in rows])
    axes.set_xlim(left=0)
    axes.set_xlabel("ms a forward")


def phase_plot(sources: Sequence[Source], series: Mapping[Key, Series]) -> Plot | None:
    """One stacked bar a cell: the share of each phase in the mean request."""
    rows = [
        (series[source.letter, cell.arm], cell)
        for source, cell in bench_cells(sources)
        if cell.phases is not None and shares(cell.phases)
    ]
    if not rows:
        return None
    used = [name for name in PHASES if any(cell.phases and name in named(cell.phases) for _, cell in rows)]
    items = "".join(f'<li><i style="color:var(--c{PHASE_COLOURS[name]})">■</i>{name}</li>' for name in used)
    title = "Share of each phase in a request"
    svg = draw("phases0", title, 0.7 + 0.32 * len(rows), partial(_phases, rows=rows))
    caption = "Of the mean request; its milliseconds stand at the right."
    return Plot(title, caption, f'<ul class="legend">{items}</ul>', svg)


def _phases(figure: Any, rows: Sequence[Row]) -> None:
    axes = figure.subplots()
    for y, (_, cell) in enumerate(rows):
        assert cell.phases is not None
        left = 0.0
        for name, share in shares(cell.phases).items():
            width = 100 * share
            axes.barh(
                y, width, left=left, height=0.66, color=series_colour(PHASE_COLOURS[name]),
                edgecolor=PAPER, linewidth=0.6,
            )  # fmt: skip
            if share >= 0.1:
                axes.text(
                    left + width / 2, y, f"{width:.0f}", ha="center", va="center", fontsize=8, color=PAPER
                )
            left += width
        axes.text(101.5, y, f"{fmt.milliseconds(whole(cell.phases))} ms", va="center", fontsize=8, color=SOFT)
    _name_rows(axes, [each.on(cell.suite) for each, cell in rows])
    axes.set_xlim(0, 118)
    axes.set_xticks(range(0, 101, 20))
    axes.spines["bottom"].set_color(LINE)
    axes.set_xlabel("share of the request, %")
