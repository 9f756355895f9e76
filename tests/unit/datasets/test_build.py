"""The whole build on small documents: same seed same bytes, nothing leaks, nothing half written."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dlmrt.datasets import build as build_module
from dlmrt.datasets.build import RepairBuild, build_repair, split_of
from dlmrt.datasets.sentences import key, ngrams
from dlmrt.errors import ConfigError, DataError

SUBJECTS = (
    "server",
    "client",
    "reader",
    "writer",
    "kernel",
    "driver",
    "parser",
    "printer",
    "editor",
    "browser",
)
VERBS = ("opens", "closes", "checks", "copies", "removes", "renames")
OBJECTS = ("file", "folder", "buffer", "socket", "window", "record", "table", "packet")
TIMES = ("at the start", "at the end", "for each user", "with no delay", "in the night", "by default")
SHARED = "This very long sentence stands word for word in each and every one of the documents."


def sentence(number: int) -> str:
    parts = [names[number // step % len(names)] for names, step in
             ((SUBJECTS, 1), (VERBS, 10), (OBJECTS, 60), (TIMES, 480))]  # fmt: skip
    return f"The {parts[0]} {parts[1]} the {parts[2]} {parts[3]}, and then it is done."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """60 documents of 20 sentences, each with one that all share and one that its neighbour repeats."""
    folder = tmp_path / "manual"
    folder.mkdir()
    for document in range(60):
        own = [sentence(7 * (20 * document + i)) for i in range(20)]
        again = sentence(7 * (20 * (document + 1))).upper().capitalize()
        text = "".join(f"<p>{text}</p>\n" for text in [SHARED, *own, again])
        (folder / f"page{document}.html").write_text(text)
    return folder


@pytest.fixture(autouse=True)
def more_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """One document in eight for test and one for dev: with so few documents 2.5 % may be none."""
    monkeypatch.setattr(build_module, "HELD_OUT_PER_MILLE", 125)
    monkeypatch.setattr(build_module, "OVERLAP_WORDS", 12)  # the made-up sentences are alike


def plan(source: Path, out: Path, **more: Any) -> RepairBuild:
    return RepairBuild((source,), out, **{"seed": 1, "dev": 20, "test": 30, **more})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_and_manifest(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    manifest = build_repair(plan(source, out, train_copies=2))
    assert json.loads((out / "manifest.json").read_text()) == manifest
    assert {path.name for path in out.iterdir()} == {*manifest["files"], "manifest.json"}
    for name, facts in manifest["files"].items():
        data = (out / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == facts["sha256"]
        assert data.count(b"\n") == facts.get("pairs", facts.get("lines"))
    test = lines(out / "test.jsonl")
    assert len(test) == 30
    assert {record["split"] for record in test} == {"test"}
    assert Counter(e["type"] for r in test for e in r["errors"]) == manifest["files"]["test.jsonl"]["errors"]
    train = lines(out / "train.jsonl")
    texts = (out / "train.sentences.txt").read_text().splitlines()
    assert [record["answer"] for record in train] == texts * 2
    assert any(a["prompt"] != b["prompt"] for a, b in zip(train, train[len(texts) :], strict=False))
    assert "server" in (out / "words.txt").read_text().split()
    hashes = dict(reversed(line.split("  ")) for line in (out / "sources.txt").read_text().splitlines())
    page = (source / "page7.html").read_bytes()
    assert hashes["manual/page7.html"] == hashlib.sha256(page).hexdigest()
    assert manifest["sources"][0]["documents"] == len(hashes) == 60
    assert not list(out.parent.glob(".*"))


def test_same_seed_same_bytes_whatever_the_jobs(source: Path, tmp_path: Path) -> None:
    build_repair(plan(source, tmp_path / "a"))
    build_repair(plan(source, tmp_path / "b", jobs=2))
    build_repair(plan(source, tmp_path / "c", seed=2))
    assert content(tmp_path / "a") == content(tmp_path / "b")
    assert content(tmp_path / "a")["test.jsonl"] != content(tmp_path / "c")["test.jsonl"]


def test_no_sentence_and_no_document_in_two_splits(source: Path, tmp_path: Path) -> None:
    build_repair(plan(source, tmp_path / "out"))
    splits = {name: lines(tmp_path / "out" / f"{name}.jsonl") for name in ("train", "dev", "test")}
    for one, other in itertools.combinations(splits, 2):
        for field in (lambda r: r["doc"], lambda r: key(r["answer"])):
            assert not {field(r) for r in splits[one]} & {field(r) for r in splits[other]}
    for name, records in splits.items():
        assert {split_of(record["doc"]) for record in records} == {name}
    answers = [record["answer"] for records in splits.values() for record in records]
    assert len({key(text) for text in answers}) == len(answers)


def test_long_overlaps_with_the_test_set_leave_train(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = build_repair(plan(source, tmp_path / "a"))["files"]["train.jsonl"]["sentences"]
    monkeypatch.setattr(build_module, "OVERLAP_WORDS", 9)
    after = build_repair(plan(source, tmp_path / "b", dev=5, test=5))["files"]["train.jsonl"]["sentences"]
    held = {
        g
        for n in ("dev", "test")
        for r in lines(tmp_path / "b" / f"{n}.jsonl")
        for g in ngrams(r["answer"], 9)
    }
    assert after < before
    assert not [r for r in lines(tmp_path / "b" / "train.jsonl") if held & set(ngrams(r["answer"], 9))]


def test_limits(source: Path, tmp_path: Path) -> None:
    manifest = build_repair(plan(source, tmp_path / "a", max_train=17))
    assert manifest["files"]["train.jsonl"]["pairs"] == 17
    manifest = build_repair(plan(source, tmp_path / "b", max_per_source=11))
    assert manifest["sources"][0]["sentences"]["train"] == 11


def test_an_existing_set_is_replaced_only_with_force(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    build_repair(plan(source, out))
    (out / "stray").touch()
    with pytest.raises(DataError, match="exists; choose another --out or pass --force"):
        build_repair(plan(source, out))
    build_repair(plan(source, out, seed=2, force=True))
    assert not (out / "stray").exists()
    assert not list(tmp_path.glob(".out*"))


def test_force_does_not_delete_what_is_no_data_set(source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "letter.txt").write_text("precious")
    with pytest.raises(DataError, match=r"no manifest\.json"):
        build_repair(plan(source, home, force=True))
    assert (home / "letter.txt").exists()


def test_out_in_a_source_is_refused(source: Path) -> None:
    with pytest.raises(DataError, match="lies in the source"):
        build_repair(plan(source, source / "out"))


def test_a_failed_build_leaves_nothing_and_keeps_the_old_set(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    build_repair(plan(source, out))
    before = content(out)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build_module, "_write_lines", full)
    with pytest.raises(OSError, match="No space"):
        build_repair(plan(source, out, seed=2, force=True))
    assert content(out) == before
    assert {path.name for path in tmp_path.iterdir()} == {"out", "manual"}


def test_too_few_sentences(source: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"only \d+ test sentences .* 5000 were asked for; .* smaller --test"):
        build_repair(plan(source, tmp_path / "out", test=5000))


@pytest.mark.parametrize(
    "change", [{"test": 0}, {"dev": -1}, {"train_copies": 0}, {"jobs": 0}, {"max_train": 0}]
)
def test_bad_options(source: Path, change: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(change))} is"):
        replace(plan(source, source), **change)


def test_progress_reaches_the_end(source: Path, tmp_path: Path) -> None:
    seen: dict[str, tuple[int, int]] = {}
    build_repair(
        plan(source, tmp_path / "out"), lambda stage, done, total: seen.update({stage: (done, total)})
    )
    assert set(seen) == {"documents", "train pairs", "dev pairs", "test pairs"}
    assert all(done == total for done, total in seen.values())


def test_a_prefix_for_training_and_settings_for_evaluation(source: Path, tmp_path: Path) -> None:
    plain, marked = tmp_path / "plain", tmp_path / "marked"
    build_repair(plan(source, plain))
    build_repair(plan(source, marked, prefix="repair: ", bare_share=0.5))
    for name in ("dev.jsonl", "test.jsonl"):
        assert (plain / name).read_bytes() == (marked / name).read_bytes()
    bare, given = (
        [record["prompt"] for record in lines(folder / "train.jsonl")] for folder in (plain, marked)
    )
    with_prefix = [prompt.startswith("repair: ") for prompt in given]
    assert 0 < sum(with_prefix) < len(given)
    assert [prompt.removeprefix("repair: ") for prompt in given] == bare
    assert json.loads((marked / "test.task.json").read_text()) == {"template": "repair: {prompt}"}
    assert not (plain / "test.task.json").exists()
