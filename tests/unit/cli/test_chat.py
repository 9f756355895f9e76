from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlmrt import LLM
from dlmrt.cli.chat import Chat
from dlmrt.engine.request import Request
from tests import tiny_folder as tiny

Run = Callable[..., Any]
TEMPLATE = "{% for m in messages %}<task>{{ m.role }} {{ m.content }}<eos>{% endfor %}"


@pytest.fixture(scope="module")
def llm(folder: str) -> LLM:
    return LLM.load(folder)


def test_piped_lines_are_turns_and_the_end_of_input_ends(dlmrt: Run, folder: str, llm: LLM) -> None:
    outcome = dlmrt("chat", "-m", folder, "-n", "3", stdin=b"one\n\nthree")
    answers = [llm.generate(p, max_new_tokens=3).text for p in ("one", "three")]
    assert outcome.code == 0
    assert outcome.out == "".join(f"{a}\n" for a in answers)
    assert "no chat template" in outcome.err


def test_commands(dlmrt: Run, folder: str, llm: LLM) -> None:
    stdin = b"/stats\n/help\n/seed 7\n/seed x\n/sed 7\none\n/stats\n/reset\n/quit\nnever\n"
    outcome = dlmrt("chat", "-m", folder, "-n", "9", "-t", "1.5", stdin=stdin)
    assert outcome.out == llm.generate("one", max_new_tokens=9, temperature=1.5, seed=7).text + "\n"
    for words in (
        "no answer yet",
        "/quit",
        "seed 7",
        "needs a whole number, not 'x'",
        "did you mean '/seed'",
        "9 tokens in",
        "forgotten",
    ):
        assert words in outcome.err
    assert outcome.code == 0


def test_a_turn_that_fails_does_not_end_the_others(dlmrt: Run, folder: str) -> None:
    outcome = dlmrt("chat", "-m", folder, "-n", "1", stdin=b"7" * 41 + b"\nb\xffd\none\n")
    assert outcome.code == 2
    assert "at most 40" in outcome.err
    assert "stdin is not UTF-8: byte 0xff at offset 43" in outcome.err
    assert outcome.out.endswith("\n")
    assert len(outcome.out) > 1


def test_a_wrong_option_is_told_before_the_first_turn(dlmrt: Run, folder: str) -> None:
    outcome = dlmrt("chat", "-m", folder, "--threshold", "7", stdin=b"one\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert "threshold" in outcome.err


def talk(llm: LLM, lines: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, str], ...]]:
    """Run a chat over ``lines``; what each turn gave to the model."""
    seen: list[tuple[dict[str, str], ...]] = []
    prepare = llm.prepare

    def watched(request: Request) -> Any:
        seen.append(tuple(dict(m) for m in request.messages or ()))
        return prepare(request)

    monkeypatch.setattr(llm, "prepare", watched)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode()), encoding="utf-8"))
    assert Chat(llm, {"max_new_tokens": 2}).loop()
    return seen


def test_with_a_template_the_conversation_is_kept_until_reset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    llm = LLM.load(str(tiny.write_folder(tmp_path / "m", chat_template=TEMPLATE)))
    first, second, third = talk(llm, "a\nb\n/reset\nc\n", monkeypatch)
    captured = capsys.readouterr()
    assert first == ({"role": "user", "content": "a"},)
    assert [m["role"] for m in second] == ["user", "assistant", "user"]
    assert captured.out.startswith(second[1]["content"])
    assert third == ({"role": "user", "content": "c"},)
    assert "on its own" not in captured.err


def test_ctrl_c_on_a_terminal_ends_the_answer_and_not_the_chat(
    llm: LLM, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = iter([KeyboardInterrupt(), "one", "/quit"])

    def read(prompt: str) -> str:
        line = next(lines)
        if isinstance(line, BaseException):
            raise line
        return line

    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", read)
    monkeypatch.setattr(llm, "decode", interrupted)
    chat = Chat(llm, {})
    chat.interactive = True
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert chat.loop()
    assert "interrupted" in capsys.readouterr().err
