from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from dlmrt.cli.app import bare_app, main
from dlmrt.cli.groups import Without, changed, grouped, option_name
from dlmrt.cli.options import Decoding


@dataclass(frozen=True)
class Trip:
    to: Annotated[str | None, typer.Option("--to", help="Where to.")] = None
    per_day: Annotated[int, typer.Option("--per-day", help="How far.")] = 20
    bags: Annotated[list[Path] | None, typer.Option("--bag", help="What with.")] = None


SEEN: list[Any] = []


@grouped
def travel(
    *,
    name: Annotated[str, typer.Argument()] = "Ann",
    trip: Trip,
    back: Annotated[Trip, Without("to", "per_day", "bags")],
    slow: Annotated[bool, typer.Option("--slow")] = False,
) -> None:
    """Go."""
    SEEN.append((name, trip, back, slow))


def run(*argv: str) -> int:
    def build() -> typer.Typer:
        app = bare_app()
        app.command("travel", help="Go.")(travel)
        app.command("stay")(lambda: None)
        return app

    SEEN.clear()
    return main(["travel", *argv], build=build)


def test_a_group_arrives_as_one_value() -> None:
    assert run("Bo", "--to", "Rome", "--bag", "a", "--bag", "b", "--slow") == 0
    assert SEEN == [("Bo", Trip("Rome", 20, [Path("a"), Path("b")]), Trip(), True)]


def test_what_is_not_given_has_its_default() -> None:
    assert run() == 0
    ((name, trip, back, slow),) = SEEN
    assert (name, trip.to, trip.per_day, trip.bags or None, slow) == ("Ann", None, 20, None, False)
    assert back == Trip()


def test_options_stand_where_the_group_stood(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    lines = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  --")]
    assert lines == ["--to", "--per-day", "--bag", "--slow"]


def test_names_that_do_not_fit_are_told_at_once() -> None:
    def twice(one: Trip, two: Trip) -> None: ...

    def unknown(trip: Annotated[Trip, Without("from")]) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'to'"):
        grouped(twice)
    with pytest.raises(TypeError, match="Trip has no field from to leave out"):
        grouped(unknown)


def test_changed_names_what_was_given() -> None:
    assert changed(Trip()) == []
    assert changed(Trip(per_day=5, to="Rome")) == ["to", "per_day"]
    assert option_name("per_day") == "--per-day"


@pytest.mark.parametrize(
    ("decoding", "options"),
    [
        (Decoding(), {}),
        (Decoding(model="m", backend="numpy", device="cpu", dtype="float32"), {}),
        (Decoding(seed=0, temperature=0.0, top_k=0), {"seed": 0, "temperature": 0.0, "top_k": 0}),
        (Decoding(no_residual=True, stop=["a", "b"]), {"residual": False, "stop": ("a", "b")}),
        (Decoding(stop=[]), {}),
    ],
)
def test_a_request_gets_what_was_given(decoding: Decoding, options: dict[str, Any]) -> None:
    assert decoding.given() == options


ALL = set(Decoding.__dataclass_fields__)


@pytest.mark.parametrize(
    ("verb", "missing"),
    [
        ("generate", set()),
        ("chat", set()),
        ("eval", {"--stop", "--method", "--seed"}),
        ("bench", {"--stop", "--method"}),
    ],
)
def test_verbs_share_the_options(verb: str, missing: set[str], dlmrt: Callable[..., Any]) -> None:
    words = set(dlmrt(verb, "--help").out.replace(",", " ").split())
    assert {option_name(field) for field in ALL} - words == missing
