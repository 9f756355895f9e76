"""Arms: the decoders (and models) that an evaluation or a benchmark sets beside each other.

An arm is written ``NAME[:KEY=VALUE,...]``, for example ``ar``, ``fast:policy=threshold,threshold=0.7``
or ``trained:model=runs/orl/final``. A name that is a method (``diffusion``, ``ar``, ``ar_lookup``, or
``lookup`` for short) chooses it; any other name is a label, needs settings to differ by, and has its
model's own method. One spec may begin with further names and commas: ``diffusion,ar,fast:threshold=0.7``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from dlmrt.engine.llm import LLM
from dlmrt.engine.request import AR_OPTIONS, DECODER_OPTIONS
from dlmrt.errors import DlmrtError, RequestError, nearest
from dlmrt.models.folder import open_folder
from dlmrt.models.registry import resolve
from dlmrt.results.schema import BackendFacts
from dlmrt.validate import METHODS

SHORT_NAMES = {"lookup": "ar_lookup"}
PLACE_KEYS = ("model", "backend", "device", "dtype")
OPTION_KEYS = ("method", "max_new_tokens", *DECODER_OPTIONS)


@dataclass(frozen=True)
class Place:
    """Which weights run where: what :meth:`LLM.load` takes."""

    model: str | None = None
    backend: str = "auto"
    device: str | None = None
    dtype: str | None = None


@dataclass(frozen=True)
class Arm:
    """One decoder of one model. options: keywords of :meth:`LLM.generate`."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    place: Place = field(default_factory=Place)


def parse_arms(specs: Sequence[str], place: Place, options: Mapping[str, Any]) -> tuple[Arm, ...]:
    """Read arms; ``place`` and ``options`` are the defaults that a spec overrides.

    Default decoder options go to the arms whose method reads them by itself: an ``ar`` arm takes only
    what autoregressive decoding reads. Raises RequestError: a spec that can't be read, an unknown key
    (nearest name given), two arms of one name, none at all, or a default that no arm takes.
    """
    if not specs:
        raise RequestError("no arm was given; give at least one, for example 'diffusion' or 'ar'")
    arms = tuple(_parse(single, place, options) for spec in specs for single in _singles(spec))
    names = [arm.name for arm in arms]
    for name in names:
        if names.count(name) > 1:
            raise RequestError(
                f"two arms are called '{name}'; names must differ: write a label and the settings, "
                f"as in 'other:method={name if name in METHODS else 'diffusion'},seed=1'"
            )
    for key in options:
        if not any(key in arm.options for arm in arms):
            raise RequestError(
                f"{key} has no effect: no arm reads it ({', '.join(names)}); leave it out or add one"
            )
    return arms


def open_arms(arms: Sequence[Arm]) -> dict[Place, LLM]:
    """Load what the arms decode with, each place once; raises what :meth:`LLM.load` raises."""
    places = dict.fromkeys(arm.place for arm in arms)
    return {place: LLM.load(place.model, place.backend, place.device, place.dtype) for place in places}


def backend_facts(llm: LLM) -> BackendFacts:
    """What decodes, why it was chosen, and where and in what precision it really runs."""
    choice, model = llm.choice, getattr(llm.backend, "model", None)
    device, dtype = choice.device, choice.dtype
    if choice.name != "numpy" and model is not None:  # left to torch, which knows now
        weight = next(model.parameters())
        device, dtype = str(weight.device), str(weight.dtype).removeprefix("torch.")
    return BackendFacts(choice.name, choice.reason, device, dtype)


def _singles(spec: str) -> list[str]:
    """Split names joined by commas; behind the first colon commas part settings, not arms."""
    names, colon, settings = spec.partition(":")
    *before, last = names.split(",")
    return [*before, last + colon + settings]


def _parse(spec: str, place: Place, defaults: Mapping[str, Any]) -> Arm:
    name, _, rest = spec.partition(":")
    if not name or any(c in name for c in "=, /\\"):
        raise RequestError(f"arm '{spec}' has no usable name; write NAME or NAME:KEY=VALUE,KEY=VALUE")
    if not rest and name not in METHODS and name not in SHORT_NAMES:
        known = (*METHODS, *SHORT_NAMES)
        raise RequestError(
            f"arm '{name}' is no method{nearest(name, known)} (methods: {', '.join(known)}) and has no "
            f"settings; a label needs some, as in '{name}:threshold=0.7'"
        )
    given = _settings(spec, rest)
    where = {key: given.pop(key) for key in PLACE_KEYS if key in given}
    new_place = Place(**{key: where.get(key, getattr(place, key)) for key in PLACE_KEYS})
    named = SHORT_NAMES.get(name, name if name in METHODS else None)
    method = str(given.pop("method", None) or named or _own_method(new_place))
    method = SHORT_NAMES.get(method, method)
    usable = {
        key: value
        for key, value in defaults.items()
        if key != "method" and (method == "diffusion" or key not in DECODER_OPTIONS or key in AR_OPTIONS)
    }
    return Arm(name, {**usable, **given, "method": method}, new_place)


def _own_method(place: Place) -> str:
    """What the model decodes with when nothing is said; a folder that can't be opened is reported later."""
    try:
        return open_folder(resolve(place.model)).methods[0]
    except DlmrtError:
        return "diffusion"


def _settings(spec: str, text: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    allowed = (*OPTION_KEYS, *PLACE_KEYS)
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if key not in allowed:
            raise RequestError(
                f"arm '{spec}' has the unknown key '{key}'{nearest(key, allowed)} "
                f"(allowed: {', '.join(allowed)}); every arm with settings is a word of its own"
            )
        if not equals or not value:
            raise RequestError(f"arm '{spec}' gives no value for '{key}'; write {key}=VALUE")
        if key in values:
            raise RequestError(f"arm '{spec}' gives '{key}' twice; give it once")
        # Names of folders and devices stay text even when they look like numbers.
        values[key] = value if key in PLACE_KEYS else _scalar(spec, value)
    return values


def _scalar(spec: str, value: str) -> Any:
    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        raise RequestError(f"arm '{spec}' has the value '{value}', which can't be read") from None
