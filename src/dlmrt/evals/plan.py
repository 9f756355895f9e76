"""What an evaluation decodes: checked as a whole before anything is loaded, and named by its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dlmrt
from dlmrt.config import to_mapping
from dlmrt.engine.arms import Arm, Place
from dlmrt.engine.backends import Choice, choose_for
from dlmrt.engine.request import Settings, check_options
from dlmrt.environment.report import machine
from dlmrt.errors import RequestError
from dlmrt.evals.record import Key
from dlmrt.evals.sweep import Sweep, SweptArm, expand
from dlmrt.evals.task import Item, Task
from dlmrt.models.folder import ModelFolder, open_folder
from dlmrt.models.registry import resolve
from dlmrt.provenance import source_commit
from dlmrt.results.envelope import slug, weights_sha256

FORMAT = 1  # of the run folder


@dataclass(frozen=True)
class EvalPlan:
    """An evaluation as it was asked for.

    seeds: None = each arm's own. y_max: of the curves' areas (None: the best of the run). claim_margin: how
    small a difference in accuracy is to be claimed (a share). batch_size: items that an arm decodes
    together. observe: listen to the denoising steps. jobs: answers verified at a time. out: the run folder
    (None: ``runs/eval-<fingerprint>``). fresh: decode anew what the folder holds already.
    """

    tasks: tuple[Task, ...]
    arms: tuple[Arm, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    seeds: tuple[int, ...] | None = None
    sweep: Sweep | None = None
    y_max: float | None = None
    paired: bool = False
    claim_margin: float | None = None
    batch_size: int = 1
    observe: bool = True
    jobs: int = 1
    out: Path | None = None
    fresh: bool = False
    who: str = "anonymous"
    argv: tuple[str, ...] = ("dlmrt", "eval")

    def check(self) -> None:
        """Raise RequestError for what can't be done whatever the models are."""
        if not self.tasks:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.skipped.items())
            raise RequestError(f"there is no task to run ({reasons or 'none was named'})")
        for name, value in (("--batch-size", self.batch_size), ("--jobs", self.jobs)):
            if value < 1:
                raise RequestError(f"{name} is {value}; it must be >= 1")
        if self.seeds is not None:
            _check_seeds(self.seeds)
        if self.sweep is not None and len(self.seeds or ()) > 1:
            raise RequestError("--sweep and several --seeds cannot be used together; give one seed")
        if self.y_max is not None and self.sweep is None:
            raise RequestError("--y-max belongs to the curve of a --sweep; add one or leave it out")
        if self.y_max is not None and not 0 < self.y_max <= 1:
            raise RequestError(f"--y-max is {self.y_max}; it must be an accuracy in (0, 1]")
        if self.claim_margin is not None and not 0 < self.claim_margin < 0.5:
            raise RequestError(f"--claim-margin is {self.claim_margin}; it must be between 0 and 0.5")
        if not slug(self.who):
            raise RequestError(f"--who is {self.who!r}; give a name with letters or digits")


@dataclass(frozen=True)
class Lane:
    """One arm with one seed. options: of the request, seed included, limit on new tokens left out."""

    arm: Arm
    seed: int
    options: dict[str, Any]
    max_new_tokens: int | None
    settings: Settings

    def key(self, task: Task, item: Item) -> Key:
        """What names this lane's answer to ``item``."""
        return self.arm.name, task.name, self.seed, item.id


@dataclass(frozen=True)
class Model:
    """An opened folder of a place: what is known before its weights are loaded."""

    name: str  # in the result file; unique in the run
    folder: ModelFolder
    choice: Choice
    weights_sha256: dict[str, str]
    files_sha256: str  # of its configuration and tokenizer


@dataclass(frozen=True)
class Prepared:
    """A plan whose arms, options and models fit together.

    parts: the plan by content, as plain data. fingerprint: of ``parts``.
    """

    plan: EvalPlan
    arms: tuple[Arm, ...]
    swept: tuple[SweptArm, ...]
    lanes: tuple[Lane, ...]
    models: dict[Place, Model]
    parts: dict[str, Any]
    fingerprint: str

    @property
    def folder(self) -> Path:
        """The run folder."""
        return self.plan.out or Path("runs") / f"eval-{self.fingerprint[:12]}"

    @property
    def total(self) -> int:
        """Answers that the whole run holds."""
        return len(self.lanes) * sum(len(task.items) for task in self.plan.tasks)


def prepare(plan: EvalPlan) -> Prepared:
    """Check a plan and the folders of its models; no weights are loaded.

    Raises RequestError: an option that is wrong, or that an arm doesn't read; seeds that can't differ; one
    arm where two are compared. Raises what opening a model's folder raises.
    """
    plan.check()
    arms, swept = expand(plan.arms, plan.sweep)
    if plan.paired and len(arms) < 2:
        raise RequestError("--paired compares two arms or more, and one was given; add another to --arms")
    models = _models(arms)
    lanes = tuple(lane for arm in arms for lane in _lanes(arm, plan.seeds, models[arm.place].folder))
    parts = _parts(plan, arms, lanes, models)
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return Prepared(plan, arms, swept, lanes, models, parts, hashlib.sha256(text.encode()).hexdigest())


