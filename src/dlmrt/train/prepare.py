"""From a configuration to everything a run needs: tokenizer, data, model, all checked."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import dlmrt
from dlmrt.config import DiffusionConfig, GenerationDefaults, ModelConfig, to_mapping
from dlmrt.errors import ConfigError
from dlmrt.models.transformer import Transformer
from dlmrt.provenance import source_commit
from dlmrt.train.config import TrainConfig
from dlmrt.train.data import PackedSet, RowPlan
from dlmrt.train.encode import encode_files, hash_files, read_samples
from dlmrt.train.metrics import Reporter
from dlmrt.train.tokenizer import control_tokens, diffusion_config, read_tokenizer, train_tokenizer

if TYPE_CHECKING:
    from dlmrt.models.folder import ModelFolder


# Files of a start model that its successor keeps. Not its chat template: the successor learns the
# prompt format of this run, and a template would take its place at serving.
KEPT_FILES = ("tokenizer_config.json",)


@dataclass(frozen=True)
class Prepared:
    """A run that is ready to start; nothing here changes while it trains."""

    config: TrainConfig
    model_config: ModelConfig
    generation: GenerationDefaults
    tokenizer_json: str
    train: PackedSet
    dev: PackedSet | None
    data_hashes: tuple[str, ...]
    start: ModelFolder | None
    extra_files: dict[str, str]


def prepare(config: TrainConfig, reporter: Reporter) -> Prepared:
    """Train or read the tokenizer, encode the data (cached under ``out``), resolve the model.

    Raises ConfigError or DataError for whatever does not fit together.
    """
    _check_device(config.device)
    start = _open_start(config)
    hashes = hash_files((*config.data.train, *config.data.dev))
    tokenizer_json, where = make_tokenizer(config, reporter, hashes)
    tokenizer = read_tokenizer(tokenizer_json, where)
    model_config = config.model.resolve(tokenizer.get_vocab_size(), None if start is None else start.config)
    if model_config.vocab_size < tokenizer.get_vocab_size():
        raise ConfigError(
            f"the tokenizer {where} has {tokenizer.get_vocab_size()} tokens but the start model's vocabulary "
            f"holds {model_config.vocab_size}; use the start model's own tokenizer (leave tokenizer out)"
        )
    if config.row_length > model_config.max_positions:
        raise ConfigError(
            f"row_length is {config.row_length}; it must be at most model.max_positions "
            f"({model_config.max_positions})"
        )
    diffusion = diffusion_config(tokenizer, config.diffusion, model_config.vocab_size)
    if start is not None:
        _check_start(config, diffusion, start, reporter)
    generation = GenerationDefaults(diffusion, config.prompt, config.decoder, config.max_new_tokens)
    lengths = tuple(sorted({*config.row_buckets, config.row_length}))
    plan = RowPlan(diffusion.block_size, lengths, config.batch_rows)
    cache = Path(config.out) / "cache" if config.data.cache else None
    assert diffusion.pad_token_id is not None  # diffusion_config always sets it

    def packed(paths: tuple[str, ...], limit: int | None) -> PackedSet:
        reporter.note(f"encoding {', '.join(paths)}")
        chosen = {path: hashes[path] for path in paths}
        data = encode_files(chosen, config.data, limit, tokenizer, config.prompt, diffusion, cache)
        return PackedSet(data, plan, diffusion.pad_token_id or 0)

    return Prepared(
        config,
        model_config,
        generation,
        tokenizer_json,
        packed(config.data.train, config.data.limit),
        packed(config.data.dev, config.data.dev_limit) if config.data.dev else None,
        tuple(hashes[path] for path in config.data.train),
        start,
        _files_to_keep(start),
    )


def _check_device(name: str) -> None:
    try:
        kind = torch.device(name).type
    except RuntimeError:
        raise ConfigError(f"device is {name!r}; it must be a torch device such as cpu or cuda:0") from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device is {name!r} but torch sees no GPU; use --set device=cpu")


def make_tokenizer(
    config: TrainConfig, reporter: Reporter, hashes: dict[str, str] | None = None
) -> tuple[str, str]:
    """The run's ``tokenizer.json`` and where it is from: a file, the start model, or trained here."""
    section = config.tokenizer
    if section.path is not None:
        return _read_text(Path(section.path), "tokenizer.path"), section.path
    if section.train is None:
        start = _open_start(config)
        if start is None:
            raise ConfigError(
                "tokenizer has neither path nor train; give one (or model.start, whose own is used)"
            )
        return _read_text(start.path / "tokenizer.json", "model.start"), str(start.path)
    control = control_tokens(config.diffusion, config.prompt, section.train.special_tokens)
    hashes = hashes or hash_files(config.data.train)
    key = {
        "files": [hashes[path] for path in config.data.train],
        "fields": [config.data.prompt_field, config.data.answer_field],
        "limit": config.data.limit,
        "training": dataclasses.asdict(section.train),
        "control": control,
    }
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:24]
    file = Path(config.out) / "cache" / f"tokenizer-{digest}.json"
    if not file.exists():
        reporter.note(f"training a tokenizer of {section.train.vocab_size} tokens")
        text = train_tokenizer(_texts(config, section.train.max_samples), section.train, control)
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(f".{os.getpid()}.part")
        aside.write_text(text, encoding="utf-8")
        aside.replace(file)
    return file.read_text(encoding="utf-8"), str(file)


