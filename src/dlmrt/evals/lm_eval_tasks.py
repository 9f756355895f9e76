"""lm-evaluation-harness's side of the adapter: what its tasks ask for, and what it found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dlmrt.errors import DataError, RequestError, nearest

LIMIT_NAMES = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
SAMPLING_NAMES = ("temperature", "top_k", "top_p", "seed")
KNOWN = ("until", "do_sample", *LIMIT_NAMES, *SAMPLING_NAMES)


def request_options(kwargs: Mapping[str, Any], arm: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a task's generation kwargs, over an arm's options, into those of :meth:`LLM.generate`.

    Without ``do_sample: true`` or a temperature decoding is greedy. Of two limits the lower counts. Raises
    RequestError: an unknown kwarg (nearest name given), a value of the wrong type, or settings that
    contradict each other.
    """
    for name in kwargs:
        if name not in KNOWN:
            raise RequestError(
                f"the task's generation_kwargs have '{name}', which is not supported"
                f"{nearest(name, KNOWN)} (allowed: {', '.join(KNOWN)})"
            )
    asked = {name: kwargs[name] for name in SAMPLING_NAMES if kwargs.get(name) is not None}
    asked["temperature"] = _temperature(kwargs, arm)
    for name, value in asked.items():
        if name in arm and arm[name] != value:
            raise RequestError(
                f"the task asks for {name} {value!r} (do_sample: {kwargs.get('do_sample')!r}) and the arm "
                f"sets {arm[name]!r}; change one of them"
            )
    until = kwargs.get("until") or ()
    options = {**arm, **asked, "stop": (until,) if isinstance(until, str) else tuple(until)}
    limits = {name: kwargs[name] for name in LIMIT_NAMES if kwargs.get(name) is not None}
    for name, value in limits.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise RequestError(f"the task's {name} is {value!r}; it must be an integer >= 1")
    given = [*limits.values(), *([arm["max_new_tokens"]] if arm.get("max_new_tokens") is not None else [])]
    if given:
        options["max_new_tokens"] = min(given)
    return options


def _temperature(kwargs: Mapping[str, Any], arm: Mapping[str, Any]) -> float:
    sample, value = kwargs.get("do_sample"), kwargs.get("temperature")
    if sample not in (None, True, False):
        raise RequestError(f"the task's do_sample is {sample!r}; it must be true or false")
    if value is None:
        value = arm.get("temperature", 0) if sample else 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RequestError(f"the task's temperature is {value!r}; it must be a number")
    if sample and value == 0:
        raise RequestError(
            "the task says do_sample: true and no temperature > 0; give one in its generation_kwargs or in "
            "the arm"
        )
    return 0.0 if sample is False else float(value)


def no_likelihood(kind: str) -> RequestError:
    """The refusal of a task that scores given text by its likelihood."""
    return RequestError(
        f"the task asks for {kind}, and a diffusion model has no exact likelihood here; use a task of "
        "output_type generate_until, for multiple choice one that asks for the letter"
    )


def load_tasks(names: Sequence[str], include_path: str | None) -> tuple[list[Any], Any]:
    """Load lm-eval tasks by name or YAML file: (tasks and groups, their TaskManager).

    lm-eval's own tasks are looked at only for names that ``include_path`` does not have.
    Raises RequestError: an unknown name, or a task that can't be run here. Raises DataError: lm-eval can't
    load a task or its data.
    """
    from lm_eval.tasks import TaskManager

    if include_path is not None and not Path(include_path).is_dir():
        raise RequestError(f"include path '{include_path}' is no folder; give the folder of the task files")
    wanted = [name for name in names if not Path(name).is_file()]
    manager = TaskManager(include_path=include_path, include_defaults=False)
    if any(name not in manager.all_tasks for name in wanted):
        manager = TaskManager(include_path=include_path)
    for name in wanted:
        if name not in manager.all_tasks:
            raise RequestError(
                f"lm-eval has no task '{name}'{nearest(name, manager.all_tasks)} (give a name, the path of a "
                "YAML file, or --include-path with a name from there)"
            )
    try:
        loaded = manager.load(list(names))
    except Exception as error:  # whatever a task file or a data set can raise
        reason = (str(error).splitlines() or [""])[0]
        raise DataError(f"lm-eval can't load {', '.join(names)}: {type(error).__name__}: {reason}") from None
    for name, task in loaded["tasks"].items():
        kind = task.get_config("output_type")
        if kind != "generate_until":
            raise RequestError(f"task '{name}': {no_likelihood(str(kind))}")
        if getattr(task, "UNSAFE_CODE", False):
            raise RequestError(f"task '{name}' runs what the model writes; use `dlmrt eval`, which limits it")
    inner = {child for children in loaded.get("group_map", {}).values() for child in children}
    items = {**loaded.get("groups", {}), **loaded["tasks"]}
    return [item for name, item in items.items() if name not in inner], manager


def plain_scores(scores: Mapping[str, Any]) -> dict[str, float | None]:
    """lm-eval's numbers under its own names; one that is missing ("N/A") or not finite is None."""
    return {
        name: float(value) if isinstance(value, int | float) and math.isfinite(value) else None
        for name, value in scores.items()
        if "," in name  # "metric,filter"; the other entries are labels
    }


def render(report: Mapping[str, Any]) -> str:
    """The report as text: a line a score, then what generating cost."""
    lines = []
    for task, about in report["tasks"].items():
        for name, value in about["scores"].items():
            metric, _, kind = name.partition(",")
            if not metric.endswith("_stderr"):
                error = about["scores"].get(f"{metric}_stderr,{kind}")
                shown = "-" if value is None else f"{value:.4f}"
                spread = "" if error is None else f" ± {error:.4f} (standard error)"
                lines.append(f"{task}  {metric} ({kind})  {shown}{spread}  {about['items']} items")
    made = report["generation"]
    per, forwards = made["tokens_per_forward"], made["forwards"]
    lines.append(
        f"{made['answers']} answers, {made['tokens']} tokens, forwards {forwards['prefill']} prefill + "
        f"{forwards['denoise']} denoise + {forwards['commit']} commit"
    )
    if per is not None:
        lines.append(
            f"tokens per forward {per['mean_of_ratios']:.2f} (mean of ratios), {per['ratio_of_sums']:.2f} "
            f"(ratio of sums); without commits {per['mean_of_ratios_without_commits']:.2f}, "
            f"{per['ratio_of_sums_without_commits']:.2f}"
        )
    if made["refused"]:
        lines.append(f"{made['refused']} prompts were refused and count as wrong: {made['refused_because']}")
    if made["limits_capped"]:
        lines.append(f"{made['limits_capped']} answers could be no longer than the model's context")
    return "\n".join(lines)
