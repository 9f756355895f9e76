from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from dlmrt.errors import DataError, MissingExtraError, RequestError
from dlmrt.report.page import render_page, write_page
from dlmrt.results.schema import ResultFile
from dlmrt.results.summarise import distribution
from tests.unit.report.support import (
    bench_cell,
    bench_result,
    elsewhere,
    envelope,
    eval_result,
    full_eval_result,
)

HOSTILE = "$\\frac{$</script><img src=x onerror=alert(1)>\"'&\u202e\ud800"
VOID = {"meta", "link", "br", "img"}


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text; and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            assert not name.startswith("on"), f"a handler on {tag}"
            if name == "id":
                self.ids[value or ""] += 1
            if name in ("href", "src", "xlink:href"):
                self.links.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).replace("\xa0", " ").split())


@pytest.fixture(scope="module")
def evaluation() -> str:
    pytest.importorskip("matplotlib")
    return render_page([full_eval_result()], names=["mine.json"])


@pytest.fixture(scope="module")
def benchmark_page() -> str:
    pytest.importorskip("matplotlib")
    return render_page([bench_result(suites=("chat", "repair"))])


def check_sound(text: str) -> Page:
    page = Page(text)
    assert page.open == []
    assert [name for name, times in page.ids.items() if times > 1] == []
    assert "script" not in page.tags and "img" not in page.tags
    for link in page.links:
        assert link == "data:," or (link.startswith("#") and link[1:] in page.ids), link
    for found in re.findall(r"url\(([^)]*)\)", text):
        assert found.startswith("#") and found[1:] in page.ids, found
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", text)
    return page


def test_the_evaluation_page_is_sound_and_complete(evaluation: str) -> None:
    page = check_sound(evaluation)
    assert page.tags["svg"] == 2 + 2 + 2  # accuracy, entropy and calibration of two tasks
    for words in (
        "first-light on epyc-2-cores, 2026-12-01", "mine.json", "abab", "AMD EPYC, 2 cores", "by ada",
        "dlmrt eval --json", "no file; import one", "63.0 % (56.1-69.4)", "min(exp(-alpha (1 - y/y_max)), 1)",
        "McNemar's exact test", "expected calibration error", "repeated 8-grams", "prompt too long 2",
    ):  # fmt: skip
        assert words in page.text, words


def test_the_benchmark_page_puts_the_floor_first_and_plots_every_prompt(benchmark_page: str) -> None:
    page = check_sound(benchmark_page)
    heads = re.findall(r"<h2>(.*?)</h2>", benchmark_page)
    assert heads == [
        "What was measured", "Floor", "Speed", "Claims", "Where a request&#x27;s time goes",
        "Arms of one run", "Memory", "Arms", "Weights, data, environment",
    ]  # fmt: skip
    assert page.tags["svg"] == 1 + 2 + 1  # floor, prompts of two suites, phases
    assert "is single-request latency the bottleneck, and where does it sit?" in page.text
    assert "chat, diffusion: yes, forwards that run one after another are" in page.text
    chat = next(s for s in benchmark_page.split("<figure>") if "chat: tokens/s of every prompt" in s)
    dots = [use for use in re.findall(r"<use [^>]*>", chat) if "stroke-width: 0.3" in use]
    assert len(dots) == 2 * 3 * 24  # both rates, three arms, every prompt


def test_a_small_share_of_the_floor_keeps_its_digits_in_table_sentence_and_plot() -> None:
    pytest.importorskip("matplotlib")
    result = bench_result(("diffusion",), ("chat",))
    slow = replace(result.speeds[0], percent_of_floor=0.0312)
    text = render_page([replace(result, speeds=(slow,))])
    assert ">0.031 %</text>" in text
    assert ">0.031&nbsp;%</td>" in text
    assert "at 0.031&nbsp;% of its floor" in text


def test_text_of_plots_is_text_and_colours_follow_the_page(evaluation: str) -> None:
    figure = re.search(r"<svg.*?</svg>", evaluation, re.DOTALL)
    assert figure is not None
    assert ">tokens a forward</text>" in figure[0]
    assert "var(--c0)" in figure[0] and "var(--font)" in figure[0] and "var(--soft)" in figure[0]
    assert re.findall(r"#0[0-9a-f]0[0-9a-f]0[0-9a-f]", figure[0]) == []
    assert 'role="img" aria-label="repair: accuracy against tokens a forward"' in figure[0]


def test_the_settings_of_a_sweep_are_part_of_its_line() -> None:
    pytest.importorskip("matplotlib")
    base = full_eval_result()
    cells = (replace(base.cells[0], arm="diffusion@0.9"), replace(base.cells[1], arm="ar@home"))
    text = render_page([replace(base, cells=cells)])
    legend = re.search(r"accuracy against tokens a forward</h3>\n<ul.*?</ul>", text)
    assert legend is not None
    assert re.findall(r"</i>(.*?)</li>", legend[0]) == ["diffusion", "ar@home"]


def test_the_same_results_give_the_same_page(evaluation: str) -> None:
    assert render_page([full_eval_result()], names=["mine.json"]) == evaluation


