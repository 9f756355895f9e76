"""The README's commands work: its marked blocks are run, in order.

A block is marked by the word ``run`` behind its language: ```` ```sh run ```` or
```` ```python run ````. All of them share one empty folder, where what an earlier block wrote is
still there; ``sh run root`` runs in the checkout instead. A block ```` ```text output ```` right
after one says what it prints to stdout: these lines in this order, ``...`` standing for any lines.

Runs in continuous integration only (DLMRT_README=1), and never runs ``make test``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w+) (run(?: root)?|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

wanted = pytest.mark.skipif(
    os.environ.get("DLMRT_README") != "1", reason="runs the README's commands; set DLMRT_README=1"
)


@dataclass
class Block:
    """One marked block and what it should print."""

    language: str
    code: str
    in_root: bool
    expected: str | None = None

    @property
    def command(self) -> list[str]:
        return ["sh", "-eu", "-c", self.code] if self.language == "sh" else [sys.executable, "-c", self.code]


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    for language, mark, code in FENCE.findall(text):
        if mark == "output":
            assert found, "an output block comes after the block that prints it"
            found[-1].expected = code
        else:
            assert language in ("sh", "python"), f"cannot run a block of {language!r}"
            assert "make test" not in code, "the README test must not run the test suite"
            found.append(Block(language, code, mark.endswith("root")))
    return found


def matches(expected: str, printed: str) -> bool:
    """Compare line by line; ``...`` alone stands for any lines, inside a line for any text."""
    parts = []
    for line in expected.strip().splitlines():
        any_text = re.escape(line.rstrip()).replace(re.escape("..."), ".*")
        parts.append(r"(?:.*\n)*?" if line.strip() == "..." else any_text + r"[ ]*\n")
    return re.fullmatch("".join(parts), printed.strip() + "\n") is not None


@pytest.mark.readme
@wanted
def test_readme_blocks_run(tmp_path: Path) -> None:
    found = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    assert found, "README.md has no block marked 'run'"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for block in found:
        done = subprocess.run(
            block.command,
            cwd=ROOT if block.in_root else tmp_path,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{block.code}\n{done.stdout}\n{done.stderr}"
        if block.expected is not None:
            assert matches(block.expected, done.stdout), f"{block.code}\nprinted:\n{done.stdout}"


def test_blocks_are_found_and_compared() -> None:
    text = (
        "```sh\nrm -rf /\n```\n```sh run\necho a; echo b\n```\n```text output\na\n...\n```\n"
        "```python run root\nprint(1)\n```\n"
    )
    first, second = blocks(text)
    assert (first.language, first.code, first.in_root) == ("sh", "echo a; echo b\n", False)
    assert (second.language, second.in_root, second.expected) == ("python", True, None)
    assert first.expected is not None
    assert matches(first.expected, "a\nb\nc\n")
    assert not matches(first.expected, "b\n")
    assert matches("4 tokens in ... s", "4 tokens in 0.3 s\n")


def test_the_test_suite_is_refused_in_a_block() -> None:
    with pytest.raises(AssertionError, match="must not run the test suite"):
        blocks("```sh run\nmake test\n```\n")
