"""Make the shipped ``repair`` task from its sentences; with ``--check``, say whether it is current.

    python tools/make_repair_task.py

Reads benchmarks/repair-task-sentences.txt (written for dlmrt, Apache-2.0), corrupts each sentence once
with SEED, and writes src/dlmrt/assets/tasks/repair.jsonl and benchmarks/repair-task.sha256. The same
sentences and seed give the same bytes on every machine.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

from dlmrt.datasets.corrupt import Rng
from dlmrt.datasets.repair import corrupt_pair
from source import ROOT

SEED = 7
COMMAND = "python tools/make_repair_task.py"
SENTENCES = Path("benchmarks/repair-task-sentences.txt")
TASK = Path("src/dlmrt/assets/tasks/repair.jsonl")
HASHES = Path("benchmarks/repair-task.sha256")
# Words that a typo could turn a word of the sentences into, so that nobody could tell: such a typo is
# not used. The words of the sentences themselves count too.
MORE_WORDS = frozenset(
    "caries cos dose hoods inde lit minuet numer poop pulp sed son sored sower thee write".split()
)


def build(root: Path = ROOT) -> dict[Path, bytes]:
    """Return the bytes of both files, by path below ``root``."""
    sentences = (root / SENTENCES).read_text(encoding="ascii").splitlines()
    words = frozenset(word for line in sentences for word in re.findall(r"[a-z]+", line.lower()))
    # In random order, so that the first items are like the rest.
    order = Rng("dlmrt.repair_task", SEED).shuffled(range(len(sentences)))
    lines = []
    for number, index in enumerate(order, 1):
        pair = corrupt_pair(sentences[index], SEED, lexicon=words | MORE_WORDS)
        record = pair.record({}, errors=True)
        del record["task"]
        lines.append(json.dumps({"id": f"repair/{number:03}", **record, "verifier": "repair"}) + "\n")
    data = "".join(lines).encode("ascii")
    return {TASK: data, HASHES: f"{hashlib.sha256(data).hexdigest()}  {TASK.as_posix()}\n".encode("ascii")}


def problems(root: Path = ROOT) -> list[str]:
    """Return one line for each file that is not what :func:`build` gives."""
    return [
        f"{path} is not what its sentences give; run: {COMMAND}"
        for path, data in build(root).items()
        if not (root / path).is_file() or (root / path).read_bytes() != data
    ]


def main(arguments: list[str]) -> int:
    """Write the files, or check them; return the exit code."""
    if arguments == ["--check"]:
        found = problems()
        print("\n".join(found), end="\n" if found else "")
        return int(bool(found))
    if arguments:
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    for path, data in build().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_bytes(data)
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
