"""Opening what a benchmark measures: the models of its arms, and the rates of the places they run on."""

from __future__ import annotations

from typing import Any

from dlmrt.bench.measure import Subject
from dlmrt.bench.memory import PeakMemory
from dlmrt.bench.plan import BenchPlan
from dlmrt.bench.random_model import open_random
from dlmrt.bench.rates import Rates, measure_numpy, measure_torch
from dlmrt.engine.arms import Place, backend_facts, open_arms
from dlmrt.engine.llm import LLM
from dlmrt.models.weights import count_parameters
from dlmrt.results.envelope import weights_sha256
from dlmrt.results.schema import ModelFacts

RANDOM_PREFIX = "random-"


def open_subjects(plan: BenchPlan) -> dict[Place, Subject]:
    """Load the model of every place once and measure the rates of every backend, device and precision.

    Raises what loading raises.
    """
    if plan.random is None:
        models = open_arms(plan.arms)
    else:
        models = {
            place: open_random(plan.random, place) for place in dict.fromkeys(a.place for a in plan.arms)
        }
    rates: dict[tuple[object, ...], Rates] = {}
    subjects: dict[Place, Subject] = {}
    names: list[str] = []
    for place, llm in models.items():
        facts = backend_facts(llm)
        where = (facts.name, facts.device, facts.dtype)
        if where not in rates:
            rates[where] = measure_numpy() if facts.name == "numpy" else measure_torch(*_weight_place(llm))
        base = RANDOM_PREFIX + plan.random.name if plan.random else llm.folder.path.name
        names.append(base)
        same = names.count(base)
        subjects[place] = Subject(
            name=base if same == 1 else f"{base}-{same}",
            llm=llm,
            backend=facts,
            rates=rates[where],
            width=4 if facts.name == "numpy" else _weight_place(llm)[1].itemsize,
            memory=PeakMemory(facts.device or "cpu"),
            random=plan.random is not None,
        )
    return subjects


def _weight_place(llm: LLM) -> tuple[Any, Any]:
    """Device and dtype of a torch backend's weights."""
    backend: Any = llm.backend
    weight = next(backend.model.parameters())
    return weight.device, weight.dtype


def model_facts(subject: Subject) -> ModelFacts:
    """Which weights; reads the files of real ones once more for their hashes."""
    folder = subject.llm.folder
    diffusion = folder.generation.diffusion
    return ModelFacts(
        name=subject.name,
        parameters=count_parameters(folder.config),
        weights_sha256={} if subject.random else weights_sha256(folder.path),
        block_size=diffusion.block_size if diffusion.denoises else None,
        noise=diffusion.noise,
        random_weights=subject.random,
    )
