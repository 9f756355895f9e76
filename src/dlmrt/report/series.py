"""Colours and markers of arms: the same in every plot of a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dlmrt.report.layout import escape
from dlmrt.report.sources import Source, bench_cells, eval_cells
from dlmrt.report.svg import MARKERS, SERIES, series_colour

Key = tuple[str, str]  # letter of the file, arm


@dataclass(frozen=True)
class Series:
    """How one arm of one file is drawn."""

    key: Key
    prefix: str  # "A: " when there are several files
    index: int

    @property
    def label(self) -> str:
        """The arm, with its file where there are several."""
        return self.prefix + self.key[1]

    def on(self, suite: str) -> str:
        """The arm on a suite."""
        return f"{self.prefix}{suite}, {self.key[1]}"

    @property
    def colour(self) -> str:
        """Placeholder colour for :mod:`dlmrt.report.svg`."""
        return series_colour(self.index)

    @property
    def marker(self) -> str:
        """Marker in matplotlib's letters: more series than colours still differ."""
        return MARKERS[self.index % len(MARKERS)][0]

    @property
    def symbol(self) -> str:
        """The same marker as a character, for the legend."""
        return MARKERS[self.index % len(MARKERS)][1]


def all_series(sources: Sequence[Source]) -> dict[Key, Series]:
    """Give every arm its place, in order of appearance."""
    several = len(sources) > 1
    keys: dict[Key, None] = {}
    keys.update(((source.letter, cell.arm), None) for source, cell in eval_cells(sources))
    keys.update(((source.letter, cell.arm), None) for source, cell in bench_cells(sources))
    # A sweep may bring arms that no cell has.
    keys.update(((source.letter, curve.arm), None) for source in sources for curve in source.result.curves)
    return {key: Series(key, f"{key[0]}: " if several else "", index) for index, key in enumerate(keys)}


def legend(series: Iterable[Series]) -> str:
    """The legend as HTML: it wraps on a phone, and its text is escaped like all other."""
    items = "".join(
        f'<li><i style="color:var(--c{each.index % SERIES})">{each.symbol}</i>{escape(each.label)}</li>'
        for each in series
    )
    return f'<ul class="legend">{items}</ul>'
