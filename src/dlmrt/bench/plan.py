"""What a benchmark is asked to do, checked before any work, and which prompts it can use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dlmrt.bench.claim import Measure, check_claim, check_measurable
from dlmrt.bench.measure import Subject, prepare
from dlmrt.bench.random_model import RandomModel, fixed_work, random_folder
from dlmrt.bench.server import ServerPlan
from dlmrt.bench.server import check_plan as check_server_plan
from dlmrt.bench.suites import Suite, SuitePrompt
from dlmrt.engine.arms import Arm, Place
from dlmrt.engine.request import check_options
from dlmrt.errors import PromptError, RequestError
from dlmrt.models.folder import open_folder
from dlmrt.models.registry import resolve
from dlmrt.validate import methods_of

# The arms of a run that names none, in this order: what the model was made for comes first.
ARM_OF_METHOD = {"diffusion": "diffusion", "ar": "ar", "ar_lookup": "lookup"}


@dataclass(frozen=True)
class ClaimPlan:
    """A claimed speed to judge. measure: which of the two rates it speaks of."""

    tokens_per_second: float
    measure: Measure = "decode"


@dataclass(frozen=True)
class BenchPlan:
    """One run of `dlmrt bench`.

    arms: decoders, all of which see every prompt; none: only the server is measured. batches: prompts
    decoded together. lengths: ``max_new_tokens`` (None: each prompt's own limit, or the model's).
    warmups: runs of each arm before those that count. repeats: how often each prompt counts. limit:
    prompts a suite. random: in place of the arms' model. server: its suites and lengths are set here.
    """

    suites: tuple[Suite, ...]
    arms: tuple[Arm, ...]
    batches: tuple[int, ...] = (1,)
    lengths: tuple[int | None, ...] = (None,)
    warmups: int = 1
    repeats: int = 3
    limit: int | None = None
    random: RandomModel | None = None
    server: ServerPlan | None = None
    claim: ClaimPlan | None = None
    who: str = "anonymous"
    argv: tuple[str, ...] = ("dlmrt", "bench")


@dataclass(frozen=True)
class Fitted:
    """The prompts of one suite at one length that fit every arm.

    left_out: how many didn't; reason: why the first of them didn't.
    """

    suite: Suite
    length: int | None
    prompts: tuple[SuitePrompt, ...]
    left_out: int = 0
    reason: str = ""

    @property
    def note(self) -> str:
        """One sentence about what was left out; empty when nothing was."""
        if not self.left_out:
            return ""
        total = self.left_out + len(self.prompts)
        return f"left out: {self.left_out} of {total} prompts don't fit (the first: {self.reason})"


def default_arms(model: str | None, baseline: Sequence[str] | None) -> list[str]:
    """Return the arms of a run that names none.

    baseline: arms beside the model's own method, none if empty; ``None``: all that the model supports.
    Raises what opening the model's folder raises; its weights are not touched.
    """
    own, *others = methods_of(open_folder(resolve(model)).generation.diffusion)
    if baseline is None:
        return [ARM_OF_METHOD[method] for method in (own, *others)]
    first = ARM_OF_METHOD[own]
    return [first, *(name for name in baseline if name != first)]


def check_plan(plan: BenchPlan) -> None:
    """Refuse what is wrong with a plan before anything is loaded.

    Raises RequestError: counts out of range, options that an arm doesn't read, nothing to measure;
    a server or a claim that can't be. Raises what opening a model's folder raises.
    """
    if not plan.arms and plan.server is None:
        raise RequestError("there is nothing to measure; give an arm, or a server")
    for name, values in (("--batch", plan.batches), ("--max-new-tokens", plan.lengths)):
        given = [value for value in values if value is not None]
        if not values or any(value < 1 for value in given):
            raise RequestError(f"{name} is {_listed(given)}; it must be integers >= 1, separated by commas")
        if len(set(values)) < len(values):
            raise RequestError(f"{name} is {_listed(given)}; give each number once")
    for name, value, least in (
        ("--repeats", plan.repeats, 1),
        ("--warmup", plan.warmups, 0),
        ("--limit", 1 if plan.limit is None else plan.limit, 1),
    ):
        if value < least:
            raise RequestError(f"{name} is {value}; it must be >= {least}")
    _check_arms(plan)
    if plan.server is not None:
        check_server_plan(
            server_plan(plan, [Fitted(s, None, s.prompts) for s in plan.suites], plan.lengths[0])
        )
        if plan.claim is not None and not plan.arms:
            check_measurable(plan.claim.measure, plan.server.stream)
    # Once more when it is known which prompts fit.
    check_claims(plan, {suite.name: len(suite.prompts[: plan.limit]) for suite in plan.suites})


def _check_arms(plan: BenchPlan) -> None:
    if plan.random is not None:
        generation = random_folder(plan.random).generation
        for arm in plan.arms:
            if arm.place.model is not None:
                raise RequestError(
                    f"arm '{arm.name}' names the model '{arm.place.model}', and --random-weights makes one; "
                    "drop one of them"
                )
            check_options(arm.options, generation)
            fixed_work({name: value for name, value in arm.options.items() if name != "method"})
        return
    for place in dict.fromkeys(arm.place for arm in plan.arms):
        defaults = open_folder(resolve(place.model)).generation
        for arm in plan.arms:
            if arm.place == place:
                check_options(arm.options, defaults)


def check_claims(plan: BenchPlan, prompts: dict[str, int]) -> None:
    """Refuse a claim that so many prompts a suite can't carry; raises RequestError."""
    if plan.claim is not None:
        check_claim(plan.claim.tokens_per_second, plan.claim.measure, prompts)


def fit_prompts(plan: BenchPlan, subjects: dict[Place, Subject]) -> list[Fitted]:
    """Find the prompts that fit the context of every arm, suite by suite and length by length.

    The first ``limit`` of those that fit are taken. Raises RequestError if nothing is left at all.
    """
    fitted = [_fit(plan, suite, length, subjects) for suite in plan.suites for length in plan.lengths]
    if not any(each.prompts for each in fitted):
        raise RequestError(
            f"no prompt of {', '.join(s.name for s in plan.suites)} fits: {fitted[0].reason}; "
            "take another suite, a smaller --max-new-tokens, or a model of longer context"
        )
    return fitted


def _fit(plan: BenchPlan, suite: Suite, length: int | None, subjects: dict[Place, Subject]) -> Fitted:
    fitting: list[SuitePrompt] = []
    left_out, reason = 0, ""
    for prompt in suite.prompts:
        if plan.limit is not None and len(fitting) == plan.limit:
            break
        try:
            for arm in plan.arms:
                prepare(subjects[arm.place].llm, arm, prompt, length)
        except (PromptError, RequestError) as error:  # options were checked: only its length is wrong
            left_out += 1
            reason = reason or f"{prompt.id}: {error}"
        else:
            fitting.append(prompt)
    return Fitted(suite, length, tuple(fitting), left_out, reason)


def server_plan(plan: BenchPlan, fitted: Sequence[Fitted], length: int | None) -> ServerPlan:
    """The server's part: the prompts that the local arms see, or the first ``limit`` without any."""
    assert plan.server is not None
    suites = tuple(
        replace(each.suite, prompts=each.prompts if plan.arms else each.prompts[: plan.limit])
        for each in fitted
        if each.prompts
    )
    return replace(
        plan.server, suites=suites, max_new_tokens=length, repeats=plan.repeats, warmups=plan.warmups
    )


def _listed(values: Sequence[object]) -> str:
    return ",".join(map(str, values)) or "empty"
