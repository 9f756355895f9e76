"""``dlmrt chat``: a conversation on the terminal, or one turn a line from a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import typer

from dlmrt.cli.common import EXIT_ERROR, answer, nearest, note
from dlmrt.cli.files import decode_utf8
from dlmrt.cli.groups import grouped
from dlmrt.cli.options import Decoding
from dlmrt.errors import DlmrtError

if TYPE_CHECKING:
    from dlmrt.engine.llm import LLM
    from dlmrt.engine.request import BlockEvent, Result

HELP = """Talk with a model, line by line. /help lists the commands.

The answers go to stdout, everything else to stderr. From a pipe, every line is a turn.

Examples:

\b
  dlmrt chat
  dlmrt chat --model ./my-model --temperature 0.7 --seed 1
  printf 'this option controls wether the Output is writen to the screen ..\\nteh end .\\n' | dlmrt chat
"""
COMMANDS = {
    "/help": "show this list",
    "/stats": "counts and speed of the last answer",
    "/seed N": "use seed N from now on",
    "/reset": "forget the conversation",
    "/quit": "leave (so does the end of input)",
}


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("chat", help=HELP)(chat)


@grouped
def chat(decoding: Decoding) -> None:
    """Talk with a model, line by line. /help lists the commands."""
    options = decoding.given()

    from dlmrt.engine.request import check_options

    llm = decoding.load()
    check_options(options, llm.folder.generation)  # a wrong option is told before the first turn
    if not Chat(llm, options).loop():
        raise typer.Exit(EXIT_ERROR)


class Chat:
    """The loop: reads turns and commands, keeps the conversation where the model has a template."""

    def __init__(self, llm: LLM, options: dict[str, Any]) -> None:
        self.llm = llm
        self.options = options
        self.messages: list[dict[str, str]] = []
        self.last: Result | None = None
        self.interactive = sys.stdin.isatty()
        self.bytes_read = 0

    def loop(self) -> bool:
        """Run until /quit or the end of input; False if a turn of piped input failed."""
        note(f"{self.llm.folder.path.name} on {self.llm.choice.name} ({self.llm.choice.reason})")
        if not self.llm.codec.has_chat_template:
            note("this model has no chat template: every line is answered on its own")
        if self.interactive:
            note("/help lists the commands")
            with contextlib.suppress(ImportError):
                import readline  # noqa: F401  # gives input() its history and line editing
        good = True
        going = True
        while going:
            try:
                going = self._round()
            except DlmrtError as error:
                note(f"error: {error}")
                good = False
        return good or self.interactive

    def _round(self) -> bool:
        """Read one line and do what it says; False at the end."""
        line = self._read()
        if line is None or line.strip() == "/quit":
            return False
        line = line.strip()
        if line.startswith("/"):
            self._command(line)
        elif line:
            self._turn(line)
        return True

    def _read(self) -> str | None:
        """Next line, ``None`` at the end. The prompt sign stays out of a redirected stdout."""
        try:
            if self.interactive and sys.stdout.isatty():
                return input("> ")
            if self.interactive:
                sys.stderr.write("> ")
                sys.stderr.flush()
            data = sys.stdin.buffer.readline()
            self.bytes_read += len(data)
            return decode_utf8(data, "stdin", self.bytes_read - len(data)) if data else None
        except EOFError:
            return None
        except KeyboardInterrupt:
            if not self.interactive:
                raise
            note("\n/quit leaves")
            return ""

    def _command(self, line: str) -> None:
        name, _, argument = line.partition(" ")
        if name == "/help":
            for command, meaning in COMMANDS.items():
                note(f"  {command:<8} {meaning}")
        elif name == "/stats":
            note("no answer yet" if self.last is None else stats(self.last))
        elif name == "/seed":
            self._set_seed(argument.strip())
        elif name == "/reset":
            self.messages.clear()
            note("the conversation is forgotten")
        else:
            known = [command.split()[0] for command in COMMANDS]
            note(f"no command '{name}'{nearest(name, known)} (commands: {', '.join(known)})")

    def _set_seed(self, argument: str) -> None:
        if not argument.isdecimal():
            note(f"/seed needs a whole number, not '{argument}'")
            return
        from dlmrt.engine.request import check_options

        options = self.options | {"seed": int(argument)}
        check_options(options, self.llm.folder.generation)
        self.options = options
        note(f"seed {argument}")

    def _turn(self, text: str) -> None:
        from dlmrt.engine.request import Request

        message = {"role": "user", "content": text}
        history = (*self.messages, message) if self.llm.codec.has_chat_template else (message,)
        prepared = self.llm.prepare(Request(messages=history, options=self.options))
        shown: list[str] = []

        def show(event: BlockEvent) -> None:
            shown.append(event.text)
            answer(event.text, end="")

        try:
            self.last = self.llm.decode([prepared], show)[0]
        except KeyboardInterrupt:
            if not self.interactive:
                raise
            note("\ninterrupted")
        finally:
            answer("")  # ends the line, also of an answer that was cut short
        self.messages += [message, {"role": "assistant", "content": "".join(shown)}]


def stats(result: Result) -> str:
    """One line about one answer."""
    forwards = result.forwards
    return (
        f"{len(result.ids)} tokens in {result.timings.decode:.2f} s "
        f"({result.tokens_per_second:.0f} tokens/s) | "
        f"forwards {forwards.prefill} prefill + {forwards.denoise} denoise + {forwards.commit} commit | "
        f"{result.tokens_per_forward:.2f} tokens/forward "
        f"({result.tokens_per_forward_without_commits:.2f} without commits) | finish {result.finish_reason}"
    )
