"""Typed, strict configuration: what a model is and how it decodes.

Three frozen dataclasses travel through every layer:

* :class:`ModelConfig` - the architecture (``config.json``),
* :class:`DiffusionConfig` - block grid, noise and control ids (``generation_config.json``),
* :class:`DecoderConfig` - how one request is decoded (defaults in ``generation_config.json``).

:func:`from_mapping` builds any of them from plain data; an unknown key is an error that names
the nearest allowed one.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from dlmrt.errors import ConfigError, DlmrtError, RequestError, nearest

Noise = Literal["mask", "uniform"]
CleanAttention = Literal["block", "causal"]
Activation = Literal["silu", "gelu_tanh"]
PolicyName = Literal["threshold", "fixed", "entropy_bound", "joint", "prefix"]
POLICIES: tuple[str, ...] = get_args(PolicyName)
DraftName = Literal["none", "prompt"]
DRAFTS: tuple[str, ...] = get_args(DraftName)


@dataclass(frozen=True)
class ResidualConfig:
    """The residual input ``e_i = E[x_i] + alpha * g_phi(z_i)``.

    ``z_i`` is the expected embedding under the previous step's distribution, restricted to its
    ``top_k`` most likely tokens (``None``: the whole vocabulary); probabilities are kept as they
    are, not renormalised. ``d_hidden`` is the width of the gated MLP inside ``g_phi``.
    """

    top_k: int | None = 8
    alpha: float = 1.0
    d_hidden: int = 128

    def __post_init__(self) -> None:
        require(self.top_k is None or self.top_k >= 1, "residual.top_k", self.top_k, ">= 1 or null")
        require(self.d_hidden >= 1, "residual.d_hidden", self.d_hidden, ">= 1")


@dataclass(frozen=True)
class ModelConfig:
    """A block-causal decoder-only transformer.

    ``clean_attention`` says how *clean* tokens (prompt and committed blocks) see each other:
    ``block`` = every key in an earlier block or the same one; ``causal`` = only keys at or before
    the query. The canvas of the block being denoised is bidirectional in both.
    """

    vocab_size: int
    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ffn: int
    max_positions: int
    activation: Activation = "silu"
    norm_eps: float = 1e-6
    rope_theta: float = 10_000.0
    rotary_fraction: float = 1.0
    qk_norm: bool = False
    tie_embeddings: bool = True
    clean_attention: CleanAttention = "block"
    residual: ResidualConfig | None = None

    def __post_init__(self) -> None:
        for name in ("vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "head_dim"):
            require(getattr(self, name) >= 1, name, getattr(self, name), ">= 1")
        require(self.d_ffn >= 1, "d_ffn", self.d_ffn, ">= 1")
        require(self.max_positions >= 1, "max_positions", self.max_positions, ">= 1")
        require(
            self.n_heads % self.n_kv_heads == 0,
            "n_heads",
            self.n_heads,
            f"a multiple of n_kv_heads ({self.n_kv_heads})",
        )
        require(0 < self.rotary_fraction <= 1, "rotary_fraction", self.rotary_fraction, "in (0, 1]")
        require(self.rotary_dim % 2 == 0, "rotary_dim", self.rotary_dim, "even")

    @property
    def rotary_dim(self) -> int:
        """How many of a head's channels are rotated (the first ones)."""
        return int(self.head_dim * self.rotary_fraction)


