"""docs/cli.md is what the program says, and an old page is noticed."""

from __future__ import annotations

from pathlib import Path

import gen_cli_docs


def test_page_shows_every_verb() -> None:
    page = gen_cli_docs.page()
    for path in (
        "dlmrt",
        "dlmrt generate",
        "dlmrt chat",
        "dlmrt train sft",
        "dlmrt data build",
        "dlmrt doctor",
    ):
        assert f"## `{path}`\n" in page
    assert "--json" in page


def test_page_depends_on_neither_terminal_nor_colour(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    wide = gen_cli_docs.page()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert gen_cli_docs.page() == wide


def test_stale_or_missing_page_is_refused(tmp_path: Path) -> None:
    assert gen_cli_docs.problems(tmp_path)
    page = tmp_path / "docs" / "cli.md"
    page.parent.mkdir()
    page.write_text(gen_cli_docs.page())
    assert gen_cli_docs.problems(tmp_path) == []
    page.write_text(gen_cli_docs.page().replace("--json", "--yaml"))
    assert gen_cli_docs.problems(tmp_path) == ["docs/cli.md: differs from the command line; run 'make docs'"]