def hostile_eval() -> ResultFile:
    base = full_eval_result()
    cells = tuple(
        replace(
            cell,
            arm=f"{HOSTILE}{cell.arm}",
            finish={HOSTILE: 1},
            quality={HOSTILE: HOSTILE, "b": {HOSTILE: 1}},
        )
        for cell in base.cells
    )
    run = replace(base.run, command=HOSTILE, who=HOSTILE, started=HOSTILE)
    return replace(
        base, cells=cells, run=run, hardware=HOSTILE, environment={HOSTILE: {"a": HOSTILE}},
        settings={HOSTILE: 1}, skipped={HOSTILE: HOSTILE},
    )  # fmt: skip


def hostile_bench() -> ResultFile:
    cells = tuple(
        replace(bench_cell(arm, prompts=3), arm=f"{HOSTILE}{arm}", suite=HOSTILE, notes=(HOSTILE,))
        for arm in ("diffusion", "ar")
    )
    base = bench_result(("diffusion",), ("chat",))
    claim = replace(base.claims[0], suite=HOSTILE, arm=cells[0].arm, verdict=HOSTILE)
    return replace(base, speeds=cells, claims=(claim,))


@pytest.mark.parametrize("make", [hostile_eval, hostile_bench])
@pytest.mark.parametrize("plots", [True, False])
def test_nothing_in_a_file_becomes_markup(make: object, plots: bool) -> None:
    if plots:
        pytest.importorskip("matplotlib")
    result = make()  # type: ignore[operator]
    text = render_page(
        [result, elsewhere(result)], names=[HOSTILE, "b"], without_plots=None if plots else HOSTILE
    )
    page = check_sound(text)
    assert "<img" not in text and "</script>" not in text
    assert "</script><img src=x onerror=alert(1)>" in page.text  # as text it is there
    text.encode("utf-8")


def test_without_plots_the_tables_stay_and_the_reason_is_said() -> None:
    page = check_sound(render_page([full_eval_result()], without_plots="left out with --no-plots"))
    assert page.tags["svg"] == 0
    assert "No plots: left out with --no-plots." in page.text
    assert "63.0 % (56.1-69.4)" in page.text


def test_without_matplotlib_the_page_comes_with_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_page([bench_result(("ar",), ("chat",))], tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "run: pip install &#x27;dlmrt[report]&#x27;" in text
    assert "<svg" not in text and "<table>" in text
    with pytest.raises(MissingExtraError, match="a report with plots needs the 'report' extra"):
        render_page([bench_result(("ar",), ("chat",))])


def test_files_side_by_side_name_what_differs() -> None:
    mine = bench_result(("ar",), ("chat",))
    page = check_sound(render_page([mine, elsewhere(mine)], without_plots="not needed"))
    assert "Speeds of these files are not divided by each other" in page.text
    assert '"AMD EPYC" and "Another CPU"' in page.text
    assert "B / A" not in page.text
    same = check_sound(render_page([mine, mine], without_plots="not needed"))
    assert "B / A" in same.text


def test_a_wide_range_of_speeds_gets_a_logarithmic_axis() -> None:
    pytest.importorskip("matplotlib")
    fast = bench_cell("diffusion", prompts=4)
    slow = [
        replace(p, tokens_per_second=p.tokens_per_second / 500, tokens_per_second_decode=None)
        for p in fast.prompts
    ]
    rates = distribution(p.tokens_per_second for p in slow)
    other = replace(
        fast, arm="ar", prompts=tuple(slow), tokens_per_second_decode=None, tokens_per_second=rates
    )
    text = render_page([envelope("bench", ("chat",), speeds=(fast, other))])
    assert ">10.0</text>" in text and ">1,000</text>" in text


def test_results_without_any_optional_number_still_report() -> None:
    pytest.importorskip("matplotlib")
    names = ("floor", "percent_of_floor", "phases", "peak_memory_bytes", "forwards", "tokens_per_forward")
    more = ("ms_per_forward", "tokens_per_second_decode", "tokens_per_second", "first_block_ms", "total_ms")
    cell = bench_cell("ar", prompts=1)
    prompts = tuple(replace(p, tokens_per_second_decode=None, first_block_ms=None) for p in cell.prompts)
    bare = replace(cell, prompts=prompts, clock="client", max_new_tokens=None, **dict.fromkeys(names + more))
    page = check_sound(render_page([envelope("bench", ("chat",), speeds=(bare,))]))
    assert "does not see the phases" in page.text
    plain = eval_result(("ar",), ("copy",))
    nothing = replace(
        plain.cells[0], tokens_per_forward=None, tokens_per_second=None, seconds=None,
        first_block_seconds=None, answer_tokens=None, seconds_to_correct=None, repeated_8grams=None,
    )  # fmt: skip
    check_sound(render_page([replace(plain, cells=(nothing,))]))


def test_wrong_results_and_paths_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    with pytest.raises(DataError, match="different kinds"):
        write_page([eval_result(("ar",)), bench_result(("ar",), ("chat",))], path)
    assert not path.exists()
    with pytest.raises(RequestError, match="cannot be written"):
        write_page([bench_result(("ar",), ("chat",))], tmp_path / "none" / "page.html")
