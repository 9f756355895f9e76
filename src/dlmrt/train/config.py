"""What a training run is made of: one strict, typed tree read from a YAML file.

Control tokens are named by their text here (``<|mask|>``) and become ids once the tokenizer is
known, because a run may train its own tokenizer.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from dlmrt.config import (
    Activation,
    CleanAttention,
    DecoderConfig,
    ModelConfig,
    Noise,
    PromptFormat,
    ResidualConfig,
    from_mapping,
    require,
    to_mapping,
)
from dlmrt.errors import ConfigError
from dlmrt.train.objective_config import ObjectiveConfig


@dataclass(frozen=True)
class ModelSection:
    """The architecture to train from scratch, or ``start``: a model folder or name to go on from.

    Unset fields take :class:`dlmrt.config.ModelConfig`'s defaults. ``vocab_size`` unset: the
    tokenizer's size. With ``start``, only ``residual``, ``clean_attention`` and ``max_positions``
    may be given; a residual pathway that the start model lacks is added, freshly initialised. The
    run's block size, noise and mask token must be those of the start model.
    """

    start: str | None = None
    vocab_size: int | None = None
    d_model: int | None = None
    n_layers: int | None = None
    n_heads: int | None = None
    n_kv_heads: int | None = None
    head_dim: int | None = None
    d_ffn: int | None = None
    max_positions: int | None = None
    activation: Activation | None = None
    norm_eps: float | None = None
    rope_theta: float | None = None
    rotary_fraction: float | None = None
    qk_norm: bool | None = None
    tie_embeddings: bool | None = None
    clean_attention: CleanAttention | None = None
    residual: ResidualConfig | None = None

    def given(self) -> dict[str, Any]:
        """The architecture fields that the file sets."""
        pairs = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self) if f.name != "start")
        return {name: value for name, value in pairs if value is not None}

    def resolve(self, vocab_size: int, start: ModelConfig | None) -> ModelConfig:
        """The full architecture. ``start``: the configuration of the start model, if there is one."""
        given = self.given()
        if start is not None:
            fixed = sorted(set(given) - {"residual", "clean_attention", "max_positions"})
            if fixed:
                raise ConfigError(
                    f"model.start is set, so model.{fixed[0]} cannot be; only residual, clean_attention and "
                    "max_positions may differ from the start model: remove it"
                )
            return dataclasses.replace(start, **given)
        size = given.setdefault("vocab_size", vocab_size)
        if size < vocab_size:
            raise ConfigError(
                f"model.vocab_size is {size}; the tokenizer has {vocab_size} tokens: "
                "give at least that or leave it out"
            )
        return from_mapping(ModelConfig, given, "model")


@dataclass(frozen=True)
class DiffusionSection:
    """Block grid, noise and the control tokens by name. Every special token but EOS is reserved."""

    block_size: int
    noise: Noise = "mask"
    mask_token: str | None = "<|mask|>"
    eos_token: str = "<|eos|>"
    pad_token: str = "<|pad|>"


@dataclass(frozen=True)
class TokenizerTraining:
    """A byte-level BPE trained on the run's own training texts.

    single_digits: every digit is its own token. min_frequency: rarest pair that is merged.
    max_samples: from how many samples the merges are learned (the first ones, as many of each file).
    special_tokens: names beyond the control tokens that ``diffusion`` and ``prompt`` already name.
    """

    vocab_size: int = 8192
    single_digits: bool = True
    min_frequency: int = 2
    max_samples: int | None = 200_000
    special_tokens: tuple[str, ...] = ()


@dataclass(frozen=True)
class TokenizerSection:
    """An existing ``tokenizer.json`` (``path``), or ``train`` one. Neither: the start model's."""

    path: str | None = None
    train: TokenizerTraining | None = None


@dataclass(frozen=True)
class DataSection:
    """JSONL files (``.jsonl`` or ``.jsonl.gz``), one ``{"prompt": str, "answer": str}`` a line.

    limit, dev_limit: use only the first so many samples of a set. jobs: processes that encode; their
    number changes nothing but the time.
    """

    train: tuple[str, ...]
    dev: tuple[str, ...] = ()
    prompt_field: str = "prompt"
    answer_field: str = "answer"
    limit: int | None = None
    dev_limit: int | None = 2000
    cache: bool = True
    jobs: int = 1

    def __post_init__(self) -> None:
        require(self.jobs >= 1, "data.jobs", self.jobs, ">= 1")


