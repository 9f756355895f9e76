"""JSONL records: good ones through, bad ones named by line."""

from __future__ import annotations

import gzip
import json
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
    with pytest.raises(DataError, match=r"a\.jsonl:1: not UTF-8"):
        list(iterate_records(tmp_path / "a.jsonl", FIELDS))
    (tmp_path / "a.jsonl").write_bytes(b'{"prompt": "a", "answer": "b"}\n\n{"prompt": "\xff"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:3: not UTF-8"):
        list(iterate_records(tmp_path / "a.jsonl", FIELDS))


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"prompt": "a", "answer": "b"}\n', encoding="utf-8-sig")
    assert list(iterate_records(tmp_path / "a.jsonl", FIELDS)) == [{"prompt": "a", "answer": "b"}]


def test_a_compressed_file_is_read_and_damage_is_named_by_line(tmp_path: Path) -> None:
    lines = [json.dumps({"prompt": f"{i * 7919 % 1000}", "answer": "é"}) for i in range(2000)]
    whole = gzip.compress(("\n".join(lines) + "\n").encode())
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(whole)
    assert [json.dumps(record) for record in iterate_records(path, FIELDS)] == lines
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"a\.jsonl\.gz:\d+: the gzip data is damaged or cut short"):
        list(iterate_records(path, FIELDS))
    path.write_bytes(whole[:10] + b"\xff" * 40 + whole[50:])  # behind the header: no valid block
    with pytest.raises(DataError, match=r"a\.jsonl\.gz:\d+: the gzip data is damaged"):
        list(iterate_records(path, FIELDS))
    path.write_bytes(b"plain text")
    with pytest.raises(DataError, match=r"a\.jsonl\.gz:1: the gzip data is damaged"):
        list(iterate_records(path, FIELDS))


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"prompt": "a", "answer": "b"}\n{"prompt": "ab\\ud83d", "answer": "b"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl:2: 'prompt' holds the lone surrogate U\+D83D at char"):
        list(iterate_records(path, FIELDS))
    path.write_text('{"prompt": "\\ud83d\\ude00", "answer": "b"}\n')
    assert next(iterate_records(path, FIELDS))["prompt"] == "\U0001f600"
