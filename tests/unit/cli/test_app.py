"""The program's frame: exit codes, one-line errors, and that it starts fast."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import pytest
import typer

import dlmrt
from dlmrt.cli.app import bare_app, main
from dlmrt.errors import ConfigError


def build() -> typer.Typer:
    """Return a program with verbs that end in every way a verb can."""
    app = bare_app()

    @app.command()
    def generate(
        prompt: str,
        threshold: Annotated[float, typer.Option(help="Accept from this confidence on.")] = 0.9,
    ) -> None:
        typer.echo(f"{prompt} {threshold}")

    @app.command()
    def misconfigured() -> None:
        raise ConfigError("alpha is 'x';\nit must be a number")

    @app.command()
    def unreadable() -> None:
        Path("/nowhere/at/all").read_bytes()

    @app.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    @app.command()
    def buggy() -> None:
        raise ZeroDivisionError("a bug")

    return app


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*argv: str) -> tuple[int, str, str]:
        code = main(argv, build=build)
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_answer_goes_to_stdout_alone(call: Callable[..., tuple[int, str, str]]) -> None:
    assert call("generate", "hi", "--threshold", "0.5") == (0, "hi 0.5\n", "")


def test_version(call: Callable[..., tuple[int, str, str]]) -> None:
    assert call("--version") == (0, f"dlmrt {dlmrt.__version__}\n", "")


@pytest.mark.parametrize("argv", [(), ("-h",), ("--help",), ("generate", "-h"), ("generate", "--help")])
def test_help(call: Callable[..., tuple[int, str, str]], argv: tuple[str, ...]) -> None:
    code, out, err = call(*argv)
    assert (code, err) == (0, "")
    assert out.startswith("Usage: dlmrt")


@pytest.mark.parametrize(
    ("argv", "start"),
    [
        (
            ("generate", "hi", "--treshold", "1"),
            "error: no option '--treshold'; did you mean '--threshold'? (see 'dlmrt generate --help')",
        ),
        (("genrate", "hi"), "error: no command 'genrate'; did you mean 'generate'? (commands: generate,"),
        (("--versoin",), "error: no option '--versoin'; did you mean '--version'?"),
        (("generate", "hi", "-x"), "error: no option '-x' (see"),
        (("generate", "hi", "--threshold", "high"), "error: invalid value for '--threshold': "),
        (("generate", "hi", "--threshold"), "error: option '--threshold' requires an argument"),
        (("generate",), "error: missing argument "),
        (("generate", "hi", "ho"), "error: got unexpected extra argument"),
        (("misconfigured",), "error: alpha is 'x'; it must be a number\n"),
        (("unreadable",), "error: cannot use '/nowhere/at/all': No such file or directory; check the path\n"),
    ],
)
def test_errors_are_one_line_and_exit_2(
    call: Callable[..., tuple[int, str, str]], argv: tuple[str, ...], start: str
) -> None:
    code, out, err = call(*argv)
    assert (code, out) == (2, "")
    assert err.startswith(start)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "change its permissions or give another path"),
        (errno.EROFS, "change its permissions or give another path"),
        (errno.ENOSPC, "free some space or give a path on another disk"),
        (errno.ENOTDIR, "check the path"),
    ],
)
def test_an_error_of_the_system_says_what_to_do(
    capsys: pytest.CaptureFixture[str], number: int, remedy: str
) -> None:
    def build_failing() -> typer.Typer:
        raise OSError(number, os.strerror(number), "/some/file")

    assert main([], build=build_failing) == 2
    assert capsys.readouterr().err == f"error: cannot use '/some/file': {os.strerror(number)}; {remedy}\n"


@pytest.mark.parametrize("verb", ["generate", "chat", "doctor"])
def test_help_of_a_verb_has_examples(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert main([verb, "--help"]) == 0
    assert f"Examples:\n\n    dlmrt {verb}" in capsys.readouterr().out


def test_interrupt_exits_130_quietly(call: Callable[..., tuple[int, str, str]]) -> None:
    assert call("interrupted") == (130, "", "")


def test_a_bug_keeps_its_traceback(call: Callable[..., tuple[int, str, str]]) -> None:
    with pytest.raises(ZeroDivisionError):
        call("buggy")


def test_reader_of_stdout_may_leave() -> None:
    program = (
        "import sys\nfrom dlmrt.cli.app import bare_app, main\n"
        "def build():\n app = bare_app()\n"
        " @app.command()\n def count():\n  for i in range(200_000): print(i)\n return app\n"
        "sys.exit(main(['count'], build=build))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(timeout=20) == 141


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    program = (
        "import sys, json\nfrom dlmrt.cli.app import main\ncode = main(['--help'])\n"
        "heavy = [m for m in ('torch', 'transformers', 'numpy', 'tokenizers', 'rich') if m in sys.modules]\n"
        "print(json.dumps([code, heavy]), file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr.splitlines()[-1]) == [0, []]
    # Processor time, so that a busy machine does not count; about 0.15 s.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 1.0
    for verb in ("generate", "chat", "models", "train", "data", "doctor"):
        assert f"  {verb} " in done.stdout
