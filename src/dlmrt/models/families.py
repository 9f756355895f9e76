"""Which ``config.json`` files are understood, and how each maps onto our transformer.

A family is data: the key by which a checkpoint names itself, what its architecture implies, and the
keys of its own that do not matter for inference. Every key of a file is known here, either because
it is used, or because it cannot change the maths, or because only its neutral value is supported; any
other key is an error, since ignoring it could mean computing a different model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from dlmrt.config import CleanAttention, ModelConfig, ResidualConfig, from_mapping, to_mapping
from dlmrt.errors import ConfigError, nearest

OWN_TYPE = "dlmrt"
OWN_ARCHITECTURE = "DlmrtForBlockDiffusion"
# Keys of the diffusion block; other families may carry them in config.json as well.
DIFFUSION_KEYS = ("block_size", "noise", "mask_token_id", "reserved_ids")


@dataclass(frozen=True)
class Family:
    """One kind of checkpoint. ``qk_norm``, ``head_dim``: ``None`` = the file says (head_dim: or the
    width of the model divided by the heads). ``autoregressive``: a plain language model unless its files
    say how it was trained for diffusion. ``harmless``: its own keys that inference ignores.
    """

    model_type: str
    architecture: str
    qk_norm: bool | None = None
    head_dim: int | None = None
    autoregressive: bool = False
    harmless: frozenset[str] = frozenset()

    @property
    def own(self) -> bool:
        """Whether it is dlmrt's own format."""
        return self.model_type == OWN_TYPE


FAMILIES: tuple[Family, ...] = (
    Family(OWN_TYPE, OWN_ARCHITECTURE),
    Family("qwen3", "Qwen3ForCausalLM", qk_norm=True, head_dim=128, autoregressive=True),
    Family("llama", "LlamaForCausalLM", qk_norm=False, autoregressive=True),
    # A Qwen3 body whose config.json carries block_size and mask_token_id; the keys below steer
    # its training code.
    Family(
        "sdar",
        "SDARForCausalLM",
        qk_norm=True,
        head_dim=128,
        harmless=frozenset(
            {"debug", "ep_size", "fuse_cross_entropy", "micro_forward", "skip_checkpoint", "use_deepep"}
        ),
    ),
)

# Keys that do not change what inference computes (or are read elsewhere: the token ids).
HARMLESS = frozenset(
    {
        "_attn_implementation", "_name_or_path", "architectures", "attention_dropout", "attn_implementation",
        "auto_map", "bos_token_id", "chunk_size_feed_forward", "dtype", "eos_token_id", "id2label",
        "initializer_range", "is_llama_config", "label2id", "max_window_layers", "model_type",
        "output_attentions", "output_hidden_states", "pad_token_id", "pretraining_tp", "problem_type",
        "return_dict", "torch_dtype", "transformers.js_config", "transformers_version", "use_cache",
    }
)  # fmt: skip


def _is_default_rope(value: object) -> bool:
    return value is None or (
        isinstance(value, Mapping) and value.get("rope_type", value.get("type")) == "default"
    )


def _all_full_attention(value: object) -> bool:
    return value is None or (isinstance(value, list) and all(kind == "full_attention" for kind in value))


def _off(value: object) -> bool:
    return value is None or value is False


# Keys that would change the maths: only a value for which the test holds is supported.
NEUTRAL: dict[str, Callable[[object], bool]] = {
    "attention_bias": _off,
    "attn_logit_softcapping": _off,
    "final_logit_softcapping": _off,
    "is_encoder_decoder": _off,
    "layer_types": _all_full_attention,
    "mlp_bias": _off,
    "qkv_bias": _off,
    "quantization_config": _off,
    "rope_interleaved": _off,
    "rope_scaling": _is_default_rope,
    "use_sliding_window": _off,
}

_REQUIRED_SIZES = {
    "vocab_size": "vocab_size",
    "hidden_size": "d_model",
    "num_hidden_layers": "n_layers",
    "num_attention_heads": "n_heads",
    "intermediate_size": "d_ffn",
    "max_position_embeddings": "max_positions",
}
_OPTIONAL = (
    "num_key_value_heads", "head_dim", "hidden_act", "rms_norm_eps", "rope_theta", "rope_parameters",
    "partial_rotary_factor", "tie_word_embeddings", "clean_attention", "residual", "sliding_window",
)  # fmt: skip
_ACTIVATIONS = {"silu": "silu", "swish": "silu", "gelu_tanh": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}


def find_family(data: Mapping[str, Any], where: str) -> Family:
    """Return the family that a ``config.json`` names; an unknown one is a ConfigError that lists all."""
    model_type, architectures = data.get("model_type"), data.get("architectures")
    named = architectures if isinstance(architectures, list) else []
    for family in FAMILIES:
        if family.model_type == model_type and (not named or family.architecture in named):
            return family
    supported = ", ".join(f"{f.architecture} (model_type {f.model_type})" for f in FAMILIES)
    raise ConfigError(
        f"{where} names architecture {', '.join(map(str, named)) or 'none'} with model_type {model_type!r}, "
        f"which is not supported; supported: {supported}"
    )


