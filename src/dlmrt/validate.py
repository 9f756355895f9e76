"""Checks of rows before any of them is decoded, shared by every backend (no torch).

A row that passes here can be decoded by any backend; a row that does not is refused with an
error that says what was given, what is allowed and what to do.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import cast, get_args

from dlmrt.config import DiffusionConfig, ModelConfig
from dlmrt.errors import ConfigError, PromptError, RequestError, nearest
from dlmrt.rows import Method, RowRequest

METHODS: tuple[str, ...] = get_args(Method)
# Below this, logits / temperature leaves the range of float32.
MIN_TEMPERATURE = 1e-5
AR_METHODS: tuple[Method, ...] = ("ar", "ar_lookup")
# Why a model of another origin can't denoise, and what would change that.
NO_DIFFUSION = (
    "this model has no diffusion settings, so it decodes with method ar or ar_lookup; if it was trained for "
    'block diffusion, add dlmrt.json with "block_size", "noise" and "mask_token_id" '
    "(see docs/model-format.md)"
)


def methods_of(diffusion: DiffusionConfig) -> tuple[Method, ...]:
    """Return the methods that a model with these settings supports; the first is its default."""
    return cast("tuple[Method, ...]", METHODS) if diffusion.denoises else AR_METHODS


def validate_method(method: str, diffusion: DiffusionConfig) -> Method:
    """Return ``method`` if the model supports it; raises RequestError, which says what is missing."""
    if method not in METHODS:
        raise RequestError(
            f"method is {method!r}; it must be one of {', '.join(METHODS)}{nearest(str(method), METHODS)}"
        )
    if method not in methods_of(diffusion):
        raise RequestError(f"method is {method!r}, and {NO_DIFFUSION}")
    return method


def validate_rows(requests: Sequence[RowRequest], config: ModelConfig, diffusion: DiffusionConfig) -> None:
    """Refuse rows that cannot be decoded as asked; the first bad row is named by its index.

    Raises:
        RequestError: ``max_new_tokens`` below 1, a method that is unknown or that the model does
            not support, a temperature too small.
        PromptError: an id that is no id of the vocabulary, the mask token, an empty prompt where
            the method needs one, or prompt and new tokens that do not fit ``max_positions`` (the
            message has both numbers). Other reserved ids pass: a prompt format puts them there;
            ids that a caller supplies are checked for them by the engine's text codec.
    """
    for index, request in enumerate(requests):
        try:
            validate_row(request, config, diffusion)
        except (PromptError, RequestError) as error:
            raise type(error)(f"row {index}: {error}") from None


def validate_row(request: RowRequest, config: ModelConfig, diffusion: DiffusionConfig) -> None:
    """The checks of :func:`validate_rows` for one row, which the message doesn't name."""
    _check_settings(request, diffusion)
    _check_ids(request.prompt_ids, config.vocab_size, diffusion.mask_token_id)
    _check_length(request, config.max_positions, diffusion)


def validate_temperature(temperature: float) -> None:
    """Refuse a temperature by which logits can't be divided; raises RequestError."""
    if 0 < temperature < MIN_TEMPERATURE:
        raise RequestError(
            f"temperature is {temperature!r}; it must be 0 or >= {MIN_TEMPERATURE}; "
            "use 0 for the most likely token"
        )


def validate_ids(config: ModelConfig, diffusion: DiffusionConfig) -> None:
    """Refuse control ids that the model's vocabulary does not have.

    Raises:
        ConfigError: a mask, EOS, pad or reserved id outside ``[0, vocab_size)``, or a vocabulary
            in which every id is reserved.
    """
    size = config.vocab_size
    for name in ("mask_token_id", "pad_token_id"):
        value = getattr(diffusion, name)
        _require_known(name, () if value is None else (value,), size)
    _require_known("eos_token_ids", diffusion.eos_token_ids, size)
    _require_known("reserved_ids", diffusion.reserved_ids, size)
    if len(diffusion.banned_ids) >= size:
        raise ConfigError(
            f"reserved_ids bans all {size} ids of the vocabulary; at least one must be left to produce"
        )


def _require_known(name: str, ids: Iterable[int], vocab_size: int) -> None:
    for value in ids:
        if not 0 <= value < vocab_size:
            raise ConfigError(
                f"{name} has id {value}, but the model's vocabulary is [0, {vocab_size}); "
                f"correct {name} in generation_config.json"
            )


def _check_settings(request: RowRequest, diffusion: DiffusionConfig) -> None:
    if request.max_new_tokens < 1:
        raise RequestError(f"max_new_tokens is {request.max_new_tokens}; it must be >= 1")
    validate_method(request.method, diffusion)
    validate_temperature(request.decoder.temperature)


def _check_ids(ids: Sequence[int], vocab_size: int, mask_id: int | None) -> None:
    for place, value in enumerate(ids):
        try:
            token = operator.index(value)
        except TypeError:
            raise PromptError(
                f"prompt_ids[{place}] is {value!r} ({type(value).__name__}); it must be an integer token id"
            ) from None
        if not 0 <= token < vocab_size:
            raise PromptError(
                f"prompt_ids[{place}] is {token}; ids of this model lie in [0, {vocab_size}); "
                "tokenise the prompt with this model's tokenizer"
            )
        if token == mask_id:
            raise PromptError(
                f"prompt_ids[{place}] is {token}, the mask token, which only a canvas holds; "
                "pass the text instead: spelled out, a control token is ordinary text"
            )


def _check_length(request: RowRequest, max_positions: int, diffusion: DiffusionConfig) -> None:
    length, new = len(request.prompt_ids), request.max_new_tokens
    if length == 0 and request.method != "diffusion":
        raise PromptError(
            f"the prompt is empty; method {request.method!r} predicts each token from the "
            "one before it, so give at least one prompt token"
            + (" or use method 'diffusion'" if diffusion.denoises else "")
        )
    if length + new > max_positions:
        raise PromptError(
            f"{length} prompt tokens + {new} new tokens = {length + new} positions, but the "
            f"model has {max_positions}; shorten the prompt or set max_new_tokens <= "
            f"{max(max_positions - length, 0)}"
        )
