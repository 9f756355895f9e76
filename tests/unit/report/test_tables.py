from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dlmrt.errors import DataError, RequestError
from dlmrt.report import bench_tables, eval_tables
from dlmrt.report.layout import Table
from dlmrt.report.sources import gather, label
from dlmrt.report.tables import TABLE_KINDS, markdown_tables, render_table, tables_as_data
from dlmrt.results.schema import ResultFile
from tests.unit.report.support import (
    bench_cell,
    bench_result,
    elsewhere,
    envelope,
    eval_result,
    full_eval_result,
)


def cell(table: Table | None, row: int, title: str) -> str:
    assert table is not None
    titles = [column.title for column in table.columns]
    return table.rows[row][titles.index(title)]


def test_the_compact_eval_table_has_what_the_readme_shows() -> None:
    result = eval_result(tasks=("repair",))
    text = render_table("eval", [result])
    head, rule, first = text.splitlines()[:3]
    assert head == (
        "| arm | accuracy (95 %) | errors gone (95 %) | untouched words changed (95 %) "
        "| tokens a forward with / without commits | tokens/s | median ms |"
    )
    assert rule == "|---|---:|---:|---:|---:|---:|---:|"
    measured = result.cells[0]
    assert measured.tokens_per_forward is not None and measured.seconds is not None
    assert first.split(" | ")[0] == "| diffusion"
    assert f"{measured.tokens_per_forward.ratio_of_sums:.2f} / " in first
    assert first.endswith(f" | {measured.tokens_per_second:.0f} | {1000 * measured.seconds.median:.1f} |")
    assert "In every row: task repair; seed 0." in text
    assert "first-light on epyc-2-cores, 2026-12-01, dlmrt 0.3.0 at 0123456789ab, by ada." in text


def test_the_compact_eval_table_holds_quality_with_its_intervals() -> None:
    rows = [line.split(" | ") for line in render_table("eval", [eval_result(tasks=("repair",))]).splitlines()]
    assert [row[0] for row in rows[2:5]] == ["| diffusion", "| ar", "| lookup"]
    for row in rows[2:5]:
        assert row[2:4] == ["64.9 % (59.9-69.6)", "1.9 % (1.4-2.5)"]
        assert re.fullmatch(r"\d\.\d\d / \d\.\d\d", row[4])


def test_the_arms_of_an_evaluation_are_written_without_python() -> None:
    base = eval_result(("ar",), ("copy",))
    options = {"given": {"method": "ar"}, "decoder": {"policy": "prefix", "top_k": 0}, "stop": []}
    (arm,) = eval_tables.arms(gather([replace(base, cells=(replace(base.cells[0], options=options),))])).rows
    assert arm[2] == "given=none decoder=(policy=prefix top_k=0) stop=none"


def test_quality_columns_stay_away_when_no_task_has_them() -> None:
    assert "errors gone" not in render_table("eval", [eval_result(tasks=("copy",))])


def test_several_tasks_and_files_get_columns_of_their_own() -> None:
    result = eval_result(("ar",))
    again = replace(result, run=replace(result.run, who="grace"))
    head = render_table("eval", [result, again]).splitlines()[0]
    assert head.startswith("| file | task | arm |")


def test_one_table_holds_no_mixed_environments() -> None:
    result = eval_result(("ar",))
    with pytest.raises(DataError, match='mixed environments.*cpu.model is "AMD EPYC" and "Another CPU"'):
        render_table("eval", [result, elsewhere(result)])


def test_the_compact_bench_table_holds_medians() -> None:
    result = bench_result(("diffusion", "ar"), ("chat",))
    text = render_table("bench", [result])
    head, _, first = text.splitlines()[:3]
    assert head == (
        "| suite | arm | ms a forward | percent of floor | tokens/s decode | tokens/s end to end "
        "| first block ms |"
    )
    measured = result.speeds[0]
    assert measured.ms_per_forward and measured.percent_of_floor and measured.tokens_per_second
    assert first.split(" | ")[2:4] == [
        f"{measured.ms_per_forward.median:.2f}",
        f"{measured.percent_of_floor:.1f} %",
    ]
    assert f"{measured.tokens_per_second.median:,.0f}" in first


def test_floors_that_are_alike_share_a_row_and_say_what_binds() -> None:
    floors = bench_tables.floors(gather([bench_result(("diffusion", "ar"), ("chat", "repair"))]))
    assert floors is not None and len(floors.rows) == 2
    assert cell(floors, 0, "floor ms (bound by)") == "1.58 (arithmetic)"
    assert cell(floors, 1, "floor ms (bound by)") == "1.11 (memory)"
    assert floors.notes[0] == "In every row: suite chat, repair; bandwidth 11.2 GB/s."
    assert "bandwidth: best of 5 reads" in floors.notes[1]


def test_every_kind_renders_its_own_results_only() -> None:
    results = {"eval": eval_result(("ar",)), "bench": bench_result(("ar",), ("chat",))}
    for kind, (needed, _) in TABLE_KINDS.items():
        assert render_table(kind, [results[needed]]).startswith("| ")
        other = results["bench" if needed == "eval" else "eval"]
        with pytest.raises(RequestError, match=f"table '{kind}' is made of {needed} results"):
            render_table(kind, [other])


def test_unknown_kinds_and_missing_floors_are_refused() -> None:
    with pytest.raises(RequestError, match="no table 'flor'; did you mean 'floor'"):
        render_table("flor", [eval_result(("ar",))])
    bare = replace(bench_cell("ar"), floor=None, percent_of_floor=None)
    with pytest.raises(RequestError, match="no result has one"):
        render_table("floor", [envelope("bench", ("chat",), speeds=(bare,))])


