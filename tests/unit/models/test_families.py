"""Configurations of other origin: what is understood, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dlmrt.config import ModelConfig, PromptFormat, ResidualConfig
from dlmrt.errors import ConfigError
from dlmrt.models.families import FAMILIES
from dlmrt.models.folder import open_folder

BLOCK = {"block_size": 4, "noise": "mask", "mask_token_id": 90}
LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 100000,
    "rope_scaling": None,
    "tie_word_embeddings": True,
    "eos_token_id": 2,
    "attention_bias": False,
    "mlp_bias": False,
    "pretraining_tp": 1,
    "torch_dtype": "bfloat16",
    "use_cache": True,
}
# As the published SDAR checkpoints write it, with smaller sizes.
SDAR: dict[str, Any] = {
    "architectures": ["SDARForCausalLM"],
    "auto_map": {"AutoConfig": "configuration_sdar.SDARConfig"},
    "attention_bias": False,
    "attention_dropout": 0.0,
    "attn_implementation": "flex_attention",
    "bos_token_id": 93,
    "block_size": 4,
    "debug": False,
    "eos_token_id": 93,
    "ep_size": 1,
    "fuse_cross_entropy": True,
    "head_dim": 16,
    "hidden_act": "silu",
    "hidden_size": 32,
    "intermediate_size": 48,
    "mask_token_id": 94,
    "max_position_embeddings": 64,
    "max_window_layers": 28,
    "model_type": "sdar",
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": None,
    "tie_word_embeddings": False,
    "use_cache": False,
    "use_sliding_window": False,
    "vocab_size": 96,
}


def write(folder: Path, **files: dict[str, Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    return folder


def test_llama_with_the_diffusion_block_in_generation_config(tmp_path: Path) -> None:
    generation = {**BLOCK, "eos_token_id": [3], "do_sample": True, "temperature": 0.6, "top_p": 0.9}
    opened = open_folder(write(tmp_path, config=LLAMA, generation_config=generation))
    assert opened.config == ModelConfig(
        vocab_size=96, d_model=32, n_layers=2, n_heads=4, n_kv_heads=2, head_dim=8, d_ffn=48,
        max_positions=64, norm_eps=1e-5, rope_theta=100000.0, tie_embeddings=True, qk_norm=False,
        clean_attention="block",
    )  # fmt: skip
    assert opened.generation.diffusion.eos_token_ids == (3, 2)
    assert opened.generation.decoder.temperature == 0  # the file's sampling defaults are not ours


def test_qwen3_with_an_overlay_of_its_own(tmp_path: Path) -> None:
    config = {
        **LLAMA,
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "layer_types": ["full_attention"] * 2,
        "sliding_window": 4096,
        "use_sliding_window": False,
        "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"},
        "pad_token_id": 1,
    }
    del config["rope_theta"], config["tie_word_embeddings"]
    overlay = {
        **BLOCK,
        "clean_attention": "causal",
        "residual": {"top_k": 4, "d_hidden": 8},
        "max_new_tokens": 7,
    }
    opened = open_folder(write(tmp_path, config=config, dlmrt=overlay))
    assert opened.config.qk_norm
    assert opened.config.head_dim == 128  # what the family means when the key is absent
    assert opened.config.rope_theta == 5e5
    assert not opened.config.tie_embeddings
    assert opened.config.clean_attention == "causal"
    assert opened.config.residual == ResidualConfig(top_k=4, d_hidden=8)
    assert opened.generation.max_new_tokens == 7
    assert opened.generation.diffusion.pad_token_id == 1


def test_sdar_brings_its_diffusion_block_in_config_json(tmp_path: Path) -> None:
    sampling = {
        "do_sample": True,
        "eos_token_id": [95, 93],
        "pad_token_id": 93,
        "temperature": 0.6,
        "top_k": 20,
    }
    opened = open_folder(write(tmp_path, config=SDAR, generation_config=sampling))
    assert opened.generation.diffusion.block_size == 4
    assert opened.generation.diffusion.noise == "mask"
    assert opened.generation.diffusion.mask_token_id == 94
    assert opened.generation.diffusion.eos_token_ids == (95, 93)
    assert opened.config.clean_attention == "block"
    assert (opened.config.qk_norm, opened.config.head_dim, opened.config.tie_embeddings) == (True, 16, False)


def test_an_overlay_overrides_the_mask_id(tmp_path: Path) -> None:
    opened = open_folder(write(tmp_path, config=SDAR, dlmrt={"mask_token_id": 91}))
    assert opened.generation.diffusion.mask_token_id == 91
    assert opened.generation.diffusion.block_size == 4


@pytest.mark.parametrize("extra", [{}, {"dlmrt": {"block_size": None, "max_new_tokens": 7}}])
def test_a_plain_language_model_decodes_autoregressively(tmp_path: Path, extra: dict[str, Any]) -> None:
    opened = open_folder(write(tmp_path, config=LLAMA, **extra))
    assert opened.methods == ("ar", "ar_lookup")
    assert opened.config.clean_attention == "causal"
    diffusion = opened.generation.diffusion
    assert (diffusion.denoises, diffusion.noise, diffusion.eos_token_ids) == (False, None, (2,))
    with pytest.raises(ConfigError, match=r'dlmrt\.json with "block_size", "noise" and "mask_token_id"'):
        opened.require_diffusion()


def test_with_diffusion_settings_it_has_all_methods(tmp_path: Path) -> None:
    opened = open_folder(write(tmp_path, config=LLAMA, dlmrt=BLOCK))
    assert opened.methods == ("diffusion", "ar", "ar_lookup")
    assert opened.config.clean_attention == "block"
    assert opened.require_diffusion() is opened


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config": {k: v for k, v in SDAR.items() if k != "block_size"}}, "sdar checkpoint without diff"),
        ({"config": LLAMA, "dlmrt": {"noise": "mask", "mask_token_id": 90}}, "sets 'noise' and no 'block"),
        ({"config": LLAMA, "generation_config": {"mask_token_id": 90}}, "sets 'mask_token_id' and no"),
        ({"config": {**LLAMA, "mask_token_id": 90}}, "sets 'mask_token_id' and no"),
        ({"config": LLAMA, "dlmrt": {"residual": {"top_k": 4}}}, "sets 'residual' and no"),
        ({"config": LLAMA, "dlmrt": {"clean_attention": "block"}}, "sets 'clean_attention' and no"),
        ({"config": LLAMA, "dlmrt": {"block_size": 4, "noise": None}}, "block_size is 4; it must be 1 when"),
        (
            {"config": LLAMA, "dlmrt": {"block_size": 1, "noise": None, "mask_token_id": 90}},
            "mask_token_id is 90; it must be null",
        ),
    ],
)
def test_half_of_the_diffusion_settings_is_an_error(
    tmp_path: Path, files: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        open_folder(write(tmp_path, **files))


def test_the_tokens_a_tokenizer_adds_become_the_prompt_format(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "<s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "</s>", "type_id": 0}},
        ],
        "special_tokens": {
            "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
            "</s>": {"id": "</s>", "ids": [2, 3], "tokens": ["</s>", "<end>"]},
        },
    }
    both = {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]}
    for at, value in enumerate([template, both]):
        folder = write(tmp_path / str(at), config=LLAMA, tokenizer={"post_processor": value})
        assert open_folder(folder).generation.prompt == PromptFormat(("<s>",), ("</s>", "<end>"))
    own = {"prompt": {"prefix": ["<a>"]}}
    asked = write(tmp_path / "own", config=LLAMA, tokenizer={"post_processor": template}, dlmrt=own)
    assert open_folder(asked).generation.prompt == PromptFormat(("<a>",))
    plain = write(tmp_path / "none", config=LLAMA, tokenizer={"post_processor": {"type": "ByteLevel"}})
    assert open_folder(plain).generation.prompt == PromptFormat()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1.0}}, "rope_parameters"),
        ({"rope_parameters": {"rope_type": "default", "factor": 2.0}}, "rope_parameters.factor"),
        ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "rope_parameters"),
        ({"attention_bias": True}, "attention_bias = True"),
        ({"mlp_bias": True}, "mlp_bias = True"),
        ({"sliding_window": 512}, "sliding_window = 512"),
        ({"sliding_window": 512, "use_sliding_window": True}, "use_sliding_window = True"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "layer_types"),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping = 30.0"),
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantization_config"),
        ({"rope_interleaved": True}, "rope_interleaved"),
        ({"embedding_multiplier": 12.0}, "unknown option 'embedding_multiplier'"),
        ({"use_qk_norm": True}, "unknown option 'use_qk_norm'"),
        ({"hidden_act": "gelu"}, "hidden_act = 'gelu'"),
    ],
)
def test_what_would_change_the_maths_is_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = write(tmp_path, config={**LLAMA, **changes}, generation_config=BLOCK)
    with pytest.raises(ConfigError, match=message) as caught:
        open_folder(folder)
    assert str(folder / "config.json") in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        (
            {"architectures": ["LLaDA2MoeModelLM"], "model_type": "llada2_moe"},
            "LLaDA2MoeModelLM.*'llada2_moe'",
        ),
        ({"architectures": ["LlamaForSequenceClassification"]}, "LlamaForSequenceClassification"),
        ({"architectures": None, "model_type": None}, "none with model_type None"),
        ({"architectures": ["Qwen3ForCausalLM"]}, "Qwen3ForCausalLM with model_type 'llama'"),
    ],
)
def test_an_unknown_architecture_names_itself_and_what_is_supported(
    tmp_path: Path, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        open_folder(write(tmp_path, config={**LLAMA, **changes}))
    for family in FAMILIES:
        assert family.architecture in str(caught.value)


def test_a_foreign_generation_config_is_strict_too(tmp_path: Path) -> None:
    generation = {**BLOCK, "mask_tokenid": 3}
    with pytest.raises(ConfigError, match="unknown option 'mask_tokenid'; did you mean 'mask_token_id'"):
        open_folder(write(tmp_path, config=LLAMA, generation_config=generation))
