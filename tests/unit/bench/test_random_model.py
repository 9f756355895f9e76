from __future__ import annotations

import numpy as np
import pytest

from dlmrt.bench import random_model
from dlmrt.bench.random_model import RandomModel, fixed_work, open_random, random_folder, read_shape
from dlmrt.config import ModelConfig
from dlmrt.engine.arms import Place
from dlmrt.errors import RequestError
from dlmrt.models.registry import list_models
from dlmrt.models.weights import count_parameters

pytestmark = pytest.mark.skipif(not list_models(), reason="this checkout has no embedded model")

SMALL = "d_model=16,n_layers=2,n_heads=2,d_ffn=24,vocab_size=1100,max_positions=256"
NUMPY, EAGER = Place(backend="numpy"), Place(backend="eager", device="cpu")


def small(**changes: object) -> RandomModel:
    return RandomModel("custom", read_shape(SMALL)[1], **{"block_size": 8, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "millions"),
    [  # as published, embeddings counted once where they are tied
        ("smollm2-135m", 134.5),
        ("qwen3-0.6b", 596.0),
        ("qwen3-4b", 4022.5),
        ("sdar-4b", 4411.4),
        ("qwen3-8b", 8190.7),
    ],
)
def test_presets_have_the_published_sizes(name: str, millions: float) -> None:
    found, config = read_shape(name)
    assert found == name
    assert count_parameters(config) / 1e6 == pytest.approx(millions, abs=0.06)


def test_the_embedded_shape_is_the_embedded_model_s() -> None:
    name, config = read_shape("first-light")
    assert (name, config.vocab_size, config.d_model) == ("first-light", 1024, 192)


def test_a_shape_in_numbers_fills_in_the_rest() -> None:
    name, config = read_shape("d_model=64,n_layers=3,n_heads=4,d_ffn=128,qk_norm=true,rope_theta=1e6")
    assert name == "custom"
    assert (config.head_dim, config.n_kv_heads, config.vocab_size) == (16, 4, 32_768)
    assert config.qk_norm
    grouped = read_shape("d_model=64,n_layers=3,n_heads=4,d_ffn=128,n_kv_heads=2,head_dim=32")[1]
    assert (grouped.head_dim, grouped.n_kv_heads) == (32, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qwen3-4", "did you mean 'qwen3-4b'"),
        ("d_model=64,n_layers=2", "leaves out n_heads, d_ffn"),
        ("d_modle=64,n_layers=2,n_heads=2,d_ffn=3,d_model=4", "did you mean 'd_model'"),
        ("d_model=64,n_layers=many,n_heads=2,d_ffn=3", "n_layers is 'many'"),
        ("d_model=64,n_layers=2,n_heads=3,d_ffn=3,n_kv_heads=2", "a multiple of n_kv_heads"),
        ("d_model=,n_layers=2,n_heads=3,d_ffn=3", "d_model is ''"),
        ("d_model=64,n_layers=2,n_heads=2,d_ffn=3,rope_theta=inf", "rope_theta is 'inf'"),
        ("d_model=64,n_layers=0,n_heads=4,d_ffn=3", "n_layers is 0"),
    ],
)
def test_a_shape_that_can_not_be_names_what_is_wrong(text: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        read_shape(text)


@pytest.mark.parametrize(("place", "noise"), [(NUMPY, "mask"), (NUMPY, "uniform"), (EAGER, "mask")])
@pytest.mark.parametrize(("per_step", "steps"), [(1, 8), (3, 3), (4, 2), (99, 1)])
def test_every_block_takes_the_same_steps(place: Place, noise: str, per_step: int, steps: int) -> None:
    if place is EAGER:
        pytest.importorskip("torch")
    model = small(noise=noise, per_step=per_step)
    assert model.steps_per_block == steps
    llm = open_random(model, place)
    answer = llm.generate("a prompt of some tokens", max_new_tokens=24)
    assert answer.prompt_tokens % 8 == 0
    assert answer.steps_per_block == (steps, steps, steps)
    assert len(answer.ids) == 24
    assert answer.finish_reason == "length"


def test_autoregressive_answers_have_their_full_length_too() -> None:
    llm = open_random(small(), NUMPY)
    answers = [llm.generate("a prompt", max_new_tokens=20, method=method) for method in ("ar", "ar_lookup")]
    assert [len(answer.ids) for answer in answers] == [20, 20]
    assert answers[0].ids == answers[1].ids


def test_the_seed_decides_the_weights() -> None:
    def head(seed: int) -> object:
        backend = open_random(small(seed=seed), NUMPY).backend
        return backend.model.embedding_VD.copy()  # type: ignore[attr-defined]

    first, again, other = head(0), head(0), head(1)
    assert np.array_equal(first, again)  # type: ignore[arg-type]
    assert not np.array_equal(first, other)  # type: ignore[arg-type]


def test_torch_weights_are_made_in_the_precision_asked_for() -> None:
    torch = pytest.importorskip("torch")
    llm = open_random(small(), Place(backend="eager", device="cpu", dtype="bfloat16"))
    weights = list(llm.backend.model.parameters())  # type: ignore[attr-defined]
    assert {weight.dtype for weight in weights} == {torch.bfloat16}
    assert not any(weight.is_meta for weight in weights)
    matrix = llm.backend.model.model.embed_tokens.weight.float()  # type: ignore[attr-defined]
    assert float(matrix.detach().std()) == pytest.approx(0.02, rel=0.05)


@pytest.mark.parametrize("place", [NUMPY, EAGER])
def test_what_does_not_fit_is_refused_before_it_is_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place is EAGER:
        pytest.importorskip("torch")
    monkeypatch.setattr(random_model, "free_bytes", lambda device: 6_000_000_000)
    model = RandomModel("qwen3-8b", read_shape("qwen3-8b")[1])
    with pytest.raises(RequestError, match=r"'qwen3-8b' need about \d+\.\d GB on cpu and 6\.0 GB are free"):
        open_random(model, place)


def test_a_gpu_that_is_not_there_is_refused() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(RequestError, match="torch sees no GPU"):
        open_random(small(), Place(device="cuda"))


def test_nothing_ends_an_answer_and_control_ids_stay_banned() -> None:
    diffusion = random_folder(small()).generation.diffusion
    assert diffusion.eos_token_ids == ()
    assert {0, 1, 2} <= set(diffusion.banned_ids)
    assert random_folder(small(noise="uniform")).generation.diffusion.mask_token_id is None
    assert isinstance(random_folder(small()).config, ModelConfig)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.5}, "threshold has no place"),
        ({"temperature": 1.0}, "temperature has no place"),
        ({"policy": "prefix"}, "policy is 'prefix'"),
    ],
)
def test_options_that_make_the_work_depend_on_the_weights_are_refused(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(RequestError, match=words):
        fixed_work(options)


def test_the_steps_are_an_option() -> None:
    assert fixed_work({}) == 1
    assert fixed_work({"per_step": 4, "policy": "fixed", "seed": 3}) == 4
