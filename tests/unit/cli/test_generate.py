from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from dlmrt import LLM
from dlmrt.cli import show_steps
from dlmrt.cli.trace_page import render
from dlmrt.engine.request import BlockEvent, Result
from dlmrt.engine.trace import TraceRecorder
from tests import tiny_folder as tiny

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def llm(folder: str) -> LLM:
    return LLM.load(folder)


def test_the_answer_goes_to_stdout_and_nothing_else(dlmrt: Run, folder: str, llm: LLM) -> None:
    outcome = dlmrt("generate", "hello", "-m", folder)
    assert outcome.code == 0
    assert outcome.out == llm.generate("hello").text + "\n"
    assert outcome.err == ""


def test_the_prompt_comes_from_an_argument_a_file_or_stdin(dlmrt: Run, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_bytes("\ufeffhello\r\n".encode())
    expected = dlmrt("generate", "hello", "-m", folder).out
    assert dlmrt("generate", "-", "-m", folder, stdin=b"hello\n").out == expected
    assert dlmrt("generate", "-m", folder, stdin=b"hello").out == expected
    assert dlmrt("generate", "--file", str(path), "-m", folder).out == expected


def test_stream_prints_the_same(dlmrt: Run, folder: str) -> None:
    whole = dlmrt("generate", "hello", "-m", folder)
    assert dlmrt("generate", "hello", "-m", folder, "--stream") == whole


def test_json_is_one_object_a_prompt(dlmrt: Run, folder: str, llm: LLM) -> None:
    outcome = dlmrt("generate", "--lines", "--json", "-n", "9", "-m", folder, stdin=b"one\n\nthree\n")
    objects = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(o["index"], o["line"]) for o in objects] == [(0, 1), (1, 3)]
    expected = llm.generate("three", max_new_tokens=9)
    assert tuple(objects[1]["ids"]) == expected.ids
    for name in ("text", "finish_reason", "prompt_tokens", "tokens", "tokens_per_forward", "backend", "seed"):
        assert name in objects[0]
    assert set(objects[0]["timings"]) >= {"load", "tokenise", "prefill", "denoise", "commit", "total"}


def test_sentences_are_answered_apart_and_joined_a_line(dlmrt: Run, folder: str, llm: LLM) -> None:
    stdin = b"One here. Two there!\n\nthree\n"
    outcome = dlmrt("generate", "--sentences", "-n", "3", "-m", folder, stdin=stdin)
    one, two, three = (llm.generate(t, max_new_tokens=3).text for t in ("One here.", "Two there!", "three"))
    assert outcome.out == f"{one} {two}\n\n{three}\n"
    objects = dlmrt(
        "generate", "--sentences", "--json", "-n", "3", "-m", folder, stdin=stdin
    ).out.splitlines()
    assert [json.loads(o)["line"] for o in objects] == [1, 1, 3]


def test_lines_are_answered_one_by_one_in_order(dlmrt: Run, folder: str, llm: LLM) -> None:
    options = {"method": "ar", "max_new_tokens": 2}
    prompts = ["one", "two", "three"]
    answers = [llm.generate(p, **options).text for p in prompts]  # type: ignore[arg-type]
    stdin = b"one\r\n\ntwo\nthree\n"
    outcome = dlmrt("generate", "--lines", "-n", "2", "--method", "ar", "-m", folder, stdin=stdin)
    assert outcome.out == f"{answers[0]}\n\n{answers[1]}\n{answers[2]}\n"


def test_a_bad_line_is_named_before_any_is_answered(dlmrt: Run, folder: str) -> None:
    outcome = dlmrt("generate", "--lines", "-m", folder, stdin=b"one\n\n" + b"7" * 41 + b"\n")
    assert (outcome.code, outcome.out) == (2, "")
    assert re.search(r"line 3: .*41 tokens.*at most 40", outcome.err)


