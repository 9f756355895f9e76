"""Each check passes on good code and names what is wrong in bad code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import check_budgets
import check_host_reads
import check_layers
import check_release

Tree = Callable[[dict[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


# --- layers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "code", "said"),
    [
        ("decode/step.py", "from dlmrt.engine.llm import LLM", "dlmrt.engine.llm, which is above it"),
        ("models/load.py", "def f():\n    import dlmrt.decode.step", "dlmrt.decode.step, which is above it"),
        ("decode/step.py", "from dlmrt.reference import loop", "dlmrt.reference, which is beside it"),
        ("models/load.py", "from dlmrt import cli", "dlmrt.cli, which is above it"),
        ("engine/llm.py", "from ..train import trainer", "dlmrt.train, which is above it"),
        ("config.py", "from .models import load", "dlmrt.models, which is above it"),
        ("gadgets/x.py", "import dlmrt.config", "package 'gadgets' is in no layer"),
        ("engine/llm.py", "import torch", "imports torch at its top"),
        (
            "cli/chat.py",
            "try:\n    from transformers import X\nexcept ImportError:\n    pass",
            "transformers at its",
        ),
        ("decode/step.py", "def f():\n    import triton", "only dlmrt.kernels.triton.* does"),
    ],
)
def test_layers_refuse(tree: Tree, module: str, code: str, said: str) -> None:
    [line] = check_layers.problems(tree({f"src/dlmrt/{module}": code}))
    assert line.startswith(f"src/dlmrt/{module}:")
    assert said in line


def test_layers_allow(tree: Tree) -> None:
    files = {
        "__init__.py": "from dlmrt.engine.llm import LLM",
        "cli/chat.py": "import dlmrt\nfrom dlmrt import __version__\nfrom dlmrt.engine.llm import LLM",
        "engine/llm.py": "from dlmrt.decode import step\ndef f():\n    import torch",
        "decode/step.py": "import torch\nfrom . import policy\nfrom ..models import load",
        "errors.py": "",
        "config.py": "from dlmrt.errors import ConfigError",
        "kernels/triton/norm.py": "import triton",
        "reference/loop.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch",
    }
    assert check_layers.problems(tree({f"src/dlmrt/{k}": v for k, v in files.items()})) == []


# --- budgets ----------------------------------------------------------------------------------

LONG_FUNCTION = "def long():\n" + "    x = 1\n" * 60
LONG_FILE = "x = 1\n" * 401


def test_budgets_refuse_a_long_function_and_a_long_file(tree: Tree) -> None:
    root = tree({"src/a.py": LONG_FUNCTION, "tests/b.py": LONG_FILE})
    assert check_budgets.problems(root, {}) == [
        "src/a.py:1: long() has 61 lines; a function has at most 60: split it",
        "tests/b.py: 401 lines; a file has at most 400: split it",
    ]


def test_budgets_allow_up_to_the_limit(tree: Tree) -> None:
    short = LONG_FUNCTION.removesuffix("    x = 1\n")
    assert check_budgets.problems(tree({"src/a.py": short, "src/b.py": LONG_FILE[:-6]}), {}) == []


def test_budget_exceptions_are_by_name_and_do_not_outlive_their_use(tree: Tree) -> None:
    root = tree({"src/a.py": LONG_FUNCTION})
    assert check_budgets.problems(root, {"src/a.py:long": "one table"}) == []
    [line] = check_budgets.problems(root, {"src/a.py:long": "one table", "src/a.py": "generated"})
    assert "'src/a.py' fits its budget now" in line


# --- host reads -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "n = count.item()",
        "ids = x[0].tolist()  # ids",
        "ids = x.cpu().numpy()",
        "torch.cuda.synchronize()",
        "y = x.to('cpu')",
        "y = x.to(device='cpu', non_blocking=True)",
        "n = x.item()  # sync:",
        "# sync: the block is done\nn = 1\nm = x.item()",
        "if x.any().item():  # why not\n    n = 1  # sync: not this line",
    ],
)
def test_host_reads_need_a_reason(tree: Tree, code: str) -> None:
    lines = check_host_reads.problems(tree({"src/dlmrt/decode/step.py": code}))
    assert lines
    assert all("say why in a comment '# sync: why'" in line for line in lines)


@pytest.mark.parametrize(
    "code",
    [
        "n = count.item()  # sync: one read a block decides whether to go on",
        "# sync: the finished block goes to the host\nids = (\n    x.cpu()\n    .numpy()\n)",
        "if (\n    x.any().item()  # sync: one read a block\n):\n    n = 1",
        "y = x.to(device)",
        "for name in mapping.items():\n    pass",
    ],
)
def test_host_reads_with_a_reason_are_allowed(tree: Tree, code: str) -> None:
    assert check_host_reads.problems(tree({"src/dlmrt/engine/llm.py": code})) == []


def test_host_reads_are_free_elsewhere(tree: Tree) -> None:
    assert check_host_reads.problems(tree({"src/dlmrt/train/metrics.py": "n = loss.item()"})) == []


# --- release ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changelog", "said"),
    [
        ("# Changelog\n\n## 0.2.0 - soon\n\n## 0.1.0\n", "newest entry is 0.2.0, dlmrt.__version__ is 0.1.0"),
        ("# Changelog\n", "no heading"),
    ],
)
def test_changelog_must_name_the_version(tree: Tree, changelog: str, said: str) -> None:
    root = tree({"CHANGELOG.md": changelog, "src/dlmrt/__init__.py": '__version__ = "0.1.0"\n'})
    [line] = check_release.problems(root)
    assert said in line


def test_unreleased_changes_may_wait_above_the_version(tree: Tree) -> None:
    changelog = "# Changelog\n\n## Unreleased\n\n## [0.1.0] - 2026-12-01\n"
    root = tree({"CHANGELOG.md": changelog, "src/dlmrt/__init__.py": '__version__ = "0.1.0"\n'})
    assert check_release.problems(root) == []


# --- the project itself -----------------------------------------------------------------------


@pytest.mark.parametrize("check", [check_layers, check_budgets, check_host_reads, check_release])
def test_the_project_passes(check: object) -> None:
    assert check.problems() == []  # type: ignore[attr-defined]
