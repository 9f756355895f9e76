"""The trained tokenizer: deterministic, lossless, single digits; control tokens; the bulk encoder."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from dlmrt.config import PromptFormat
from dlmrt.errors import ConfigError
from dlmrt.train.config import (
    DataSection,
    DiffusionSection,
    ModelSection,
    TokenizerSection,
    TokenizerTraining,
    TrainConfig,
)
from dlmrt.train.metrics import SilentReporter
from dlmrt.train.prepare import make_tokenizer
from dlmrt.train.tokenizer import (
    BulkEncoder,
    control_tokens,
    diffusion_config,
    read_tokenizer,
    train_tokenizer,
)

TEXTS = ["The server's port is 8080 by default.", "don't restart the server; restart the service"] * 3
CONTROL = ("<|pad|>", "<|eos|>", "<|mask|>", "<|fix|>")
JSON = train_tokenizer(iter(TEXTS), TokenizerTraining(300), CONTROL)
TOKENIZER = read_tokenizer(JSON, "test")
ENCODER = BulkEncoder(TOKENIZER)


def test_training_is_deterministic_across_processes() -> None:
    code = (
        "import sys, hashlib; from dlmrt.train.tokenizer import train_tokenizer\n"
        "from dlmrt.train.config import TokenizerTraining\n"
        f"text = train_tokenizer(iter({TEXTS!r}), TokenizerTraining(300), {CONTROL!r})\n"
        "sys.stdout.write(hashlib.sha256(text.encode()).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == hashlib.sha256(JSON.encode()).hexdigest()


def test_control_tokens_get_the_first_ids_in_order() -> None:
    section = DiffusionSection(8)
    names = control_tokens(section, PromptFormat(("<|fix|>",), ("<|sep|>",)), ("<|fix|>", "<|x|>"))
    assert names == ("<|pad|>", "<|eos|>", "<|mask|>", "<|fix|>", "<|sep|>", "<|x|>")
    assert [TOKENIZER.token_to_id(name) for name in CONTROL] == [0, 1, 2, 3]
    assert "<|mask|>" not in control_tokens(DiffusionSection(8, "uniform"), PromptFormat())


def test_digits_are_single_and_words_are_merged() -> None:
    assert TOKENIZER.encode("12 8080").tokens == ["1", "2", "Ġ", "8", "0", "8", "0"]
    assert len(TOKENIZER.encode(" server").ids) == 1


@given(st.text())
@settings(max_examples=100, deadline=None)
def test_every_text_survives_a_round_trip(text: str) -> None:
    assert TOKENIZER.decode(TOKENIZER.encode(text).ids, skip_special_tokens=False) == text


def test_a_control_token_spelt_in_a_text_is_text() -> None:
    ids = TOKENIZER.encode("a<|mask|>b").ids
    assert min(ids) >= len(CONTROL) and len(ids) > 5


PIECES = st.sampled_from(
    ["'s", "'ll", " ", "  ", "\n", "\t", "\x1c", "7", "42", "server", "x", "<|mask|>", "'"]
)
BULK_TEXTS = st.one_of(st.text(), st.lists(PIECES | st.characters(max_codepoint=127)).map("".join))


@given(BULK_TEXTS)
@settings(max_examples=300, deadline=None)
def test_the_bulk_encoder_gives_the_very_ids_of_the_tokenizer(text: str) -> None:
    assert ENCODER.by_word
    assert ENCODER.encode([text]) == [TOKENIZER.encode(text, add_special_tokens=False).ids]


def test_the_bulk_encoder_takes_the_plain_way_for_other_tokenizers() -> None:
    other = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    other.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    encoder = BulkEncoder(other)
    assert not encoder.by_word and encoder.encode(["a b c", "b"]) == [[0, 1, 2], [1]]
    merged = read_tokenizer(JSON, "test")
    merged.add_tokens(["server port"])  # an added token across words is no longer word by word
    assert not BulkEncoder(merged).by_word
    assert BulkEncoder(merged).encode(["a server port"]) == [merged.encode("a server port").ids]


def test_a_vocabulary_below_the_bytes_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be at least 260"):
        train_tokenizer(iter(TEXTS), TokenizerTraining(259), CONTROL)


def test_names_become_ids_and_all_special_tokens_but_eos_are_reserved() -> None:
    size = TOKENIZER.get_vocab_size()
    diffusion = diffusion_config(TOKENIZER, DiffusionSection(8), size + 2)
    assert (diffusion.pad_token_id, diffusion.eos_token_ids, diffusion.mask_token_id) == (0, (1,), 2)
    assert diffusion.reserved_ids == (0, 2, 3, size, size + 1)
    assert diffusion_config(TOKENIZER, DiffusionSection(8, "uniform"), size).mask_token_id is None


def test_an_unknown_control_token_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"diffusion.eos_token is '<\|eo\|>'.*did you mean '<\|eos\|>'"):
        diffusion_config(TOKENIZER, DiffusionSection(8, eos_token="<|eo|>"), 300)
    with pytest.raises(ConfigError, match="mask_token is null"):
        diffusion_config(TOKENIZER, DiffusionSection(8, mask_token=None), 300)
    with pytest.raises(ConfigError, match=r"x\.json is not a tokenizer\.json"):
        read_tokenizer("{}", "x.json")


def test_every_file_shapes_the_tokenizer(tmp_path: Path) -> None:
    files = []
    for name, word in (("a", "harbour"), ("b", "lantern")):
        line = json.dumps({"prompt": f"{word} {word}", "answer": word}) + "\n"
        (tmp_path / f"{name}.jsonl").write_text(line * 50)
        files.append(str(tmp_path / f"{name}.jsonl"))
    config = TrainConfig(
        ModelSection(d_model=8, n_layers=1, n_heads=1, n_kv_heads=1, head_dim=8, d_ffn=8, max_positions=8),
        DiffusionSection(4),
        DataSection(tuple(files)),
        str(tmp_path / "out"),
        TokenizerSection(train=TokenizerTraining(vocab_size=290, max_samples=20)),
        row_length=8,
        max_steps=1,
    )
    text, _ = make_tokenizer(config, SilentReporter())
    tokenizer = read_tokenizer(text, "test")
    assert [len(tokenizer.encode(word).ids) for word in ("harbour", "lantern")] == [1, 1]
