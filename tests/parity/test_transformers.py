"""Checkpoints that transformers writes load here and compute the same function, to rounding.

The same weights run as a plain causal model in both, so that nothing but the transformer differs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer, processors  # noqa: E402

from dlmrt import LLM  # noqa: E402
from dlmrt.models.folder import open_folder  # noqa: E402
from dlmrt.models.load import load_transformer  # noqa: E402
from dlmrt.models.transformer import Transformer  # noqa: E402
from dlmrt.models.weights import describe_weights, read_weights  # noqa: E402
from tests import tiny_folder as tiny  # noqa: E402

LENGTH, VOCAB = 21, 96
SIZES: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
BLOCK = {"block_size": 4, "noise": "mask", "mask_token_id": VOCAB - 1}


def build(family: str, **changes: Any) -> Any:
    """A model with random weights, all of them far from their neutral values."""
    config = {
        "qwen3": lambda: transformers.Qwen3Config(**{**SIZES, "head_dim": 16, **changes}),
        "llama": lambda: transformers.LlamaConfig(**{**SIZES, **changes}),
    }[family]()
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            noise = torch.randn(weight.shape, generator=generator)
            weight.copy_(1 + 0.3 * noise if weight.ndim == 1 else noise * weight.shape[-1] ** -0.5)
    return model.eval()


def causal_logits(model: Transformer, tokens_BL: Any) -> Any:
    """Our model with every token seeing itself and what is before it."""

    def attend(layer: int, q: Any, k: Any, v: Any) -> Any:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    positions_BL = torch.arange(tokens_BL.shape[1]).expand_as(tokens_BL)
    return model.logits(model(tokens_BL, positions_BL, attend))


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("qwen3", {}),
        (
            "qwen3",
            {"tie_word_embeddings": True, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
        ),
        ("llama", {"rms_norm_eps": 1e-3}),
        ("llama", {"tie_word_embeddings": True, "hidden_act": "gelu_pytorch_tanh"}),
    ],
)
def test_logits_equal_transformers(tmp_path: Path, family: str, changes: dict[str, Any]) -> None:
    theirs = build(family, **changes)
    theirs.save_pretrained(tmp_path, max_shard_size=20_000)
    (tmp_path / "dlmrt.json").write_text(json.dumps(BLOCK))
    folder = open_folder(tmp_path)
    assert len(describe_weights(folder).files) > 1
    ours = load_transformer(folder)
    tokens_BL = torch.randint(0, VOCAB, (2, LENGTH), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        want, got = theirs(input_ids=tokens_BL).logits, causal_logits(ours, tokens_BL)
    assert want.std() > 0.1
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


def test_bfloat16_checkpoints_are_read_exactly(tmp_path: Path) -> None:
    theirs = build("qwen3").to(torch.bfloat16)
    theirs.save_pretrained(tmp_path)
    (tmp_path / "dlmrt.json").write_text(json.dumps(BLOCK))
    folder = open_folder(tmp_path)
    assert describe_weights(folder).dtypes == ("BF16",)
    state = theirs.state_dict()
    for name, array in read_weights(folder).items():
        assert torch.equal(torch.from_numpy(array), state[name].float()), name


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Bytes, and a begin-of-sequence token that the tokenizer adds by itself."""
    text = Tokenizer.from_str(tiny.tokenizer_json())
    bos = tiny.CONTROL[tiny.TASK]
    text.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, tiny.TASK)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=text, bos_token=bos, eos_token=tiny.CONTROL[tiny.EOS]
    )


@pytest.mark.parametrize("family", ["qwen3", "llama"])
def test_greedy_answers_equal_transformers_generate(tmp_path: Path, family: str, tokenizer: Any) -> None:
    """A folder as transformers writes it, no word of diffusion in it, answers the same on every backend."""
    theirs = build(family, vocab_size=len(tokenizer), bos_token_id=tiny.TASK, eos_token_id=tiny.EOS)
    theirs.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert open_folder(tmp_path).methods == ("ar", "ar_lookup")
    answers = []
    for text in ("the stop the stop", "ab ab", "x"):
        asked = tokenizer(text, return_tensors="pt")
        asked.pop("token_type_ids", None)
        with torch.no_grad():
            out = theirs.generate(**asked, do_sample=False, max_new_tokens=30, pad_token_id=tiny.PAD)
        answers.append(out[0, asked["input_ids"].shape[1] :].tolist())
        for backend in ("numpy", "eager"):
            llm = LLM.load(str(tmp_path), backend=backend, dtype="float32")
            for method in (None, "ar_lookup"):
                got = llm.generate(text, max_new_tokens=30, method=method)
                want = answers[-1][:-1] if got.ended_by_eos else answers[-1]
                assert list(got.ids) == want, (text, backend, method)
    assert any(len(set(ids)) > 5 for ids in answers), "a model that repeats one token proves little"