@dataclass(frozen=True)
class OptimConfig:
    """The optimiser and its schedule.

    kind: ``adamw``, or ``muon``: Muon (rate ``muon_lr``, scheduled alike) for the matrices of the
    layers and of the residual pathway, AdamW (rate ``lr``) for embeddings and norms.
    by: what the schedule counts: ``steps`` of ``max_steps``, or ``minutes`` of ``max_minutes``.
    warmup: share of the run in which the rate rises linearly from 0. decay: share of the run, its
    last part, in which it falls to ``final_lr`` * ``lr``. clip: largest gradient norm (0 = off).
    decay_embeddings: apply weight decay to the embedding table too (off: rows of rare tokens get
    almost no gradient and would only shrink). residual_lr_scale, residual_clip: learning-rate
    factor and clip of the residual pathway, which is clipped apart from the rest.
    """

    kind: Literal["adamw", "muon"] = "adamw"
    lr: float = 1e-3
    muon_lr: float = 0.02
    muon_momentum: float = 0.95
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    by: Literal["steps", "minutes"] = "steps"
    warmup: float = 0.02
    decay: float = 0.5
    final_lr: float = 0.0
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    weight_decay: float = 0.1
    decay_embeddings: bool = False
    clip: float = 1.0
    residual_lr_scale: float = 1.0
    residual_clip: float = 1.0

    def __post_init__(self) -> None:
        require(self.lr > 0, "optim.lr", self.lr, "> 0")
        require(self.muon_lr > 0, "optim.muon_lr", self.muon_lr, "> 0")
        require(0 <= self.muon_momentum < 1, "optim.muon_momentum", self.muon_momentum, "in [0, 1)")
        require(0 <= self.warmup <= 1, "optim.warmup", self.warmup, "in [0, 1]")
        require(0 <= self.decay <= 1, "optim.decay", self.decay, "in [0, 1]")
        require(self.warmup + self.decay <= 1, "optim.warmup + optim.decay", self.warmup + self.decay, "<= 1")
        require(0 <= self.final_lr <= 1, "optim.final_lr", self.final_lr, "in [0, 1] (a share of lr)")
        require(all(0 <= b < 1 for b in self.betas), "optim.betas", self.betas, "in [0, 1)")
        require(self.eps > 0, "optim.eps", self.eps, "> 0")
        for name in ("weight_decay", "clip", "residual_lr_scale", "residual_clip"):
            require(getattr(self, name) >= 0, f"optim.{name}", getattr(self, name), ">= 0")


@dataclass(frozen=True)
class TrainConfig:
    """A supervised run; :func:`load_config` reads it.

    row_length: positions of a packed row, a multiple of the block size. row_buckets: further,
    shorter row lengths; a sample goes to the shortest row that holds it, and a batch of shorter
    rows has proportionally more of them. batch_rows: rows of ``row_length`` in one micro-batch.
    accumulate: micro-batches an optimiser step. ema: decay of the weights' moving average, which
    is then what ``final`` holds (0 = off). threads: CPU threads (null: torch's choice).
    save_every, eval_every: steps between checkpoints and dev evaluations (0 = only at the end).
    """

    model: ModelSection
    diffusion: DiffusionSection
    data: DataSection
    out: str
    tokenizer: TokenizerSection = field(default_factory=TokenizerSection)
    prompt: PromptFormat = field(default_factory=PromptFormat)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    max_new_tokens: int = 256
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    row_length: int = 256
    row_buckets: tuple[int, ...] = ()
    batch_rows: int = 32
    accumulate: int = 1
    max_steps: int | None = None
    max_minutes: float | None = None
    seed: int = 0
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    ema: float = 0.0
    device: str = "cpu"
    threads: int | None = None
    log_every: int = 10
    eval_every: int = 200
    save_every: int = 200
    keep_last: int = 2
    tensorboard: bool = False

    def __post_init__(self) -> None:
        size = self.diffusion.block_size
        for length in (self.row_length, *self.row_buckets):
            require(
                length >= size and length % size == 0,
                "row_length / row_buckets",
                length,
                f"a multiple of diffusion.block_size ({size})",
            )
            require(
                length <= self.row_length, "row_buckets", length, f"at most row_length ({self.row_length})"
            )
        for name in ("batch_rows", "accumulate", "log_every", "keep_last"):
            require(getattr(self, name) >= 1, name, getattr(self, name), ">= 1")
        for name in ("eval_every", "save_every"):
            require(getattr(self, name) >= 0, name, getattr(self, name), ">= 0")
        require(self.max_steps is None or self.max_steps >= 1, "max_steps", self.max_steps, ">= 1 or null")
        require(
            self.max_minutes is None or self.max_minutes > 0, "max_minutes", self.max_minutes, "> 0 or null"
        )
        require(0 <= self.seed < 2**63, "seed", self.seed, "in [0, 2**63)")
        require(0 <= self.ema < 1, "ema", self.ema, "in [0, 1)")
        require(self.threads is None or self.threads >= 1, "threads", self.threads, ">= 1 or null")
        needed = "max_steps" if self.optim.by == "steps" else "max_minutes"
        require(
            getattr(self, needed) is not None,
            needed,
            None,
            f"set when optim.by is '{self.optim.by}' (the schedule ends there)",
        )
        require(
            not (self.tokenizer.path and self.tokenizer.train),
            "tokenizer",
            "both path and train",
            "one of them",
        )
        require(
            self.objective.attention != "flex" or self.device.startswith("cuda"),
            "objective.attention",
            self.objective.attention,
            f"'dense' on device {self.device!r} ('flex' needs a CUDA device, such as device=cuda)",
        )


