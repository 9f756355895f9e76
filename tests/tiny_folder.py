"""A tiny random model folder and a backend that recites a script, for tests of the layers above."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from dlmrt.config import (
    DecoderConfig,
    DiffusionConfig,
    GenerationDefaults,
    ModelConfig,
    PromptFormat,
    ResidualConfig,
)
from dlmrt.engine.backends import Choice
from dlmrt.engine.llm import LLM
from dlmrt.engine.text import TextCodec
from dlmrt.models.families import find_family, read_model_config
from dlmrt.models.folder import open_folder, save_folder
from dlmrt.models.weights import expected_shapes
from dlmrt.rows import BlockHook, PhaseSeconds, RowOutput, RowRequest, StepHook

PAD, MASK, EOS, TASK = 0, 1, 2, 3
CONTROL = ("<pad>", "<mask>", "<eos>", "<task>")
BLOCK = 8
CONTEXT = 96


def tokenizer_json() -> str:
    """Bytes and a few merges ("ab", "the"): characters beyond ASCII take several tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + len(CONTROL) + 4,
        special_tokens=list(CONTROL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["the the the ab ab ab stop"] * 4, trainer)
    return str(tokenizer.to_str())


def write_folder(
    path: Path,
    *,
    prompt: PromptFormat | None = None,
    chat_template: str | None = None,
    residual: bool = False,
    context: int = CONTEXT,
    seed: int = 0,
) -> Path:
    """Save a model of random weights that decodes 8-token blocks of mask noise."""
    tokenizer = tokenizer_json()
    config = ModelConfig(
        vocab_size=Tokenizer.from_str(tokenizer).get_vocab_size(),
        d_model=16,
        n_layers=2,
        n_heads=2,
        n_kv_heads=1,
        head_dim=8,
        d_ffn=24,
        max_positions=context,
        residual=ResidualConfig(top_k=4, d_hidden=8) if residual else None,
    )
    generation = GenerationDefaults(
        diffusion=DiffusionConfig(
            block_size=BLOCK,
            mask_token_id=MASK,
            eos_token_ids=(EOS,),
            pad_token_id=PAD,
            reserved_ids=(PAD, MASK, TASK),
        ),
        prompt=prompt or PromptFormat(prefix=("<task>",), align=True, max_text_tokens=40),
        decoder=DecoderConfig(threshold=0.02),
        max_new_tokens=24,
    )
    rng = np.random.default_rng(seed)
    tensors = {
        name: np.ones(shape, np.float32) if len(shape) == 1 else rng.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in expected_shapes(config).items()
    }
    extra = {} if chat_template is None else {"chat_template.jinja": chat_template}
    save_folder(path, config, generation, tensors, tokenizer_json=tokenizer, extra_files=extra)
    return path


def write_llama_folder(path: Path, *, context: int = CONTEXT, seed: int = 0) -> Path:
    """Write the files of a plain Llama checkpoint of random weights, as its publishers do.

    Nothing in it says a word of diffusion; its tokenizer puts ``<task>`` before a text.
    """
    tokenizer = Tokenizer.from_str(tokenizer_json())
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CONTROL[TASK]} $A", special_tokens=[(CONTROL[TASK], TASK)]
    )
    data = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "intermediate_size": 24,
        "max_position_embeddings": context,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
        "bos_token_id": TASK,
        "eos_token_id": EOS,
    }
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(data))
    sampling = {"do_sample": True, "temperature": 0.6, "eos_token_id": EOS, "pad_token_id": PAD}
    (path / "generation_config.json").write_text(json.dumps(sampling))
    tokenizer.save(str(path / "tokenizer.json"))
    rng = np.random.default_rng(seed)
    shapes = expected_shapes(read_model_config(data, find_family(data, "test"), "test"))
    tensors = {
        name: np.ones(shape, np.float32) if len(shape) == 1 else rng.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }
    save_file(tensors, path / "model.safetensors")
    return path


class ScriptedBackend:
    """Recites ``script(request)`` in blocks on the absolute grid; an EOS in it ends the row."""

    name = "numpy"

    def __init__(self, script: Callable[[RowRequest], Sequence[int]]) -> None:
        self.script = script
        self.before_block: Callable[[], object] = lambda: None
        self.blocks_decoded = 0
        self.seen: list[RowRequest] = []

    def generate(
        self,
        requests: Sequence[RowRequest],
        *,
        on_step: StepHook | None = None,
        on_block: BlockHook | None = None,
    ) -> list[RowOutput]:
        return [self._row(row, request, on_block) for row, request in enumerate(requests)]

    def _row(self, row: int, request: RowRequest, on_block: BlockHook | None) -> RowOutput:
        self.seen.append(request)
        script = list(self.script(request))[: request.max_new_tokens]
        ended = EOS in script
        ids = script[: script.index(EOS)] if ended else script
        out: list[int] = []
        steps = 0
        cancelled = False
        while not cancelled:
            self.before_block()
            room = BLOCK - (len(request.prompt_ids) + len(out)) % BLOCK
            new = tuple(ids[len(out) : len(out) + room])
            out += new
            steps += 1
            self.blocks_decoded += 1
            cancelled = on_block is not None and bool(on_block(row, new))
            if len(out) == len(ids):
                break
        complete = len(out) == len(ids)
        return RowOutput(
            ids=tuple(out),
            finish_reason="cancelled" if not complete else "stop" if ended else "length",
            ended_by_eos=complete and ended,
            prefill_forwards=int(len(request.prompt_ids) >= BLOCK),
            denoise_forwards=2 * steps,
            commit_forwards=steps - 1,
            steps_per_block=(2,) * steps,
            seconds=PhaseSeconds(0.25, 0.5, 0.125),
        )


def scripted(folder: Path, script: Callable[[RowRequest], Sequence[int]]) -> tuple[LLM, ScriptedBackend]:
    """An LLM of ``folder`` whose backend recites a script."""
    backend = ScriptedBackend(script)
    opened = open_folder(folder)
    choice = Choice("numpy", "cpu", "float32", "a test")
    return LLM(backend, TextCodec(opened), opened, choice, load_seconds=0.5), backend


def encode(text: str) -> list[int]:
    """Ids of ``text`` without any prompt format."""
    ids: list[int] = Tokenizer.from_str(tokenizer_json()).encode(text, add_special_tokens=False).ids
    return ids
