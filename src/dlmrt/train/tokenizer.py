"""Training a byte-level BPE tokenizer on a run's own texts, and control-token names to ids."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dlmrt.config import DiffusionConfig, PromptFormat
from dlmrt.errors import ConfigError, nearest
from dlmrt.train.config import DiffusionSection, TokenizerTraining

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def control_tokens(
    diffusion: DiffusionSection, prompt: PromptFormat, extra: Iterable[str] = ()
) -> tuple[str, ...]:
    """Names of all control tokens of a run, in the order in which they get the first ids."""
    names = [diffusion.pad_token, diffusion.eos_token]
    if diffusion.mask_token is not None and diffusion.noise == "mask":
        names.append(diffusion.mask_token)
    return tuple(dict.fromkeys([*names, *prompt.prefix, *prompt.suffix, *extra]))


def train_tokenizer(texts: Iterator[str], training: TokenizerTraining, control: tuple[str, ...]) -> str:
    """Train a byte-level BPE and return its ``tokenizer.json``.

    texts: the training texts, in a fixed order. control: special tokens; they get ids 0, 1, ...
    The result depends only on the arguments (merges are ordered by count, then by ids). Any text
    can be encoded and decoded without loss, since all 256 bytes are in the vocabulary.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    smallest = 256 + len(control)
    if training.vocab_size < smallest:
        raise ConfigError(
            f"tokenizer.train.vocab_size is {training.vocab_size}; it must be at least {smallest} "
            f"(256 bytes and {len(control)} control tokens)"
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = _pre_tokenizer(training.single_digits)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=training.vocab_size,
        min_frequency=training.min_frequency,
        special_tokens=list(control),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return str(tokenizer.to_str(pretty=True))


def _pre_tokenizer(single_digits: bool) -> Any:
    from tokenizers import pre_tokenizers

    split = [pre_tokenizers.Digits(individual_digits=True)] if single_digits else []
    return pre_tokenizers.Sequence([*split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])


# How _pre_tokenizer(True) cuts ASCII text into the pieces that are merged independently. Digits are
# cut out first, so white space before a digit stands at the end of its piece.
_ASCII_PIECES = re.compile(
    r"\d|'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+| ?[^\sA-Za-z\d]+|\s+(?=\d)|\s+(?!\S)|\s+", re.ASCII
)


class BulkEncoder:
    """Encodes many texts, with the very ids of ``tokenizer.encode``, several times faster.

    A tokenizer made by :func:`train_tokenizer` merges inside words only, so each distinct word is
    encoded once and remembered. Other tokenizers, and texts beyond ASCII, go the plain way.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        layout = json.loads(tokenizer.to_str())
        wanted = json.loads(_pre_tokenizer(True).__getstate__())
        only_special = all(t.special for t in tokenizer.get_added_tokens_decoder().values())
        plain = layout["normalizer"] is None and only_special and tokenizer.encode_special_tokens
        self.by_word = plain and layout["pre_tokenizer"] == wanted and layout["model"]["type"] == "BPE"
        self._words: dict[str, list[int]] = {}

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Ids of each text, without special tokens around it."""
        if not self.by_word:
            return [e.ids for e in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        return [self._encode(text) for text in texts]

    def _encode(self, text: str) -> list[int]:
        if not text.isascii():
            ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
            return ids
        out: list[int] = []
        words = self._words
        for word in _ASCII_PIECES.findall(text):
            found = words.get(word)
            if found is None:
                found = words[word] = self.tokenizer.encode(word, add_special_tokens=False).ids
            out += found
        return out


def read_tokenizer(tokenizer_json: str, where: str) -> Tokenizer:
    """Build the tokenizer from its JSON; special tokens spelt in a text are encoded as text."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(tokenizer_json)
    except Exception as error:  # the library raises plain Exception
        raise ConfigError(f"{where} is not a tokenizer.json: {error}") from None
    tokenizer.encode_special_tokens = True
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def token_id(tokenizer: Tokenizer, name: str, option: str) -> int:
    """The id of a control token; ConfigError names the option and the nearest special token."""
    found = tokenizer.token_to_id(name)
    if found is None:
        special = [t.content for t in tokenizer.get_added_tokens_decoder().values()]
        raise ConfigError(
            f"{option} is {name!r}, which the tokenizer does not have{nearest(name, special)} "
            f"(its special tokens: {', '.join(special) or 'none'})"
        )
    return int(found)


def diffusion_config(tokenizer: Tokenizer, section: DiffusionSection, vocab_size: int) -> DiffusionConfig:
    """Names to ids. Reserved: every special token but EOS, and ids the tokenizer does not use."""
    eos = token_id(tokenizer, section.eos_token, "diffusion.eos_token")
    mask = None
    if section.noise == "mask":
        if section.mask_token is None:
            raise ConfigError(
                "diffusion.mask_token is null; it must be a token's name when diffusion.noise is 'mask'"
            )
        mask = token_id(tokenizer, section.mask_token, "diffusion.mask_token")
    special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    unused = set(range(tokenizer.get_vocab_size(), vocab_size))
    return DiffusionConfig(
        block_size=section.block_size,
        noise=section.noise,
        mask_token_id=mask,
        eos_token_ids=(eos,),
        pad_token_id=token_id(tokenizer, section.pad_token, "diffusion.pad_token"),
        reserved_ids=tuple(sorted((special | unused) - {eos})),
    )
