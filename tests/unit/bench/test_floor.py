"""Numbers computed by hand for a model small enough to do so."""

from __future__ import annotations

import dataclasses

import pytest

from dlmrt.bench.floor import Forward, floor_of, flops, kv_bytes, weight_bytes
from dlmrt.bench.rates import Rates
from dlmrt.config import ModelConfig, ResidualConfig

# Matrices of the layer: q 4x4, k 2x4, v 2x4, o 4x4, gate, up and down 3x4 each = 84 numbers.
# Norms: two of the layer and the final one, 4 each = 12. Head (tied): 10 x 4 = 40.
CONFIG = ModelConfig(
    vocab_size=10,
    d_model=4,
    n_layers=1,
    n_heads=2,
    n_kv_heads=1,
    head_dim=2,
    d_ffn=3,
    max_positions=64,
)
# Adapter: norm 4, gate, up and down 3x4 each = 40 numbers, 36 of them in matrices.
RESIDUAL = dataclasses.replace(CONFIG, residual=ResidualConfig(top_k=2, d_hidden=3))
THREE = Forward(positions=3, context=5)
RATES = Rates(bandwidth=1000.0, matrix=2000.0, cache=None, how="by hand")


def test_weights_are_all_matrices_the_head_and_the_embedding_rows_that_are_read() -> None:
    assert weight_bytes(CONFIG, THREE, 4) == 4 * (84 + 12 + 40 + 3 * 4)
    assert weight_bytes(CONFIG, THREE, 2) == 2 * (84 + 12 + 40 + 3 * 4)


def test_an_untied_head_is_read_once_and_the_table_only_in_rows() -> None:
    untied = dataclasses.replace(CONFIG, tie_embeddings=False)
    assert weight_bytes(untied, THREE, 4) == weight_bytes(CONFIG, THREE, 4)


def test_query_and_key_norms_are_weights_too() -> None:
    normed = dataclasses.replace(CONFIG, qk_norm=True)
    assert weight_bytes(normed, THREE, 4) - weight_bytes(CONFIG, THREE, 4) == 4 * (2 + 2)
    assert flops(normed, THREE) == flops(CONFIG, THREE)


def test_keys_and_values_of_the_context_for_every_row() -> None:
    assert kv_bytes(CONFIG, THREE, 4) == 4 * 5 * 2 * 1 * 2  # numbers x context x (K, V) x heads x width
    assert kv_bytes(CONFIG, dataclasses.replace(THREE, rows=2), 4) == 2 * 80


def test_operations_of_matrices_and_attention() -> None:
    matrices, attention = 2 * 3 * (84 + 40), 4 * 3 * (5 + 3) * 2 * 2
    assert flops(CONFIG, THREE) == matrices + attention == 1128


def test_rows_share_the_weights_and_nothing_else() -> None:
    two = dataclasses.replace(THREE, rows=2)
    assert weight_bytes(CONFIG, two, 4) == 4 * (84 + 12 + 40 + 2 * 3 * 4)
    assert flops(CONFIG, two) == 2 * flops(CONFIG, THREE)


def test_the_residual_reads_its_adapter_and_the_rows_it_sums() -> None:
    forward = dataclasses.replace(THREE, residual=1.0)
    assert weight_bytes(RESIDUAL, forward, 4) - weight_bytes(CONFIG, THREE, 4) == 4 * (40 + 3 * 2 * 4)
    assert flops(RESIDUAL, forward) - flops(CONFIG, THREE) == 2 * 3 * (36 + 2 * 4)
    half = dataclasses.replace(THREE, residual=0.5)  # half of the forwards take it
    assert weight_bytes(RESIDUAL, half, 4) - weight_bytes(CONFIG, THREE, 4) == 4 * (40 + 24) / 2
    assert weight_bytes(RESIDUAL, THREE, 4) == weight_bytes(CONFIG, THREE, 4)


def test_a_residual_over_the_whole_vocabulary_reads_the_table_once() -> None:
    whole = dataclasses.replace(CONFIG, residual=ResidualConfig(top_k=None, d_hidden=3))
    forward = dataclasses.replace(THREE, residual=1.0)
    assert weight_bytes(whole, forward, 4) - weight_bytes(CONFIG, THREE, 4) == 4 * (40 + 10 * 4)


def test_the_floor_is_the_larger_of_memory_and_arithmetic() -> None:
    floor = floor_of(CONFIG, THREE, 4, RATES)
    assert floor.weight_bytes == 592
    assert floor.memory_ms == pytest.approx(1000 * (592 + 80) / 1000)
    assert floor.arithmetic_ms == pytest.approx(1000 * 1128 / 2000)
    assert floor.ms == floor.memory_ms
    assert (floor.positions, floor.context, floor.how) == (3, 5, "by hand")
    slow = floor_of(CONFIG, THREE, 4, dataclasses.replace(RATES, matrix=100.0))
    assert slow.ms == slow.arithmetic_ms == pytest.approx(11280)


def test_weights_that_fit_the_cache_are_told() -> None:
    inside = floor_of(CONFIG, THREE, 4, dataclasses.replace(RATES, cache=592))
    outside = floor_of(CONFIG, THREE, 4, dataclasses.replace(RATES, cache=591))
    assert "may beat this floor" in inside.how
    assert outside.how == "by hand"