def read_model_config(data: Mapping[str, Any], family: Family, where: str) -> ModelConfig:
    """Map the content of a ``config.json`` onto a ModelConfig.

    where: the file, for messages. Raises ConfigError: an unknown key (nearest name given), a missing
    one, a value of the wrong type, or a feature that is not supported, by name.
    """
    _check_keys(data, family, where)
    fields = _Fields(data, where)
    values: dict[str, Any] = {ours: fields.size(theirs) for theirs, ours in _REQUIRED_SIZES.items()}
    heads = values["n_heads"]
    values["n_kv_heads"] = fields.size("num_key_value_heads", heads)
    width = family.head_dim or values["d_model"] // heads or None
    values["head_dim"] = fields.size("head_dim", width)
    values["activation"] = fields.choice("hidden_act", _ACTIVATIONS, "silu")
    values["norm_eps"] = fields.number("rms_norm_eps", 1e-6)
    values["tie_embeddings"] = fields.flag("tie_word_embeddings", family.own)
    values["qk_norm"] = fields.flag("use_qk_norm", False) if family.qk_norm is None else family.qk_norm
    attention = {name: name for name in get_args(CleanAttention)}
    values["clean_attention"] = fields.choice("clean_attention", attention, "block")
    try:
        if data.get("residual") is not None:
            values["residual"] = from_mapping(ResidualConfig, data["residual"], "residual")
        return ModelConfig(**values, **_rotary(fields))
    except ConfigError as problem:
        raise ConfigError(f"{where}: {problem}") from None


def write_model_config(config: ModelConfig) -> dict[str, Any]:
    """Return the content of our own ``config.json`` for ``config``."""
    sizes = {theirs: getattr(config, ours) for theirs, ours in _REQUIRED_SIZES.items()}
    return {
        "architectures": [OWN_ARCHITECTURE],
        "model_type": OWN_TYPE,
        **sizes,
        "num_key_value_heads": config.n_kv_heads,
        "head_dim": config.head_dim,
        "hidden_act": config.activation,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "partial_rotary_factor": config.rotary_fraction,
        "use_qk_norm": config.qk_norm,
        "tie_word_embeddings": config.tie_embeddings,
        "clean_attention": config.clean_attention,
        "residual": to_mapping(config.residual),
    }


def _check_keys(data: Mapping[str, Any], family: Family, where: str) -> None:
    used = {*_REQUIRED_SIZES, *_OPTIONAL}
    used |= {"use_qk_norm"} if family.own else set(DIFFUSION_KEYS)
    harmless = HARMLESS | family.harmless
    for key, value in data.items():
        neutral = NEUTRAL.get(key)
        if neutral is not None and not neutral(value):
            raise ConfigError(
                f"{where} has {key} = {value!r}, which is not supported; this model can't be run"
            )
        if neutral is None and key not in used and key not in harmless:
            raise ConfigError(
                f"{where} has the unknown option '{key}'{nearest(key, used)} (an option that is not known "
                "could change the model; if it does not, remove it)"
            )
    window = data.get("sliding_window")
    if window is not None and data.get("use_sliding_window") is not False:
        raise ConfigError(f"{where} has sliding_window = {window!r}, which is not supported; it must be null")


def _rotary(fields: _Fields) -> dict[str, Any]:
    """Rotary settings: plain keys, or the newer ``rope_parameters`` that holds both and a type."""
    source, scaled = fields, fields.data.get("rope_parameters")
    if scaled is not None:
        if not _is_default_rope(scaled):
            raise ConfigError(
                f"{fields.where} has rope_parameters = {scaled!r}, which is not supported; "
                "its rope_type must be 'default'"
            )
        for key in set(scaled) - {"rope_type", "type", "rope_theta", "partial_rotary_factor"}:
            raise ConfigError(f"{fields.where} has rope_parameters.{key}, which is not supported")
        source = _Fields({**fields.data, **scaled}, fields.where)
    return {
        "rope_theta": source.number("rope_theta", 10_000.0),
        "rotary_fraction": source.number("partial_rotary_factor", 1.0),
    }


@dataclass(frozen=True)
class _Fields:
    """Typed access to the keys of a file; every ConfigError names file and key. A null is "not given"."""

    data: Mapping[str, Any]
    where: str

    def size(self, key: str, default: int | None = None) -> int:
        value = self._get(key, default)
        return int(self._require(type(value) is int and value >= 1, key, value, "an integer >= 1"))

    def number(self, key: str, default: float) -> float:
        value = self._get(key, default)
        return float(self._require(type(value) in (int, float) and value > 0, key, value, "a number > 0"))

    def flag(self, key: str, default: bool) -> bool:
        value = self._get(key, default)
        return bool(self._require(isinstance(value, bool), key, value, "true or false"))

    def choice(self, key: str, allowed: Mapping[str, str], default: str) -> str:
        value = self._get(key, default)
        ok = isinstance(value, str) and value in allowed
        return allowed[self._require(ok, key, value, "one of " + ", ".join(allowed))]

    def _get(self, key: str, default: Any) -> Any:
        value = self.data.get(key)
        if value is None and default is None:
            raise ConfigError(f"{self.where} lacks '{key}'; it has no default")
        return default if value is None else value

    def _require(self, ok: bool, key: str, value: Any, allowed: str) -> Any:
        if not ok:
            raise ConfigError(f"{self.where} has {key} = {value!r}; it must be {allowed}")
        return value


__all__ = [
    "DIFFUSION_KEYS", "FAMILIES", "OWN_ARCHITECTURE", "OWN_TYPE", "Family", "find_family",
    "read_model_config", "write_model_config",
]  # fmt: skip
