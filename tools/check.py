"""Run every check of ``make check``; name all that failed, not the first alone.

python tools/check.py [name ...] runs only those (ruff, format, mypy, layers, budgets, host-reads,
cli-docs, tables, release).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import check_budgets
import check_host_reads
import check_layers
import check_release
import gen_cli_docs
import gen_tables
from source import ROOT

CODE = tuple(
    folder for folder in ("src", "tests", "tools", "benchmarks", "examples") if (ROOT / folder).is_dir()
)


def _command(*words: str) -> Callable[[], list[str]]:
    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
        output = (done.stdout + done.stderr).rstrip()
        return output.splitlines() or [f"exit code {done.returncode}"] if done.returncode else []

    return run


CHECKS: dict[str, Callable[[], list[str]]] = {
    "ruff": _command("ruff", "check", "--quiet", "--output-format=concise", *CODE),
    "format": _command("ruff", "format", "--quiet", "--check", "--output-format=concise", *CODE),
    "layers": check_layers.problems,
    "budgets": check_budgets.problems,
    "host-reads": check_host_reads.problems,
    "release": check_release.problems,
    "cli-docs": gen_cli_docs.problems,
    "tables": gen_tables.problems,
    "mypy": _command("mypy"),
}


def main(names: list[str]) -> int:
    """Run the named checks (all when none is named) and return the exit code."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"error: no check '{unknown[0]}' (checks: {', '.join(CHECKS)})", file=sys.stderr)
        return 2
    failed = []
    for name in names or CHECKS:
        start = time.monotonic()
        found = CHECKS[name]()
        print(f"{name:<11}{'FAILED' if found else 'ok':<7}{time.monotonic() - start:6.1f} s", flush=True)
        if found:
            failed.append(name)
            print("\n".join(f"  {line}" for line in found), flush=True)
    print(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
