"""Samples to packed rows: the layout of a sample, packing, order, and what the loss may depend on."""

from __future__ import annotations

import dataclasses
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from dlmrt.config import ModelConfig, PromptFormat  # noqa: E402
from dlmrt.errors import ConfigError, DataError  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.train.config import DataSection, DiffusionSection, TokenizerTraining  # noqa: E402
from dlmrt.train.data import (  # noqa: E402
    BatchStream,
    PackedSet,
    RowPlan,
    pack,
)
from dlmrt.train.encode import EncodedSet, encode_files, hash_files, read_samples  # noqa: E402
from dlmrt.train.objective import PackedBatch, compute_loss  # noqa: E402
from dlmrt.train.objective_config import ObjectiveConfig  # noqa: E402
from dlmrt.train.tokenizer import diffusion_config, read_tokenizer, train_tokenizer  # noqa: E402

S, PAD, EOS, MASK = 4, 0, 1, 2
CONTROL = ("<|pad|>", "<|eos|>", "<|mask|>", "<|fix|>", "<|sep|>")
TOKENIZER = read_tokenizer(
    train_tokenizer(iter(["the port of a host"]), TokenizerTraining(270), CONTROL), "test"
)
DIFFUSION = diffusion_config(TOKENIZER, DiffusionSection(S), TOKENIZER.get_vocab_size())
FRAMED = PromptFormat(prefix=("<|fix|>",), suffix=("<|sep|>",), align=True)
PAIRS = [("ab", "abc"), ("a", "x"), ("the port <|mask|>", "12"), ("é" * 5, "the port"), ("abcdefg", "")]


def write(path: Path, pairs: list[tuple[str, str]]) -> str:
    path.write_text("".join(json.dumps({"prompt": p, "answer": a}) + "\n" for p, a in pairs))
    return str(path)


def encode(file: str, form: PromptFormat = FRAMED, cache: Path | None = None) -> EncodedSet:
    section = DataSection(train=(file,))
    return encode_files(hash_files([file]), section, None, TOKENIZER, form, DIFFUSION, cache)


def synthetic(lengths: list[tuple[int, int]]) -> EncodedSet:
    """Samples of the given (prompt, answer) lengths whose ids are all different."""
    prompt, answer = (np.array(column, dtype=np.int32) for column in zip(*lengths, strict=True))
    total = prompt + answer
    starts = np.cumsum(total, dtype=np.int64) - total
    return EncodedSet(np.arange(100, 100 + total.sum(), dtype=np.int32), starts, prompt, answer)


def packed(lengths: list[tuple[int, int]], rows: tuple[int, ...] = (16,), batch: int = 2) -> PackedSet:
    return PackedSet(synthetic(lengths), RowPlan(S, rows, batch), PAD)


LENGTHS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=20)


def encode_one(tmp_path: Path, form: PromptFormat, prompt: str, answer: str) -> tuple[list[int], list[int]]:
    encoded = encode(write(tmp_path / "one.jsonl", [(prompt, answer)]), form)
    ids = encoded.ids.tolist()
    return ids[: encoded.prompt_N[0]], ids[encoded.prompt_N[0] :]


def test_a_sample_is_prefix_text_suffix_filled_to_blocks_then_answer_and_eos(tmp_path: Path) -> None:
    a, b, c = (TOKENIZER.token_to_id(x) for x in "abc")
    fix, sep = (TOKENIZER.token_to_id(x) for x in ("<|fix|>", "<|sep|>"))
    assert encode_one(tmp_path, FRAMED, "ab", "c") == ([fix, a, b, sep], [c, EOS])
    assert encode_one(tmp_path, FRAMED, "a", "") == ([fix, a, sep, PAD], [EOS])
    assert encode_one(tmp_path, PromptFormat(), "a", "c") == ([a], [c, EOS])


