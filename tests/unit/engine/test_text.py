from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

from dlmrt.config import PromptFormat
from dlmrt.engine.text import TextCodec
from dlmrt.errors import ConfigError, MissingExtraError, PromptError
from dlmrt.models.folder import open_folder
from tests import tiny_folder as tiny

CHATML = (
    "{% for m in messages %}<task>{{ m.role }}\n{{ m.content }}<eos>\n{% endfor %}"
    "{% if add_generation_prompt %}<task>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def codec(folder: Path) -> TextCodec:
    return TextCodec(open_folder(folder))


def codec_with(path: Path, **changes: Any) -> TextCodec:
    return TextCodec(open_folder(tiny.write_folder(path, **changes)))


def test_the_prompt_format_frames_and_aligns(codec: TextCodec) -> None:
    ids = codec.encode_prompt("abx")
    assert ids == [tiny.TASK, *tiny.encode("abx"), *[tiny.PAD] * (8 - 1 - len(tiny.encode("abx")))]
    assert len(codec.encode_prompt("1234567")) == 8  # full: no padding
    assert len(codec.encode_prompt("12345678")) == 16


def test_b01_a_spelled_control_token_is_text(codec: TextCodec) -> None:
    ids = codec.encode_prompt("a<mask>b<eos><pad>")
    assert ids[0] == tiny.TASK
    text = ids[1:19]
    assert not {tiny.MASK, tiny.EOS, tiny.PAD, tiny.TASK} & set(text)
    assert codec.decode(ids) == "a<mask>b<eos><pad>"


def test_b01_ids_outside_the_vocabulary_or_reserved_are_refused(codec: TextCodec) -> None:
    prompt = codec.encode_prompt("ab")
    assert codec.check_ids(prompt) == prompt  # with the format's own control ids
    size = codec._vocab_size
    for bad, words in ((size, f"0 to {size - 1}"), (-1, "outside"), (tiny.MASK, "<mask>"), ("a", "integers")):
        with pytest.raises(PromptError, match=words):
            codec.check_ids([10, bad])


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_b03_an_empty_prompt_says_what_to_do(codec: TextCodec, text: str) -> None:
    with pytest.raises(PromptError, match="give the text"):
        codec.encode_prompt(text)


def test_b03_a_long_text_is_refused_with_both_numbers(codec: TextCodec) -> None:
    codec.encode_prompt("7" * 40)
    with pytest.raises(PromptError, match=r"41 tokens.*at most 40"):
        codec.encode_prompt("7" * 41)


def test_b03_a_huge_text_is_refused_without_tokenising_it(
    codec: TextCodec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: TextCodec, text: str) -> list[int]:
        raise AssertionError("it was tokenised")

    monkeypatch.setattr(TextCodec, "_encode", fail)
    with pytest.raises(PromptError, match=r"at least \d+ tokens.*at most 40"):
        codec.encode_prompt("a" * 50_000_000)


@pytest.mark.parametrize("text", ["a\udcffb", b"bytes", 5, None])
def test_what_is_no_text_is_refused(codec: TextCodec, text: Any) -> None:
    with pytest.raises(PromptError):
        codec.encode_prompt(text)


def test_decoding_leaves_control_tokens_out(codec: TextCodec) -> None:
    ids = [tiny.TASK, *tiny.encode("ab"), tiny.MASK, *tiny.encode("c"), tiny.EOS, tiny.PAD]
    assert codec.decode(ids) == "abc"
    assert codec.decode([]) == ""
    assert codec.token_text(tiny.MASK) == "<mask>"


def test_b08_text_handed_out_never_changes(codec: TextCodec) -> None:
    rng = random.Random(1)
    for _ in range(60):
        text = "".join(rng.choices("a é€😀\n字\ufffdthe ", k=rng.randint(0, 30)))
        ids = tiny.encode(text)
        decoder = codec.incremental()
        shown = ""
        for token in ids:
            shown += decoder.feed(token)
            assert text.startswith(shown)
        assert shown + decoder.flush() == text


def test_b08_broken_bytes_are_settled_by_what_follows(codec: TextCodec) -> None:
    rng = random.Random(2)
    alphabet = tiny.encode("a€😀é ab")
    for _ in range(200):  # any order of bytes, valid or not, as a model might emit
        ids = rng.choices(alphabet, k=rng.randint(0, 60))
        decoder = codec.incremental()
        shown = "".join(decoder.feed(token) for token in ids) + decoder.flush()
        assert shown == codec.decode(ids)


def test_b08_half_a_character_is_pending(codec: TextCodec) -> None:
    decoder = codec.incremental()
    first, *rest = tiny.encode("😀")
    assert decoder.feed(first) == ""
    assert decoder.pending
    assert "".join(map(decoder.feed, rest)) == "😀"
    assert not decoder.pending


def test_without_a_template_the_last_user_message_is_the_prompt(codec: TextCodec) -> None:
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    assert not codec.has_chat_template
    assert codec.encode_messages(messages) == codec.encode_prompt("three")
    with pytest.raises(PromptError, match="no user message"):
        codec.encode_messages(messages[1:2])
    with pytest.raises(PromptError, match=r"message 0 .*'content'"):
        codec.encode_messages([{"role": "user"}])


def test_b01_in_a_chat_template_only_the_template_writes_control_tokens(tmp_path: Path) -> None:
    codec = codec_with(tmp_path / "m", chat_template=CHATML)
    messages = [{"role": "user", "content": "a<eos>\n<task>\ue000b"}]
    expected = [tiny.TASK, *tiny.encode("user\na"), *plain(codec, "<eos>"), *tiny.encode("\n")]
    expected += [*plain(codec, "<task>"), *tiny.encode("\ue000b"), tiny.EOS, *tiny.encode("\n")]
    expected += [tiny.TASK, *tiny.encode("assistant\n")]
    assert codec.encode_messages(messages) == expected
    assert codec.encode_prompt("hi") == codec.encode_messages([{"role": "user", "content": "hi"}])


def plain(codec: TextCodec, text: str) -> list[int]:
    """``text`` as the codec encodes what a user wrote, without any frame."""
    return codec._encode(text)


def test_a_template_that_refuses_is_a_prompt_error(tmp_path: Path) -> None:
    codec = codec_with(tmp_path / "m", chat_template="{{ raise_exception('roles must alternate') }}")
    with pytest.raises(PromptError, match="roles must alternate"):
        codec.encode_prompt("hi")


def test_a_template_that_is_none_is_reported_with_its_line(tmp_path: Path) -> None:
    codec = codec_with(tmp_path / "m", chat_template="hello\n{% for m in %}\n")
    with pytest.raises(ConfigError, match=r"chat_template\.jinja' is no valid template: line 2: "):
        codec.encode_prompt("hi")


@pytest.mark.parametrize(
    ("template", "kind"),
    [
        ("{{ 1 // 0 }}", "ZeroDivisionError"),
        ("{{ messages[0] + 1 }}", "TypeError"),
        ("{% include 'other' %}", "TypeError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
        ("{{ range(999999999) }}", "OverflowError"),
    ],
)
def test_whatever_fails_in_a_template_is_a_prompt_error(tmp_path: Path, template: str, kind: str) -> None:
    codec = codec_with(tmp_path / "m", chat_template=template)
    with pytest.raises(PromptError, match=rf"chat template '.*' fails on this conversation: {kind}: "):
        codec.encode_prompt("hi")


def test_broken_files_beside_a_template_are_named(tmp_path: Path) -> None:
    codec = codec_with(tmp_path / "m", chat_template=CHATML)
    path = tmp_path / "m" / "tokenizer_config.json"
    for text in ("{", "[]"):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"tokenizer_config\.json"):
            codec.encode_prompt("hi")
    path.unlink()
    (tmp_path / "m" / "chat_template.jinja").write_bytes(b"ab\xff")
    with pytest.raises(ConfigError, match=r"chat_template\.jinja' is not UTF-8: .* offset 2"):
        codec.encode_prompt("hi")


def test_a_template_without_jinja2_names_its_own_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = codec_with(tmp_path / "m", chat_template=CHATML)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dlmrt\[chat\]'"):
        codec.encode_prompt("hi")


@pytest.mark.parametrize("attack", ["{{ ''.__class__.__mro__ }}", "{{ messages.append(1) }}"])
def test_a_template_runs_in_a_sandbox(tmp_path: Path, attack: str) -> None:
    codec = codec_with(tmp_path / "m", chat_template=attack)
    with pytest.raises(PromptError, match="chat template"):
        codec.encode_prompt("hi")


def test_a_format_that_names_an_unknown_token_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'<tsk>'.*did you mean '<task>'"):
        codec_with(tmp_path / "m", prompt=PromptFormat(suffix=("<tsk>",)))


def test_a_tokenizer_that_is_missing_broken_or_too_large(tmp_path: Path) -> None:
    folder = open_folder(tiny.write_folder(tmp_path / "m"))
    path = folder.path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(ConfigError, match=r"tokenizer\.json"):
        TextCodec(folder)
    path.write_text(tiny.tokenizer_json().replace('"vocab":{', '"vocab":{"zz":9000,"zy":9001,'))
    with pytest.raises(ConfigError, match="don't belong together"):
        TextCodec(folder)
    path.unlink()
    with pytest.raises(ConfigError, match="no tokenizer"):
        TextCodec(folder)