# Options that may change when a run is resumed. A new max_steps or max_minutes moves the end of the
# schedule, so the rates of the steps to come differ from those of a run planned so from the start.
# Other threads or another device round differently, so steps are no longer equal bit for bit. The
# rest alters what is reported and kept, never what a step computes.
RESUMABLE = (
    *("max_steps", "max_minutes", "log_every", "eval_every", "save_every", "keep_last", "tensorboard"),
    *("out", "threads", "device", "decoder", "max_new_tokens"),
    *("data.cache", "data.jobs", "data.dev", "data.dev_limit"),
    "data.train",  # the files' hashes count
)


class _Loader(yaml.SafeLoader):
    """Safe YAML in which ``1e-3`` is a number (YAML 1.1 would read a string)."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+.0123456789")
)


def parse_yaml(text: str, where: str) -> Any:
    """Plain data of a YAML text; ConfigError names ``where`` and the line of a syntax error."""
    try:
        return yaml.load(text, Loader=_Loader)  # a SafeLoader: builds plain data only
    except yaml.YAMLError as error:
        raise ConfigError(f"{where} is not valid YAML: {' '.join(str(error).split())}") from None


def load_config(path: str | Path, overrides: Sequence[str] = ()) -> TrainConfig:
    """Read a YAML file, apply dotted ``key=value`` overrides, and build the configuration."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot read the configuration {file}: {error.strerror}; give the path of a YAML file"
        ) from None
    data = parse_yaml(text, str(file))
    if not isinstance(data, dict):
        raise ConfigError(f"{file} holds {type(data).__name__}; it must hold a mapping of options")
    for item in overrides:
        apply_override(data, item)
    return from_mapping(TrainConfig, data)


def apply_override(data: dict[str, Any], item: str) -> None:
    """Set ``a.b.c=value`` in nested plain data; the value is read as YAML."""
    key, equals, value = item.partition("=")
    names = key.strip().split(".")
    if not equals or not all(names):
        raise ConfigError(f"--set got {item!r}; it must look like optim.lr=1e-3")
    node = data
    for name in names[:-1]:
        child = node.get(name)
        if not isinstance(child, dict):
            child = node[name] = {}
        node = child
    node[names[-1]] = parse_yaml(value, f"--set {key}")


def dump_config(config: object) -> str:
    """The configuration as YAML that :func:`load_config` reads back to an equal one."""
    return yaml.safe_dump(to_mapping(config), sort_keys=False, allow_unicode=True, width=100)


def differences(old: object, new: object) -> list[str]:
    """Dotted names of options that differ and may not, between a saved run and a resumed one."""
    first, second = _flatten(to_mapping(old)), _flatten(to_mapping(new))
    changed = (name for name in sorted({*first, *second}) if first.get(name) != second.get(name))
    return [name for name in changed if not any(name == r or name.startswith(r + ".") for r in RESUMABLE)]


def _flatten(data: Any, where: str = "") -> dict[str, Any]:
    if isinstance(data, dict) and data:
        out: dict[str, Any] = {}
        for key, value in data.items():
            out.update(_flatten(value, f"{where}.{key}" if where else key))
        return out
    return {where: data}