def test_aligned_prompts_need_a_pad_token(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", PAIRS)
    unpadded = dataclasses.replace(DIFFUSION, pad_token_id=None)
    with pytest.raises(ConfigError, match="no pad token"):
        encode_files(hash_files([file]), DataSection((file,)), None, TOKENIZER, FRAMED, unpadded, None)


def test_files_are_encoded_as_single_samples_are(tmp_path: Path) -> None:
    encoded = encode(write(tmp_path / "a.jsonl", PAIRS))
    for i, (prompt, answer) in enumerate(PAIRS):
        start, middle = encoded.starts_N[i], encoded.starts_N[i] + encoded.prompt_N[i]
        expected = encode_one(tmp_path, FRAMED, prompt, answer)
        assert encoded.ids[start:middle].tolist() == expected[0]
        assert encoded.ids[middle : middle + encoded.answer_N[i]].tolist() == expected[1]
    assert encoded.ids.dtype == np.uint16


def test_several_processes_encode_what_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlmrt.train.encode.CHUNK", 2)
    file = write(tmp_path / "a.jsonl", PAIRS)
    form = dataclasses.replace(FRAMED, max_text_tokens=4)
    one, two = (
        encode_files(
            hash_files([file]), DataSection((file,), jobs=jobs), None, TOKENIZER, form, DIFFUSION, None
        )
        for jobs in (1, 2)
    )
    assert one.ids.tolist() == two.ids.tolist() and one.starts_N.tolist() == two.starts_N.tolist()
    assert one.prompt_N.tolist() == two.prompt_N.tolist() and one.dropped == two.dropped
    assert one.answer_N.tolist() == two.answer_N.tolist()


def test_too_long_texts_are_dropped_and_counted(tmp_path: Path) -> None:
    encoded = encode(write(tmp_path / "a.jsonl", PAIRS), PromptFormat(max_text_tokens=2))
    assert len(encoded) == 2 and encoded.dropped == 3


def test_the_cache_is_used_until_anything_that_shapes_ids_changes(tmp_path: Path) -> None:
    file, cache = write(tmp_path / "a.jsonl", PAIRS), tmp_path / "cache"
    first = encode(file, cache=cache)
    again = encode(file, cache=cache)
    assert len(list(cache.iterdir())) == 1 and np.array_equal(first.ids, again.ids)
    encode(file, PromptFormat(), cache=cache)
    write(tmp_path / "a.jsonl", PAIRS[:2])
    assert len(encode(file, cache=cache)) == 2 and len(list(cache.iterdir())) == 3


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "no zip", "other columns"])
def test_a_damaged_cache_is_written_anew(tmp_path: Path, damage: str) -> None:
    file, cache = write(tmp_path / "a.jsonl", PAIRS), tmp_path / "cache"
    first = encode(file, cache=cache)
    (saved,) = cache.iterdir()
    whole = saved.read_bytes()
    middle = whole.index(first.ids.tobytes())
    content = {
        "cut": whole[:-40],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :],
        "empty": b"",
        "no zip": b"{}",
    }
    if damage in content:
        saved.write_bytes(content[damage])
    else:
        np.savez(saved, ids=first.ids)
    again = encode(file, cache=cache)
    assert np.array_equal(first.ids, again.ids) and np.array_equal(first.answer_N, again.answer_N)
    assert len(saved.read_bytes()) == len(whole)


def test_lines_are_read_in_order_also_compressed_and_limited(tmp_path: Path) -> None:
    section, plain = DataSection(train=()), write(tmp_path / "a.jsonl", PAIRS)
    small = tmp_path / "b.jsonl.gz"
    small.write_bytes(gzip.compress(Path(plain).read_bytes()))
    assert list(read_samples([plain, str(small)], section, None)) == PAIRS + PAIRS
    assert list(read_samples([plain, str(small)], section, 6)) == PAIRS + PAIRS[:1]
    assert list(read_samples([plain], section, 0)) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "a.jsonl:3: not JSON"),
        ('{"prompt": "x"}', "a.jsonl:3: no field 'answer'"),
        ("[1]", "a.jsonl:3: a list"),
        ('{"prompt": "x", "answer": 3}', "a.jsonl:3: 'answer' is a int"),
        ('{"prompt": "x", "answer": "\\ud800"}', "a.jsonl:3: 'answer' holds the lone surrogate"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"prompt": "x", "answer": "y"}\n\n' + line + "\n")
    with pytest.raises(DataError, match=message):
        list(read_samples([str(file)], DataSection(train=()), None))


def test_missing_and_binary_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl': it does not exist"):
        list(read_samples([str(tmp_path / "absent.jsonl")], DataSection(train=()), None))
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        list(read_samples([str(tmp_path / "b.jsonl")], DataSection(train=()), None))
    with pytest.raises(DataError, match="cannot read the data file"):
        hash_files([str(tmp_path / "absent.jsonl")])


