"""The ``dlmrt`` program: its verbs, its exit codes and how an error looks.

Exit codes: 0 done, 2 an error that the caller can mend (one line ``error: ...`` on stderr), 130
interrupted, 141 the reader of stdout went away. A bug in dlmrt itself keeps its traceback and
exits 1.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import dlmrt
from dlmrt.cli.common import EXIT_BROKEN_PIPE, EXIT_ERROR, EXIT_INTERRUPTED, answer, nearest
from dlmrt.errors import DlmrtError, RequestError

HELP_NAMES = {"help_option_names": ["-h", "--help"]}


class Verbs(TyperGroup):
    """A command group that names the nearest verb when it does not know one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb ``args[0]``; raises RequestError with the allowed ones."""
        name = args[0]
        known = self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            raise RequestError(f"no command '{name}'{nearest(name, known)} (commands: {', '.join(known)})")
        return super().resolve_command(ctx, args)


def build_app() -> typer.Typer:
    """Build the command tree. Verb modules import what is heavy only when their verb runs."""
    from dlmrt.cli import bench, chat, data, demo, doctor, evaluate, generate, models, report, train

    app = bare_app()
    for verb in (demo, generate, chat, models, train, data, evaluate, bench, report, doctor):
        verb.register(app)
    return app


def bare_app() -> typer.Typer:
    """Return the program without its verbs."""
    app = typer.Typer(
        name="dlmrt",
        cls=Verbs,
        add_completion=False,
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=HELP_NAMES,
    )
    app.callback()(_root)
    return app


def _root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Run, train and measure diffusion language models."""
    if version:
        answer(f"dlmrt {dlmrt.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        answer(ctx.get_help())


def main(argv: Sequence[str] | None = None, *, build: Callable[[], typer.Typer] = build_app) -> int:
    """Run the program on ``argv`` (default: the process's arguments) and return its exit code."""
    # BLAS threads spin while they wait: on shared cores they made a 3M-parameter model 60 times
    # slower, on idle ones they gain little. Read when numpy is first imported, so set it here.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = run(build(), sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
        return code
    except DlmrtError as error:
        return _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        if error.filename is None:
            raise
        return _fail(f"cannot use '{error.filename}': {error.strerror}; {_remedy(error)}")


def run(app: typer.Typer, argv: Sequence[str]) -> int:
    """Run ``app`` on ``argv``; usage errors become one line, all other exceptions pass through."""
    command = get_command(app)
    try:
        with command.make_context("dlmrt", list(argv)) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its message is the whole help text
            sys.stderr.write(f"{error}\n")
            return EXIT_ERROR
        line = usage_line(error)
        if line is None:
            raise
        return _fail(line)
    return 0


def usage_line(error: Exception) -> str | None:
    """Turn an exception of the argument parser into one line; ``None`` for any other exception.

    The parser's classes live in ``click`` or inside typer, depending on typer's version, so they are
    told by what they carry.
    """
    render = getattr(error, "format_message", None)
    if render is None:
        return None
    context = getattr(error, "ctx", None)
    option = getattr(error, "option_name", None)
    if type(error).__name__ == "NoSuchOption" and option is not None:
        hint = nearest(option, _options(context)) if option.startswith("--") else ""
        return f"no option '{option}'{hint}{_see_help(context)}"
    text = " ".join(render().split()).rstrip(".").replace("Value error, ", "")
    return text[:1].lower() + text[1:] + _see_help(context)


def _options(context: Any) -> list[str]:
    if context is None:
        return []
    params = context.command.get_params(context)
    return [name for p in params for name in (*p.opts, *p.secondary_opts) if name.startswith("-")]


def _remedy(error: OSError) -> str:
    """What the user can do about an error of the operating system."""
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return "change its permissions or give another path"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space or give a path on another disk"
    return "check the path"


def _see_help(context: Any) -> str:
    return "" if context is None else f" (see '{context.command_path} --help')"


def _fail(message: str) -> int:
    sys.stderr.write(f"error: {' '.join(message.split())}\n")
    return EXIT_ERROR


def _drop_stdout() -> None:
    # Python flushes stdout once more at exit, which would raise again: give it somewhere to go.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
