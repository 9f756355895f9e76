"""What a result file holds: typed, strict, one definition for writers, readers and reports.

Two kinds share one envelope (:class:`ResultFile`): ``eval`` (quality and speed of tasks) and
``bench`` (speed of prompt suites, with its floor). Units are in the names: seconds unless a name says
``ms``; bytes; tokens. A value that was not measured is ``None``, never 0 and never NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

SCHEMA_VERSION = 1
Kind = Literal["eval", "bench"]
# Whose clock a time was read from: the engine that decoded, or a client beside a server.
Clock = Literal["engine", "client"]


@dataclass(frozen=True)
class Distribution:
    """Summary of ``count`` finite values (all in one unit, named where it is used)."""

    count: int
    mean: float
    median: float
    p10: float
    p25: float
    p75: float
    p90: float
    minimum: float
    maximum: float


@dataclass(frozen=True)
class ShareOf:
    """``hits`` of ``total`` with the 95 % Wilson interval; share and interval are None when total is 0."""

    hits: int
    total: int
    share: float | None
    interval_95: tuple[float, float] | None


@dataclass(frozen=True)
class TokensPerForward:
    """Decided tokens (an EOS counts, padding and what follows the EOS don't) a forward; prefill apart.

    ``mean_of_ratios`` weighs every answer alike, ``ratio_of_sums`` every token.
    """

    mean_of_ratios: float
    ratio_of_sums: float
    mean_of_ratios_without_commits: float
    ratio_of_sums_without_commits: float
    per_answer: Distribution | None = None  # of the ratios with commits


@dataclass(frozen=True)
class ForwardCounts:
    """How often the model ran, summed over answers."""

    prefill: int
    denoise: int
    commit: int


@dataclass(frozen=True)
class BackendFacts:
    """What decoded, why it was chosen, where and in what precision (None: not known, as of a server)."""

    name: str
    reason: str
    device: str | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class ModelFacts:
    """Which weights. ``name`` holds no path of the machine; sha256 by file name."""

    name: str
    parameters: int | None
    weights_sha256: dict[str, str] = field(default_factory=dict)
    block_size: int | None = None
    noise: str | None = None
    random_weights: bool = False


@dataclass(frozen=True)
class DataFacts:
    """Which items: the file's name (no path), the sha256 of its bytes, items in it, where it is from."""

    file: str
    sha256: str
    items: int
    source: str


@dataclass(frozen=True)
class RunFacts:
    """How to repeat the run, and who vouches for it."""

    command: str
    commit: str | None
    version: str
    started: str  # ISO 8601 with offset
    seconds: float
    who: str


@dataclass(frozen=True)
class CalibrationBin:
    """Committed tokens whose confidence lay in [low, high) (the last bin includes 1)."""

    low: float
    high: float
    count: int
    mean_confidence: float | None
    correct: float | None  # share


@dataclass(frozen=True)
class Calibration:
    """Confidence at acceptance against correctness of committed tokens.

    basis: what "correct" means. ``reference``: the token is aligned with an equal token of the
    reference answer; ``verified``: the whole answer passed the task's verifier.
    """

    basis: Literal["reference", "verified"]
    tokens: int
    expected_calibration_error: float | None
    bins: tuple[CalibrationBin, ...]


@dataclass(frozen=True)
class EntropyStep:
    """Mean entropy (nats) of open positions at one step index, over ``blocks`` blocks that reached it."""

    step: int
    blocks: int
    mean_entropy: float


@dataclass(frozen=True)
class EvalCell:
    """One arm on one task with one seed.

    items: answers scored; failed: those (counted as wrong) that could not be decoded, by reason.
    quality: what the task measures beside correctness. tokens: emitted ones.
    seconds_to_correct: all seconds spent / correct answers (None without a correct one).
    steps_observed: hooks listened to every denoising step while the clock ran.
    """

    arm: str
    task: str
    seed: int
    model: str
    method: str
    options: dict[str, Any]
    backend: BackendFacts
    batch_size: int
    items: int
    failed: dict[str, int]
    accuracy: ShareOf
    quality: dict[str, Any]
    tokens: int
    decided_tokens: int
    forwards: ForwardCounts
    tokens_per_forward: TokensPerForward | None
    tokens_per_second: float | None  # sum of tokens / sum of seconds, prefill included
    tokens_per_second_per_answer: Distribution | None
    seconds: Distribution | None
    first_block_seconds: Distribution | None
    answer_tokens: Distribution | None
    seconds_to_correct: float | None
    median_seconds_of_correct: float | None
    repeated_8grams: float | None  # share of 8-grams of the answers that occurred before in the same answer
    entropy_per_step: tuple[EntropyStep, ...]
    calibration: Calibration | None
    finish: dict[str, int]
    steps_observed: bool
    model_seconds: float  # sum


@dataclass(frozen=True)
class CurvePoint:
    """One decoder setting of a sweep."""

    value: float
    accuracy: float
    tokens_per_forward: float


@dataclass(frozen=True)
class Curve:
    """Accuracy against tokens per forward (ratio of sums, commits counted) over a swept option.

    area: AUP; formula, alpha and y_max are quoted because the number means nothing without them.
    """

    arm: str
    task: str
    option: str
    points: tuple[CurvePoint, ...]
    area: float | None
    formula: str
    alpha: float
    y_max: float


@dataclass(frozen=True)
class PairedComparison:
    """Two arms on the same items: McNemar's exact test and the difference in accuracy (second - first)."""

    first: str
    second: str
    task: str
    items: int
    both: int
    only_first: int
    only_second: int
    neither: int
    p_value: float
    difference: float
    difference_95: tuple[float, float]
    items_needed: int | None  # to show this difference (5 % two-sided, power 80 %); None when it is 0
    note: str


@dataclass(frozen=True)
class SeedSummary:
    """One arm on one task over several seeds: mean and 95 % t interval of per-seed values."""

    arm: str
    task: str
    seeds: tuple[int, ...]
    accuracy_mean: float
    accuracy_95: tuple[float, float] | None
    tokens_per_forward_mean: float | None
    tokens_per_forward_95: tuple[float, float] | None


@dataclass(frozen=True)
class Floor:
    """The least time of one forward on this machine.

    ``memory_ms``: (weight_bytes + kv_bytes) / bandwidth; ``arithmetic_ms``: flops / matrix_rate; the
    floor ``ms`` is the larger. Bandwidth and rate were measured in the same run, as ``how`` says.
    """

    positions: int  # positions computed in one forward
    context: int  # tokens whose keys and values it reads
    weight_bytes: int
    kv_bytes: int
    flops: int
    bandwidth_bytes_per_second: float
    matrix_flops_per_second: float
    memory_ms: float
    arithmetic_ms: float
    ms: float
    how: str


@dataclass(frozen=True)
class PhaseShares:
    """Where a request's time goes: mean seconds a request, from the clock named in the cell."""

    queue: float | None
    tokenise: float | None
    prefill: float | None
    denoise: float | None
    commit: float | None
    detokenise: float | None
    other: float | None  # the rest of the request: hooks, bookkeeping, network
    total: float


@dataclass(frozen=True)
class PromptTimes:
    """One prompt of a suite: medians over the repeats, and their spread."""

    prompt: str  # its id in the suite
    prompt_tokens: int | None
    tokens: int
    denoise_forwards: int | None
    commit_forwards: int | None
    prefill_forwards: int | None
    tokens_per_second_decode: float | None  # first block's prefill left out
    tokens_per_second: float  # tokens / whole request
    first_block_ms: float | None
    total_ms: float
    total_ms_spread: tuple[float, float]  # least and most of the repeats
    finish: str


@dataclass(frozen=True)
class BenchCell:
    """One arm on one suite at one batch size and length."""

    arm: str
    suite: str
    model: str
    method: str
    options: dict[str, Any]
    backend: BackendFacts
    clock: Clock
    batch_size: int
    max_new_tokens: int | None
    warmups: int
    repeats: int
    prompts: tuple[PromptTimes, ...]
    forwards: ForwardCounts | None
    tokens_per_forward: TokensPerForward | None
    ms_per_forward: Distribution | None  # denoise forwards, one value a request
    floor: Floor | None
    percent_of_floor: float | None  # 100 * floor.ms / median ms per forward: 100 is the best possible
    tokens_per_second_decode: Distribution | None
    tokens_per_second: Distribution | None
    first_block_ms: Distribution | None
    total_ms: Distribution | None
    phases: PhaseShares | None
    peak_memory_bytes: int | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A claimed speed against what was measured: on which share of prompts it was met."""

    tokens_per_second: float
    measure: str  # which of the two rates
    arm: str
    suite: str
    batch_size: int
    max_new_tokens: int | None
    clock: Clock
    met: ShareOf
    measured: Distribution
    verdict: str


@dataclass(frozen=True)
class ResultFile:
    """The whole document. ``skipped``: what was asked for and not run, with the reason."""

    schema: int
    kind: Kind
    hardware: str  # short label: "h200", "rtx-5090", "xeon-2-cores"
    run: RunFacts
    environment: dict[str, Any]
    models: dict[str, ModelFacts]
    data: dict[str, DataFacts]
    settings: dict[str, Any]
    skipped: dict[str, str] = field(default_factory=dict)
    cells: tuple[EvalCell, ...] = ()
    curves: tuple[Curve, ...] = ()
    comparisons: tuple[PairedComparison, ...] = ()
    seeds: tuple[SeedSummary, ...] = ()
    speeds: tuple[BenchCell, ...] = ()
    claims: tuple[Claim, ...] = ()
