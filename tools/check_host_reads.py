"""Host reads in the decoding loop say why they are there.

A call that waits for the device (``.item()``, ``.tolist()``, ``.cpu()``, ``.numpy()``,
``.synchronize()``, ``.to("cpu")``) in ``decode/`` or ``engine/`` needs a comment ``# sync: why`` on
its line, or on a line of its own right above the statement.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from source import ROOT, Source, sources

FOLDERS = ("src/dlmrt/decode", "src/dlmrt/engine")
READS = frozenset({"item", "tolist", "cpu", "numpy", "synchronize"})
REASON = re.compile(r"#\s*sync:\s*\S")


def problems(root: Path = ROOT) -> list[str]:
    """Return one line for each host read without a reason."""
    return [
        f"{source.name}:{line}: .{name}() waits for the device; say why in a comment '# sync: why'"
        for source in sources(root, *FOLDERS)
        for name, line in _unexplained(source)
    ]


def _unexplained(source: Source) -> list[tuple[str, int]]:
    found = []
    for statement in ast.walk(source.tree):
        if not isinstance(statement, ast.stmt):
            continue
        above = source.lines[statement.lineno - 2] if statement.lineno > 1 else ""
        explained = above.lstrip().startswith("#") and REASON.search(above)
        for call in _own_calls(statement):
            name, line = _host_read(call)
            if name and not explained and not REASON.search(source.lines[line - 1]):
                found.append((name, line))
    return sorted(set(found), key=lambda item: item[1])


def _own_calls(statement: ast.stmt) -> list[ast.Call]:
    """Return the calls of a statement's own expressions, not those of statements inside it."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(statement))
    calls = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            continue
        if isinstance(node, ast.Call):
            calls.append(node)
        waiting.extend(ast.iter_child_nodes(node))
    return calls


def _host_read(call: ast.Call) -> tuple[str, int]:
    target = call.func
    if not isinstance(target, ast.Attribute):
        return "", 0
    line = target.end_lineno or target.lineno
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    to_cpu = target.attr == "to" and any(isinstance(v, ast.Constant) and v.value == "cpu" for v in values)
    return (target.attr, line) if target.attr in READS or to_cpu else ("", 0)
