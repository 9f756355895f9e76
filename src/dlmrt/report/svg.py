"""From a matplotlib figure to inline SVG that follows the page: its colours, its font, its ids.

Figures are drawn in placeholder colours (:data:`INK`, :func:`series_colour`, ...) that become the
page's CSS variables, so that one figure serves light, dark and print. matplotlib is imported only here
and only when a figure is drawn.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from dlmrt.errors import MissingExtraError
from dlmrt.report.layout import escape

SERIES = 8  # colours in page.css
INK, SOFT, LINE, PAPER = "#010101", "#020202", "#030303", "#040404"
_VARIABLES = {INK: "--ink", SOFT: "--soft", LINE: "--line", PAPER: "--card"}
MARKERS = (("o", "●"), ("s", "■"), ("^", "▲"), ("D", "◆"), ("v", "▼"))
WIDTH = 4.7  # inches; at 72 points each, about the width of a phone

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dlmrt",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.unicode_minus": False,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
}
_TAG = re.compile(r"<[^>]+>")
_ID = re.compile(r'(\bid="|\bxlink:href="#|\bhref="#|url\(#)([\w.-]+)')
_COLOUR = re.compile(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]")
_FONT = re.compile(r"'DejaVu Sans'[^;\"]*")
_DROPPED = re.compile(r"<metadata>.*?</metadata>|<style type=\"text/css\">.*?</style>", re.DOTALL)

Draw = Callable[[Any], None]


@dataclass(frozen=True)
class Plot:
    """A finished figure. title, caption: plain text; legend, svg: HTML."""

    title: str
    caption: str
    legend: str
    svg: str


def require_matplotlib() -> None:
    """Raise MissingExtraError when plots can't be drawn here."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("a report with plots", "report")


def series_colour(index: int) -> str:
    """The placeholder of the page's colour ``--c0`` ... ``--c7``."""
    return f"#0a0{index % SERIES:x}01"


def draw(name: str, description: str, height: float, paint: Draw) -> str:
    """Let ``paint`` draw on an empty figure and return it as SVG text.

    name: unique on the page, the prefix of all its ids. description: what a screen reader says. height:
    inches, beside a width of :data:`WIDTH`.
    """
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    # A glyph that matplotlib's own font lacks is only measured wrongly: the browser has the letter.
    with rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
        FigureCanvasSVG(figure)
        paint(figure)
        for axes in figure.axes:
            axes.set_facecolor("none")
        text = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", metadata=nothing)
    return _inline(text.getvalue(), name, description)


def _inline(svg: str, name: str, description: str) -> str:
    svg = _DROPPED.sub("", svg[svg.index("<svg") :])
    svg = _TAG.sub(lambda tag: _tag(tag[0], name), svg)
    start = svg.index(">")
    box = re.search(r'viewBox="[^"]*"', svg[:start])
    assert box is not None, "matplotlib writes a viewBox"
    return f'<svg {box[0]} role="img" aria-label="{escape(description)}">{svg[start + 1 :].rstrip()}'


def _tag(tag: str, name: str) -> str:
    """Only tags are rewritten, never the text between them, which is data."""
    tag = _ID.sub(rf"\1{name}-\2", tag)
    tag = _FONT.sub("var(--font)", tag)
    return _COLOUR.sub(lambda found: _variable(found[0]), tag)


def _variable(colour: str) -> str:
    if colour.startswith("#0a"):
        return f"var(--c{int(colour[4], 16)})"
    return f"var({_VARIABLES[colour]})" if colour in _VARIABLES else colour