def test_a_bad_option_is_no_lines_fault_and_a_bad_fit_is(dlmrt: Run, folder: str) -> None:
    stdin = b"one\n\n" + b"7" * 30 + b"\n"
    outcome = dlmrt("generate", "--lines", "-m", folder, "--temperature", "1e-9", stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: temperature is 1e-09")
    outcome = dlmrt("generate", "--lines", "-m", folder, "-n", "80", stdin=stdin)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: line 3: max_new_tokens is 80 after a prompt of 32 tokens")


def test_b10_post_steps_reach_the_decoder(dlmrt: Run, folder: str, llm: LLM) -> None:
    options: Any = {"policy": "joint", "threshold": 0.0, "edit_threshold": 0.0, "max_new_tokens": 16}
    given = ["--policy", "joint", "--threshold", "0", "--edit-threshold", "0", "-n", "16"]
    seen = set()
    for steps in (0, 3):
        outcome = dlmrt("generate", "hello", "-m", folder, "--json", *given, "--max-post-steps", str(steps))
        found = json.loads(outcome.out)["steps_per_block"]
        assert found == list(llm.generate("hello", max_post_steps=steps, **options).steps_per_block)
        seen.add(tuple(found))
    assert len(seen) == 2
    outcome = dlmrt("generate", "hello", "-m", folder, "--max-post-steps", "3")
    assert "max_post_steps has no effect with policy 'threshold'" in outcome.err


def test_b10_options_reach_the_decoder(dlmrt: Run, folder: str, llm: LLM) -> None:
    given = ["--policy", "fixed", "--per-step", "3", "--max-steps", "2", "--no-residual"]
    given += [
        "--temperature",
        "1.5",
        "--top-k",
        "40",
        "--top-p",
        "0.9",
        "--seed",
        "5",
        "--stop",
        "F",
        "-n",
        "10",
    ]
    outcome = dlmrt("generate", "hello", "-m", folder, "--json", *given)
    expected = llm.generate(
        "hello",
        policy="fixed",
        per_step=3,
        max_steps=2,
        residual=False,
        temperature=1.5,
        top_k=40,
        top_p=0.9,
        seed=5,
        stop=["F"],
        max_new_tokens=10,
    )
    found = json.loads(outcome.out)
    assert tuple(found["ids"]) == expected.ids
    assert found["seed"] == 5
    assert found["steps_per_block"] == list(expected.steps_per_block)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["hello", "--threshold", "2"], "threshold is 2.0"),
        (
            ["hello", "--policy", "prefx"],
            "entropy_bound, joint, prefix; did you mean 'prefix'",
        ),
        (["hello", "--per-step", "2"], "per_step has no effect with policy 'threshold'"),
        (["hello", "--method", "ar", "--threshold", "0.5"], "threshold has no effect with method 'ar'"),
        (["hello", "--method", "arr"], "did you mean 'ar'"),
        (["hello", "--max-new-tokens", "0"], "max_new_tokens is 0"),
        (["hello", "--backend", "nunpy"], "did you mean 'numpy'"),
        (["hello", "--treshold", "1"], "--threshold"),
        (["hello", "--stream", "--json"], "--stream and --json"),
        (["hello", "--batch-size", "4"], "--batch-size is for several prompts"),
        (["hello", "--stream", "--lines"], "--stream and --lines"),
        (["hello", "--method", "ar", "--show-steps"], "--show-steps"),
        (["hello", "--file", "x"], "give one"),
        (["--file", "/no/such/file"], "cannot read '/no/such/file'"),
        (["--lines"], "every line of the input is empty"),
        ([""], "the prompt is empty"),
        (["a\udcffb"], "surrogate"),
    ],
)
def test_b10_what_cannot_be_done_is_one_line_and_exit_2(
    dlmrt: Run, folder: str, argv: list[str], message: str
) -> None:
    outcome = dlmrt("generate", *argv, "-m", folder, stdin=b"\n\n")
    assert outcome.code == 2
    assert outcome.out == ""
    assert message in outcome.err
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1


