"""scripts/setup.sh: a machine that lacks something gets one line with the remedy.

Programs that the script asks (python3, df, uname) are replaced by small scripts on PATH; nothing
is installed and no index is asked.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from source import ROOT

TOOLS = ("sh", "env", "dirname", "awk", "cksum", "cat", "grep", "sed", "mkdir", "rm", "df", "uname", "touch")
Fake = Callable[[str, str], None]
OLD = 'case "$*" in *version_info\\[:3\\]*) echo 3.10.12 ;; *) exit 1 ;; esac'
BARE = 'case "$*" in *ensurepip*) exit 1 ;; *version_info\\[:3\\]*) echo 3.12.3 ;; esac'
# The interpreter of this test, which refuses to make a virtual environment (that takes seconds).
GOOD = f'case "$*" in "-m venv"*) exit 1 ;; esac; exec "{sys.executable}" "$@"'


class Checkout:
    """A copy of the files the script reads, with a PATH of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root / "checkout"
        self.bin = root / "bin"
        self.bin.mkdir()
        for name in ("scripts", "constraints"):
            shutil.copytree(ROOT / name, self.root / name)
        (self.root / "src/dlmrt").mkdir(parents=True)
        for name in ("pyproject.toml", "src/dlmrt/__init__.py", "Makefile"):
            shutil.copy(ROOT / name, self.root / name)
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool) or "/bin/" + tool)

    def fake(self, name: str, body: str) -> None:
        """Put a program of that name on PATH (replacing a real one)."""
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{body}\n")
        (self.bin / name).chmod(0o755)

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run the script with nothing but the fake PATH in its environment."""
        return subprocess.run(
            ["/bin/sh", "scripts/setup.sh", *argv],
            cwd=self.root,
            env={"PATH": str(self.bin), "HOME": str(self.root), **env},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def error(self, *argv: str, **env: str) -> str:
        """Run it, expect exit code 2, and return its last line."""
        done = self.run(*argv, **env)
        assert done.returncode == 2, done.stderr
        return done.stderr.splitlines()[-1]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_no_python(checkout: Checkout) -> None:
    assert checkout.error("demo").startswith(
        "error: no Python found; dlmrt needs Python 3.11 or newer (Debian"
    )


def test_python_too_old(checkout: Checkout) -> None:
    checkout.fake("python3", OLD)
    line = checkout.error("demo")
    assert "python3 is Python 3.10.12; dlmrt needs Python 3.11 or newer: install one (Debian" in line
    assert "make demo PYTHON=/path/to/python3" in line


def test_python_without_venv(checkout: Checkout) -> None:
    checkout.fake("python3", BARE)
    line = checkout.error("setup")
    assert "(Python 3.12.3) cannot make virtual environments" in line
    assert "sudo apt install python3.12-venv)" in line


def test_an_unusable_python_does_not_hide_a_usable_one(checkout: Checkout) -> None:
    checkout.fake("python3.14", BARE)
    checkout.fake("python3.13", "exit 127")
    checkout.fake("python3", GOOD)
    checkout.fake("df", "printf 'head\\n/dev/x 9 9 90000000 1%% /\\n'")
    done = checkout.run("setup")
    assert f"making .venv with {checkout.bin}/python3 (" in done.stderr


def test_named_python_that_does_not_run(checkout: Checkout) -> None:
    assert "PYTHON is '/no/python', which does not run" in checkout.error("demo", PYTHON="/no/python")


def test_wrong_name_of_a_python_leaves_the_environment_alone(checkout: Checkout) -> None:
    stamped_checkout(checkout)
    assert checkout.run("setup").returncode == 0
    assert "PYTHON is '/no/python', which does not run" in checkout.error("setup", PYTHON="/no/python")
    assert (checkout.root / ".venv/bin/python").exists()


def test_full_disk(checkout: Checkout) -> None:
    checkout.fake("python3", GOOD)
    checkout.fake("df", "printf 'head\\n/dev/x 100000 0 102400 1%% /\\n'")
    line = checkout.error("demo")
    assert line.startswith("error: 100 MB free on the disk of ")
    assert "the light install needs about 300 MB there; free some space" in line
    assert not (checkout.root / ".venv").exists()


def test_unknown_command(checkout: Checkout) -> None:
    assert checkout.error("tset").startswith("error: no command 'tset' (commands: setup, demo, test, check")


def test_foreign_venv_is_never_deleted(checkout: Checkout) -> None:
    keep = checkout.root / ".venv" / "precious"
    keep.parent.mkdir()
    keep.write_text("mine")
    checkout.fake("python3", GOOD)
    line = checkout.error("setup")
    assert "does not work, and was not made by this script; move it away and run again" in line
    assert keep.read_text() == "mine"


def test_half_installed_venv_is_made_anew(checkout: Checkout) -> None:
    venv = checkout.root / ".venv"
    (venv / "lib").mkdir(parents=True)
    for name in (".dlmrt-owned", ".dlmrt-installing", "lib/half-written"):
        (venv / name).touch()
    done = checkout.run("setup")  # no Python on PATH: stops right after the clean-up
    assert ".venv is half-installed: making it anew" in done.stderr
    assert not (venv / "lib").exists()


def stamped_checkout(checkout: Checkout) -> Path:
    """Install for the script's eyes: a fake .venv/bin/python that records what it is asked."""
    asked = checkout.root / "asked"
    binary = checkout.root / ".venv" / "bin"
    binary.mkdir(parents=True)
    (checkout.root / ".venv" / ".dlmrt-owned").touch()
    (binary / "python").write_text(
        f'#!/bin/sh\necho "$@" >>"{asked}"\ncase "$*" in *v\\(*torch*) exit 1 ;; esac\n'
    )
    (binary / "python").chmod(0o755)
    checkout.fake("df", "printf 'head\\n/dev/x 9 9 90000000 1%% /\\n'")
    return asked


