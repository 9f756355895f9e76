"""What a caller asks and what comes back, as typed data; and how the asking is checked.

A parameter is honoured or refused by name, never swallowed: an unknown name, a value out of range,
and a decoder option that the chosen policy or method does not read are all
:class:`~dlmrt.errors.RequestError`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from dlmrt.config import DecoderConfig, GenerationDefaults, from_mapping, to_mapping
from dlmrt.errors import ConfigError, PromptError, RequestError, nearest
from dlmrt.rows import FinishReason, Method
from dlmrt.validate import methods_of, validate_method, validate_temperature

DECODER_OPTIONS: tuple[str, ...] = tuple(f.name for f in dataclasses.fields(DecoderConfig))
# The decoder options that autoregressive decoding reads; it has no policy and no residual.
AR_OPTIONS = frozenset({"temperature", "top_k", "top_p", "seed"})
# The options that only some policies read.
POLICY_OPTIONS: dict[str, frozenset[str]] = {
    "threshold": frozenset({"threshold", "joint", "prefix"}),
    "per_step": frozenset({"fixed"}),
    "entropy_bound": frozenset({"entropy_bound"}),
    "edit_threshold": frozenset({"joint"}),
    "max_post_steps": frozenset({"joint"}),
}
REQUEST_OPTIONS = ("max_new_tokens", "stop", "method", "decoder")

Message = Mapping[str, str]


class Options(TypedDict, total=False):
    """Keyword options of :meth:`LLM.generate` and :meth:`LLM.stream`; each has a model default.

    max_new_tokens: at most this many tokens, exactly (never rounded up to blocks).
    stop: one string or several; the answer ends before the first one that completes.
    method: ``diffusion``, ``ar`` (one token a forward) or ``ar_lookup`` (the same ids, with drafts
        looked up in the prompt). None: the model's default, ``diffusion`` where it has diffusion
        settings and ``ar`` where it has none.
    decoder: a whole :class:`DecoderConfig` in place of the model's defaults; the other names are
        its fields and override single ones.
    """

    max_new_tokens: int | None
    stop: str | Sequence[str]
    method: str | None
    decoder: DecoderConfig | None
    policy: str
    threshold: float
    per_step: int
    entropy_bound: float
    edit_threshold: float
    max_post_steps: int
    max_steps: int | None
    temperature: float
    top_k: int
    top_p: float
    seed: int
    residual: bool


@dataclass(frozen=True)
class Request:
    """One answer to make: exactly one of ``prompt``, ``ids`` and ``messages``, and its options.

    prompt: text; the model's chat template or prompt format is applied.
    ids: prompt ids taken as they are; empty = answer from nothing.
    messages: a conversation, each ``{"role": ..., "content": ...}``.
    options: names and values of :class:`Options`.
    """

    prompt: str | None = None
    ids: tuple[int, ...] | None = None
    messages: tuple[Message, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """A request's options after checking, the prompt apart."""

    decoder: DecoderConfig
    method: Method
    stop: tuple[str, ...]
    max_new_tokens: int | None


@dataclass(frozen=True)
class Timings:
    """Seconds, from the engine's own clock. In a batch the rows share the model's time.

    load: opening the model, once for all its answers. queue: from the call to the start of decoding, for
        rows that waited while others of the call were decoded. tokenise: prompt to ids.
    first_block: from the start of decoding to this row's first finished block (prefill included).
    decode: from the start of decoding to this row's last block.
    prefill, denoise, commit: the parts of ``decode``, where the backend tells them apart.
    detokenise: ids to text and looking for stop strings, a part of ``decode`` too.
    """

    load: float
    tokenise: float
    first_block: float
    decode: float
    prefill: float | None = None
    denoise: float | None = None
    commit: float | None = None
    detokenise: float = 0.0
    queue: float = 0.0

    @property
    def total(self) -> float:
        """Tokenise and decode together; loading and waiting apart."""
        return self.tokenise + self.decode


@dataclass(frozen=True)
class Forwards:
    """How often the model ran for this row."""

    prefill: int
    denoise: int
    commit: int