def test_stdin_that_is_not_utf8_is_told_with_the_offset(dlmrt: Run, folder: str) -> None:
    outcome = dlmrt("generate", "-m", folder, stdin=b"ab\xffc")
    assert outcome.code == 2
    assert "stdin is not UTF-8: byte 0xff at offset 2" in outcome.err


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading a model fails the test: the error must come before any work."""

    def load(*args: Any, **kwargs: Any) -> LLM:
        raise AssertionError("the model was loaded")

    monkeypatch.setattr(LLM, "load", load)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("option", ["--trace", "--output"])
def test_an_unwritable_file_is_told_before_any_work(dlmrt: Run, tmp_path: Path, option: str) -> None:
    for bad in (tmp_path / "no" / "file", tmp_path):
        outcome = dlmrt("generate", "hello", option, str(bad))
        assert outcome.code == 2
        assert f"{option} '{bad}' cannot be written" in outcome.err


@pytest.mark.usefixtures("no_model")
def test_one_file_for_two_things_is_refused(dlmrt: Run, tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    assert "same file" in dlmrt("generate", "hello", "--trace", path, "--output", path).err


def test_output_replaces_the_file_and_an_error_leaves_it(dlmrt: Run, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    path.write_text("old, and longer than the answer\n" * 9)
    old = path.read_text()
    assert dlmrt("generate", "", "-m", folder, "-o", str(path)).code == 2
    assert path.read_text() == old
    assert dlmrt("generate", "", "-m", folder, "-o", str(tmp_path / "new")).code == 2
    assert not (tmp_path / "new").exists()

    printed = dlmrt("generate", "hello", "-m", folder).out
    outcome = dlmrt("generate", "hello", "-m", folder, "-o", str(path))
    assert (outcome.out, path.read_text()) == ("", printed)


def test_a_file_may_be_read_and_written_at_once(dlmrt: Run, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("hello\n")
    expected = dlmrt("generate", "hello", "-m", folder).out
    assert dlmrt("generate", "-f", str(path), "-o", str(path), "-m", folder).code == 0
    assert path.read_text() == expected


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_answer_that_cannot_be_saved_is_printed(dlmrt: Run, folder: str) -> None:
    printed = dlmrt("generate", "hello", "-m", folder).out
    outcome = dlmrt("generate", "hello", "-m", folder, "-o", "/dev/full")
    assert outcome.code == 2
    assert outcome.out == printed
    assert "No space left" in outcome.err


def test_b23_stats_are_one_line_on_stderr(dlmrt: Run, folder: str, llm: LLM) -> None:
    outcome = dlmrt("generate", "hello", "-m", folder, "--stats", "-n", "17")
    result = llm.generate("hello", max_new_tokens=17)
    assert outcome.err.count("\n") == 1
    forwards = f"1 prefill + {result.forwards.denoise} denoise + {result.forwards.commit} commit"
    for part in (
        f"finish {result.finish_reason}",
        f"{len(result.ids)} tokens in",
        forwards,
        f"{result.tokens_per_forward:.2f} tokens/forward",
        f"({result.tokens_per_forward_without_commits:.2f} without commits)",
        "backend numpy: small model",
    ):
        assert part in outcome.err


def test_stats_of_lines_are_sums(dlmrt: Run, folder: str, llm: LLM) -> None:
    outcome = dlmrt("generate", "--lines", "-m", folder, "--stats", "-n", "9", stdin=b"one\ntwo\n")
    results = llm.generate(["one", "two"], max_new_tokens=9)
    assert f"2 answers | {sum(len(r.ids) for r in results)} tokens" in outcome.err


def test_ctrl_c_keeps_what_was_committed(
    dlmrt: Run, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(self: LLM, prepared: Any, on_block: Any, *rest: Any) -> list[Result]:
        on_block(BlockEvent(row=0, block=0, text="first, ", ids=(5, 6), seconds=0.1))
        on_block(BlockEvent(row=0, block=1, text="second", ids=(7,), seconds=0.2))
        raise KeyboardInterrupt

    monkeypatch.setattr(LLM, "decode", interrupted)
    outcome = dlmrt("generate", "hello", "-m", folder)
    assert (outcome.code, outcome.out) == (130, "first, second\n")
    assert "interrupted" in outcome.err
    assert dlmrt("generate", "hello", "-m", folder, "--stream").out == "first, second\n"
    found = json.loads(dlmrt("generate", "hello", "-m", folder, "--json").out)
    assert (found["text"], found["ids"], found["finish_reason"]) == ("first, second", [5, 6, 7], "cancelled")
    path = tmp_path / "out"
    assert dlmrt("generate", "hello", "-m", folder, "-o", str(path)).code == 130
    assert path.read_text() == "first, second\n"


def test_show_steps_without_a_terminal_is_one_line_a_step(dlmrt: Run, folder: str, llm: LLM) -> None:
    given = ["--policy", "fixed", "--per-step", "3", "-n", "16"]
    outcome = dlmrt("generate", "hello", "-m", folder, "--show-steps", *given)
    result = llm.generate("hello", policy="fixed", per_step=3, max_new_tokens=16)
    lines = outcome.err.splitlines()
    assert len(lines) == result.forwards.denoise
    assert lines[0].startswith("block 1 step 1: 3/8 decided (+3), mean entropy")
    assert lines[0].count(show_steps.OPEN) == 5
    assert outcome.out == result.text + "\n"


def test_show_steps_on_a_terminal_marks_what_is_new(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system="standard", width=60)
    monkeypatch.setattr(show_steps, "stderr_console", lambda: console)
    stdout = sys.stdout
    view = show_steps.LiveView(llm.codec)
    assert sys.stdout is stdout  # the answer stays out of this console
    result = llm.generate("hello", policy="fixed", per_step=3, max_new_tokens=16, on_step=view)
    view.close()
    shown = screen.getvalue()
    assert f"forwards {result.forwards.denoise}" in shown
    assert "\x1b[1;32m" in shown  # newly accepted: bold green
    assert shown.endswith("\x1b[?25h")  # the cursor is back


def test_shown_text_cannot_steer_the_terminal() -> None:
    assert show_steps.printable("a\x1b[31m\nb\tc\x07é") == "a\ufffd[31m↵b→c\ufffdé"


def trace(dlmrt: Run, folder: str, path: Path, *argv: str) -> tuple[str, dict[str, Any]]:
    outcome = dlmrt("generate", *argv, "-m", folder, "--trace", str(path))
    assert outcome.code == 0
    page = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return page, json.loads(found[1])


def test_a_trace_page_stands_alone_and_holds_the_run(
    dlmrt: Run, folder: str, llm: LLM, tmp_path: Path
) -> None:
    prompt = "</script><script>alert(1)</script>"
    page, data = trace(dlmrt, folder, tmp_path / "t.html", prompt, "-n", "12")
    assert "alert(1)</script>" not in page
    assert data["rows"][0]["prompt"] == prompt
    result = llm.generate(prompt, max_new_tokens=12)
    assert data["rows"][0]["result"]["text"] == result.text
    assert len(data["rows"][0]["steps"]) == result.forwards.denoise
    template = page.replace(json.dumps(data), "")
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"']*)|url\(([^)]*)|@import""", template)
    assert [a for a, b in links] == ["data:,"]
    assert "default-src 'none'" in page


