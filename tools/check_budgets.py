"""Size budgets: what does not fit on a few screens is split.

A file has at most 400 lines, a function at most 60 (docstring included). An exception is listed
below by name with its reason, and leaves the list once it fits.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from source import ROOT, Source, sources

FILE_LINES = 400
FUNCTION_LINES = 60
FOLDERS = ("src", "tests", "tools", "benchmarks", "examples")
# "path" or "path:function" -> why it is allowed to be longer.
EXCEPTIONS: dict[str, str] = {}


def problems(root: Path = ROOT, exceptions: Mapping[str, str] = EXCEPTIONS) -> list[str]:
    """Return one line for each file or function over budget, and for each stale exception."""
    over = {
        name: text
        for source in sources(root, *FOLDERS)
        for name, text in {**_long_file(source), **_long_functions(source)}.items()
    }
    found = [text for name, text in over.items() if name not in exceptions]
    found += [
        f"tools/check_budgets.py: '{name}' fits its budget now; remove the exception"
        for name in exceptions
        if name not in over
    ]
    return found


def _long_file(source: Source) -> dict[str, str]:
    lines = len(source.lines)
    if lines <= FILE_LINES:
        return {}
    return {source.name: f"{source.name}: {lines} lines; a file has at most {FILE_LINES}: split it"}


def _long_functions(source: Source) -> dict[str, str]:
    found = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                found[f"{source.name}:{node.name}"] = (
                    f"{source.name}:{node.lineno}: {node.name}() has {lines} lines; "
                    f"a function has at most {FUNCTION_LINES}: split it"
                )
    return found
