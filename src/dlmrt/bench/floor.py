"""The floor: the least time that one forward of a model can take on this machine.

    memory_ms     = 1000 * (weight_bytes + kv_bytes) / bandwidth
    arithmetic_ms = 1000 * flops / matrix_rate
    floor         = max(memory_ms, arithmetic_ms)

For a forward of ``rows`` rows with P positions in all, ``context`` committed tokens before each row:

    weight_bytes = w * (matrices and norms of every layer + final norm + the head's V * D
                        + P * D embedding rows
                        + residual, when the decoder uses it: adapter + P * R * D embedding rows, or V * D
                          when R = V)
    kv_bytes     = w * rows * context * layers * 2 * kv_heads * head_width
    flops        = 2 * P * (matrices of every layer + V * D)
                   + 4 * P * (context + P / rows) * layers * heads * head_width
                   + residual: 2 * P * (adapter matrices + R * D)

w: bytes a number, 4 in NumPy whatever the file holds. Activations, logits and writes of new keys and
values are left out: they are small, and a floor must not be too high. A tied head is read like any other.
The matrices are those of ``expected_shapes``, so another kind of layer is counted as it is listed there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dlmrt.bench.rates import Rates
from dlmrt.config import ModelConfig
from dlmrt.models.weights import EMBEDDING, HEAD, expected_shapes
from dlmrt.results.schema import Floor

RESIDUAL = "residual."


@dataclass(frozen=True)
class Forward:
    """One forward to find the floor of.

    positions: tokens of each row. context: committed tokens before them. rows: rows of the batch.
    residual: the share of forwards that take the residual input (0: none does). Means may be fractions.
    """

    positions: float
    context: float
    rows: float = 1.0
    residual: float = 0.0


def weight_bytes(config: ModelConfig, forward: Forward, width: int) -> int:
    """Bytes of weights that a forward reads; ``width``: bytes a number."""
    d = config.d_model
    total = forward.rows * forward.positions
    body = sum(
        math.prod(shape)
        for name, shape in expected_shapes(config).items()
        if name not in (EMBEDDING, HEAD) and not name.startswith(RESIDUAL)
    )
    numbers = body + config.vocab_size * d + total * d
    if config.residual is not None and forward.residual > 0:
        columns = residual_columns(config)
        # Over the whole vocabulary it is a product with the table, which is read once for all positions.
        table_rows = columns if columns == config.vocab_size else total * columns
        numbers += forward.residual * (_adapter(config, norms=True) + table_rows * d)
    return round(width * numbers)


def kv_bytes(config: ModelConfig, forward: Forward, width: int) -> int:
    """Bytes of keys and values of committed tokens that a forward reads."""
    a_token = 2 * config.n_layers * config.n_kv_heads * config.head_dim
    return round(width * forward.rows * forward.context * a_token)


def flops(config: ModelConfig, forward: Forward) -> int:
    """Floating point operations of a forward: matrix products only, multiply and add counted as two."""
    d = config.d_model
    total = forward.rows * forward.positions
    matrices = sum(
        math.prod(shape)
        for name, shape in expected_shapes(config).items()
        if len(shape) == 2 and name not in (EMBEDDING, HEAD) and not name.startswith(RESIDUAL)
    )
    seen = forward.context + forward.positions
    count = 2 * total * (matrices + config.vocab_size * d)
    count += 4 * total * seen * config.n_layers * config.n_heads * config.head_dim
    if config.residual is not None and forward.residual > 0:
        inside = _adapter(config, norms=False) + residual_columns(config) * d
        count += forward.residual * 2 * total * inside
    return round(count)


def floor_of(config: ModelConfig, forward: Forward, width: int, rates: Rates) -> Floor:
    """The floor of a forward at measured rates."""
    weights, cached, work = (
        weight_bytes(config, forward, width),
        kv_bytes(config, forward, width),
        flops(config, forward),
    )
    memory_ms = 1000 * (weights + cached) / rates.bandwidth
    arithmetic_ms = 1000 * work / rates.matrix
    how = rates.how
    if rates.cache is not None and weights <= rates.cache:
        how += (
            f"; the weights read fit the largest cache ({rates.cache / 1e6:.1f} MB) "
            "and come faster from there than from main memory: a forward may beat this floor"
        )
    return Floor(
        positions=round(forward.rows * forward.positions),
        context=round(forward.context),
        weight_bytes=weights,
        kv_bytes=cached,
        flops=work,
        bandwidth_bytes_per_second=rates.bandwidth,
        matrix_flops_per_second=rates.matrix,
        memory_ms=memory_ms,
        arithmetic_ms=arithmetic_ms,
        ms=max(memory_ms, arithmetic_ms),
        how=how,
    )


def residual_columns(config: ModelConfig) -> int:
    """Entries of the previous distribution that a position's residual sums over (0: no residual)."""
    if config.residual is None:
        return 0
    return min(config.residual.top_k or config.vocab_size, config.vocab_size)


def _adapter(config: ModelConfig, *, norms: bool) -> int:
    return sum(
        math.prod(shape)
        for name, shape in expected_shapes(config).items()
        if name.startswith(RESIDUAL) and (norms or len(shape) == 2)
    )
