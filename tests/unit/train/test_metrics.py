"""The metrics file, its rewinding, window means, and the console display."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

pytest.importorskip("torch")

from dlmrt.train.metrics import ConsoleReporter, MetricsLog, Window, read_metrics


def test_window_means_are_weighted_and_may_miss_values() -> None:
    window = Window()
    window.add({"loss": 1.0, "ar": 5.0}, 1.0)
    window.add({"loss": 4.0}, 2.0)
    resumed = Window(json.loads(json.dumps(window.sums)))  # as a checkpoint keeps it
    assert window.flush() == {"ar": 5.0, "loss": 3.0}
    assert resumed.flush() == {"ar": 5.0, "loss": 3.0} and resumed.flush() == {}


def test_values_that_are_not_finite_spoil_no_mean_and_are_written_as_null(tmp_path: Path) -> None:
    window = Window()
    for loss in (1.0, math.nan, 3.0, math.inf):
        window.add({"loss": loss, "norm": math.nan})
    resumed = Window(json.loads(json.dumps(window.sums, allow_nan=False)))
    values = resumed.flush()
    assert values["loss"] == 2.0 and math.isnan(values["norm"])
    log = MetricsLog(tmp_path / "metrics.jsonl", 0)
    log.write("train", 1, {**values, "rate": -math.inf})
    log.close()
    line = (tmp_path / "metrics.jsonl").read_text()
    assert line == '{"kind": "train", "step": 1, "loss": 2.0, "norm": null, "rate": null}\n'


def test_reopening_drops_later_steps_and_a_line_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path, 0)
    for step in (2, 4, 6):
        log.write("train", step, {"loss": 1 / step})
    log.close()
    with open(path, "a") as file:
        file.write('{"kind": "train", "st')
    assert [r["step"] for r in read_metrics(path)] == [2, 4, 6]
    log = MetricsLog(path, 4)
    log.write("dev", 5, {"loss": 0.1})
    log.close()
    assert [(r["kind"], r["step"]) for r in read_metrics(path)] == [("train", 2), ("train", 4), ("dev", 5)]
    assert read_metrics(path)[1]["loss"] == 0.25


def test_without_a_terminal_progress_is_plain_lines_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with ConsoleReporter() as reporter:
        reporter.note("encoding [data]")
        reporter.progress(1, 0.5, {"total": 1.0})
        reporter.logged("train", 10, {"total": 1.23456789, "epoch": 0})
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.strip().splitlines() == ["encoding [data]", "train 10: total 1.235 epoch 0"]
