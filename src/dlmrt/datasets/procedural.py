"""Data sets that are generated, not collected: every item is a function of (seed, split, index).

A :class:`Family` draws one item; this module draws many, in parallel, keeps the splits apart and
writes them with a manifest. The same family version, options and seed give the same bytes.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dlmrt.datasets.output import Progress, open_target, sha256_of, write_manifest, writing
from dlmrt.datasets.prefix import check_bare_share, with_prefix
from dlmrt.errors import ConfigError, DlmrtError

# Where a family is defined: imported only when it is built.
FAMILIES = {
    "words": "dlmrt.datasets.words.family",
    "sums": "dlmrt.datasets.words.sums",
    "python": "dlmrt.datasets.pythonic.family",
    "extract": "dlmrt.datasets.extract.family",
    "dates": "dlmrt.datasets.extract.dates",
}
CHUNK = 500  # items that a process draws at a time
TRIES = 10_000  # draws for one item before the family is taken for broken
Record = dict[str, Any]


class Family(Protocol):
    """One kind of procedural items.

    name; version: raised whenever the same inputs would give other items; prefix: put before a prompt;
    split_rule: one sentence for the manifest; splits: those it can draw, ``train`` among them.
    """

    name: str
    version: int
    prefix: str
    split_rule: str
    splits: tuple[str, ...]

    def sample(self, rng: random.Random, split: str) -> Record | None:
        """Draw one item, or None when the draw is of no use (another split's, degenerate, ...).

        The record holds ``prompt`` (without prefix), ``answer``, and the fields of its verifier.
        """
        ...


@dataclass(frozen=True)
class ProceduralBuild:
    """What to build. counts: items by split. bare_share: training prompts that get no prefix."""

    family: str
    out: Path
    counts: Mapping[str, int]
    seed: int = 0
    bare_share: float = 0.1
    jobs: int = 1
    force: bool = False

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise ConfigError(f"family is '{self.family}'; it must be one of {', '.join(FAMILIES)}")
        for split, count in self.counts.items():
            if count < 0:
                raise ConfigError(f"{split} is {count}; it must be at least 0")
        if not any(self.counts.values()):
            raise ConfigError("every count is 0; ask for at least one item")
        if self.jobs < 1:
            raise ConfigError(f"jobs is {self.jobs}; it must be at least 1")
        check_bare_share(self.bare_share)


def load_family(name: str) -> Family:
    """The family of that name."""
    family: Family = importlib.import_module(FAMILIES[name]).FAMILY
    return family


def build_procedural(
    plan: ProceduralBuild, progress: Progress = lambda stage, done, total: None
) -> dict[str, Any]:
    """Build a set and return its manifest.

    Writes ``SPLIT.jsonl`` for every split and manifest.json. No prompt occurs twice, neither in a split
    nor in two of them: held-out splits are drawn first.

    Raises ConfigError for a split that the family has not, DataError for a folder that may not be
    written, DlmrtError for a family that finds no more items.
    """
    family = load_family(plan.family)
    for split in plan.counts:
        if split not in family.splits:
            raise ConfigError(
                f"the family '{family.name}' has no split '{split}'; it has {', '.join(family.splits)}"
            )
    target = open_target(plan.out, force=plan.force)
    seen: set[bytes] = set()
    files: dict[str, Any] = {}
    with writing(target) as aside:
        for split in sorted(plan.counts, key=lambda split: split == "train"):
            if plan.counts[split]:
                files[f"{split}.jsonl"] = _write_split(aside, plan, family, split, seen, progress)
        manifest = {
            "format": "dlmrt.data/1",
            "family": family.name,
            "generator_version": family.version,
            "seed": plan.seed,
            "options": {"counts": dict(plan.counts), "bare_share": plan.bare_share},
            "split_rule": family.split_rule,
            "files": files,
        }
        write_manifest(aside, manifest)
    return manifest


def _write_split(
    folder: Path, plan: ProceduralBuild, family: Family, split: str, seen: set[bytes], progress: Progress
) -> dict[str, Any]:
    wanted, path = plan.counts[split], folder / f"{split}.jsonl"
    prompts: list[int] = []
    answers: list[int] = []
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for index, record in enumerate(_unique(plan, family, split, seen)):
            prompt = record.pop("prompt")
            share = plan.bare_share if split == "train" else 0.0
            line = {
                "id": f"{family.name}/{split}/{index:06d}",
                "prompt": with_prefix(prompt, family.prefix, share, plan.seed, family.name, index),
                "task": family.name,
                **record,
            }
            stream.write(json.dumps(line) + "\n")
            prompts.append(len(prompt))
            answers.append(len(record["answer"]))
            if (index + 1) % 1000 == 0 or index + 1 == wanted:
                progress(f"{split} items", index + 1, wanted)
            if index + 1 == wanted:
                break
    return {
        "sha256": sha256_of(path),
        "items": wanted,
        "prompt_characters": _spread(prompts),
        "answer_characters": _spread(answers),
    }


def _unique(plan: ProceduralBuild, family: Family, split: str, seen: set[bytes]) -> Iterator[Record]:
    """Endless items whose prompts are new; the order does not depend on ``jobs``."""
    for record in _drawn(plan, family.name, split):
        key = hashlib.blake2b(record["prompt"].encode(), digest_size=12).digest()
        if key not in seen:
            seen.add(key)
            yield record


def _drawn(plan: ProceduralBuild, family: str, split: str) -> Iterator[Record]:
    if plan.jobs == 1:
        first = 0
        while True:
            yield from draw(family, plan.seed, split, first)
            first += CHUNK
    with ProcessPoolExecutor(plan.jobs) as pool:
        ahead = [pool.submit(draw, family, plan.seed, split, i * CHUNK) for i in range(2 * plan.jobs)]
        first = CHUNK * len(ahead)
        try:
            while True:
                yield from ahead.pop(0).result()
                ahead.append(pool.submit(draw, family, plan.seed, split, first))
                first += CHUNK
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def draw(family: str, seed: int, split: str, first: int) -> list[Record]:
    """Items ``first`` to ``first + CHUNK - 1`` of a split, before repeated prompts are left out."""
    sample = load_family(family).sample
    return [_one(sample, family, seed, split, index) for index in range(first, first + CHUNK)]


def _one(
    sample: Callable[[random.Random, str], Record | None], family: str, seed: int, split: str, index: int
) -> Record:
    rng = random.Random(_number(seed, family, split, index))
    for _ in range(TRIES):
        record = sample(rng, split)
        if record is not None:
            return record
    raise DlmrtError(f"the family '{family}' drew no item for split '{split}' in {TRIES} tries")


def _number(*parts: object) -> int:
    digest = hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:16], "big")


def _spread(lengths: list[int]) -> dict[str, float]:
    ranked = sorted(lengths)
    return {
        "mean": round(statistics.fmean(ranked), 1),
        "p10": ranked[len(ranked) // 10],
        "p90": ranked[9 * len(ranked) // 10],
        "most": ranked[-1],
    }
