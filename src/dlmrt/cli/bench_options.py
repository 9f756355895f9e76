"""The options of ``dlmrt bench`` in groups, each of which checks what belongs to it alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from dlmrt.cli.common import nearest
from dlmrt.cli.files import check_folder
from dlmrt.cli.groups import changed, option_name
from dlmrt.errors import RequestError

if TYPE_CHECKING:
    from dlmrt.bench.claim import Measure
    from dlmrt.bench.openai_client import Api
    from dlmrt.bench.plan import ClaimPlan
    from dlmrt.bench.random_model import RandomModel
    from dlmrt.bench.server import ServerPlan
    from dlmrt.cli.options import Decoding
    from dlmrt.config import Noise

NO_BASELINE = "none"
DEFAULT_BLOCK_SIZE = 32


@dataclass(frozen=True)
class Measured:
    """What is measured, and how often."""

    more: Annotated[list[str] | None, typer.Argument(metavar="[ARM]...", help="Further arms.")] = None
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            help="chat, code, maths, long, json, repair, all, or a .jsonl or .txt file; joined by commas.",
        ),
    ] = None
    arms: Annotated[
        list[str] | None,
        typer.Option("--arms", metavar="ARM", help="A decoder or model; more may follow."),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline", help="Beside diffusion: ar,lookup, or none. Default: what the model supports."
        ),
    ] = None
    batch: Annotated[str, typer.Option("--batch", help="Prompts decoded together: 1,4.")] = "1"
    lengths: Annotated[
        str | None,
        typer.Option("--max-new-tokens", "-n", help="At most this many tokens an answer: 64,128."),
    ] = None
    warmup: Annotated[int, typer.Option("--warmup", help="Runs of each arm before those that count.")] = 1
    repeats: Annotated[int, typer.Option("--repeats", help="How often each prompt counts.")] = 3
    limit: Annotated[int | None, typer.Option("--limit", help="Only the first prompts of each suite.")] = None

    @property
    def specs(self) -> list[str]:
        """All arms that were named."""
        return [*(self.arms or ()), *(self.more or ())]

    def batches(self) -> tuple[int, ...]:
        """Prompts decoded together; raises RequestError."""
        return _numbers("--batch", self.batch)

    def max_new_tokens(self) -> tuple[int | None, ...]:
        """Lengths of answers, ``(None,)`` when none was given; raises RequestError."""
        return (None,) if self.lengths is None else _numbers("--max-new-tokens", self.lengths)

    def suites(self, default: str) -> list[str]:
        """Names of the suites; raises RequestError for an empty one."""
        if not self.suite:
            return [default]
        names = [name.strip() for part in self.suite for name in part.split(",")]
        if not all(names):
            raise RequestError(f"--suite is '{','.join(self.suite)}'; a name in it is empty")
        return names

    def baselines(self) -> list[str] | None:
        """Methods beside the model's own, ``None`` when the model decides; raises RequestError."""
        text = self.baseline
        if text is None:
            return None
        if self.specs:
            raise RequestError(
                "--arms names all decoders and --baseline adds to the default ones; drop one of them"
            )
        names = [name.strip() for name in text.split(",")]
        if names == [NO_BASELINE]:
            return []
        allowed = ("ar", "lookup", NO_BASELINE)
        for name in names:
            if name not in allowed[:2]:
                raise RequestError(
                    f"--baseline is '{text}'; it must be ar, lookup, both, or none{nearest(name, allowed)}"
                )
        return list(dict.fromkeys(names))


@dataclass(frozen=True)
class ClaimOptions:
    """The speed to judge."""

    claim: Annotated[
        float | None, typer.Option("--claim", metavar="TOKENS_PER_SECOND", help="Judge this claimed speed.")
    ] = None
    claim_measure: Annotated[
        str | None, typer.Option("--claim-measure", help="decode (the default) or end_to_end.")
    ] = None

    def plan(self) -> ClaimPlan | None:
        """The claim, if there is one; raises RequestError."""
        from dlmrt.bench.plan import ClaimPlan

        if self.claim is None:
            if self.claim_measure is not None:
                raise RequestError(
                    "--claim-measure says which rate --claim speaks of; add --claim or drop it"
                )
            return None
        return ClaimPlan(self.claim, cast("Measure", self.claim_measure or "decode"))


