"""Sampling against plain loops over the vocabulary, ties included."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from dlmrt.config import DecoderConfig
from dlmrt.reference.model import softmax
from dlmrt.reference.sampling import keep_top_k, keep_top_p, next_residual, propose

Row = npt.NDArray[np.float32]


def logits_with_ties(rows: int = 6, vocab_size: int = 23) -> Row:
    """Logits on a coarse grid, so that many are equal, with two banned ids."""
    logits = np.random.RandomState(2).randint(-4, 5, (rows, vocab_size)).astype(np.float32) / 2
    logits[:, [0, 7]] = -np.inf
    return logits


def plain_softmax(z: Row) -> list[float]:
    e = [math.exp(float(v) - float(z.max())) for v in z]
    return [v / sum(e) for v in e]


def plain_filter(z: Row, top_k: int, top_p: float) -> set[int]:
    """Ids that survive top-k and then top-p, from the definition."""
    order = sorted(range(len(z)), key=lambda v: (-z[v], v))
    kept = order
    if top_k:
        kept = [v for v in order if z[v] >= z[order[min(top_k, len(z)) - 1]]]
    if top_p < 1:
        masked = np.where(np.isin(np.arange(len(z)), kept), z, -np.inf).astype(np.float32)
        p, before, survivors = plain_softmax(masked), 0.0, []
        for v in kept:
            if before < top_p:
                survivors.append(v)
            before += p[v]
        kept = survivors
    return {v for v in kept if z[v] > -np.inf}


@pytest.mark.parametrize("top_k", [0, 1, 3, 22, 23, 100])
@pytest.mark.parametrize("top_p", [1.0, 0.93, 0.5, 1e-6])
def test_filters_equal_the_definition(top_k: int, top_p: float) -> None:
    logits = logits_with_ties()
    kept = keep_top_p(keep_top_k(logits, top_k), top_p)
    for before, after in zip(logits, kept, strict=True):
        expected = plain_filter(before, top_k, top_p)
        assert {int(v) for v in np.flatnonzero(after > -np.inf)} == expected
        assert (after[list(expected)] == before[list(expected)]).all()
        assert expected, "something always survives"


def test_ties_at_the_cut_of_top_p_go_to_the_lower_id() -> None:
    kept = keep_top_p(np.zeros((1, 4), np.float32), 0.5)
    np.testing.assert_array_equal(kept[0] > -np.inf, [True, True, False, False])


def test_temperature_zero_takes_the_largest_and_ignores_filters() -> None:
    logits = logits_with_ties()
    raw = softmax(logits)
    plain = propose(logits, raw, DecoderConfig(), None)
    filtered = propose(logits, raw, DecoderConfig(top_k=2, top_p=0.1), None)
    for i, row in enumerate(logits):
        best = max(range(len(row)), key=lambda v: (row[v], -v))
        p = plain_softmax(row)
        assert plain.token_S[i] == best
        assert plain.confidence_S[i] == pytest.approx(p[best], rel=1e-5)
        entropy = -sum(q * math.log(q) for q in p if q > 0)
        assert plain.entropy_S[i] == pytest.approx(entropy, rel=1e-5)
    np.testing.assert_array_equal(plain.token_S, filtered.token_S)
    np.testing.assert_array_equal(plain.entropy_S, filtered.entropy_S)


def test_a_draw_follows_the_gumbel_maximum_of_the_filtered_distribution() -> None:
    logits = logits_with_ties()
    noise = np.random.RandomState(4).gumbel(size=logits.shape).astype(np.float32)
    got = propose(logits, softmax(logits), DecoderConfig(temperature=0.7, top_k=9, top_p=0.8), noise)
    for i, row in enumerate(logits):
        z = row / np.float32(0.7)
        kept = plain_filter(z, 9, 0.8)
        masked = np.where(np.isin(np.arange(len(z)), list(kept)), z, -np.inf).astype(np.float32)
        p = plain_softmax(masked)
        token = max(kept, key=lambda v: (masked[v] + noise[i, v], -v))
        assert got.token_S[i] == token
        assert got.confidence_S[i] == pytest.approx(p[token], rel=1e-5)
        assert got.entropy_S[i] == pytest.approx(-sum(q * math.log(q) for q in p if q > 0), rel=1e-5)


def test_draws_have_the_distribution_that_was_asked_for() -> None:
    row = np.array([[0.0, 1.0, -1.0, 2.0, -np.inf]], np.float32)
    logits = np.repeat(row, 20_000, axis=0)
    noise = np.random.RandomState(0).gumbel(size=logits.shape).astype(np.float32)
    drawn = propose(logits, softmax(logits), DecoderConfig(temperature=1.5), noise).token_S
    share = np.bincount(drawn, minlength=5) / len(drawn)
    np.testing.assert_allclose(share, plain_softmax(row[0] / 1.5), atol=0.015)
    assert share[4] == 0


@pytest.mark.parametrize("columns", [1, 4, 22, 40])
def test_residual_keeps_the_likeliest_entries_of_open_positions(columns: int) -> None:
    raw = softmax(logits_with_ties(vocab_size=45))
    is_open = np.array([True, False, True, True, False, True])
    residual = next_residual(raw, columns, is_open)
    for i, row in enumerate(raw):
        expected = sorted(range(len(row)), key=lambda v: (-row[v], v))[:columns] if is_open[i] else []
        assert residual.ids_SR[i].tolist() == (expected or [0] * columns)
        assert residual.probs_SR[i].tolist() == (row[expected].tolist() or [0.0] * columns)


def test_residual_over_the_whole_vocabulary_is_the_distribution_itself() -> None:
    raw = softmax(logits_with_ties())
    is_open = np.array([True, False, True, True, False, True])
    residual = next_residual(raw, raw.shape[1], is_open)
    np.testing.assert_array_equal(residual.ids_SR, np.tile(np.arange(raw.shape[1]), (6, 1)))
    np.testing.assert_array_equal(residual.probs_SR, np.where(is_open[:, None], raw, 0))
