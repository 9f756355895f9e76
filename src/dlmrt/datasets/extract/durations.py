"""Lengths of time in English and as ISO 8601 durations (rules: ``dates.py``)."""

from __future__ import annotations

from dlmrt.datasets.extract.draw import Draw
from dlmrt.datasets.extract.english import cardinal
from dlmrt.datasets.phrasing import forms

Units = dict[str, int]  # of "years months weeks days hours minutes seconds"
NAMES = {
    "years": "year", "months": "month", "weeks": "week", "days": "day", "hours": "hour", "minutes": "minute",
    "seconds": "second",
}  # fmt: skip
SIGNS = {"years": "Y", "months": "M", "days": "D", "hours": "H", "minutes": "M", "seconds": "S"}
MOST = {"years": 12, "months": 11, "weeks": 12, "days": 30, "hours": 23, "minutes": 59, "seconds": 59}
COMPOUNDS = (
    ("years", "months"), ("weeks", "days"), ("weeks", "days"), ("days", "hours"), ("hours", "minutes"),
    ("hours", "minutes"), ("minutes", "seconds"), ("months", "days"), ("months", "weeks"),
    ("years", "months", "days"), ("days", "hours", "minutes"), ("hours", "minutes", "seconds"),
)  # fmt: skip
HALVES = (
    ("half an hour", "PT30M"), ("an hour and a half", "PT1H30M"), ("one and a half hours", "PT1H30M"),
    ("three quarters of an hour", "PT45M"), ("a quarter of an hour", "PT15M"), ("half a year", "P6M"),
    ("a year and a half", "P1Y6M"), ("one and a half years", "P1Y6M"), ("a day and a half", "P1DT12H"),
    ("half a day", "PT12H"), ("a fortnight", "P2W"), ("half a minute", "PT30S"),
    ("a minute and a half", "PT1M30S"),
)  # fmt: skip
PAIR = forms("""
    {a} and {b}
    {a}, {b}
    {a} {b}
    {b} and {a}
    {a} plus {b}
    {a} and then {b}
    * {b} plus {a}
    * {a} together with {b}
""")
TRIPLE = forms("""
    {a}, {b} and {c}
    {a} {b} {c}
    {a}, {b}, {c}
    {a} and {b} and {c}
    {a} plus {b} plus {c}
    {a} and {b}, plus {c}
    * {a}, {b} plus {c}
    * {a}, {b}, and {c}
""")
LENGTH = forms("""
    {l}
    {l}
    {l} in all
    exactly {l}
    a total of {l}
    {l} altogether
    * {l} exactly
    * {l} in total
""")


def iso_duration(units: Units) -> str:
    """The ISO text: weeks alone as weeks, else as seven days each."""
    if set(units) == {"weeks"}:
        return f"P{units['weeks']}W"
    days = units.get("days", 0) + 7 * units.get("weeks", 0)
    given = {**units, "days": days}
    date, time = (
        "".join(f"{given[name]}{SIGNS[name]}" for name in names if given.get(name))
        for names in (("years", "months", "days"), ("hours", "minutes", "seconds"))
    )
    return f"P{date}T{time}" if time else f"P{date}"


def some_step(draw: Draw) -> tuple[str, str]:
    """A length in one unit from days to years."""
    unit = draw.pick(("days", "days", "weeks", "weeks", "months", "years"))
    n = 1 if draw.chance(0.3) else draw.whole(2, {"days": 30, "weeks": 8, "months": 11, "years": 6}[unit])
    return _count(draw, unit, n), iso_duration({unit: n})


def some_duration(draw: Draw) -> tuple[str, str]:
    """A length of time."""
    style = draw.rng.random()
    if style < 0.15:
        text, iso = draw.pick(HALVES)
        return draw.say(LENGTH).format(l=text), iso
    if style < 0.25:
        unit, n = draw.pick(("hours", "years")), draw.whole(2, 9)
        iso = iso_duration({"hours": n, "minutes": 30} if unit == "hours" else {"years": n, "months": 6})
        return draw.say(LENGTH).format(l=f"{cardinal(draw, n, 0.8)} and a half {unit}"), iso
    if style < 0.5:
        unit = draw.pick(tuple(NAMES))
        n = draw.whole(1, draw.pick((MOST[unit], 3 * MOST[unit])))
        return draw.say(LENGTH).format(l=_count(draw, unit, n)), iso_duration({unit: n})
    names = draw.pick(COMPOUNDS)
    units = {name: draw.whole(1, MOST[name]) for name in names}
    said = [_count(draw, name, n) for name, n in units.items()]
    text = draw.say(PAIR if len(said) == 2 else TRIPLE)
    return text.format(a=said[0], b=said[1], c=said[-1]), iso_duration(units)


def _count(draw: Draw, unit: str, n: int) -> str:
    if n > 1:
        return f"{cardinal(draw, n)} {unit}"
    article = "an" if unit == "hours" else "a"
    return f"{draw.pick((article, 'one', '1'))} {NAMES[unit]}"
