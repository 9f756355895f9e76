"""Text samples to ids: read, encode once (in several processes, if asked), keep in a cache."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlmrt.config import DiffusionConfig, PromptFormat
from dlmrt.datasets.records import iterate_records
from dlmrt.errors import ConfigError, DataError
from dlmrt.train.config import DataSection
from dlmrt.train.tokenizer import BulkEncoder, read_tokenizer, token_id

if TYPE_CHECKING:
    from tokenizers import Tokenizer

CHUNK = 8192  # samples handed to the tokenizer at once: bounds its memory
_CACHE_VERSION = 1


@dataclass(frozen=True)
class _Frame:
    """What stands around a prompt's own ids."""

    prefix: list[int]
    suffix: list[int]
    fill_to: int  # the prompt's length is a multiple of it
    pad_id: int

    @classmethod
    def build(
        cls, tokenizer: Tokenizer, prompt_format: PromptFormat, block_size: int, pad_id: int | None
    ) -> _Frame:
        if prompt_format.align and pad_id is None:
            raise ConfigError("prompt.align is true but there is no pad token; set diffusion.pad_token")
        prefix = [token_id(tokenizer, name, "prompt.prefix") for name in prompt_format.prefix]
        suffix = [token_id(tokenizer, name, "prompt.suffix") for name in prompt_format.suffix]
        return cls(prefix, suffix, block_size if prompt_format.align else 1, -1 if pad_id is None else pad_id)

    def wrap(self, ids: list[int]) -> list[int]:
        whole = [*self.prefix, *ids, *self.suffix]
        return whole + [self.pad_id] * (-len(whole) % self.fill_to)


@dataclass(frozen=True)
class EncodedSet:
    """N encoded samples, one after another. Lengths count ids; ``answer`` includes the EOS.

    dropped: samples left out because their prompt's text is longer than ``max_text_tokens``.
    """

    ids: NDArray[Any]  # uint16 or int32, [sum of all lengths]
    starts_N: NDArray[np.int64]
    prompt_N: NDArray[np.int32]
    answer_N: NDArray[np.int32]
    dropped: int = 0

    def __len__(self) -> int:
        return len(self.starts_N)

    @property
    def length_N(self) -> NDArray[np.int32]:
        """Ids of each sample, prompt and answer, without filler."""
        return self.prompt_N + self.answer_N


def read_samples(paths: Sequence[str], section: DataSection, limit: int | None) -> Iterator[tuple[str, str]]:
    """Yield (prompt, answer) of every line, files in order; DataError names file and line."""
    fields, left = {section.prompt_field: str, section.answer_field: str}, limit
    for name in paths:
        if left == 0:
            return
        for record in iterate_records(Path(name), fields):
            yield record[section.prompt_field], record[section.answer_field]
            left = None if left is None else left - 1
            if left == 0:
                return