def test_a_trace_of_lines_has_a_row_a_prompt(dlmrt: Run, folder: str, tmp_path: Path) -> None:
    path = tmp_path / "prompts"
    path.write_text("one\n\ntwo\n")
    _, data = trace(dlmrt, folder, tmp_path / "t.html", "--lines", "-f", str(path), "-n", "3")
    assert [row["prompt"] for row in data["rows"]] == ["one", "two"]
    assert all(row["steps"] for row in data["rows"])


def test_page_data_survives_its_escaping(llm: LLM) -> None:
    payload = TraceRecorder().payload(llm.codec, ["<!--&\u2028\u2029'\"\\"], [None], {})
    found = re.search(r'id="data">(.*?)</script>', render(payload), re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == payload
    assert not set("<>&\u2028\u2029") & set(found[1])


def test_a_plain_language_model_answers_without_a_method(dlmrt: Run, tmp_path: Path) -> None:
    folder = str(tiny.write_llama_folder(tmp_path / "llama"))
    outcome = dlmrt("generate", "the", "-m", folder, "-n", "5", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["method"] == "ar"
    for given, message in [
        (["--method", "diffusion"], "no diffusion settings"),
        (["--trace", str(tmp_path / "t.html")], "method 'ar' has none"),
        (["--policy", "fixed"], "policy has no effect with method 'ar'"),
    ]:
        outcome = dlmrt("generate", "the", "-m", folder, *given)
        assert (outcome.code, outcome.out) == (2, "")
        assert message in outcome.err
    assert not (tmp_path / "t.html").exists()
    chat = dlmrt("chat", "-m", folder, "-n", "5", stdin=b"the\n")
    assert chat.code == 0