@dataclass(frozen=True)
class ServerOptions:
    """Which server to measure, and how to ask it."""

    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="Measure this OpenAI-compatible server.")
    ] = None
    server_model: Annotated[
        str | None, typer.Option("--server-model", help="The model's name on the server.")
    ] = None
    api: Annotated[str | None, typer.Option("--api", help="chat (the default) or completions.")] = None
    no_stream: Annotated[bool, typer.Option("--no-stream", help="Ask the server for whole answers.")] = False
    concurrency: Annotated[
        int | None, typer.Option("--concurrency", help="Requests in flight at the server.")
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", metavar="SECONDS", help="What one request may take. Default: 120."),
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option("--api-key-env", metavar="VAR", help="Environment variable with the API key."),
    ] = None

    def plan(self) -> ServerPlan | None:
        """How to ask the server, if there is one; raises RequestError."""
        from dlmrt.bench.server import ServerPlan, api_key_from

        if self.server is None:
            for name in changed(self):
                raise RequestError(f"{option_name(name)} is for --server; add --server URL or drop it")
            return None
        plan = ServerPlan(
            url=self.server,
            suites=(),
            model=self.server_model,
            concurrency=1 if self.concurrency is None else self.concurrency,
            api=cast("Api", self.api or "chat"),
            stream=not self.no_stream,
            api_key=None if self.api_key_env is None else api_key_from(self.api_key_env),
        )
        return plan if self.timeout is None else replace(plan, timeout=self.timeout)


@dataclass(frozen=True)
class RandomOptions:
    """A model of random weights in place of a trained one."""

    random_weights: Annotated[
        str | None,
        typer.Option(
            "--random-weights",
            metavar="SHAPE",
            help="A preset, or d_model=..,n_layers=..,n_heads=..,d_ffn=..",
        ),
    ] = None
    block_size: Annotated[
        int | None, typer.Option("--block-size", help="Block of --random-weights. Default: 32.")
    ] = None
    noise: Annotated[
        str | None,
        typer.Option("--noise", help="Noise of --random-weights: mask (the default) or uniform."),
    ] = None

    def model(self, decoding: Decoding) -> RandomModel | None:
        """The model, if there is one; raises RequestError."""
        from dlmrt.bench.random_model import RandomModel, fixed_work, read_shape

        if self.random_weights is None:
            for name in changed(self):
                raise RequestError(
                    f"{option_name(name)} is for --random-weights; a model brings its own; drop it"
                )
            return None
        if decoding.model is not None:
            raise RequestError("--model and --random-weights both say what to run; drop one of them")
        size = DEFAULT_BLOCK_SIZE if self.block_size is None else self.block_size
        if size < 1:
            raise RequestError(f"--block-size is {size}; it must be >= 1")
        noise, known = self.noise or "mask", ("mask", "uniform")
        if noise not in known:
            raise RequestError(f"--noise is '{noise}'; it must be mask or uniform{nearest(noise, known)}")
        per_step = fixed_work(decoding.given())
        name, config = read_shape(self.random_weights)
        return RandomModel(name, config, size, cast("Noise", noise), per_step, decoding.seed or 0)


@dataclass(frozen=True)
class Kept:
    """Where the result goes."""

    out: Annotated[Path | None, typer.Option("--out", help="Write the result to this new file.")] = None
    results: Annotated[
        Path | None, typer.Option("--results", help="Write the result here under its own name.")
    ] = None
    who: Annotated[str, typer.Option("--who", help="Name that goes into the result file.")] = "anonymous"

    def check(self) -> None:
        """Refuse, before any work, what can't be written or is there already; raises RequestError."""
        if self.out is not None:
            if self.out.exists():
                raise RequestError(
                    f"--out '{self.out}' exists, and a result is never overwritten; give another path"
                )
            check_folder(self.out.parent, "--out")
        if self.results is not None:
            check_folder(self.results, "--results")


def _numbers(option: str, text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise RequestError(f"{option} is '{text}'; give integers >= 1 joined by commas, as in 1,4")
    return tuple(map(int, parts))
