"""The plots of an evaluation: accuracy against tokens a forward, entropy, calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dlmrt.report import format as fmt
from dlmrt.report.eval_tables import BASIS
from dlmrt.report.series import Key, Series, legend
from dlmrt.report.sources import Source, eval_cells
from dlmrt.report.svg import INK, PAPER, SOFT, Plot, draw
from dlmrt.results.schema import Calibration, Curve, EntropyStep, EvalCell


def accuracy_plots(sources: Sequence[Source], series: Mapping[Key, Series]) -> list[Plot]:
    """One figure a task: swept points joined by a line, other arms as points with their intervals."""
    curves = [(source.letter, curve) for source in sources for curve in source.result.curves]
    cells = [(source, cell) for source, cell in eval_cells(sources) if _has_point(cell)]
    plots = []
    for i, task in enumerate(dict.fromkeys([c.task for _, c in cells] + [c.task for _, c in curves])):
        lines = [(series[letter, curve.arm], curve) for letter, curve in curves if curve.task == task]
        swept = {each.key: each for each, _ in lines}
        dots = [
            # The settings of a sweep are arms called like diffusion@0.9: part of its line.
            (swept.get((s.letter, c.arm.rpartition("@")[0]), series[s.letter, c.arm]), c)
            for s, c in cells
            if c.task == task
        ]
        used = dict.fromkeys([each for each, _ in lines] + [each for each, _ in dots])
        options = fmt.words(dict.fromkeys(curve.option for _, curve in lines))
        caption = "Bars are 95 % intervals. Tokens a forward as ratio of sums, commits counted."
        if lines:
            caption = f"A line joins the settings of {options}; small numbers are its values. " + caption
        svg = draw(
            f"accuracy{i}",
            f"{task}: accuracy against tokens a forward",
            3.3,
            partial(_accuracy, lines=lines, dots=dots),
        )
        plots.append(Plot(f"{task}: accuracy against tokens a forward", caption, legend(used), svg))
    return plots


def _has_point(cell: EvalCell) -> bool:
    return cell.accuracy.share is not None and cell.tokens_per_forward is not None


def _accuracy(
    figure: Any, lines: Sequence[tuple[Series, Curve]], dots: Sequence[tuple[Series, EvalCell]]
) -> None:
    axes = figure.subplots()
    swept = {each for each, _ in lines}
    for each, curve in lines:
        points = sorted(curve.points, key=lambda p: p.tokens_per_forward)
        x, y = [p.tokens_per_forward for p in points], [100 * p.accuracy for p in points]
        axes.plot(x, y, color=each.colour, marker=each.marker, markeredgecolor=PAPER)
        step = max(1, len(points) // 5)  # every label would cover the next
        for point in points[::step]:
            axes.annotate(
                fmt.number(point.value),
                (point.tokens_per_forward, 100 * point.accuracy),
                xytext=(4, 4), textcoords="offset points", ha="left", fontsize=7, color=SOFT,
            )  # fmt: skip
    for each, cell in dots:
        share, tpf = cell.accuracy.share, cell.tokens_per_forward
        assert share is not None and tpf is not None
        low, high = cell.accuracy.interval_95 or (share, share)
        axes.errorbar(
            [tpf.ratio_of_sums], [100 * share],
            yerr=[[max(0.0, 100 * (share - low))], [max(0.0, 100 * (high - share))]],
            color=each.colour, marker=each.marker, markersize=4 if each in swept else 6,
            capsize=2.5, elinewidth=1, linestyle="none",
        )  # fmt: skip
    axes.margins(x=0.08, y=0.12)
    axes.set_xlim(left=0)
    axes.set_xlabel("tokens a forward")
    axes.set_ylabel("accuracy, %")


def entropy_plots(sources: Sequence[Source], series: Mapping[Key, Series]) -> list[Plot]:
    """One figure a task: mean entropy of open positions against the step index of the block."""
    cells = [(source, cell) for source, cell in eval_cells(sources) if cell.entropy_per_step]
    plots = []
    for i, task in enumerate(dict.fromkeys(cell.task for _, cell in cells)):
        lines = [(series[s.letter, c.arm], c.entropy_per_step) for s, c in cells if c.task == task]
        title = f"{task}: entropy of open positions"
        svg = draw(f"entropy{i}", title, 2.9, partial(_entropy, lines=lines))
        caption = (
            "Mean over the blocks that reached a step; the smaller the point, the fewer of them. "
            "Late steps belong to hard blocks alone."
        )
        plots.append(Plot(title, caption, legend(dict.fromkeys(each for each, _ in lines)), svg))
    return plots


def _entropy(figure: Any, lines: Sequence[tuple[Series, tuple[EntropyStep, ...]]]) -> None:
    axes = figure.subplots()
    for each, steps in lines:
        x, y = [step.step for step in steps], [step.mean_entropy for step in steps]
        most = max(step.blocks for step in steps) or 1
        axes.plot(x, y, color=each.colour, linewidth=1.2)
        sizes = [3 + 33 * step.blocks / most for step in steps]
        axes.scatter(x, y, s=sizes, color=each.colour, marker=each.marker, linewidths=0, zorder=3)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("step in the block")
    axes.set_ylabel("mean entropy, nats")


def calibration_plots(sources: Sequence[Source], series: Mapping[Key, Series]) -> list[Plot]:
    """One figure a task and basis: share correct against confidence, and how many tokens each bin has."""
    groups: dict[tuple[str, str], list[tuple[Series, Calibration]]] = {}
    for source, cell in eval_cells(sources):
        if cell.calibration is not None and cell.calibration.tokens:
            found = groups.setdefault((cell.task, cell.calibration.basis), [])
            found.append((series[source.letter, cell.arm], cell.calibration))
    plots = []
    for i, ((task, basis), group) in enumerate(groups.items()):
        title = f"{task}: calibration of committed tokens"
        svg = draw(f"calibration{i}", title, 3.9, partial(_calibration, group=group))
        caption = (
            f"Correct means: {BASIS[basis]}. On the dashed line, confidence is what it says; below it, too "
            "high. Lower part: tokens in each bin, on a logarithmic scale."
        )
        plots.append(Plot(title, caption, legend(dict.fromkeys(each for each, _ in group)), svg))
    return plots


def _calibration(figure: Any, group: Sequence[tuple[Series, Calibration]]) -> None:
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    upper.plot([0, 1], [0, 100], color=SOFT, linewidth=0.9, linestyle=(0, (4, 3)))
    for each, calibration in group:
        full = [b for b in calibration.bins if b.count and b.correct is not None]
        upper.plot(
            [b.mean_confidence if b.mean_confidence is not None else (b.low + b.high) / 2 for b in full],
            [100 * (b.correct or 0.0) for b in full],
            color=each.colour, marker=each.marker, markeredgecolor=PAPER, linewidth=1.2,
        )  # fmt: skip
        edges = [b.low for b in calibration.bins] + [calibration.bins[-1].high]
        lower.stairs([b.count for b in calibration.bins], edges, color=each.colour, linewidth=1.4)
    upper.set_xlim(0, 1)
    upper.set_ylim(0, 102)
    upper.set_ylabel("correct, %")
    lower.set_yscale("symlog", linthresh=1)
    lower.set_ylim(bottom=0)
    lower.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    lower.set_xlabel("confidence at acceptance")
    lower.set_ylabel("tokens")
    lower.tick_params(colors=INK, labelcolor=SOFT)
