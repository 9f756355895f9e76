"""Models with random weights and real shapes: speed without a checkpoint, never quality.

A forward costs the same whatever the weights are; what differs is how many steps a block takes. So the
work is fixed: the ``fixed`` policy accepts ``per_step`` tokens a step, which makes exactly
``ceil(block_size / per_step)`` steps a block, no token ends an answer, and prompts fill whole blocks.
Prompts are tokenised by the embedded model's tokenizer, whose small vocabulary makes them longer than
a large one would.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dlmrt.bench.memory import free_bytes
from dlmrt.config import (
    DecoderConfig,
    DiffusionConfig,
    GenerationDefaults,
    ModelConfig,
    Noise,
    PromptFormat,
    from_mapping,
)
from dlmrt.engine.backends import Choice, choose
from dlmrt.engine.llm import LLM
from dlmrt.engine.text import TextCodec
from dlmrt.errors import ConfigError, ModelNotFoundError, RequestError, nearest
from dlmrt.models.folder import ModelFolder, open_folder
from dlmrt.models.registry import list_models, resolve
from dlmrt.models.weights import count_parameters, expected_shapes
from dlmrt.rows import Backend

if TYPE_CHECKING:
    from dlmrt.engine.arms import Place

_QWEN3: dict[str, Any] = {
    "vocab_size": 151_936, "head_dim": 128, "n_kv_heads": 8, "rope_theta": 1e6, "qk_norm": True,
    "max_positions": 32_768,
}  # fmt: skip
_QWEN3_4B: dict[str, Any] = {**_QWEN3, "d_model": 2560, "n_layers": 36, "n_heads": 32, "d_ffn": 9728}
# Shapes of published models, by the name of the model.
SHAPES: dict[str, dict[str, Any]] = {
    "smollm2-135m": {
        "vocab_size": 49_152, "d_model": 576, "n_layers": 30, "n_heads": 9, "n_kv_heads": 3,
        "head_dim": 64, "d_ffn": 1536, "max_positions": 8192, "rope_theta": 1e5,
    },
    "qwen3-0.6b": {**_QWEN3, "d_model": 1024, "n_layers": 28, "n_heads": 16, "d_ffn": 3072},
    "qwen3-4b": _QWEN3_4B,
    "sdar-4b": {**_QWEN3_4B, "tie_embeddings": False},
    "qwen3-8b": {
        **_QWEN3, "d_model": 4096, "n_layers": 36, "n_heads": 32, "d_ffn": 12_288, "tie_embeddings": False,
    },
}  # fmt: skip
EMBEDDED_SHAPE = "first-light"
# Where a shape given as text leaves something out.
PARTIAL: dict[str, Any] = {"n_kv_heads": None, "head_dim": None, "vocab_size": 32_768, "max_positions": 8192}
DEFAULT_NEW_TOKENS = 128
# Beside the weights: keys and values, logits, scratch. A tenth more, and at least this many bytes.
HEADROOM, LEAST_HEADROOM = 0.1, 64 << 20


@dataclass(frozen=True)
class RandomModel:
    """Which shape, and how much work a block is.

    name: a preset or ``custom``. per_step: tokens a denoising step accepts. seed: of the weights.
    """

    name: str
    config: ModelConfig
    block_size: int = 32
    noise: Noise = "mask"
    per_step: int = 1
    seed: int = 0

    @property
    def steps_per_block(self) -> int:
        """Denoising steps that every block takes."""
        return -(-self.block_size // min(self.per_step, self.block_size))


def read_shape(text: str) -> tuple[str, ModelConfig]:
    """Return (name, configuration) of a preset or of ``d_model=64,n_layers=2,n_heads=4,d_ffn=128,...``.

    Left out, ``head_dim`` is d_model / n_heads, ``n_kv_heads`` is n_heads, the vocabulary 32,768 tokens and
    the context 8,192. Raises RequestError: an unknown preset or key (nearest name given), a value that is no
    number, or a shape that can't be.
    """
    if text == EMBEDDED_SHAPE:
        return text, open_folder(resolve(EMBEDDED_SHAPE)).config
    if text in SHAPES:
        return text, from_mapping(ModelConfig, SHAPES[text])
    if "=" not in text:
        names = (EMBEDDED_SHAPE, *SHAPES)
        raise RequestError(
            f"no shape '{text}'{nearest(text, names)} (allowed: {', '.join(names)}, or numbers as in "
            "'d_model=512,n_layers=8,n_heads=8,d_ffn=1536')"
        )
    return "custom", _custom(text)


def _custom(text: str) -> ModelConfig:
    values: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        key, _, value = part.partition("=")
        values[key.strip()] = _value(value.strip())
    full = {**PARTIAL, **values}
    d_model, n_heads = full.get("d_model"), full.get("n_heads")
    if isinstance(d_model, int) and isinstance(n_heads, int) and n_heads > 0:
        full["n_kv_heads"] = full["n_kv_heads"] or n_heads
        full["head_dim"] = full["head_dim"] or d_model // n_heads
    missing = [key for key in ("d_model", "n_layers", "n_heads", "d_ffn") if key not in full]
    if missing:
        raise RequestError(
            f"--random-weights '{text}' leaves out {', '.join(missing)}; give KEY=VALUE for each"
        )
    try:
        return from_mapping(ModelConfig, full)
    except ConfigError as error:  # the caller wrote it: a request's fault
        raise RequestError(f"--random-weights '{text}': {error}") from None


def _value(text: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            number = kind(text)
            return number if math.isfinite(number) else text  # which then is of the wrong type
    return {"true": True, "false": False}.get(text.lower(), text)


def open_random(model: RandomModel, place: Place) -> LLM:
    """Make the weights where they are used and return a model that decodes with them.

    place: backend, device and dtype as for :meth:`LLM.load`; its model is not read.
    Raises RequestError: a shape that doesn't fit the memory (both numbers), a place that can't be.
    ConfigError: a vocabulary too small for the embedded tokenizer.
    """
    start = time.perf_counter()
    config = model.config
    folder = random_folder(model)
    choice = choose(
        place.backend,
        device=place.device,
        dtype=place.dtype,
        parameters=count_parameters(config),
        torch_installed=importlib.util.find_spec("torch") is not None,
    )
    codec = TextCodec(folder)
    open_backend = _numpy if choice.name == "numpy" else _eager
    backend = open_backend(model, choice, folder.generation.diffusion)
    return LLM(backend, codec, folder, choice, load_seconds=time.perf_counter() - start)


def random_folder(model: RandomModel) -> ModelFolder:
    """What stands in for the folder of a model with random weights: its shape, grid and tokenizer.

    Raises ModelNotFoundError: the embedded model, whose tokenizer it takes, is missing.
    """
    embedded = next((m for m in list_models() if m.name == EMBEDDED_SHAPE), None)
    if embedded is None:
        raise ModelNotFoundError(
            f"random weights take their tokenizer from the embedded model '{EMBEDDED_SHAPE}', "
            "which this installation lacks; install the released package"
        )
    own = open_folder(embedded.path).generation.diffusion
    diffusion = DiffusionConfig(
        block_size=model.block_size,
        noise=model.noise,
        mask_token_id=own.mask_token_id if model.noise == "mask" else None,
        eos_token_ids=(),
        pad_token_id=own.pad_token_id,
        reserved_ids=tuple(sorted({*own.reserved_ids, *own.eos_token_ids})),
    )
    generation = GenerationDefaults(
        diffusion=diffusion,
        prompt=PromptFormat(align=True),
        decoder=DecoderConfig(policy="fixed", per_step=model.per_step),
        max_new_tokens=DEFAULT_NEW_TOKENS,
    )
    return dataclasses.replace(open_folder(embedded.path), config=model.config, generation=generation)


def _numpy(model: RandomModel, choice: Choice, diffusion: DiffusionConfig) -> Backend:
    import numpy as np

    from dlmrt.reference.loop import NumpyBackend

    # The loop keeps its own copy of every matrix, and of a tied head a second one.
    require_memory(model, width=4, copies=3, device="cpu")
    rng = np.random.default_rng(model.seed)
    weights = {}
    for name, shape in expected_shapes(model.config).items():
        value = np.ones(shape, np.float32)
        if len(shape) > 1:
            value = rng.standard_normal(shape, np.float32)
            value *= np.float32(0.02)
        weights[name] = value
    return NumpyBackend(weights, model.config, diffusion)


def _eager(model: RandomModel, choice: Choice, diffusion: DiffusionConfig) -> Backend:
    import torch

    from dlmrt.decode.eager import EagerBackend
    from dlmrt.models.transformer import Transformer

    gpu = torch.cuda.is_available()
    device = choice.device or ("cuda" if gpu else "cpu")
    if device != "cpu" and not gpu:
        raise RequestError(f"device is '{device}' and torch sees no GPU; use 'cpu', or see `dlmrt doctor`")
    dtype = getattr(torch, choice.dtype or ("float32" if device == "cpu" else "bfloat16"))
    require_memory(model, width=dtype.itemsize, copies=1, device=device)
    with torch.device("meta"):  # nothing is allocated until the device is known
        transformer = Transformer(model.config).to(dtype)
    transformer.to_empty(device=device)
    transformer.initialise(torch.Generator(device).manual_seed(model.seed))
    return EagerBackend(transformer.eval(), diffusion, device=device)


def require_memory(model: RandomModel, *, width: int, copies: int, device: str) -> None:
    """Refuse a shape whose weights (``width`` bytes a number, ``copies`` at once) don't fit what is free.

    Raises RequestError with both numbers.
    """
    weights = count_parameters(model.config) * width * copies
    needed = weights + max(LEAST_HEADROOM, int(weights * HEADROOM))
    free = free_bytes(device)
    if needed > free:
        raise RequestError(
            f"random weights of shape '{model.name}' need about {needed / 1e9:.1f} GB on {device} and "
            f"{free / 1e9:.1f} GB are free; take a smaller shape, a narrower --dtype or another --device"
        )


def fixed_work(options: Mapping[str, Any]) -> int:
    """Return ``per_step`` out of decoder options for random weights.

    Raises RequestError: an option that would make the work depend on what random weights predict.
    """
    for name in options:
        if name not in ("per_step", "policy", "seed", "max_new_tokens"):
            raise RequestError(
                f"{name} has no place with --random-weights, which does a fixed amount of work a block; "
                "leave it out (--per-step says how many tokens a step accepts)"
            )
    if options.get("policy", "fixed") != "fixed":
        raise RequestError(
            f"policy is '{options['policy']}'; with --random-weights it must be fixed, so that every block "
            "takes the same number of steps"
        )
    return int(options.get("per_step", 1))