@dataclass(frozen=True)
class DiffusionConfig:
    """The block grid, the noise and the control ids of a model.

    Blocks lie on the absolute grid ``position // block_size``. ``reserved_ids`` (the mask id among
    them) are never produced and are refused in caller-supplied prompt ids. ``noise`` None: the model
    never learned to denoise and decodes autoregressively only; a block is one token then.
    """

    block_size: int
    noise: Noise | None = "mask"
    mask_token_id: int | None = None
    eos_token_ids: tuple[int, ...] = ()
    pad_token_id: int | None = None
    reserved_ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        require(self.block_size >= 1, "block_size", self.block_size, ">= 1")
        if self.noise is None:
            require(self.block_size == 1, "block_size", self.block_size, "1 when noise is null")
            require(self.mask_token_id is None, "mask_token_id", self.mask_token_id, "null when noise is")
        require(
            self.noise != "mask" or self.mask_token_id is not None,
            "mask_token_id",
            self.mask_token_id,
            "an id when noise is 'mask'",
        )

    @property
    def denoises(self) -> bool:
        """Whether the model was trained for block diffusion; else only ``ar`` methods decode it."""
        return self.noise is not None

    @property
    def banned_ids(self) -> tuple[int, ...]:
        """Ids that no decoder may produce, ascending: the reserved ones and the mask."""
        mask = () if self.mask_token_id is None else (self.mask_token_id,)
        return tuple(sorted({*self.reserved_ids, *mask} - set(self.eos_token_ids)))


@dataclass(frozen=True)
class DecoderConfig:
    """How one request is decoded; each row of a batch has its own.

    policy: which open positions a step accepts.
        ``threshold``: confidence >= ``threshold``, and always the most confident one.
        ``fixed``: the ``per_step`` most confident.
        ``entropy_bound``: every position of the canvas is judged anew each step; in order of
        entropy (nats), accept while the entropies summed *before* a position stay <=
        ``entropy_bound``; the rest is renoised.
        ``joint``: as ``threshold``, and a decided position is rewritten when another token has
        confidence >= ``edit_threshold``; up to ``max_post_steps`` further steps after the last
        position was decided, while any edit happens.
        ``prefix``: from the first open position on, while confidence >= ``threshold``; always the
        first. What is accepted has all its left context decided or accepted with it.
    max_steps: budget of steps a block (``None``: block_size for threshold, fixed and prefix, block_size +
        max_post_steps for joint, 2 * block_size for entropy_bound); its last step decides whatever
        is open by best confidence.
    temperature: 0 = most likely token. ``top_k`` 0 and ``top_p`` 1 = off.
    residual: use the model's residual input if it has one. draft: what a block's first step gets there:
        ``none``, or ``prompt``: tokens copied from the prompt (:func:`dlmrt.lookup.block_draft`), for models
        trained with ``objective.draft_probability``. It is only a hint: policies decide as ever.
    """

    policy: PolicyName = "threshold"
    threshold: float = 0.9
    per_step: int = 1
    entropy_bound: float = 0.1
    edit_threshold: float = 0.9
    max_post_steps: int = 16
    max_steps: int | None = None
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    residual: bool = True
    draft: DraftName = "none"

    def __post_init__(self) -> None:
        req = functools.partial(require, error=RequestError)
        req(self.policy in POLICIES, "policy", self.policy, "one of " + ", ".join(POLICIES))
        req(self.draft in DRAFTS, "draft", self.draft, "one of " + ", ".join(DRAFTS))
        req(0 <= self.threshold <= 1, "threshold", self.threshold, "in [0, 1]")
        req(self.per_step >= 1, "per_step", self.per_step, ">= 1")
        req(self.entropy_bound >= 0, "entropy_bound", self.entropy_bound, ">= 0")
        req(0 <= self.edit_threshold <= 1, "edit_threshold", self.edit_threshold, "in [0, 1]")
        req(self.max_post_steps >= 0, "max_post_steps", self.max_post_steps, ">= 0")
        req(self.max_steps is None or self.max_steps >= 1, "max_steps", self.max_steps, ">= 1")
        req(0 <= self.temperature < float("inf"), "temperature", self.temperature, ">= 0, finite")
        req(self.top_k >= 0, "top_k", self.top_k, ">= 0")
        req(0 < self.top_p <= 1, "top_p", self.top_p, "in (0, 1]")
        req(0 <= self.seed < 2**63, "seed", self.seed, "in [0, 2**63)")

    def step_budget(self, block_size: int) -> int:
        """The number of denoising steps that one block may take."""
        if self.max_steps is not None:
            return self.max_steps
        if self.policy == "joint":
            return block_size + self.max_post_steps
        return 2 * block_size if self.policy == "entropy_bound" else block_size


