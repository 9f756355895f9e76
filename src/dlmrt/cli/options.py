"""The options that ``generate`` and ``chat`` share, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

Model = Annotated[
    str | None, typer.Option("--model", "-m", help="A model's name or folder. Default: the embedded model.")
]
Backend = Annotated[str, typer.Option("--backend", help="auto, numpy or eager (torch).")]
Device = Annotated[str | None, typer.Option("--device", help="cpu, cuda or cuda:<number>.")]
Dtype = Annotated[str | None, typer.Option("--dtype", help="float32, bfloat16 or float16 (eager only).")]
MaxNewTokens = Annotated[
    int | None, typer.Option("--max-new-tokens", "-n", help="At most this many tokens an answer.")
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", help="diffusion, ar or ar_lookup. Default: diffusion, or ar where the model has no other."
    ),
]
Policy = Annotated[
    str | None,
    typer.Option(
        "--policy", help="Which tokens a step accepts: threshold, fixed, entropy_bound, joint or prefix."
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option("--threshold", help="Confidence that accepts a token (threshold, joint, prefix)."),
]
PerStep = Annotated[int | None, typer.Option("--per-step", help="Tokens accepted a step (fixed).")]
EntropyBound = Annotated[
    float | None,
    typer.Option("--entropy-bound", help="Entropy (nats) a step may accept (entropy_bound)."),
]
EditThreshold = Annotated[
    float | None, typer.Option("--edit-threshold", help="Confidence that rewrites a token (joint).")
]
MaxPostSteps = Annotated[
    int | None,
    typer.Option("--max-post-steps", help="Steps that may go on rewriting a decided block (joint)."),
]
MaxSteps = Annotated[int | None, typer.Option("--max-steps", help="Steps that one block may take.")]
NoResidual = Annotated[bool, typer.Option("--no-residual", help="Leave out the model's residual input.")]
Temperature = Annotated[
    float | None, typer.Option("--temperature", "-t", help="0 takes the most likely token.")
]
TopK = Annotated[int | None, typer.Option("--top-k", help="Sample among the k most likely tokens; 0 = off.")]
TopP = Annotated[
    float | None, typer.Option("--top-p", help="Sample among the most likely tokens of this mass; 1 = off.")
]
Seed = Annotated[int | None, typer.Option("--seed", "-s", help="Same seed, same text.")]
Stop = Annotated[
    list[str] | None, typer.Option("--stop", help="End the answer before this text. May be repeated.")
]


# Names that these options have in a request, as far as they are the same there.
NAMES = (
    "max_new_tokens",
    "method",
    "policy",
    "threshold",
    "per_step",
    "entropy_bound",
    "edit_threshold",
    "max_post_steps",
    "max_steps",
    "temperature",
    "top_k",
    "top_p",
    "seed",
)


def given(params: Mapping[str, Any]) -> dict[str, Any]:
    """Pick the request options out of a verb's parameters; what was not given stays the model's."""
    options = {name: params[name] for name in NAMES if params[name] is not None}
    if params["no_residual"]:
        options["residual"] = False
    if params["stop"]:
        options["stop"] = tuple(params["stop"])
    return options
