"""JSONL records: good ones through, bad ones named by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlmrt.datasets.records import iterate_records
from dlmrt.errors import DataError

FIELDS = {"prompt": str, "answer": str}


def test_records_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "a", "answer": "b", "x": 1}\n\n{"prompt": "c", "answer": "d"}')
    assert [record["prompt"] for record in iterate_records(path, FIELDS)] == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no records"),
        ("\n\n", "holds no records"),
        ("{", r"a\.jsonl:1: not JSON"),
        (
            '\n{"prompt": "a"}',
            r"a\.jsonl:2: no field 'answer'; each line needs prompt \(str\), answer \(str\)",
        ),
        ('{"prompt": 1, "answer": "b"}', r"a\.jsonl:1: 'prompt' is a int"),
        ("[1]", r"a\.jsonl:1: a list"),
        ("[" * 100_000, r"a\.jsonl:1: not JSON"),
    ],
)
def test_bad_records(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        list(iterate_records(path, FIELDS))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read"):
        list(iterate_records(tmp_path / "none.jsonl", FIELDS))
    with pytest.raises(DataError, match="cannot read"):
        list(iterate_records(tmp_path, FIELDS))
    (tmp_path / "a.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not UTF-8"):
        list(iterate_records(tmp_path / "a.jsonl", FIELDS))
