"""Tables in the documents are what the result files say; what is stale, missing or broken is named."""

from __future__ import annotations

from pathlib import Path

import pytest

import gen_tables
from dlmrt.report.tables import TABLE_KINDS, render_table
from dlmrt.results.files import to_json, write_result
from tests.unit.results.support import bench_result, eval_result

NAME = "first-light_epyc-2-cores_2026-11-30_a.-tester.json"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one page, one document and two result files."""
    write_result(eval_result(), tmp_path / "benchmarks/results")
    write_result(bench_result(), tmp_path / "benchmarks/results")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/other.md").write_text("no table\n")
    return tmp_path


def page(root: Path, text: str) -> Path:
    path = root / "README.md"
    path.write_text(text, encoding="utf-8")
    return path


def block(kind: str = "eval", files: str = NAME, body: str = "old\n") -> str:
    return f"# Title\n\n<!-- table: {kind} {files} -->\n{body}<!-- end table -->\nafter\n"


@pytest.mark.parametrize(("kind", "name"), [("eval", NAME), ("bench", NAME.replace(".json", "_2.json"))])
def test_a_block_is_filled_from_its_files(root: Path, kind: str, name: str) -> None:
    assert kind in TABLE_KINDS
    text = block(kind, name)
    new = gen_tables.filled(text, root)
    table = render_table(kind, [eval_result() if kind == "eval" else bench_result()])
    assert f"<!-- table: {kind} {name} -->\n\n{table.strip()}\n\n<!-- end table -->\nafter\n" in new
    assert new.startswith("# Title\n\n")
    assert gen_tables.filled(new, root) == new
    page(root, new)
    assert gen_tables.problems(root) == []


def test_a_stale_block_is_named_and_an_edited_one_too(root: Path) -> None:
    path = page(root, block())
    said = "README.md: a table is not what benchmarks/results says; run 'python tools/gen_tables.py'"
    assert gen_tables.problems(root) == [said]
    current = gen_tables.filled(path.read_text(encoding="utf-8"), root)
    page(root, current.replace("first-light", "other-model", 3))
    assert any("README.md" in line for line in gen_tables.problems(root))


def test_blocks_of_a_page_are_filled_each_for_itself(root: Path) -> None:
    text = block() + "between\n" + block("bench", NAME.replace(".json", "_2.json"), "")
    new = gen_tables.filled(text, root)
    assert new.count("<!-- end table -->") == 2
    assert "between\n" in new
    assert [found.kind for found in gen_tables.blocks(new)] == ["eval", "bench"]


def test_documents_are_checked_like_the_front_page(root: Path) -> None:
    (root / "docs/bench.md").write_text(block(), encoding="utf-8")
    assert [line.split(":")[0] for line in gen_tables.problems(root)] == ["docs/bench.md"]


def test_markers_in_code_are_text(root: Path) -> None:
    page(root, f"```markdown\n{block()}```\n\n~~~~\n```\n<!-- table: x -->\n~~~~\n")
    assert gen_tables.problems(root) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (block(files="absent.json"), "README.md:3: cannot read 'benchmarks/results/absent.json'"),
        (block(kind="evla"), "README.md:3: no table 'evla'; did you mean 'eval'?"),
        (block(kind="bench"), "README.md:3: table 'bench' is made of bench results"),
        (block(files=f"../results/{NAME}"), "README.md:3: '../results/"),
        ("<!-- table: eval -->\n<!-- end table -->\n", "README.md:1: '<!-- table: eval -->'; write"),
        ("<!-- table:eval x -->\n<!-- end table -->\n", "README.md:1: '<!-- table:eval x -->'; write"),
        (f"\n<!-- table: eval {NAME} -->\n", "README.md:2: the table has no '<!-- end table -->'"),
        ("<!-- end table -->\n", "README.md:1: '<!-- end table -->' ends no table"),
        (
            f"<!-- table: eval {NAME} -->\n<!-- table: eval {NAME} -->\n<!-- end table -->\n",
            "README.md:2: a table begins inside the one of line 1",
        ),
    ],
)
def test_a_block_that_cannot_be_filled_is_named_with_its_line(root: Path, text: str, said: str) -> None:
    page(root, text)
    found = gen_tables.problems(root)
    assert len(found) == 1
    assert found[0].startswith(said)


def test_a_broken_result_file_is_named_even_if_no_table_uses_it(root: Path) -> None:
    broken = to_json(eval_result()).replace('"hits": 3,\n    "total": 5', '"hits": 9,\n    "total": 5', 1)
    (root / "benchmarks/results/broken.json").write_text(broken)
    assert gen_tables.problems(root) == [
        "benchmarks/results/broken.json: cells[0].accuracy.hits is 9 of 5",
    ]


def test_a_result_file_of_another_name_is_refused(root: Path) -> None:
    folder = root / "benchmarks/results"
    (folder / NAME).rename(folder / "best-model-ever.json")
    assert gen_tables.problems(root) == [
        f"benchmarks/results/best-model-ever.json: the file must be called {NAME}"
    ]


def test_files_of_other_kinds_and_of_the_archive_are_left_alone(root: Path) -> None:
    (root / "benchmarks/results/archive").mkdir()
    (root / "benchmarks/results/archive/old.json").write_text('{"arms": {}}')
    (root / "benchmarks/results/metrics.jsonl").write_text("{}\n")
    assert gen_tables.problems(root) == []


def test_the_command_writes_and_checks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = page(root, block())
    assert gen_tables.main(["--check"], root) == 1
    assert "README.md" in capsys.readouterr().out
    assert "old" in path.read_text(encoding="utf-8")
    assert gen_tables.main([], root) == 0
    assert capsys.readouterr().out == "wrote README.md\nall tables are current\n"
    assert gen_tables.main(["--chekc"], root) == 2


def test_a_broken_block_does_not_stop_the_other_pages(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page(root, block(kind="evla"))
    (root / "docs/other.md").write_text(block(), encoding="utf-8")
    assert gen_tables.main([], root) == 1
    out = capsys.readouterr().out
    assert out.startswith("wrote docs/other.md\nREADME.md:3: no table 'evla'")


def test_the_project_s_own_tables_are_current() -> None:
    assert gen_tables.problems() == []