def hash_files(paths: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each file's bytes."""
    out = {}
    for name in paths:
        try:
            with open(name, "rb") as file:
                out[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise DataError(f"cannot read the data file {name}: {error.strerror} (in {Path.cwd()})") from None
    return out


def encode_files(
    hashes: dict[str, str],
    section: DataSection,
    limit: int | None,
    tokenizer: Tokenizer,
    prompt_format: PromptFormat,
    diffusion: DiffusionConfig,
    cache: Path | None,
) -> EncodedSet:
    """Encode whole files, through a cache keyed by their content and everything that shapes ids.

    hashes: the files with the hash of each (:func:`hash_files`). A cache that cannot be read is
    written anew.
    """
    key = {
        "version": _CACHE_VERSION,
        "files": list(hashes.values()),
        "fields": [section.prompt_field, section.answer_field],
        "limit": limit,
        "tokenizer": hashlib.sha256(tokenizer.to_str().encode()).hexdigest(),
        "prompt": asdict(prompt_format),
        "diffusion": [diffusion.block_size, diffusion.pad_token_id, diffusion.eos_token_ids],
    }
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    file = None if cache is None else cache / f"data-{digest}.npz"
    if file is not None and (cached := _read_cache(file)) is not None:
        return cached
    samples = read_samples(list(hashes), section, limit)
    encoded = _encode(samples, tokenizer, prompt_format, diffusion, section.jobs)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(f".{os.getpid()}.part")
        with open(aside, "wb") as out:
            np.savez(
                out,
                ids=encoded.ids,
                starts=encoded.starts_N,
                prompt=encoded.prompt_N,
                answer=encoded.answer_N,
                dropped=encoded.dropped,
            )
        aside.replace(file)
    return encoded


def _read_cache(file: Path) -> EncodedSet | None:
    """The encoded set in ``file``; ``None`` when there is none, or a damaged one."""
    try:
        with open(file, "rb") as stream, np.load(stream, allow_pickle=False) as saved:
            columns = (saved["ids"], saved["starts"], saved["prompt"], saved["answer"])
            return EncodedSet(*columns, int(saved["dropped"]))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None


class _Encoder:
    """Encodes chunks of samples; each process has its own."""

    def __init__(self, tokenizer: Tokenizer, prompt_format: PromptFormat, diffusion: DiffusionConfig) -> None:
        self.frame = _Frame.build(tokenizer, prompt_format, diffusion.block_size, diffusion.pad_token_id)
        self.eos, self.longest = diffusion.eos_token_ids[0], prompt_format.max_text_tokens
        self.texts = BulkEncoder(tokenizer)
        self.kind = np.uint16 if tokenizer.get_vocab_size() <= 2**16 else np.int32

    def __call__(self, chunk: list[tuple[str, str]]) -> _Part:
        ids, prompts, answers, dropped = array("i"), array("i"), array("i"), 0
        encoded = self.texts.encode([text for pair in chunk for text in pair])
        for prompt, answer in zip(encoded[::2], encoded[1::2], strict=True):
            if self.longest is not None and len(prompt) > self.longest:
                dropped += 1
                continue
            prompt = self.frame.wrap(prompt)
            ids.extend(prompt)
            ids.extend(answer)
            ids.append(self.eos)
            prompts.append(len(prompt))
            answers.append(len(answer) + 1)
        return _Part(
            np.array(ids, self.kind), np.array(prompts, np.int32), np.array(answers, np.int32), dropped
        )


@dataclass(frozen=True)
class _Part:
    """The encoded samples of one chunk."""

    ids: NDArray[Any]
    prompt_N: NDArray[np.int32]
    answer_N: NDArray[np.int32]
    dropped: int


class _Process:
    """The encoder of a worker process, which is set up once."""

    encoder: _Encoder

    @classmethod
    def set_up(cls, tokenizer_json: str, prompt_format: PromptFormat, diffusion: DiffusionConfig) -> None:
        cls.encoder = _Encoder(read_tokenizer(tokenizer_json, "the tokenizer"), prompt_format, diffusion)

    @classmethod
    def encode(cls, chunk: list[tuple[str, str]]) -> _Part:
        return cls.encoder(chunk)


def _encode(
    samples: Iterator[tuple[str, str]],
    tokenizer: Tokenizer,
    prompt_format: PromptFormat,
    diffusion: DiffusionConfig,
    jobs: int,
) -> EncodedSet:
    encoder = _Encoder(tokenizer, prompt_format, diffusion)
    chunks = _chunks(samples)
    first = list(islice(chunks, 2))
    if jobs == 1 or len(first) < 2:
        parts = [encoder(chunk) for chunk in chain(first, chunks)]
    else:
        given = (tokenizer.to_str(), prompt_format, diffusion)
        # Spawned: a fork would copy the threads' locks of whoever trains, and a GPU's context.
        with ProcessPoolExecutor(jobs, get_context("spawn"), _Process.set_up, given) as pool:
            parts = list(pool.map(_Process.encode, chain(first, chunks)))
    if not parts:
        parts = [encoder([])]
    prompt_N = np.concatenate([part.prompt_N for part in parts])
    answer_N = np.concatenate([part.answer_N for part in parts])
    ends = np.cumsum(prompt_N + answer_N, dtype=np.int64)
    ids = np.concatenate([part.ids for part in parts])
    return EncodedSet(
        ids, ends - (prompt_N + answer_N), prompt_N, answer_N, sum(part.dropped for part in parts)
    )


def _chunks(samples: Iterator[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    chunk: list[tuple[str, str]] = []
    for sample in samples:
        chunk.append(sample)
        if len(chunk) == CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
