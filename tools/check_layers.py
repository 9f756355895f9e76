"""Imports point one way: a module imports from lower layers or from its own package only.

Also checked: only ``kernels/triton`` imports triton, and heavy packages (torch, transformers, ...)
are imported at the top of a module only where every user of that module needs them, so that a light
install can import everything else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from source import ROOT, Source, sources

# Highest first. Packages of one row do not import each other; those of the last row may.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("cli", "serve"),
    ("orl", "train", "evals", "bench", "report"),
    ("engine",),
    ("decode", "reference"),
    ("quant", "parallel", "environment"),
    ("models",),
    ("kernels", "datasets"),
    ("results",),
    ("assets", "config", "rows", "validate", "lookup", "provenance", "shapes", "stats", "errors"),
)
HEAVY = frozenset({"torch", "transformers", "triton", "tensorboard", "jinja2", "matplotlib", "lm_eval"})
# Where a module may import a heavy package at its top.
HEAVY_HOMES = (
    "dlmrt.models.transformer",
    "dlmrt.models.residual",
    "dlmrt.models.load",
    "dlmrt.decode",
    "dlmrt.evals.lm_eval",
    "dlmrt.train",
    "dlmrt.orl",
    "dlmrt.kernels",
    "dlmrt.quant",
    "dlmrt.parallel",
)
TRITON_HOME = "dlmrt.kernels.triton"


def problems(root: Path = ROOT) -> list[str]:
    """Return one line for each import that breaks the contract."""
    rank = {package: i for i, row in enumerate(LAYERS) for package in row}
    found = []
    for source in sources(root, "src/dlmrt"):
        module = _module(source)
        if module == "dlmrt":  # the lazy front door names what users import
            continue
        for target, line, at_top in _imports(source, module):
            reason = _layer_reason(module, target, rank) or _heavy_reason(module, target, at_top)
            if reason:
                found.append(f"{source.name}:{line}: {reason}")
    return found


def _module(source: Source) -> str:
    parts = source.name.removeprefix("src/").removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _layer_reason(module: str, target: str, rank: dict[str, int]) -> str:
    if not target.startswith("dlmrt."):
        return ""
    mine, theirs = module.split(".")[1], target.split(".")[1]
    if theirs == mine or theirs.startswith("__"):  # own package, or dlmrt.__version__
        return ""
    for package in (mine, theirs):
        if package not in rank:
            return f"package '{package}' is in no layer; add it to LAYERS in tools/check_layers.py"
    if rank[theirs] > rank[mine] or rank[theirs] == rank[mine] == len(LAYERS) - 1:
        return ""
    side = "beside" if rank[theirs] == rank[mine] else "above"
    return f"{module} imports {target}, which is {side} it; layers point one way (see docs/architecture.md)"


def _heavy_reason(module: str, target: str, at_top: bool) -> str:
    package = target.split(".")[0]
    if package == "triton" and not _inside(module, TRITON_HOME):
        return f"{module} imports triton; only {TRITON_HOME}.* does"
    if package in HEAVY and at_top and not any(_inside(module, home) for home in HEAVY_HOMES):
        return f"{module} imports {package} at its top; import it inside the function that needs it"
    return ""


def _inside(module: str, home: str) -> bool:
    return module == home or module.startswith(home + ".")


def _imports(source: Source, module: str) -> Iterator[tuple[str, int, bool]]:
    """Yield (absolute target, line, whether importing the module runs it)."""
    package = module if source.name.endswith("__init__.py") else module.rpartition(".")[0]
    lazy = _lazy_nodes(source.tree)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno, node not in lazy
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            names = [f"dlmrt.{alias.name}" for alias in node.names] if base == "dlmrt" else [base]
            for name in names:
                yield name, node.lineno, node not in lazy


def _lazy_nodes(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes that do not run on import: in functions, or for the type checker only."""
    lazy: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lazy.update(ast.walk(node))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            for child in node.body:
                lazy.update(ast.walk(child))
    return lazy