@dataclass(frozen=True)
class Result:
    """One answer.

    text: the answer, without the end-of-sequence token, control tokens or the stop string.
    ids: the tokens behind ``text``; what is counted is what was emitted. A token that reaches into
        a stop string counts when some of its text was emitted.
    prompt_tokens: ids that the model was given, control tokens and padding included.
    finish_reason: ``stop`` (end of sequence or a stop string), ``length`` or ``cancelled``.
    ended_by_eos: the model itself ended the answer.
    steps_per_block: denoising steps of each block, in order.
    """

    text: str
    ids: tuple[int, ...]
    prompt_tokens: int
    finish_reason: FinishReason
    ended_by_eos: bool
    timings: Timings
    forwards: Forwards
    steps_per_block: tuple[int, ...]
    method: Method
    backend: str
    backend_reason: str
    seed: int
    proposed_tokens: int = 0
    accepted_tokens: int = 0

    @property
    def decided_tokens(self) -> int:
        """Tokens that count for tokens per forward: ``ids``, and the EOS if the model made one."""
        return len(self.ids) + int(self.ended_by_eos)

    @property
    def tokens_per_forward(self) -> float:
        """``decided_tokens / (denoise + commit forwards)``: every forward but the prefill counts.

        Autoregressive decoding gets its first token from the prefill, so its number lies slightly
        above 1 (n tokens from n - 1 counted forwards).
        """
        return self.decided_tokens / max(1, self.forwards.denoise + self.forwards.commit)

    @property
    def tokens_per_forward_without_commits(self) -> float:
        """``decided_tokens / denoise forwards``: prefill and commit forwards are left out."""
        return self.decided_tokens / max(1, self.forwards.denoise)

    @property
    def tokens_per_second(self) -> float:
        """``len(ids) / timings.decode``: prefill counts, loading and tokenising don't."""
        return len(self.ids) / self.timings.decode if self.timings.decode > 0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: the fields, and the derived numbers beside them."""
        data: dict[str, Any] = to_mapping(self)
        data["timings"]["total"] = self.timings.total
        data["tokens"] = len(self.ids)
        for name in ("tokens_per_forward", "tokens_per_forward_without_commits", "tokens_per_second"):
            data[name] = getattr(self, name)
        return data


@dataclass(frozen=True)
class BlockEvent:
    """A block of one row was committed; the joined ``text`` (and ``ids``) of a row make its result's.

    row: index of the prompt. block: 0-based, counted in the answer. text, ids: what became safe to
    show; text that may turn out to be the start of a stop string, or half a character, comes with a
    later event. seconds: since the start of decoding. result: set on the row's last event only.
    """

    row: int
    block: int
    text: str
    ids: tuple[int, ...]
    seconds: float
    result: Result | None = None


def check_options(options: Mapping[str, Any], defaults: GenerationDefaults) -> Settings:
    """Check a request's options against the model's defaults.

    Raises RequestError: an unknown name (the nearest one is given), a value of the wrong type or
    out of range, or an option that the chosen policy or method would not read.
    """
    known = (*REQUEST_OPTIONS, *DECODER_OPTIONS)
    for name in options:
        if name not in known:
            raise RequestError(f"unknown option '{name}'{nearest(name, known)} (allowed: {', '.join(known)})")
    asked = options.get("method")
    methods = methods_of(defaults.diffusion)
    method = methods[0] if asked is None else validate_method(asked, defaults.diffusion)
    given = {name: options[name] for name in options if name in DECODER_OPTIONS}
    base = options.get("decoder")
    if base is not None and not isinstance(base, DecoderConfig):
        raise RequestError(f"decoder is {type(base).__name__}; it must be a DecoderConfig")
    decoder = _decoder(given, defaults.decoder if base is None else base)
    _refuse_unread(given, decoder, method, methods)
    validate_temperature(decoder.temperature)
    return Settings(decoder, method, check_stops(options.get("stop", ())), options.get("max_new_tokens"))


def check_stops(stop: object) -> tuple[str, ...]:
    """Return the stop strings as a tuple; raises RequestError if one is empty or not text."""
    stops = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stops, Iterable):
        raise RequestError(f"stop is {stop!r}; it must be a string or a list of strings")
    checked = tuple(stops)
    for value in checked:
        if not isinstance(value, str) or not value:
            raise RequestError(f"a stop string is {value!r}; it must be text of at least one character")
    return checked


def answer_limit(asked: int | None, prompt_tokens: int, default: int, context: int) -> int:
    """Return how many new tokens may follow a prompt in a model of ``context`` positions.

    Without ``asked`` it is ``default``, less if the context ends before.
    Raises RequestError: ``asked`` is not a positive integer, or does not fit after the prompt.
    Raises PromptError: the prompt leaves no room at all. Both numbers are in the message.
    """
    room = context - prompt_tokens
    if asked is not None and (isinstance(asked, bool) or not isinstance(asked, int) or asked < 1):
        raise RequestError(f"max_new_tokens is {asked!r}; it must be an integer >= 1")
    if room < 1:
        raise PromptError(
            f"the prompt is {prompt_tokens} tokens (control tokens included) and the model's context is "
            f"{context}, answer included; shorten the prompt"
        )
    if asked is None:
        return min(default, room)
    if asked > room:
        raise RequestError(
            f"max_new_tokens is {asked} after a prompt of {prompt_tokens} tokens, and the model's context is "
            f"{context}; ask for at most {room}"
        )
    return asked


def _decoder(given: Mapping[str, Any], base: DecoderConfig) -> DecoderConfig:
    try:
        return from_mapping(DecoderConfig, {**to_mapping(base), **given})
    except ConfigError as error:  # the same rule, but the caller passed it: a request's fault
        raise RequestError(str(error)) from None


def _refuse_unread(
    given: Iterable[str], decoder: DecoderConfig, method: Method, methods: Sequence[Method]
) -> None:
    for name in given:
        if method != "diffusion" and name not in AR_OPTIONS:
            raise RequestError(
                f"{name} has no effect with method '{method}', which reads {', '.join(sorted(AR_OPTIONS))}; "
                "leave it out" + (" or use method 'diffusion'" if "diffusion" in methods else "")
            )
        readers = POLICY_OPTIONS.get(name)
        if readers is not None and decoder.policy not in readers:
            raise RequestError(
                f"{name} has no effect with policy '{decoder.policy}'; "
                f"leave it out or use policy {' or '.join(sorted(readers))}"
            )
