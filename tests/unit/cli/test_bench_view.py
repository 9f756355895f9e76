from __future__ import annotations

from dataclasses import replace

import pytest

from dlmrt.cli.bench_view import print_result
from tests.unit.report.support import bench_result


def test_a_small_share_of_the_floor_keeps_its_digits(capsys: pytest.CaptureFixture[str]) -> None:
    result = bench_result(("diffusion",), ("chat",))
    slow = replace(result.speeds[0], percent_of_floor=0.0312)
    print_result(replace(result, speeds=(slow,)), breakdown=True)
    shown = capsys.readouterr().out
    (row,) = (line for line in shown.splitlines() if line.startswith("│ chat") and "engine" in line)
    assert row.split("│")[6].strip() == "0.031"
    assert "at 0.031 % of its floor" in shown


def test_the_breakdown_holds_every_phase_and_what_lies_above_the_floor(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = bench_result(("diffusion",), ("chat",))
    cell = result.speeds[0]
    assert cell.phases is not None and cell.phases.denoise is not None
    print_result(replace(result, speeds=(replace(cell, percent_of_floor=25.0),)), breakdown=True)
    shown = capsys.readouterr().out
    lines = shown[shown.index("where a request's time goes") :].splitlines()
    heads = [head.strip() for head in lines[2].split("┃")[4:-1]]
    assert heads[:7] == ["queue", "tokenise", "prefill", "denoise", "commit", "detokenise", "other"]
    values = next(line for line in lines if line.startswith("│ chat")).split("│")
    assert float(values[11]) == pytest.approx(750 * cell.phases.denoise, rel=0.01)
    assert "claim, chat, diffusion: " in shown
