"""Build the text repair data set: documents -> sentences -> splits -> pairs -> files and manifest."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlmrt.datasets import corpus, sentences
from dlmrt.datasets.corrupt import CLEAN_SHARE, MAX_ERRORS, MIX, WORDS_PER_ERROR
from dlmrt.datasets.output import Progress, open_target, sha256_of, write_manifest, writing
from dlmrt.datasets.prefix import check_bare_share, with_prefix
from dlmrt.datasets.repair import GENERATOR_VERSION, corrupt_pair
from dlmrt.errors import ConfigError, DataError

SPLITS = ("train", "dev", "test")
HELD_OUT_PER_MILLE = 25  # of the documents, for dev and for test each
OVERLAP_WORDS = 8
PER_DOCUMENT_HELD_OUT = 12
LEXICON_MIN_SENTENCES = 8
SPLIT_RULE = (
    "document: first 8 bytes of sha256('dlmrt.split:' + document name) mod 1000; "
    f"below {HELD_OUT_PER_MILLE} test, below {2 * HELD_OUT_PER_MILLE} dev, else train; "
    "a sentence whose normalised form is in a test document is dropped from dev and train, "
    "one in a dev document from train; train and dev sentences sharing "
    f"{OVERLAP_WORDS} consecutive words with a chosen test (train: or dev) sentence are dropped"
)


@dataclass(frozen=True)
class RepairBuild:
    """What to build. Counts are sentences; ``max_train`` None keeps all of them.

    prefix: put before the prompts of train.jsonl, but for a share ``bare_share`` of them; dev and test
    stay as they are, with settings beside them that put it there (docs/tasks.md).
    """

    sources: tuple[Path, ...]
    out: Path
    seed: int = 0
    max_train: int | None = None
    dev: int = 1500
    test: int = 1500
    train_copies: int = 1
    max_per_source: int = 60_000
    jobs: int = 1
    force: bool = False
    prefix: str = ""
    bare_share: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("dev", 0), ("test", 1), ("train_copies", 1), ("max_per_source", 1), ("jobs", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        check_bare_share(self.bare_share)
        if self.max_train is not None and self.max_train < 1:
            raise ConfigError(f"max_train is {self.max_train}; it must be at least 1, or left out for all")


@dataclass(frozen=True)
class Sentence:
    """A clean sentence and the document it comes from."""

    text: str
    document: str
    source: str


def split_of(document: str) -> str:
    """The split of a document name: fixed by the name alone, whatever the seed."""
    digest = hashlib.sha256(f"dlmrt.split:{document}".encode()).digest()
    bucket = int.from_bytes(digest[:8], "big") % 1000
    return "test" if bucket < HELD_OUT_PER_MILLE else "dev" if bucket < 2 * HELD_OUT_PER_MILLE else "train"


def build_repair(plan: RepairBuild, progress: Progress = lambda stage, done, total: None) -> dict[str, Any]:
    """Build the set and return its manifest.

    Writes train.jsonl, dev.jsonl, test.jsonl, train.sentences.txt, words.txt, sources.txt and
    manifest.json beside the target and renames the folder at the end. Raises DataError when the
    target may not be written (see :func:`open_target`), a source is missing or unreadable, or there are
    fewer held-out sentences than asked for.
    """
    target = _target(plan)
    documents = corpus.find_documents(plan.sources)
    collected, hashes = _collect(documents, plan.jobs, progress)
    lexicon = _lexicon(collected)
    kept = [item for item in collected if sentences.known_words(item.text, lexicon)]
    chosen = _choose(kept, plan)
    with writing(target) as aside:
        files = {
            f"{name}.jsonl": _write_pairs(aside, name, plan, chosen, lexicon, progress) for name in SPLITS
        }
        lists = {
            "train.sentences.txt": [item.text for item in chosen["train"]],
            "words.txt": sorted(lexicon),
            "sources.txt": [f"{hashes[document.name]}  {document.name}" for document in documents],
        }
        files |= {name: _write_lines(aside / name, lines) for name, lines in lists.items()}
        if plan.prefix:
            for name in ("dev", "test"):
                settings = json.dumps({"template": f"{plan.prefix}{{prompt}}"}) + "\n"
                (aside / f"{name}.task.json").write_text(settings, encoding="utf-8")
        manifest = _manifest(plan, files, _source_report(documents, hashes, chosen))
        manifest["sentences"] = {"plausible": len(collected), "of_known_words": len(kept)}
        write_manifest(aside, manifest)
    return manifest


def _target(plan: RepairBuild) -> Path:
    """The folder to write: :func:`open_target`, and outside the sources, which the next build reads."""
    target = plan.out.resolve()
    for source in plan.sources:
        if target.is_relative_to(source.resolve()):
            raise DataError(f"--out '{plan.out}' lies in the source '{source}'; choose a folder outside")
    return open_target(plan.out, force=plan.force)


def extract(document: corpus.DocumentFile) -> tuple[str, list[str]]:
    """Return (sha256, distinct plausible sentences in order) of one document."""
    digest, blocks = corpus.read_document(document)
    found: dict[str, None] = {}
    for block in blocks:
        if len(block) < sentences.MIN_CHARS:
            continue
        for sentence in sentences.split_sentences(sentences.normalise(block)):
            if sentences.plausible(sentence):
                found[sentence] = None
    return digest, list(found)


def _collect(
    documents: Sequence[corpus.DocumentFile], jobs: int, progress: Progress
) -> tuple[list[Sentence], dict[str, str]]:
    """Extract all documents; of equal sentences the first in held-out-first document order stays."""
    hashes: dict[str, str] = {}
    by_document: dict[str, list[str]] = {}
    for done, (document, (digest, found)) in enumerate(zip(documents, _map(documents, jobs), strict=True), 1):
        hashes[document.name], by_document[document.name] = digest, found
        progress("documents", done, len(documents))
    order = {"test": 0, "dev": 1, "train": 2}
    seen: set[str] = set()
    out: list[Sentence] = []
    for document in sorted(documents, key=lambda item: (order[split_of(item.name)], item.name)):
        for text in by_document[document.name]:
            form = sentences.key(text)
            if form not in seen:
                seen.add(form)
                out.append(Sentence(text, document.name, document.source))
    return out, hashes


def _map(documents: Sequence[corpus.DocumentFile], jobs: int) -> Iterator[tuple[str, list[str]]]:
    if jobs == 1:
        yield from map(extract, documents)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(extract, documents, chunksize=16)


def _lexicon(items: Iterable[Sentence]) -> frozenset[str]:
    """Words that stand in lower case in enough sentences of at least two documents.

    A word mostly written with a capital inside sentences is a name ("linux") and left out.
    """
    counts: Counter[str] = Counter()
    capitals: Counter[str] = Counter()
    first: dict[str, str] = {}
    several: set[str] = set()
    for item in items:
        words = sentences.WORD.findall(item.text)
        capitals.update({word.lower() for word in words[1:] if word.istitle()})
        for word in {word for word in words if word.islower()}:
            counts[word] += 1
            if first.setdefault(word, item.document) != item.document:
                several.add(word)
    return frozenset(
        word
        for word in several
        if counts[word] >= LEXICON_MIN_SENTENCES and capitals[word] <= 3 * counts[word]
    )


def _rank(seed: int, text: str) -> bytes:
    """A fixed pseudo-random order of sentences."""
    return hashlib.sha256(f"dlmrt.rank:{seed}:{text}".encode()).digest()


def _choose(items: Sequence[Sentence], plan: RepairBuild) -> dict[str, list[Sentence]]:
    pools: dict[str, list[Sentence]] = {name: [] for name in SPLITS}
    for item in sorted(items, key=lambda item: _rank(plan.seed, item.text)):
        pools[split_of(item.document)].append(item)
    test = _held_out(pools["test"], plan.test, "test", set())
    seen = _overlaps(test)
    dev = _held_out(pools["dev"], plan.dev, "dev", seen)
    seen |= _overlaps(dev)
    train: list[Sentence] = []
    per_source: Counter[str] = Counter()
    for item in pools["train"]:
        if plan.max_train is not None and len(train) >= plan.max_train:
            break
        if per_source[item.source] < plan.max_per_source and seen.isdisjoint(_grams(item)):
            per_source[item.source] += 1
            train.append(item)
    if not train:
        raise DataError("no training sentence is left; give more documents")
    return {"train": train, "dev": dev, "test": test}


def _held_out(pool: Sequence[Sentence], wanted: int, name: str, excluded: set[str]) -> list[Sentence]:
    out: list[Sentence] = []
    per_document: Counter[str] = Counter()
    for item in pool:
        if len(out) == wanted:
            break
        if per_document[item.document] < PER_DOCUMENT_HELD_OUT and excluded.isdisjoint(_grams(item)):
            per_document[item.document] += 1
            out.append(item)
    if len(out) < wanted:
        raise DataError(
            f"only {len(out)} {name} sentences can be had from these documents, {wanted} were asked for; "
            f"give more documents or a smaller --{name}"
        )
    return out


def _grams(item: Sentence) -> list[str]:
    return sentences.ngrams(item.text, OVERLAP_WORDS)


def _overlaps(items: Iterable[Sentence]) -> set[str]:
    return {gram for item in items for gram in _grams(item)}


def _write_pairs(
    folder: Path,
    name: str,
    plan: RepairBuild,
    chosen: dict[str, list[Sentence]],
    lexicon: frozenset[str],
    progress: Progress,
) -> dict[str, Any]:
    """Write one split; only dev and test, which are scored, carry their errors."""
    mix: Counter[str] = Counter()
    clean = characters = done = 0
    copies = plan.train_copies if name == "train" else 1
    total = len(chosen[name]) * copies
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as stream:
        for copy in range(copies):
            for item in chosen[name]:
                pair = corrupt_pair(item.text, plan.seed, copy, lexicon)
                record = pair.record({"split": name, "doc": item.document}, errors=name != "train")
                if name == "train":
                    given = (plan.seed, copy, item.text)
                    record["prompt"] = with_prefix(pair.prompt, plan.prefix, plan.bare_share, *given)
                stream.write(json.dumps(record) + "\n")
                mix.update(error.type for error in pair.errors)
                clean += not pair.errors
                characters += len(item.text)
                done += 1
                if done % 1000 == 0 or done == total:
                    progress(f"{name} pairs", done, total)
    return {
        "sha256": sha256_of(folder / f"{name}.jsonl"),
        "pairs": total,
        "sentences": len(chosen[name]),
        "documents": len({item.document for item in chosen[name]}),
        "answer_characters": characters,
        "left_clean": clean,
        "errors": dict(sorted(mix.items())),
    }


def _write_lines(path: Path, lines: Sequence[str]) -> dict[str, Any]:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return {"sha256": sha256_of(path), "lines": len(lines)}


def _manifest(plan: RepairBuild, files: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
    options = ["max_train", "dev", "test", "train_copies", "max_per_source"]
    if plan.prefix:  # a set without one keeps the manifest that it always had
        options += ["prefix", "bare_share"]
    return {
        "format": "dlmrt.data/1",
        "family": "repair",
        "generator_version": GENERATOR_VERSION,
        "seed": plan.seed,
        "options": {name: getattr(plan, name) for name in options},
        "split_rule": SPLIT_RULE,
        "corruption": {
            "clean_share": CLEAN_SHARE,
            "words_per_error": WORDS_PER_ERROR,
            "max_errors": MAX_ERRORS,
            "mix": MIX,
        },
        "files": files,
        "sources": sources,
    }


def _source_report(
    documents: Sequence[corpus.DocumentFile], hashes: dict[str, str], chosen: dict[str, list[Sentence]]
) -> list[dict[str, Any]]:
    """Per source folder: number of documents, one hash over all of them, sentences used by split."""
    listing: dict[str, list[str]] = defaultdict(list)
    for document in documents:
        listing[document.source].append(f"{hashes[document.name]}  {document.name}\n")
    used = {name: Counter(item.source for item in chosen[name]) for name in SPLITS}
    return [
        {
            "name": source,
            "documents": len(lines),
            "sha256": hashlib.sha256("".join(lines).encode()).hexdigest(),
            "sentences": {name: used[name][source] for name in SPLITS},
        }
        for source, lines in sorted(listing.items())
    ]
