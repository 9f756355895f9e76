"""Find documents under folders and turn each one into paragraphs of plain text."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dlmrt.datasets.markup import html_blocks, pod_blocks, text_blocks
from dlmrt.errors import DataError

READERS: dict[str, Callable[[str], list[str]]] = {
    "html": html_blocks,
    "htm": html_blocks,
    "xhtml": html_blocks,
    "xml": html_blocks,
    "docbook": html_blocks,
    "page": html_blocks,
    "txt": text_blocks,
    "md": text_blocks,
    "rst": text_blocks,
    "info": text_blocks,
    "dict": text_blocks,
    "pod": pod_blocks,
}
#: folders that repeat other documents, hold generated listings, or are written in another language
SKIPPED_FOLDERS = frozenset(
    {"_sources", "_static", "_modules", "_images", "licenses", "license-files", "node_modules", "__pycache__"}
)
MAX_DOCUMENT_BYTES = 4_000_000
_NAME = re.compile(
    r"\.(?P<ext>[A-Za-z]+)(?:\.(?P<language>(?!md\b|gz\b|dz\b)[a-z]{2}(?:[-_][A-Za-z]{2,4})?))?(?:\.(?:gz|dz))?$"
)
_LOCALE = re.compile(r"(?:[a-z]{2}|ast|nds|csb)(?:[-_@][A-Za-z]{2,8})?$")
_ENGLISH = re.compile(r"(?:en|en[-_][A-Za-z]{2}|C)$")


@dataclass(frozen=True)
class DocumentFile:
    """One document: ``name`` is '<source folder name>/<path below it>', the key of the split."""

    name: str
    source: str
    path: Path


def reader_for(file_name: str) -> Callable[[str], list[str]] | None:
    """The paragraph reader for a file name, or None when the format is not read or not English."""
    match = _NAME.search(file_name)
    if match is None:
        return None
    language = match["language"]
    if language and not _ENGLISH.match(language):
        return None
    return READERS.get(match["ext"].lower())


def find_documents(sources: Sequence[Path]) -> list[DocumentFile]:
    """All readable documents below the source folders, sorted by name.

    Raises DataError for a source that is not a folder, two sources of one name, or no document at all.
    """
    found: list[DocumentFile] = []
    seen: dict[str, Path] = {}
    for source in sources:
        if not source.is_dir():
            raise DataError(f"source '{source}' is not a folder; give folders that hold documents")
        label = source.resolve().name
        if label in seen:
            raise DataError(
                f"sources '{seen[label]}' and '{source}' have the same folder name '{label}'; "
                "the name is part of the split rule, so rename one of them"
            )
        seen[label] = source
        found.extend(_walk(source, label))
    if not found:
        kinds = ", ".join(f".{ext}" for ext in READERS)
        raise DataError(
            f"no documents found below {', '.join(map(str, sources))}; looked for {kinds} (also with .gz)"
        )
    return sorted(found, key=lambda document: document.name)


def _walk(source: Path, label: str) -> Iterator[DocumentFile]:
    for folder, subfolders, files in os.walk(source):
        subfolders[:] = sorted(name for name in subfolders if not _skipped(name, subfolders))
        for file_name in sorted(files):
            path = Path(folder) / file_name
            if reader_for(file_name) is None or path.is_symlink() or not path.is_file():
                continue
            if path.stat().st_size > MAX_DOCUMENT_BYTES:
                continue
            yield DocumentFile(f"{label}/{path.relative_to(source).as_posix()}", label, path)


def _skipped(name: str, siblings: Sequence[str]) -> bool:
    """A folder is another language's when it is named like a locale beside one named like English."""
    if name in SKIPPED_FOLDERS:
        return True
    english = any(_ENGLISH.match(other) for other in siblings)
    return english and bool(_LOCALE.match(name)) and not _ENGLISH.match(name)


def read_document(document: DocumentFile) -> tuple[str, list[str]]:
    """Return (sha256 of the file as stored, paragraphs).

    A file that cannot be read or unpacked raises DataError with its path.
    """
    try:
        raw = document.path.read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        if document.path.suffix in {".gz", ".dz"}:
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read document '{document.path}': {error}; remove or repair it") from error
    reader = reader_for(document.path.name)
    if reader is None:
        raise DataError(f"cannot read document '{document.path}': its format is not known")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return digest, reader(text)