def test_second_run_installs_nothing_until_a_pin_changes(checkout: Checkout) -> None:
    asked = stamped_checkout(checkout)
    assert checkout.run("setup").returncode == 0
    assert "pip install -qq -e ." in asked.read_text()
    asked.unlink()
    assert checkout.run("setup").returncode == 0
    assert "pip" not in asked.read_text()
    with (checkout.root / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert checkout.run("setup").returncode == 0
    assert "pip install -qq -e ." in asked.read_text()


@pytest.mark.parametrize(
    ("env", "gpu", "index_up", "installed"),
    [
        ({"TORCH": "torch==2.9.1"}, False, True, "pip install torch==2.9.1"),
        ({"CI": "true"}, False, False, "pip install torch==2.13.0"),
        ({}, True, True, "pip install torch==2.13.0"),
        ({}, False, True, "pip install --no-deps --index-url https://index.test/cpu torch==2.13.0"),
        ({}, False, False, "pip install torch==2.13.0"),
    ],
)
def test_which_torch(
    checkout: Checkout, env: dict[str, str], gpu: bool, index_up: bool, installed: str
) -> None:
    if Path("/proc/driver/nvidia/version").exists() and not gpu:
        pytest.skip("this machine has an NVIDIA driver")
    asked = stamped_checkout(checkout)
    if gpu:
        checkout.fake("nvidia-smi", "exit 0")
    if not index_up:
        python = checkout.root / ".venv/bin/python"
        python.write_text(python.read_text() + 'case "$*" in *index.test*) exit 1 ;; esac\n')
    done = checkout.run("test", TORCH_CPU_INDEX="https://index.test/cpu", **env)
    assert done.returncode == 0, done.stderr
    assert f"-m {installed}\n" in asked.read_text()
    assert ("out of reach" in done.stderr) == (not index_up)
    assert "-m pytest -m not gpu and not multigpu" in asked.read_text()


def test_makefile_and_script_have_the_same_verbs() -> None:
    makefile = (ROOT / "Makefile").read_text()
    [line] = [line for line in makefile.splitlines() if line.startswith(".PHONY:")]
    script = (ROOT / "scripts" / "setup.sh").read_text()
    assert f"(commands: {', '.join(line.split()[1:])})" in script
