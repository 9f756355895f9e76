"""Cut the code out of an answer. Only lines are looked at; nothing is parsed or run here.

Both rules are named, so that a result can say which one was used:

``function-body`` (:func:`complete`; the answer continues code that ends in a function's signature
    and docstring, as HumanEval's prompts do)
    1. Code fences are removed: a first fence opens the code, which ends at the next fence. A bare
       fence after an indented line closes code that no fence opened.
    2. An answer that writes the function's signature again, before any indented line but those of
       helpers, replaces it: what the prompt holds before the function stays, and the answer counts from
       its first import, definition or decorator on, so that helpers before the function stay too.
    3. Otherwise the answer is the rest of the body. Its first line gets the body's indentation if it
       has less: leading blanks are lost by tokenizers and chat templates.
    4. The code ends at the first line at column 0 after the function began that is not part of it:
       neither blank, nor closing a bracket, nor inside a triple-quoted text.

``program`` (:func:`extract`; the answer is the whole program, as in MBPP)
    1. Code fences are removed in the same way.
    2. Without a fence the code starts at the first line at column 0 that begins an import, a
       definition, a decorator or an assignment, and ends at the first later line at column 0 that
       begins like prose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

COMPLETE_RULE, EXTRACT_RULE = "function-body", "program"
_FENCE = re.compile(r"\s*```")
_TAGGED = re.compile(r"\s*```\s*\w")
_OPENING = re.compile(r"(import|from|def|async def|class)\s+\w|@\w")
_ASSIGNMENT = re.compile(r"[A-Za-z_][\w.,\s\[\]'\":]*?(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)")
_STATEMENT = re.compile(
    r"(if|elif|else|for|while|try|except|finally|with|match|assert|del|pass|raise|return|global|async)\b"
    r"(?![^:]*[a-z]\.$)|[A-Za-z_][\w.]*[(\[]|[)\]}\"'#]"
)


def complete(prefix: str, entry_point: str, text: str) -> str:
    """The program of an answer that continues ``prefix``: rule ``function-body``."""
    lines, _ = _unfence(text.split("\n"))
    signature = signature_of(entry_point)
    head = prefix.split("\n")
    first = next((i for i, line in enumerate(lines) if _OPENING.match(line)), len(lines))
    again = next((i for i, line in enumerate(lines) if signature.match(line)), None)
    if again is not None and not any(map(_is_indented, lines[:first])):
        function = next((i for i, line in enumerate(head) if signature.match(line)), 0)
        kept = [*lines[first : again + 1], *_until_column_0(lines[again + 1 :])]
        return "\n".join([*head[:function], *kept]) + "\n"
    body = _mend_first_line(lines, _body_indent(head))
    return prefix.rstrip("\n") + "\n" + "\n".join(_until_column_0(body)) + "\n"


def signature_of(name: str) -> re.Pattern[str]:
    """A pattern for the first line of that function's definition, at column 0."""
    return re.compile(rf"^(async\s+)?def\s+{re.escape(name)}\s*\(", re.MULTILINE)


def extract(text: str) -> str:
    """The program in an answer that holds a whole one: rule ``program``."""
    lines, fenced = _unfence(text.split("\n"))
    if not fenced:
        start = next((i for i, line in enumerate(lines) if _begins_code(line)), None)
        lines = [] if start is None else _until_prose(lines[start:])
    return "\n".join(lines) + "\n"


def _begins_code(line: str) -> bool:
    return bool(_OPENING.match(line) or _ASSIGNMENT.match(line))


def _unfence(lines: Sequence[str]) -> tuple[list[str], bool]:
    """The code between fences and True, or the lines before a closing one, or all of them."""
    fences = [i for i, line in enumerate(lines) if _FENCE.match(line)]
    if not fences:
        return list(lines), False
    first = fences[0]
    if not _TAGGED.match(lines[first]) and any(map(_is_indented, lines[:first])):
        return list(lines[:first]), False
    return list(lines[first + 1 : fences[1] if len(fences) > 1 else None]), True


def _is_indented(line: str) -> bool:
    return line[:1].isspace() and line.strip() != ""


def _body_indent(head: Sequence[str]) -> str:
    """White space before the last line of the prompt that has any text, or four blanks."""
    last = next((line for line in reversed(head) if line.strip()), "")
    return last[: len(last) - len(last.lstrip())] or "    "


def _mend_first_line(lines: Sequence[str], indent: str) -> list[str]:
    mended = list(lines)
    for i, line in enumerate(lines):
        if line.strip():
            if len(line) - len(line.lstrip()) < len(indent):
                mended[i] = indent + line.lstrip()
            break
    return mended


def _until_column_0(lines: Sequence[str]) -> list[str]:
    return _until(lines, lambda line: line[0] in ")]}")


def _until_prose(lines: Sequence[str]) -> list[str]:
    return _until(lines, lambda line: _begins_code(line) or bool(_STATEMENT.match(line)))


def _until(lines: Sequence[str], is_part: Callable[[str], bool]) -> list[str]:
    """Lines up to the first at column 0 that is not part of the code."""
    kept: list[str] = []
    quote: str | None = None
    for line in lines:
        at_column_0 = line.strip() != "" and not line[0].isspace()
        if quote is None and at_column_0 and not is_part(line):
            break
        quote = _open_quote(line, quote)
        kept.append(line)
    return kept


def _open_quote(line: str, quote: str | None) -> str | None:
    """The triple quote that is open after ``line``, where ``quote`` was open before it."""
    for mark in re.findall(r'"""|\'\'\'', line):
        if quote is None:
            quote = mark
        elif mark == quote:
            quote = None
    return quote
