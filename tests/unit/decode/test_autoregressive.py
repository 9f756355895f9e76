"""Autoregressive decoding: against a loop without a cache, and prompt lookup that changes nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from dlmrt.config import DecoderConfig
from dlmrt.decode.eager import EagerBackend
from dlmrt.decode.rng import STREAM_AR, gumbel_noise
from dlmrt.errors import PromptError, RequestError
from dlmrt.rows import RowRequest
from tests.helpers import BLOCK, EOS_ID, FIRST_TEXT_ID, SECOND_EOS_ID
from tests.unit.decode.support import prompt, run, scripted_backend, sure, tiny_backend

GREEDY = DecoderConfig()
WARM = DecoderConfig(temperature=0.7, top_k=10, top_p=0.9, seed=2**36 + 1)
FREE = DecoderConfig(temperature=0.7, seed=5)


def slow_loop(
    backend: EagerBackend, ids: tuple[int, ...], new: int, decoder: DecoderConfig
) -> tuple[int, ...]:
    """One whole causal forward a token; only temperature, no filters."""
    tokens = list(ids)
    for _ in range(new):
        length = len(tokens)
        sees = torch.ones(length, length, dtype=torch.bool).tril()

        def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, sees: Tensor = sees) -> Tensor:
            group = q.shape[1] // k.shape[1]
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
            scores = (q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).masked_fill(~sees, float("-inf"))
            return scores.softmax(-1) @ v

        with torch.no_grad():
            hidden = backend.model(torch.tensor([tokens]), torch.arange(length)[None], attend)
            logits = backend.model.logits(hidden)[0, -1]
        logits[list(backend.diffusion.banned_ids)] = float("-inf")
        if decoder.temperature > 0:
            at = torch.tensor([[length]])
            noise = gumbel_noise(
                torch.tensor([decoder.seed]), at, torch.tensor([0]), logits.shape[0], STREAM_AR
            )
            logits = logits / decoder.temperature + noise[0, 0]
        token = int(logits.argmax())
        if token in backend.diffusion.eos_token_ids:
            break
        tokens.append(token)
    return tuple(tokens[len(ids) :])


@pytest.mark.parametrize("clean", ["block", "causal"])
@pytest.mark.parametrize("length", [1, BLOCK - 1, BLOCK, BLOCK + 1])
@pytest.mark.parametrize("decoder", [GREEDY, FREE], ids=["greedy", "sampled"])
def test_b16_ar_equals_a_loop_without_a_cache(decoder: DecoderConfig, length: int, clean: str) -> None:
    backend = tiny_backend(clean_attention=clean)
    for seed in range(2):
        ids = prompt(length, seed)
        (output,) = backend.generate([RowRequest(ids, 12, decoder, method="ar")])
        assert output.ids == slow_loop(backend, ids, 12, decoder)


@pytest.mark.parametrize("decoder", [GREEDY, WARM, FREE], ids=["greedy", "filtered", "sampled"])
def test_lookup_gives_the_ids_of_plain_ar(decoder: DecoderConfig) -> None:
    backend = tiny_backend()
    accepted = 0
    for seed in range(6):
        ids = prompt(6, seed) * 2
        request = RowRequest(ids, 30, replace(decoder, seed=decoder.seed + seed), method="ar")
        (plain,) = backend.generate([request])
        (lookup,) = backend.generate([replace(request, method="ar_lookup")])
        assert (lookup.ids, lookup.finish_reason) == (plain.ids, plain.finish_reason)
        assert lookup.accepted_tokens <= lookup.proposed_tokens
        # Each forward gives one token and what it accepted of its draft.
        assert lookup.decided_tokens in (
            1 + lookup.denoise_forwards + lookup.accepted_tokens,
            lookup.denoise_forwards + lookup.accepted_tokens,  # an EOS that was drafted comes in its place
        )
        accepted += lookup.accepted_tokens
    assert accepted > 0


def periodic(positions: Tensor, tokens: Tensor) -> Tensor:
    """What follows position p is the token of position p + 1 in an endless 5, 6, 7, 8, 5, 6, ..."""
    return sure((positions + 1) % 4 + FIRST_TEXT_ID)


def test_lookup_needs_fewer_forwards_on_repetitive_text() -> None:
    ids = tuple(i % 4 + FIRST_TEXT_ID for i in range(8))
    request = RowRequest(ids, 41, method="ar")
    (plain,) = scripted_backend(periodic).generate([request])
    (lookup,) = scripted_backend(periodic).generate([replace(request, method="ar_lookup")])
    assert lookup.ids == plain.ids == tuple(i % 4 + FIRST_TEXT_ID for i in range(8, 49))
    assert (plain.prefill_forwards, plain.denoise_forwards, plain.proposed_tokens) == (1, 40, 0)
    # Drafts reach the end of the text so far: 4 tokens while the last match is 4 tokens back.
    assert (lookup.prefill_forwards, lookup.denoise_forwards) == (1, 8)
    assert lookup.proposed_tokens == lookup.accepted_tokens == 32


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
def test_b07_finish_reasons_of_ar_rows(method: str) -> None:
    def eos_at_nine(positions: Tensor, tokens: Tensor) -> Tensor:
        return sure(torch.where(positions + 1 == 9, SECOND_EOS_ID, (positions + 1) % 2 + FIRST_TEXT_ID))

    request = RowRequest(prompt(4), 20, method=method)  # type: ignore[arg-type]
    got = run(scripted_backend(eos_at_nine), [request, replace(request, max_new_tokens=5)])
    stopped, full = got.outputs
    assert (stopped.ids, stopped.finish_reason) == ((5, 6, 5, 6, 5), "stop")
    assert stopped.ended_by_eos
    assert (full.ids, full.finish_reason, full.ended_by_eos) == ((5, 6, 5, 6, 5), "length", False)
    assert sum(got.blocks[0], ()) == stopped.ids
    assert got.steps == {}
    (cancelled,) = scripted_backend(eos_at_nine).generate([request], on_block=lambda row, ids: True)
    assert (cancelled.ids, cancelled.finish_reason) == ((5,), "cancelled")


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
@pytest.mark.parametrize("new", [1, 2, 11, 12])
def test_b04_ar_gives_exactly_max_new_tokens(method: str, new: int) -> None:
    backend = scripted_backend(periodic)
    ids = tuple(i % 4 + FIRST_TEXT_ID for i in range(9))
    (output,) = backend.generate([RowRequest(ids, new, method=method)])  # type: ignore[arg-type]
    assert len(output.ids) == new
    assert output.proposed_tokens == output.accepted_tokens


def test_b06_a_drafted_eos_ends_the_answer() -> None:
    """The prompt holds an EOS, so lookup drafts it; what was drafted after it is dropped."""
    cycle = [7, 8, EOS_ID, 9]

    def script(positions: Tensor, tokens: Tensor) -> Tensor:
        return sure(torch.tensor(cycle)[(positions + 1) % 4])

    request = RowRequest((7, 8, EOS_ID, 9), 20, method="ar_lookup")
    (output,) = scripted_backend(script).generate([request])
    assert (output.ids, output.finish_reason) == ((7, 8), "stop")
    # After 7 the draft is 8, EOS, 9, 7: of it 8 and EOS are kept.
    assert (output.denoise_forwards, output.proposed_tokens, output.accepted_tokens) == (1, 4, 2)


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
def test_b03_ar_needs_a_prompt(method: str) -> None:
    with pytest.raises(PromptError, match="row 0: the prompt is empty; method 'ar"):
        tiny_backend().generate([RowRequest((), 5, method=method)])  # type: ignore[arg-type]


def test_ar_has_no_trajectory() -> None:
    with pytest.raises(RequestError, match="row 0: method is 'ar'"):
        tiny_backend().new_capture([RowRequest((7,), 5, method="ar")])


@pytest.mark.parametrize("method", ["ar", "ar_lookup"])
def test_rows_report_the_seconds_of_their_phases(method: str) -> None:
    (output,) = tiny_backend().generate([RowRequest(prompt(6), 12, method=method)])  # type: ignore[arg-type]
    assert output.seconds is not None
    assert output.seconds.prefill > 0
    assert output.seconds.denoise > 0
    assert output.seconds.commit == 0
