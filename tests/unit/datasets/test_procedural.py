"""Generated sets: the same bytes for the same plan, whatever the processes; splits that do not meet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dlmrt.datasets.procedural import FAMILIES, ProceduralBuild, build_procedural
from dlmrt.errors import ConfigError, DataError
from dlmrt.evals.format import read_items

COUNTS = {"train": 300, "dev": 30, "test": 40}


def build(out: Path, family: str = "dates", **changes: Any) -> dict[str, Any]:
    return build_procedural(ProceduralBuild(family, out, **{"counts": COUNTS, "seed": 5, **changes}))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_writes_tasks_and_keeps_its_splits_apart(family: str, tmp_path: Path) -> None:
    manifest = build(tmp_path / "set", family)
    prompts: dict[str, set[str]] = {}
    for split, count in COUNTS.items():
        records = rows(tmp_path / "set" / f"{split}.jsonl")
        assert len(records) == count == manifest["files"][f"{split}.jsonl"]["items"]
        bare = [record["prompt"].partition(": ")[2] or record["prompt"] for record in records]
        prompts[split] = set(bare)
        assert len(prompts[split]) == count
    assert not prompts["train"] & prompts["test"] and not prompts["train"] & prompts["dev"]
    items, verifier = read_items(tmp_path / "set" / "test.jsonl")
    assert len(items) == COUNTS["test"] and verifier in ("number", "python_tests", "json", "exact")


def test_the_same_plan_gives_the_same_bytes_with_any_number_of_processes(tmp_path: Path) -> None:
    one = build(tmp_path / "one", counts={"train": 1_200, "test": 20})
    two = build(tmp_path / "two", counts={"train": 1_200, "test": 20}, jobs=2)
    assert one == two
    assert (tmp_path / "one" / "train.jsonl").read_bytes() == (tmp_path / "two" / "train.jsonl").read_bytes()
    assert build(tmp_path / "three", counts={"train": 1_200, "test": 20}, seed=6)["files"] != one["files"]


def test_a_share_of_the_training_prompts_has_no_prefix(tmp_path: Path) -> None:
    build(tmp_path / "set", bare_share=0.5)
    with_prefix = [r["prompt"].startswith("date: ") for r in rows(tmp_path / "set" / "train.jsonl")]
    assert 100 < sum(with_prefix) < 200
    assert all(r["prompt"].startswith("date: ") for r in rows(tmp_path / "set" / "test.jsonl"))


def test_what_cannot_be_built_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    for changes, message in (
        ({"counts": {"train": -1}}, "train is -1"),
        ({"counts": {"train": 0, "test": 0}}, "every count is 0"),
        ({"jobs": 0}, "jobs is 0"),
        ({"bare_share": 2.0}, "bare_share is 2.0"),
        ({"counts": {"harder": 3}}, "has no split 'harder'; it has train, dev, test"),
    ):
        with pytest.raises(ConfigError, match=message):
            build(tmp_path / "set", **changes)
    with pytest.raises(ConfigError, match="one of words, sums, python"):
        build(tmp_path / "set", "poems")
    (tmp_path / "mine").mkdir()
    with pytest.raises(DataError, match="choose another --out"):
        build(tmp_path / "mine")
    with pytest.raises(DataError, match="not a data set"):
        build(tmp_path / "mine", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
