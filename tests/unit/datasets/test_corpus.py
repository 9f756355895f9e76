"""Finding documents and reading them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dlmrt.datasets.corpus import MAX_DOCUMENT_BYTES, find_documents, read_document, reader_for
from dlmrt.datasets.markup import html_blocks, pod_blocks, text_blocks
from dlmrt.errors import DataError


def write(path: Path, data: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@pytest.mark.parametrize(
    ("name", "reader"),
    [
        ("a.html", html_blocks),
        ("a.HTML", html_blocks),
        ("a.html.gz", html_blocks),
        ("a.en.html", html_blocks),
        ("index.html.en", html_blocks),
        ("index.html.de", None),
        ("a.txt.gz", text_blocks),
        ("a.b.md", text_blocks),
        ("foldoc.dict.dz", text_blocks),
        ("a.pod", pod_blocks),
        ("a.py", None),
        ("README", None),
        ("a.tar.gz", None),
    ],
)
def test_reader_for(name: str, reader: object) -> None:
    assert reader_for(name) is reader


def test_documents_are_found_in_order_and_other_languages_left_out(tmp_path: Path) -> None:
    source = tmp_path / "manual"
    for name in (
        "b.html",
        "a/x.txt",
        "C/one.page",
        "de/one.page",
        "zh_CN/one.page",
        "_sources/s.rst",
        "x.png",
    ):
        write(source / name, "x")
    write(source / "big.txt", b"x" * (MAX_DOCUMENT_BYTES + 1))
    (source / "link.html").symlink_to(source / "b.html")
    names = [document.name for document in find_documents([source])]
    assert names == ["manual/C/one.page", "manual/a/x.txt", "manual/b.html"]


def test_a_folder_named_like_a_locale_alone_is_read(tmp_path: Path) -> None:
    write(tmp_path / "s" / "vi" / "a.txt", "x")
    assert [d.name for d in find_documents([tmp_path / "s"])] == ["s/vi/a.txt"]


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere' is not a folder"):
        find_documents([tmp_path / "nowhere"])


def test_no_documents(tmp_path: Path) -> None:
    write(tmp_path / "s" / "a.py", "x")
    with pytest.raises(DataError, match=r"no documents found below .*; looked for \.html.* \.pod"):
        find_documents([tmp_path / "s"])


def test_two_sources_of_one_name(tmp_path: Path) -> None:
    write(tmp_path / "x" / "s" / "a.txt", "x")
    write(tmp_path / "y" / "s" / "a.txt", "x")
    with pytest.raises(DataError, match="same folder name 's'"):
        find_documents([tmp_path / "x" / "s", tmp_path / "y" / "s"])


def test_packed_and_latin1_documents(tmp_path: Path) -> None:
    write(tmp_path / "s" / "a.txt.gz", gzip.compress(b"Some text."))
    write(tmp_path / "s" / "b.txt", b"caf\xe9")
    first, second = find_documents([tmp_path / "s"])
    assert read_document(first)[1] == ["Some text."]
    assert read_document(second)[1] == ["caf\u00e9"]


@pytest.mark.parametrize("data", [b"not gzip", gzip.compress(b"text" * 100)[:-20], b""])
def test_a_broken_document_is_named(tmp_path: Path, data: bytes) -> None:
    write(tmp_path / "s" / "a.txt.gz", data)
    document = find_documents([tmp_path / "s"])[0]
    if not data:  # an empty gzip file unpacks to nothing
        assert read_document(document)[1] == []
        return
    with pytest.raises(DataError, match=r"cannot read document '.*a\.txt\.gz'"):
        read_document(document)