@dataclass(frozen=True)
class PromptFormat:
    """How a user's text becomes prompt ids when the model has no chat template.

    prefix, suffix: names of control tokens put before and after the text's own tokens.
    align: fill the prompt with pad tokens (on the right) to a whole number of blocks, so that the
        answer begins on a block edge.
    max_text_tokens: longest text the model was trained on (``None``: whatever the context holds).
    """

    prefix: tuple[str, ...] = ()
    suffix: tuple[str, ...] = ()
    align: bool = False
    max_text_tokens: int | None = None


@dataclass(frozen=True)
class GenerationDefaults:
    """What ``generation_config.json`` carries: diffusion block, decoder defaults, prompt format."""

    diffusion: DiffusionConfig
    prompt: PromptFormat = field(default_factory=PromptFormat)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    max_new_tokens: int = 256


def require(ok: bool, name: str, got: object, allowed: str, error: type[DlmrtError] = ConfigError) -> None:
    """Raise ``error``, naming option, value and what is allowed, unless ``ok``."""
    if not ok:
        raise error(f"{name} is {got!r}; it must be {allowed}")


T = TypeVar("T")


def from_mapping(cls: type[T], data: object, where: str = "") -> T:
    """Build the dataclass ``cls`` from plain data (as YAML or JSON gives it), strictly.

    where: dotted path of ``data`` inside its file, used in messages.
    Raises ConfigError: not a mapping, an unknown key (nearest name given), a missing key, or a
    value of the wrong type.
    """
    at = where or cls.__name__
    if not isinstance(data, Mapping):
        raise ConfigError(f"{at} is {type(data).__name__}; it must be a mapping of options")
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls) if f.init}  # type: ignore[arg-type]
    for key in data:
        if key not in fields:
            raise ConfigError(
                f"unknown option '{_join(where, str(key))}'{nearest(str(key), fields)}"
                f" (allowed: {', '.join(fields)})"
            )
    values: dict[str, Any] = {}
    for name, spec in fields.items():
        if name in data:
            values[name] = _coerce(hints[name], data[name], _join(where, name))
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise ConfigError(f"option '{_join(where, name)}' is missing; it has no default")
    return cls(**values)


def to_mapping(value: object) -> Any:
    """Turn a configuration dataclass into plain data that JSON and YAML can write."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_mapping(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [to_mapping(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): to_mapping(v) for k, v in value.items()}
    return value


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _coerce(hint: Any, value: object, at: str) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        inner = [a for a in args if a is not type(None)]
        return _coerce_first(inner, value, at)
    if origin is Literal:
        if value not in args:
            allowed = ", ".join(map(str, args))
            raise ConfigError(
                f"{at} is {value!r}; it must be one of {allowed}{nearest(str(value), map(str, args))}"
            )
        return value
    if origin is tuple and isinstance(value, list | tuple):
        kinds = args[:1] * len(value) if len(args) == 2 and args[1] is ... else args
        if len(kinds) != len(value):
            raise ConfigError(f"{at} has {len(value)} values; it must have {len(kinds)}")
        return tuple(_coerce(k, v, f"{at}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))
    if origin is dict and isinstance(value, Mapping):
        return {str(k): _coerce(args[1], v, f"{at}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return value if isinstance(value, hint) else from_mapping(hint, value, at)
    return _coerce_scalar(hint, value, at)


def _coerce_first(kinds: list[Any], value: object, at: str) -> Any:
    for kind in kinds[:-1]:
        try:
            return _coerce(kind, value, at)
        except ConfigError:
            continue
    return _coerce(kinds[-1], value, at)


def _coerce_scalar(hint: Any, value: object, at: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is Any or (isinstance(hint, type) and type(value) is hint):
        return value
    name = getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{at} is {value!r} ({type(value).__name__}); it must be of type {name}")