def _check_seeds(seeds: Sequence[int]) -> None:
    if not seeds:
        raise RequestError("--seeds is empty; give at least one, as in --seeds 0,1,2")
    twice = [seed for seed in seeds if seeds.count(seed) > 1]
    if twice:
        raise RequestError(f"--seeds names {twice[0]} twice; the same seed gives the same answers")


def _models(arms: Sequence[Arm]) -> dict[Place, Model]:
    models: dict[Place, Model] = {}
    named: dict[str, tuple[dict[str, str], str]] = {}
    hashed: dict[Path, dict[str, str]] = {}
    for place in dict.fromkeys(arm.place for arm in arms):
        folder = open_folder(resolve(place.model))
        choice = choose_for(folder, place.backend, place.device, place.dtype)
        path = folder.path.resolve()
        weights = hashed.setdefault(path, weights_sha256(path)) if path not in hashed else hashed[path]
        content = (weights, _files_sha256(folder))
        name, number = path.name, 2
        while named.setdefault(name, content) != content:  # another model in a folder of that name
            name, number = f"{path.name}-{number}", number + 1
        models[place] = Model(name, folder, choice, *content)
    return models


def _files_sha256(folder: ModelFolder) -> str:
    digest = hashlib.sha256(json.dumps([to_mapping(folder.config), to_mapping(folder.generation)]).encode())
    for name in ("tokenizer.json", "chat_template.jinja"):
        path = folder.path / name
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _lanes(arm: Arm, seeds: Sequence[int] | None, folder: ModelFolder) -> list[Lane]:
    options = {key: value for key, value in arm.options.items() if key != "max_new_tokens"}
    limit = arm.options.get("max_new_tokens")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise RequestError(f"arm '{arm.name}': max_new_tokens is {limit!r}; it must be an integer >= 1")
    try:
        settings = check_options(options, folder.generation)
        if seeds is None:
            return [Lane(arm, settings.decoder.seed, options, limit, settings)]
        if "seed" in options:
            raise RequestError("it sets a seed and --seeds sets others; leave one of them out")
        if len(seeds) > 1:
            _check_random(settings, folder)
        found = []
        for seed in seeds:
            seeded = {**options, "seed": seed}
            found.append(Lane(arm, seed, seeded, limit, check_options(seeded, folder.generation)))
    except RequestError as error:
        raise RequestError(f"arm '{arm.name}': {error}") from None
    return found


def _check_random(settings: Settings, folder: ModelFolder) -> None:
    """Refuse several seeds where each gives the same answers."""
    if settings.decoder.temperature > 0:
        return
    if settings.method == "diffusion" and folder.generation.diffusion.noise == "uniform":
        return
    why = "and mask noise " if settings.method == "diffusion" else ""
    raise RequestError(
        f"at temperature 0 {why}every seed gives the same answers, so several of them measure nothing; "
        "set a temperature > 0 or give one seed"
    )


def _parts(
    plan: EvalPlan, arms: Sequence[Arm], lanes: Sequence[Lane], models: Mapping[Place, Model]
) -> dict[str, Any]:
    """Everything that decides the answers, and what decides their times as far as the plan does."""
    parts = {
        "format": FORMAT,
        "code": {"version": dlmrt.__version__, "commit": source_commit()},
        "machine": machine(gpus=any(model.choice.name != "numpy" for model in models.values())),
        "tasks": {task.name: _task_parts(task) for task in plan.tasks},
        "arms": {arm.name: _arm_parts(arm, lanes, models[arm.place]) for arm in arms},
        "batch_size": plan.batch_size,
        "steps_observed": plan.observe,
    }
    return json.loads(json.dumps(parts))  # type: ignore[no-any-return]


def _task_parts(task: Task) -> dict[str, Any]:
    items = hashlib.sha256()
    for item in task.items:
        items.update(json.dumps([item.id, item.prompt, item.answer]).encode())
    return {
        "data": task.data.sha256,
        "items": len(task.items),
        "items_sha256": items.hexdigest(),
        "verifier": task.verifier,
        "max_new_tokens": task.max_new_tokens,
        "stop": list(task.stop),
    }


def _arm_parts(arm: Arm, lanes: Sequence[Lane], model: Model) -> dict[str, Any]:
    # What was not given comes from the model's folder, whose hash is here too.
    given = {key: to_mapping(value) for key, value in arm.options.items()}
    return {
        "options": given,
        "seeds": [lane.seed for lane in lanes if lane.arm == arm],
        "weights": model.weights_sha256,
        "model_files": model.files_sha256,
        "backend": model.choice.name,
        "device": model.choice.device,
        "dtype": model.choice.dtype,
    }
