"""From logits to one proposed token a position, its confidence and its entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dlmrt.config import DecoderConfig
from dlmrt.reference.model import F32, Bool, Int, Residual, softmax

_TINY = np.finfo(np.float32).tiny
# Up to here, finding the R largest by repeated maximum is cheaper than sorting the vocabulary.
_REPEATED_MAXIMUM = 32


class Proposal(NamedTuple):
    """What one forward proposes at each position."""

    token_S: Int
    confidence_S: F32  # probability of that token
    entropy_S: F32  # nats


def propose(logits_SV: F32, raw_SV: F32, decoder: DecoderConfig, gumbel_SV: F32 | None) -> Proposal:
    """The likeliest token (temperature 0), or a draw by the Gumbel maximum.

    logits_SV: banned ids already -inf. raw_SV: their softmax. gumbel_SV: needed at temperature > 0.
    """
    if decoder.temperature == 0 or gumbel_SV is None:
        probs_SV = raw_SV
        token_S = logits_SV.argmax(axis=1)
    else:
        z_SV = logits_SV / np.float32(decoder.temperature)
        z_SV = keep_top_p(keep_top_k(z_SV, decoder.top_k), decoder.top_p)
        probs_SV = softmax(z_SV)
        token_S = (z_SV + gumbel_SV).argmax(axis=1)
    confidence_S = np.take_along_axis(probs_SV, token_S[:, None], axis=1)[:, 0]
    # The floor under the logarithm only meets factors of (nearly) zero.
    entropy_S: F32 = -(probs_SV * np.log(np.maximum(probs_SV, _TINY))).sum(axis=1)
    return Proposal(token_S, confidence_S, entropy_S)


def keep_top_k(z_SV: F32, top_k: int) -> F32:
    """Set entries below the k-th largest to -inf; ties with it stay; 0 = off."""
    vocab_size = z_SV.shape[1]
    if not 0 < top_k < vocab_size:
        return z_SV
    kth_S1 = np.partition(z_SV, vocab_size - top_k, axis=1)[:, vocab_size - top_k, None]
    return np.where(z_SV >= kth_S1, z_SV, np.float32(-np.inf))


def keep_top_p(z_SV: F32, top_p: float) -> F32:
    """Keep, in descending order, entries while the probability before them is < top_p; 1 = off.

    Equal entries are taken in order of id. Only values are sorted (many times faster than sorting
    ids): the smallest kept value, and how many are kept, say which ids these are.
    """
    if top_p >= 1:
        return z_SV
    descending_SV = -np.sort(-z_SV, axis=1)
    p_SV = softmax(descending_SV)
    n_kept_S1 = (p_SV.cumsum(axis=1) - p_SV < np.float32(top_p)).sum(axis=1, keepdims=True)
    smallest_S1 = np.take_along_axis(descending_SV, n_kept_S1 - 1, axis=1)
    above_SV, tied_SV = z_SV > smallest_S1, z_SV == smallest_S1
    room_S1 = n_kept_S1 - above_SV.sum(axis=1, keepdims=True)
    keep_SV = above_SV | (tied_SV & (tied_SV.cumsum(axis=1) <= room_S1))
    return np.where(keep_SV, z_SV, np.float32(-np.inf))


def no_residual(block_size: int, columns: int) -> Residual:
    """A residual that adds nothing: ids 0, probabilities 0, [S, columns]."""
    return Residual(np.zeros((block_size, columns), np.int64), np.zeros((block_size, columns), np.float32))


def draft_residual(draft: Sequence[int], first: int, size: int, columns: int, vocab_size: int) -> Residual:
    """A residual that is certain of the draft's tokens, from position ``first`` of the block on."""
    residual = no_residual(size, columns)
    places = np.arange(first, min(first + len(draft), size))
    tokens = np.array(draft[: len(places)], np.int64)
    if columns == vocab_size:
        residual.ids_SR[:] = np.arange(vocab_size)
        residual.probs_SR[places, tokens] = 1.0
    elif columns:
        residual.ids_SR[places, 0] = tokens
        residual.probs_SR[places, 0] = 1.0
    return residual


def next_residual(raw_SV: F32, columns: int, open_S: Bool) -> Residual:
    """The ``columns`` likeliest entries (ties: lower id first) where a position is open, else zero.

    As many columns as the vocabulary: the whole distribution, ids in order.
    """
    size, vocab_size = raw_SV.shape
    if columns == vocab_size:
        ids_SR = np.tile(np.arange(vocab_size), (size, 1))
        return Residual(ids_SR, np.where(open_S[:, None], raw_SV, np.float32(0)))
    residual = no_residual(size, columns)
    rows = np.flatnonzero(open_S)
    raw = raw_SV[rows]
    ids = _largest(raw, columns)
    residual.ids_SR[rows] = ids
    residual.probs_SR[rows] = np.take_along_axis(raw, ids, axis=1)
    return residual


def _largest(p_SV: F32, count: int) -> Int:
    """Ids of the ``count`` largest entries of each row, descending, ties by lower id."""
    if count > _REPEATED_MAXIMUM:
        return np.argsort(-p_SV, axis=1, kind="stable")[:, :count]
    left_SV = p_SV.copy()
    ids = np.empty((len(p_SV), count), np.int64)
    for column in range(count):
        ids[:, column] = left_SV.argmax(axis=1)
        np.put_along_axis(left_SV, ids[:, column, None], np.float32(-1), axis=1)
    return ids
