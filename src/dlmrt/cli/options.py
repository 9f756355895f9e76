"""The model and decoder options of ``generate``, ``chat``, ``eval`` and ``bench``, declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dlmrt.cli.groups import changed

if TYPE_CHECKING:
    from dlmrt.engine.arms import Place
    from dlmrt.engine.llm import LLM

# Fields that are no option of a request, or have another name there.
NOT_IN_REQUESTS = ("model", "backend", "device", "dtype", "no_residual", "stop")


@dataclass(frozen=True)
class Decoding:
    """Which model decodes and how, a group of options (see :func:`dlmrt.cli.groups.grouped`).

    What was not given is left to the model.
    """

    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A model's name or folder. Default: the embedded model."),
    ] = None
    backend: Annotated[str, typer.Option("--backend", help="auto, numpy or eager (torch).")] = "auto"
    device: Annotated[str | None, typer.Option("--device", help="cpu, cuda or cuda:<number>.")] = None
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="float32, bfloat16 or float16 (eager only).")
    ] = None
    max_new_tokens: Annotated[
        int | None, typer.Option("--max-new-tokens", "-n", help="At most this many tokens an answer.")
    ] = None
    stop: Annotated[
        list[str] | None, typer.Option("--stop", help="End the answer before this text. May be repeated.")
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="diffusion, ar or ar_lookup. Default: diffusion, or ar where the model has no other.",
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option(
            "--policy", help="Which tokens a step accepts: threshold, fixed, entropy_bound, joint or prefix."
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Confidence that accepts a token (threshold, joint, prefix)."),
    ] = None
    per_step: Annotated[int | None, typer.Option("--per-step", help="Tokens accepted a step (fixed).")] = None
    entropy_bound: Annotated[
        float | None,
        typer.Option("--entropy-bound", help="Entropy (nats) a step may accept (entropy_bound)."),
    ] = None
    edit_threshold: Annotated[
        float | None, typer.Option("--edit-threshold", help="Confidence that rewrites a token (joint).")
    ] = None
    max_post_steps: Annotated[
        int | None,
        typer.Option("--max-post-steps", help="Steps that may go on rewriting a decided block (joint)."),
    ] = None
    max_steps: Annotated[int | None, typer.Option("--max-steps", help="Steps that one block may take.")] = (
        None
    )
    no_residual: Annotated[
        bool, typer.Option("--no-residual", help="Leave out the model's residual input.")
    ] = False
    draft: Annotated[
        str | None,
        typer.Option("--draft", help="What a block's first step may copy: none or prompt (by look-up)."),
    ] = None
    temperature: Annotated[
        float | None, typer.Option("--temperature", "-t", help="0 takes the most likely token.")
    ] = None
    top_k: Annotated[
        int | None, typer.Option("--top-k", help="Sample among the k most likely tokens; 0 = off.")
    ] = None
    top_p: Annotated[
        float | None,
        typer.Option("--top-p", help="Sample among the most likely tokens of this mass; 1 = off."),
    ] = None
    seed: Annotated[int | None, typer.Option("--seed", "-s", help="Same seed, same text.")] = None

    @property
    def place(self) -> Place:
        """Which weights run where."""
        from dlmrt.engine.arms import Place

        return Place(self.model, self.backend, self.device, self.dtype)

    def load(self) -> LLM:
        """Load the model; raises what :meth:`LLM.load` raises."""
        from dlmrt.engine.llm import LLM

        return LLM.load(self.model, backend=self.backend, device=self.device, dtype=self.dtype)

    def given(self) -> dict[str, Any]:
        """Return the options of a request that were given."""
        options = {name: getattr(self, name) for name in changed(self) if name not in NOT_IN_REQUESTS}
        if self.no_residual:
            options["residual"] = False
        if self.stop:
            options["stop"] = tuple(self.stop)
        return options
