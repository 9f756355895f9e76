"""From the input's text to prompts: the whole text, each line, or each sentence of each line."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from dlmrt.cli.files import read_file, read_stdin
from dlmrt.errors import PromptError, RequestError


@dataclass(frozen=True)
class Prompts:
    """The prompts, and which of them each line of the output is made of.

    slots: per output line the indices of its prompts, joined by a space; none for a blank line.
    """

    texts: list[str]
    slots: list[tuple[int, ...]]

    def line_of(self, prompt: int) -> int:
        """1-based line of a prompt."""
        return next(line for line, rows in enumerate(self.slots, 1) if prompt in rows)


def read_text(text: str | None, file: Path | None) -> str:
    """The argument, the file, or stdin (``-`` or nothing given)."""
    if file is not None:
        if text is not None:
            raise RequestError("a prompt and --file were given; give one")
        return read_file(file)
    if text is None and sys.stdin.isatty():
        raise PromptError("no prompt; give one as an argument, with --file, or on stdin")
    return read_stdin() if text is None or text == "-" else text


def split_prompts(text: str, *, lines: bool, sentences: bool) -> Prompts:
    """Cut the input into prompts; raises PromptError when nothing is left."""
    if not (lines or sentences):
        return Prompts([text.removesuffix("\n").removesuffix("\r")], [(0,)])
    texts: list[str] = []
    slots: list[tuple[int, ...]] = []
    for line in text.removesuffix("\n").split("\n"):
        first = len(texts)
        if line.strip():
            texts += _sentences(line) if sentences else [line.removesuffix("\r")]
        slots.append(tuple(range(first, len(texts))))
    if not texts:
        raise PromptError("no prompts: every line of the input is empty")
    return Prompts(texts, slots)


def _sentences(line: str) -> list[str]:
    from dlmrt.datasets.sentences import split_sentences

    return split_sentences(line.strip())
