from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.report.support import bench_result, eval_result, write

Run = Callable[..., Any]


@pytest.fixture
def bench_file(tmp_path: Path) -> str:
    return str(write(bench_result(("diffusion", "ar"), ("chat",)), tmp_path / "bench.json"))


@pytest.fixture
def eval_file(tmp_path: Path) -> str:
    return str(write(eval_result(("ar",), ("copy",)), tmp_path / "eval.json"))


def test_markdown_is_the_default(dlmrt: Run, bench_file: str) -> None:
    done = dlmrt("report", bench_file)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("### What was measured\n")
    assert "| chat | diffusion |" in done.out
    assert "### Where a request's time goes" in done.out
    assert done.out == dlmrt("report", bench_file, "--markdown").out


def test_the_page_is_written_and_its_path_printed(dlmrt: Run, bench_file: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = dlmrt("report", bench_file, "--html", str(page), "--no-plots")
    assert (done.code, done.out, done.err) == (0, f"{page}\n", "")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "<svg" not in text and "bench.json" in text
    both = dlmrt("report", bench_file, "--html", str(page), "--no-plots", "--markdown")
    assert both.out.startswith("### What was measured")


def test_plots_are_drawn_where_matplotlib_is(dlmrt: Run, bench_file: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "page.html"
    assert dlmrt("report", bench_file, "--html", str(page)).err == ""
    assert page.read_text(encoding="utf-8").count("<svg") == 3


def test_without_matplotlib_the_note_says_what_to_install(
    dlmrt: Run, bench_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = tmp_path / "page.html"
    done = dlmrt("report", bench_file, "--html", str(page))
    assert done.code == 0
    assert done.err == (
        "no plots: a report with plots needs the 'report' extra, which is not installed; "
        "run: pip install 'dlmrt[report]'\n"
    )
    assert "<table>" in page.read_text(encoding="utf-8")
    assert dlmrt("report", bench_file).err == ""  # tables need nothing


def test_json_is_one_document(dlmrt: Run, eval_file: str, bench_file: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    data = json.loads(dlmrt("report", bench_file, "--json", "--html", str(page), "--no-plots").out)
    assert (data["kind"], data["files"], data["html"]) == ("bench", ["bench.json"], str(page))
    assert data["time"][0].startswith("chat, diffusion: yes, forwards")
    assert {"title", "columns", "rows", "notes"} == set(data["tables"][0])
    data = json.loads(dlmrt("report", eval_file, "--json").out)
    assert (data["kind"], data["html"], data["time"]) == ("eval", None, [])


def refused(done: Any) -> str:
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ") and done.err.count("\n") == 1
    return str(done.err)


def test_broken_files_are_refused_before_the_page_is_opened(
    dlmrt: Run, bench_file: str, tmp_path: Path
) -> None:
    page, broken = tmp_path / "page.html", tmp_path / "broken.json"
    page.write_text("kept", encoding="utf-8")
    good = Path(bench_file).read_text(encoding="utf-8")
    cases = {
        good[:-40]: "not JSON",
        "[]": "holds a list",
        good.replace('"schema": 1', '"schema": 99'): "schema is 99",
        good.replace('"warmups": 1', '"warmups": NaN', 1): "is nan",
        good.replace('"warmups": 1', '"warmup": 1', 1): "unknown option 'speeds[0].warmup'",
    }
    for text, reason in cases.items():
        broken.write_text(text, encoding="utf-8")
        error = refused(dlmrt("report", bench_file, str(broken), "--html", str(page)))
        assert "broken.json" in error and reason in error
    assert page.read_text(encoding="utf-8") == "kept"


def test_mixed_kinds_and_missing_files_are_refused(
    dlmrt: Run, bench_file: str, eval_file: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    error = refused(dlmrt("report", bench_file, eval_file, "--html", str(page)))
    assert "different kinds" in error and "bench.json" in error and "eval.json" in error
    assert "missing.json" in refused(dlmrt("report", str(tmp_path / "missing.json"), "--html", str(page)))
    assert "FILE" in refused(dlmrt("report", "--html", str(page)))
    assert not page.exists()


def test_a_result_file_is_never_overwritten(dlmrt: Run, bench_file: str) -> None:
    before = Path(bench_file).read_bytes()
    assert "never change" in refused(dlmrt("report", bench_file, "--html", bench_file))
    assert Path(bench_file).read_bytes() == before


def test_options_that_contradict_each_other_are_refused(dlmrt: Run, bench_file: str) -> None:
    assert "give one of them" in refused(dlmrt("report", bench_file, "--json", "--markdown"))
    assert "give --html" in refused(dlmrt("report", bench_file, "--no-plots"))
    assert "given twice" in refused(dlmrt("report", bench_file, bench_file))
    assert "did you mean '--html'" in refused(dlmrt("report", bench_file, "--htlm", "x"))


def test_a_path_that_cannot_be_written_is_refused(dlmrt: Run, bench_file: str, tmp_path: Path) -> None:
    error = refused(dlmrt("report", bench_file, "--html", str(tmp_path / "none" / "page.html")))
    assert "--html" in error and "cannot be written" in error
    assert "cannot be written" in refused(dlmrt("report", bench_file, "--html", str(tmp_path)))
