"""Autoregressive decoding against a loop without a cache, and lookup against plain decoding."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from dlmrt.config import CleanAttention, DecoderConfig
from dlmrt.reference import NumpyBackend, rng
from dlmrt.rows import Method, RowRequest
from tests.helpers import FIRST_TEXT_ID, VOCAB, random_weights, tiny_config, tiny_diffusion


def backend(*, eos: tuple[int, ...] = (), use_cache: bool = True, **changes: Any) -> NumpyBackend:
    config = tiny_config(**changes)
    diffusion = tiny_diffusion(eos_token_ids=eos)
    return NumpyBackend(random_weights(config, 2), config, diffusion, use_cache=use_cache)


def request(length: int, new: int, method: Method = "ar", **decoder: Any) -> RowRequest:
    ids = np.random.RandomState(length).randint(FIRST_TEXT_ID, VOCAB, length)
    return RowRequest(tuple(ids.tolist()), new, DecoderConfig(**decoder), method)


@pytest.mark.parametrize("clean_attention", get_args(CleanAttention))
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_each_token_comes_from_the_logits_before_it(
    clean_attention: CleanAttention, temperature: float
) -> None:
    one = backend(clean_attention=clean_attention)
    asked = request(6, 10, temperature=temperature, seed=5)
    tokens = list(asked.prompt_ids)
    for _ in range(10):
        positions = np.arange(len(tokens))
        hidden = one.model.forward(np.array(tokens), 0, positions, one.model.new_cache(len(tokens)))
        logits = one.model.logits(hidden)[-1].astype(np.float64)
        logits[list(one.diffusion.banned_ids)] = -np.inf
        if temperature:
            logits = logits / temperature + rng.gumbel(5, np.array([len(tokens)]), 0, VOCAB, rng.AR_STREAM)[0]
        tokens.append(int(logits.argmax()))
    [output] = one.generate([asked])
    assert list(output.ids) == tokens[6:]
    assert output.finish_reason == "length"
    assert (output.prefill_forwards, output.denoise_forwards, output.commit_forwards) == (1, 9, 0)
    assert output.steps_per_block == ()


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
def test_the_cache_is_exact(method: Method) -> None:
    asked = [request(length, 20, method, temperature=0.7) for length in (1, 8, 13)]
    assert backend().generate(asked) == backend(use_cache=False).generate(asked)


@pytest.mark.parametrize("decoder", [{}, {"temperature": 0.3, "seed": 3}, {"temperature": 0.9, "top_k": 4}])
@pytest.mark.parametrize("eos", [(), (9, 21, 28, 31)])
def test_lookup_is_lossless_and_saves_forwards(decoder: dict[str, Any], eos: tuple[int, ...]) -> None:
    one = backend(eos=eos)
    saved = 0
    for length in (1, 2, 7, 12):
        for new in (1, 2, 25):
            [plain] = one.generate([request(length, new, "ar", **decoder)])
            [fast] = one.generate([request(length, new, "ar_lookup", **decoder)])
            assert (fast.ids, fast.finish_reason) == (plain.ids, plain.finish_reason)
            assert 0 <= fast.accepted_tokens <= fast.proposed_tokens
            assert plain.proposed_tokens == plain.accepted_tokens == 0
            # Every forward gives one token, and every accepted draft token one more.
            given = fast.prefill_forwards + fast.denoise_forwards + fast.accepted_tokens
            assert given - fast.decided_tokens in (0, 1)
            saved += plain.denoise_forwards - fast.denoise_forwards
    assert saved >= (1 if not eos else 0)


def test_eos_ends_the_answer_and_is_not_part_of_it() -> None:
    free = backend().generate([request(5, 30)])[0].ids
    end = free[6]
    [output] = backend(eos=(end,)).generate([request(5, 30)])
    assert output.ids == free[: free.index(end)]
    assert output.finish_reason == "stop"
    assert output.ended_by_eos
    assert output.decided_tokens == len(output.ids) + 1
    assert output.denoise_forwards == len(output.ids)


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
def test_every_forward_is_heard_and_can_cancel(method: Method) -> None:
    asked = request(9, 25, method)
    heard: list[tuple[int, ...]] = []
    [output] = backend().generate([asked], on_block=lambda _, ids: heard.append(ids))
    assert tuple(i for ids in heard for i in ids) == output.ids
    assert len(heard) == 1 + output.denoise_forwards
    [cancelled] = backend().generate([asked], on_block=lambda *_: True)
    assert cancelled.finish_reason == "cancelled"
    assert cancelled.ids == heard[0]
