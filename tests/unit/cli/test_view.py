from __future__ import annotations

import io

import pytest
from rich.console import Console

from dlmrt.cli.view import WIDE, TerminalBar, stdout_console


def test_the_bar_starts_where_a_run_goes_on() -> None:
    screen = io.StringIO()
    with TerminalBar(Console(file=screen, force_terminal=True, width=80, _environ={})) as bar:
        bar(3, 4, "chat, ar")
    assert "chat, ar" in screen.getvalue()
    assert "3/4" in screen.getvalue()


def test_a_file_gets_no_bar() -> None:
    screen = io.StringIO()
    with TerminalBar(Console(file=screen)) as bar:
        bar(1, 4, "chat, ar")
    assert screen.getvalue() == ""


def test_a_table_that_goes_to_a_file_is_wide(capsys: pytest.CaptureFixture[str]) -> None:
    stdout_console().print("x" * (WIDE + 5))
    assert [len(line) for line in capsys.readouterr().out.splitlines()] == [WIDE, 5]