def _texts(config: TrainConfig, most: int | None) -> Iterator[str]:
    """Texts of the first samples, as many of each file, so that every file shapes the tokenizer."""
    if config.data.limit is not None or most is None:
        limits = [n for n in (config.data.limit, most) if n is not None]
        for pair in read_samples(config.data.train, config.data, min(limits, default=None)):
            yield from pair
        return
    for path in config.data.train:
        for pair in read_samples([path], config.data, -(-most // len(config.data.train))):
            yield from pair


def _read_text(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{option}: cannot read {path}: {error.strerror}") from None


def _open_start(config: TrainConfig) -> ModelFolder | None:
    if config.model.start is None:
        return None
    from dlmrt.models.folder import open_folder
    from dlmrt.models.registry import resolve

    return open_folder(resolve(config.model.start)).require_diffusion()


def _check_start(
    config: TrainConfig, diffusion: DiffusionConfig, start: ModelFolder, reporter: Reporter
) -> None:
    """Refuse another block grid, noise or mask than the start model learned; tell of another prompt."""
    old = start.generation
    for name in ("block_size", "noise", "mask_token_id"):
        mine, theirs = getattr(diffusion, name), getattr(old.diffusion, name)
        if mine != theirs:
            option = "mask_token" if name == "mask_token_id" else name
            raise ConfigError(
                f"diffusion.{option} gives {name} {mine!r}, but the start model {start.path} was trained "
                f"with {theirs!r}; set diffusion.{option} to what it had"
            )
    if config.prompt != old.prompt:
        reporter.note(
            f"the prompt format differs from that of the start model {start.path} "
            f"({to_mapping(old.prompt)}); the new model serves the one given here"
        )


def _files_to_keep(start: ModelFolder | None) -> dict[str, str]:
    """The start model's files that its successor needs too."""
    if start is None:
        return {}
    found = (start.path / name for name in KEPT_FILES)
    return {path.name: _read_text(path, "model.start") for path in found if path.is_file()}


def build_model(prepared: Prepared) -> Transformer:
    """The model at step 0: initialised from the seed, or the start model's weights.

    A residual pathway that the start model lacks keeps its fresh initialisation, whose output is
    zero: step 0 then equals the start model.
    """
    model = Transformer(prepared.model_config)
    model.initialise(torch.Generator().manual_seed(prepared.config.seed))
    if prepared.start is not None:
        from dlmrt.models.weights import read_weights

        weights = read_weights(prepared.start)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in weights and tuple(weights[name].shape) == tuple(parameter.shape):
                    parameter.copy_(torch.from_numpy(weights[name]))
                elif not name.startswith("residual."):
                    raise ConfigError(
                        f"the start model {prepared.start.path} lacks {name} in the shape needed"
                    )
    return model.to(prepared.config.device)


def compile_layers(model: Transformer, backend: str = "inductor") -> None:
    """Compile the transformer layer by layer: one graph serves all layers and all row lengths.

    The whole model as one graph would be compiled anew, for minutes, for every shape and with the residual
    input or without.
    """
    for layer in model.model.layers:
        layer.compile(dynamic=True, backend=backend)


def summary(prepared: Prepared) -> dict[str, Any]:
    """What ``--dry-run`` reports: sizes, tokens a step, a memory estimate, data statistics."""
    config, shape = prepared.config, prepared.model_config
    with torch.device("meta"):
        model = Transformer(shape)
    parameters = sum(p.numel() for p in model.parameters())
    embedding = shape.vocab_size * shape.d_model * (1 if shape.tie_embeddings else 2)
    rows = prepared.train.plan.rows_of(config.row_length)
    positions = rows * config.row_length
    memory = memory_estimate(config, shape, parameters, positions)
    return {
        "parameters": parameters,
        "parameters_without_embeddings": parameters - embedding,
        "positions_a_step": positions * config.accumulate,
        "memory_estimate_mib": {name: round(size / 2**20) for name, size in memory.items()},
        "train": prepared.train.statistics(),
        "dev": None if prepared.dev is None else prepared.dev.statistics(),
    }


def memory_estimate(
    config: TrainConfig, shape: ModelConfig, parameters: int, positions: int
) -> dict[str, int]:
    """Bytes, roughly: weights, gradients and AdamW moments in float32; activations of one micro-batch.

    Activations count a clean stream and ``copies`` noisy ones of the same length (an upper bound:
    noisy copies hold only answer blocks), what each layer keeps for its backward, and float32
    logits with their gradient at half the answer positions.
    """
    copies = 4 + (1 if config.ema > 0 else 0)
    width = 2 if config.precision == "bfloat16" else 4
    total = positions * (1 + config.objective.copies)
    heads = (2 * shape.n_heads + 2 * shape.n_kv_heads) * shape.head_dim
    layer = 6 * shape.d_model + heads + 4 * shape.d_ffn
    logits = positions * config.objective.copies // 2 * shape.vocab_size * 4 * 3
    state, activations = parameters * 4 * copies, total * layer * shape.n_layers * width + logits
    return {"state": state, "activations": activations, "total": state + activations}


def provenance(prepared: Prepared) -> dict[str, Any]:
    """Where the numbers of a run come from: versions, code commit, threads, hashes of the data."""
    return {
        "dlmrt": dlmrt.__version__,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "commit": source_commit(),
        "threads": torch.get_num_threads(),
        "data": list(prepared.data_hashes),
    }