def test_ratios_compare_prompt_by_prompt() -> None:
    first = bench_cell("diffusion", prompts=3)
    slower = [
        replace(p, tokens_per_second=p.tokens_per_second / f)
        for p, f in zip(first.prompts, (2, 4, 0.5), strict=True)
    ]
    other = replace(first, arm="ar", prompts=tuple(slower), tokens_per_second=None)
    table = bench_tables.ratios(gather([envelope("bench", ("chat",), speeds=(first, other))]))
    assert cell(table, 0, "arms") == "diffusion / ar"
    assert cell(table, 0, "decode, ratio of medians") == "1.00"
    assert cell(table, 0, "end to end, ratio of medians") == "-"
    assert cell(table, 0, "prompt by prompt: median") == "2.00"
    assert (cell(table, 0, "least"), cell(table, 0, "most")) == ("0.50", "4.00")
    assert cell(table, 0, "faster on") == "2 of 3 prompts"


def test_two_clocks_are_never_divided() -> None:
    server = replace(bench_cell("ar", prompts=2), arm="server", clock="client")
    table = bench_tables.ratios(
        gather([envelope("bench", ("chat",), speeds=(bench_cell(prompts=2), server))])
    )
    assert cell(table, 0, "faster on") == "-"
    assert table is not None
    assert "note engine's and client's clocks: no ratio" in table.notes[0]


def test_tables_of_a_full_evaluation() -> None:
    result = full_eval_result()
    text = markdown_tables([result], ["mine.json"])
    titles = [line[4:] for line in text.splitlines() if line.startswith("### ")]
    assert titles == [
        "What was measured", "Skipped", "Accuracy and tokens a forward", "Speed and answers",
        "repair: quality beside correctness", "repair: errors gone by type", "Area under the curve (AUP)",
        "Points of the sweep", "Calibration", "Paired comparisons", "Seeds", "Arms",
    ]  # fmt: skip
    assert "| file | mine.json |" in text
    assert "| gsm8k | no file; import one" in text
    assert "min(exp(-alpha (1 - y/y_max)), 1)" in text
    assert f"| repair | ar - diffusion | {100 * result.comparisons[0].difference:+.1f} | " in text


def test_areas_quote_alpha_and_y_max() -> None:
    table = eval_tables.areas(gather([full_eval_result()]))
    assert (cell(table, 0, "alpha"), cell(table, 0, "y_max")) == ("3.00", "66.0 %")


def test_a_share_in_a_breakdown_stands_under_its_arm() -> None:
    (breakdown,) = eval_tables.breakdowns(gather([eval_result(("diffusion", "ar"), ("repair",))]))
    assert [column.title for column in breakdown.columns] == ["", "diffusion", "ar"]
    assert breakdown.rows[0][0] == "casing"
    assert breakdown.rows[0][1].startswith("50.0 %")


def test_quality_that_is_no_share_reads_as_what_it_is() -> None:
    result = eval_result(("ar",), ("copy",))
    quality = {"isolated": True, "rules": ["strip", "dedent"], "retries": 3, "rate": 0.0456, "none": None}
    (table,) = eval_tables.quality(
        gather([replace(result, cells=(replace(result.cells[0], quality=quality),))])
    )
    assert table.rows[0][-5:] == ("yes", "strip,dedent", "3", "0.0456", "-")


def test_files_of_one_machine_get_ratios_to_the_first() -> None:
    mine = bench_result(("diffusion",), ("chat",))
    doubled = replace(mine.speeds[0].tokens_per_second, median=2 * mine.speeds[0].tokens_per_second.median)  # type: ignore
    theirs = replace(mine, speeds=(replace(mine.speeds[0], tokens_per_second=doubled),))
    text = markdown_tables([mine, theirs])
    assert "| chat | diffusion | 2.00 | 1.00 | 1.00 |" in text
    assert "In every row: files B / A." in text


def test_arms_that_did_something_else_get_the_reason_in_place_of_a_ratio() -> None:
    mine = eval_result(("diffusion",), ("copy",))
    other = replace(
        mine.cells[0], options={"method": "diffusion", "policy": "prefix", "threshold": 0.9}, batch_size=4
    )
    text = markdown_tables([mine, replace(mine, cells=(other,))])
    assert "| copy | diffusion | - | - | - |" in text
    assert "no ratio because options differ: " in text and "batch differ: 1, 4" in text


def test_files_of_two_machines_get_what_differs_and_no_ratio() -> None:
    mine = bench_result(("diffusion",), ("chat",))
    text = markdown_tables([mine, elsewhere(mine)])
    assert "B / A" not in text
    assert "Speeds of these files are not divided by each other" in text
    assert '"AMD EPYC" and "Another CPU"' in text
    assert tables_as_data([mine, elsewhere(mine)])["differences"]


def test_results_that_do_not_go_together_are_refused() -> None:
    with pytest.raises(DataError, match="no result was given"):
        gather([])
    with pytest.raises(DataError, match=r"different kinds .*: bench \(b\.json\) and eval \(a\.json\)"):
        gather([eval_result(("ar",)), bench_result(("ar",), ("chat",))], ["a.json", "b.json"])
    with pytest.raises(DataError, match="at most 26"):
        gather([eval_result(("ar",))] * 27)
    empty = replace(eval_result(("ar",)), cells=(), skipped={"gsm8k": "no file"})
    with pytest.raises(DataError, match=r"'a\.json' holds no measurement \(gsm8k: no file\)"):
        gather([empty], ["a.json"])


def test_random_weights_are_said_wherever_the_model_is_named() -> None:
    result = eval_result(("ar",), ("copy",))
    models = {"first-light": replace(result.models["first-light"], random_weights=True)}
    random: ResultFile = replace(result, models=models)
    assert label(random).startswith("first-light (random weights) on ")
    assert "first-light (random weights) on" in render_table("eval", [random])
