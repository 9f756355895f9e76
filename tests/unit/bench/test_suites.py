from __future__ import annotations

import hashlib
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from dlmrt.bench.suites import SUITE_NAMES, Suite, SuitePrompt, load_suites, suite_path
from dlmrt.engine.text import TextCodec
from dlmrt.errors import DataError, DlmrtError, RequestError
from dlmrt.models.folder import open_folder
from dlmrt.models.registry import resolve
from dlmrt.stats.repetition import repeated_ngrams

# Prompts of each suite, and words of its shortest and its longest.
SIZES = {
    "chat": (20, 10, 80),
    "code": (18, 30, 200),
    "maths": (20, 15, 80),
    "long": (10, 800, 3000),
    "json": (16, 40, 150),
    "repair": (24, 8, 25),
}


@pytest.fixture(scope="module")
def shipped() -> dict[str, Suite]:
    return {suite.name: suite for suite in load_suites(["all"])}


def prompts(suites: dict[str, Suite]) -> list[tuple[str, SuitePrompt]]:
    return [(name, prompt) for name, suite in suites.items() for prompt in suite.prompts]


# What is shipped


def test_names_ids_and_texts(shipped: dict[str, Suite]) -> None:
    assert tuple(shipped) == SUITE_NAMES == tuple(SIZES)
    for suite in shipped.values():
        ids = [prompt.id for prompt in suite.prompts]
        assert len(set(ids)) == len(ids)
        assert all(name and name.isascii() and " " not in name for name in ids)
    texts = [" ".join(prompt.text.lower().split()) for _, prompt in prompts(shipped)]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", SUITE_NAMES)
def test_sizes(shipped: dict[str, Suite], name: str) -> None:
    count, least, most = SIZES[name]
    words = [len(prompt.text.split()) for prompt in shipped[name].prompts]
    assert len(words) == count
    assert least <= min(words) and max(words) <= most


def test_every_character_is_meant(shipped: dict[str, Suite]) -> None:
    for name, prompt in prompts(shipped):
        assert prompt.text == prompt.text.strip(), prompt.id
        odd = {c for c in prompt.text if not c.isprintable() and c != "\n"}
        assert not odd, (name, prompt.id, odd)
        assert "\ufffd" not in prompt.text
        if name in ("maths", "repair", "code"):
            assert prompt.text.isascii(), prompt.id


def test_no_prompt_repeats_itself(shipped: dict[str, Suite]) -> None:
    # Repeated text makes a decoder look fast. The two logs of `long` come highest, with 1 to 2 %.
    for name, prompt in prompts(shipped):
        repeated, total = repeated_ngrams(prompt.text.split(), n=8)
        assert repeated <= 0.05 * total, (name, prompt.id)


def test_no_text_is_shared_between_prompts(shipped: dict[str, Suite]) -> None:
    seen: dict[tuple[str, ...], str] = {}
    for name, prompt in prompts(shipped):
        words = prompt.text.split()
        for i in range(len(words) - 7):
            first = seen.setdefault(tuple(words[i : i + 8]), f"{name}/{prompt.id}")
            assert first == f"{name}/{prompt.id}", words[i : i + 8]


def test_long_prompts_end_with_their_question(shipped: dict[str, Suite]) -> None:
    for prompt in shipped["long"].prompts:
        _, mark, question = prompt.text.rpartition("\nQUESTION\n")
        assert mark and 20 <= len(question.split()) <= 200, prompt.id


def test_repair_fits_the_embedded_model(shipped: dict[str, Suite]) -> None:
    folder = open_folder(resolve(None))
    codec, context = TextCodec(folder), folder.config.max_positions
    for prompt in shipped["repair"].prompts:
        assert "\n" not in prompt.text
        assert prompt.max_new_tokens is not None
        # Control tokens and padding to a whole block included; a sentence has at most 100 tokens.
        ids = codec.encode_prompt(prompt.text)
        assert len([i for i in ids if i != folder.generation.diffusion.pad_token_id]) <= 102
        assert len(ids) + prompt.max_new_tokens <= context