@given(st.lists(st.integers(1, 6), max_size=40), st.integers(6, 9))
@settings(max_examples=60, deadline=None)
def test_packing_places_every_sample_once_within_capacity(sizes: list[int], capacity: int) -> None:
    blocks = np.array(sizes, dtype=np.int64)
    rows = pack(blocks, np.arange(len(sizes)), capacity)
    assert sorted(s for row in rows for s in row) == list(range(len(sizes)))
    assert all(0 < blocks[row].sum() <= capacity for row in rows)
    filled = [blocks[row].sum() for row in rows]
    assert sum(f <= capacity // 2 for f in filled) <= 1  # best fit never leaves two half-empty rows


@given(LENGTHS)
@settings(max_examples=40, deadline=None)
def test_every_sample_is_found_whole_in_its_row(lengths: list[tuple[int, int]]) -> None:
    data = packed(lengths, rows=(8, 24))
    seen = []
    for length, rows in data.epoch(0, None):
        batch = PackedBatch(*(x.numpy() for x in data.assemble(length, rows)))
        assert batch.tokens_BL.shape == (2 * 24 // length, length)
        for r, row in enumerate(rows):
            for number, s in enumerate(row):
                seen.append(s)
                where = np.flatnonzero(batch.sample_BL[r] == number)
                prompt, answer = lengths[s]
                whole = -(-(prompt + answer) // S) * S
                assert where.tolist() == list(range(where[0], where[0] + whole)) and where[0] % S == 0
                assert batch.positions_BL[r, where].tolist() == list(range(whole))
                ids = data.data.ids[data.data.starts_N[s] :][: prompt + answer].tolist()
                assert batch.tokens_BL[r, where].tolist() == ids + [PAD] * (whole - prompt - answer)
                kind = [0] * prompt + [1] * answer + [2] * (whole - prompt - answer)
                assert (batch.answer_BL[r, where] + 2 * batch.filler_BL[r, where]).tolist() == kind
        outside = batch.sample_BL < 0
        assert not (batch.answer_BL | batch.filler_BL)[outside].any()
        assert (batch.tokens_BL[outside] == PAD).all()
    assert sorted(seen) == list(range(len(lengths)))


def test_samples_longer_than_a_row_are_left_out_and_counted() -> None:
    data = packed([(3, 2), (10, 7), (0, 16)], rows=(8, 16))
    assert data.too_long == 1 and data.used == 2
    report = data.statistics()
    assert report["samples"] == 2 and report["dropped_too_long"] == 1 and report["longest"] == 16
    assert report["tokens"] == 21 and report["answer_tokens"] == 18
    with pytest.raises(DataError, match="none of 1 samples fits a row of 4"):
        packed([(3, 2)], rows=(4,))


def test_an_epoch_depends_on_seed_and_number_only_and_reshuffles() -> None:
    lengths = [(i % 5, 1 + i % 7) for i in range(60)]
    first = packed(lengths).epoch(3, 0)
    assert first == packed(lengths).epoch(3, 0)
    assert first != packed(lengths).epoch(3, 1) and first != packed(lengths).epoch(4, 0)
    used = [s for _, rows in first for row in rows for s in row]
    assert len(used) == len(set(used)) and len(used) > 50  # at most one part batch is left out
    assert all(len(rows) == 2 for _, rows in first)


def test_a_set_smaller_than_a_batch_is_filled_with_padding() -> None:
    data = packed([(1, 2)], batch=3)
    ((length, rows),) = data.epoch(0, 0)
    batch = data.assemble(length, rows)
    assert batch.sample_BL.shape == (3, 16) and (batch.sample_BL[1:] == -1).all()


def test_a_stream_goes_on_from_its_cursor() -> None:
    data = packed([(i % 5, 1 + i % 7) for i in range(30)])
    stream = BatchStream(data, seed=1)
    batches = [stream.next() for _ in range(25)]
    assert stream.epoch >= 2
    for at in (0, 7, 24):
        stream = BatchStream(data, seed=1)
        for _ in range(at):
            stream.next()
        resumed = BatchStream(data, 1, stream.epoch, stream.index).next()
        assert all(torch.equal(x, y) for x, y in zip(resumed, batches[at], strict=True))


# -- what the loss may depend on -----------------------------------------------------------------

V = 64
FULL = ObjectiveConfig(copies=1, complementary=False, full_noise=1.0, ar_weight=0.0, residual_probability=0.0)


@pytest.fixture
def model() -> Transformer:
    config = ModelConfig(V, 16, 2, 2, 1, 8, 24, 32)
    net = Transformer(config)
    net.initialise(torch.Generator().manual_seed(0))
    with torch.no_grad():
        for weight in net.parameters():
            weight.mul_(6 if weight.ndim == 2 else 1)
    return net


def small_ids(lengths: list[tuple[int, int]], rows: tuple[int, ...] = (32,)) -> PackedSet:
    data = synthetic(lengths)
    ids = 5 + np.random.default_rng(0).integers(0, V - 5, len(data.ids))
    fresh = EncodedSet(ids.astype(np.uint16), data.starts_N, data.prompt_N, data.answer_N)
    return PackedSet(fresh, RowPlan(S, rows, 1), PAD)


def loss_of(net: Transformer, batch: PackedBatch, config: ObjectiveConfig = FULL) -> tuple[float, float]:
    from dlmrt.config import DiffusionConfig

    diffusion = DiffusionConfig(S, "mask", MASK, (EOS,), PAD, (PAD, MASK))
    generator = torch.Generator().manual_seed(1)
    out = compute_loss(net, batch, config, diffusion, generator=generator)
    return float(out.total.detach()), float(out.weight)


def test_padding_and_filler_are_neither_scored_nor_counted(model: Transformer) -> None:
    data = small_ids([(5, 6), (2, 3)])
    ((length, rows),) = data.epoch(0, None)
    batch = data.assemble(length, rows)
    assert bool(batch.filler_BL.any()) and bool((batch.sample_BL < 0).any())
    total, weight = loss_of(model, batch)
    assert weight == 9  # the answer tokens, EOS included, and nothing else
    unscored = batch.filler_BL | (batch.sample_BL < 0)
    other = batch._replace(tokens_BL=torch.where(unscored, 17, batch.tokens_BL))
    assert loss_of(model, other) == (total, weight)
    prompt = (batch.sample_BL >= 0) & ~batch.answer_BL & ~batch.filler_BL
    assert loss_of(model, batch._replace(tokens_BL=torch.where(prompt, 17, batch.tokens_BL)))[0] != total


def test_packed_samples_do_not_see_each_other(model: Transformer) -> None:
    data = small_ids([(5, 6), (6, 9)])
    ((length, rows),) = data.epoch(0, None)
    batch = data.assemble(length, rows)
    assert len(rows[0]) == 2
    for own in (0, 1):
        scored = batch._replace(answer_BL=batch.answer_BL & (batch.sample_BL == own))
        other = torch.where(batch.sample_BL == 1 - own, (batch.tokens_BL + 7) % V, batch.tokens_BL)
        total, weight = loss_of(model, scored)
        changed, same_weight = loss_of(model, scored._replace(tokens_BL=other))
        assert weight == same_weight and changed == pytest.approx(total, abs=1e-6)


def test_a_packed_loss_is_the_mean_of_the_samples_alone(model: Transformer) -> None:
    lengths = [(5, 6), (6, 9), (0, 4)]
    ((length, rows),) = small_ids(lengths).epoch(0, None)
    together, weight = loss_of(model, small_ids(lengths).assemble(length, rows))
    alone = [loss_of(model, small_ids(lengths).assemble(32, [[s]])) for s in range(3)]
    assert weight == sum(w for _, w in alone) == 19
    assert together == pytest.approx(sum(t * w for t, w in alone) / weight, rel=1e-5)


def test_every_answer_token_is_noised_in_one_of_two_complementary_copies(model: Transformer) -> None:
    ((length, rows),) = small_ids([(5, 6), (6, 9)]).epoch(0, None)
    batch = small_ids([(5, 6), (6, 9)]).assemble(length, rows)
    config = ObjectiveConfig(copies=2, full_noise=0.0, ar_weight=0.0, residual_probability=0.0)
    assert loss_of(model, batch, config)[1] == 15


def test_processes_that_encode_do_not_import_torch() -> None:
    code = "import sys, dlmrt.train.encode; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