def test_facts_name_the_bytes(shipped: dict[str, Suite]) -> None:
    for name, suite in shipped.items():
        data = suite_path(name).read_bytes()
        assert suite.data.file == f"{name}.jsonl"
        assert suite.data.sha256 == hashlib.sha256(data).hexdigest()
        assert suite.data.items == len(suite.prompts)
        assert suite.data.source == "written for dlmrt"
        assert data.endswith(b"\n") and b"\r" not in data


def test_the_documented_sizes(shipped: dict[str, Suite]) -> None:
    text = (Path(__file__).parents[3] / "docs" / "suites.md").read_text(encoding="utf-8")
    for name, suite in shipped.items():
        words = sorted(len(prompt.text.split()) for prompt in suite.prompts)
        middle = statistics.median_low(words)
        assert f"| `{name}` | {len(words)} | {words[0]}, {middle}, {words[-1]} |" in text


# The user's own


def test_a_jsonl_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    rows = [
        {"prompt": "first", "id": 7, "answer": "passed over"},
        {"prompt": " second ", "max_new_tokens": 3},
        {"id": "c", "prompt": "dritte, äöü"},
    ]
    path.write_text("\n\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    (suite,) = load_suites([str(path)])
    assert suite.name == "mine.jsonl"
    assert suite.prompts == (
        SuitePrompt("7", "first"),
        SuitePrompt("2", " second ", 3),
        SuitePrompt("c", "dritte, äöü"),
    )
    assert (suite.data.file, suite.data.items) == ("mine.jsonl", 3)


def test_a_text_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes("\ufeffone\r\n\n  \ntwo\x0cstill two\u2028and so on\nthree".encode())
    (suite,) = load_suites([str(path)])
    assert [(p.id, p.text) for p in suite.prompts] == [
        ("1", "one"),
        ("4", "two\x0cstill two\u2028and so on"),
        ("5", "three"),
    ]


def test_order_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x\n")
    assert [suite.name for suite in load_suites(["maths", str(path), "chat"])] == ["maths", "a.txt", "chat"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "no suite was given"),
        (["math"], "did you mean 'maths'"),
        (["prompts.csv"], "a file ending in .jsonl or .txt"),
        (["chat", "chat"], "'chat' was given twice"),
        (["all", "code"], "'code' was given twice"),
    ],
)
def test_names_that_are_refused(names: list[str], words: str) -> None:
    with pytest.raises(RequestError, match=words):
        load_suites(names)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.jsonl", b'{"prompt": "x", "id": "1"}\n{"prompt": "y", "id": 1}', "the same id '1'"),
        ("a.jsonl", b'{"prompt": "x", "id": 2}\n{"prompt": "y"}', "prompts 1 and 2 have the same id"),
        ("a.jsonl", b'{"prompt": "x", "id": ""}', "id is ''"),
        ("a.jsonl", b'{"prompt": "x", "id": true}', "id is True"),
        ("a.jsonl", b'{"prompt": "x", "max_new_tokens": 0}', "max_new_tokens is 0"),
        ("a.jsonl", b'{"prompt": "x", "max_new_tokens": "9"}', "max_new_tokens is '9'"),
        ("a.jsonl", b'{"prompt": " \\n"}', "prompt 1 is empty"),
        ("a.jsonl", b'{"text": "x"}', "no field 'prompt'"),
        ("a.jsonl", b"hello", "not JSON"),
        ("a.jsonl", b"", "holds no records"),
        ("a.txt", b"\n \n", "holds no prompts"),
        ("a.txt", b"ok\n\xff", "not UTF-8 at byte 3"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        load_suites([str(path)])
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: None])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_paths_that_are_no_files(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    path = tmp_path / name
    make(path)
    with pytest.raises(DlmrtError, match="cannot read"):
        load_suites([str(path)])


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.txt").write_text("x\n")
    with pytest.raises(RequestError, match=r"p\.txt' was given twice"):
        load_suites([str(tmp_path / "a" / "p.txt"), str(tmp_path / "b" / "p.txt")])
