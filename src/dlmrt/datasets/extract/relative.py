"""Days counted from another day (rules: ``dates.py``)."""

from __future__ import annotations

import datetime as dt

from dlmrt.datasets.extract.draw import Draw
from dlmrt.datasets.extract.english import DAYS, Expression, cardinal, say_date, some_date
from dlmrt.datasets.phrasing import forms

AFTER = forms("""
    {n} after {d}
    {n} from {d}
    {n} later than {d}
    {n} past {d}
    {d} plus {n}
    exactly {n} after {d}
    * {n} following {d}
    * {d} and {n} more
    * just {n} after {d}
""")
BEFORE = forms("""
    {n} before {d}
    {n} earlier than {d}
    {n} prior to {d}
    {n} ahead of {d}
    {d} minus {n}
    exactly {n} before {d}
    * just {n} before {d}
    * {d} less {n}
""")
WEEKDAY_AFTER = forms("""
    the first {w} after {d}
    first {w} after {d}
    the {w} after {d}
    the first {w} following {d}
    the first {w} that comes after {d}
    the {w} that follows {d}
    * the {w} following {d}
    * the {w} that comes after {d}
""")
WEEKDAY_BEFORE = forms("""
    the last {w} before {d}
    last {w} before {d}
    the {w} before {d}
    the {w} just before {d}
    the last {w} that comes before {d}
    the {w} that precedes {d}
    * the last {w} preceding {d}
    * the {w} that comes before {d}
""")
WEEKDAY_DATE = forms("""
    {weekday}, {d} {month} {y}
    {weekday} {d} {month} {y}
    {wd}, {d} {short} {y}
    {weekday}, {nth} {month} {y}
    {weekday} {y}-{mm}-{dd}
    {wd} {y}-{mm}-{dd}
    * {weekday}, {month} {d}, {y}
    * {weekday} the {nth} of {month} {y}
""")
MOST = {"day": 14, "week": 4, "month": 11, "year": 9}  # that one expression counts
NAMED_DAYS = (("today", 0), ("tomorrow", 1), ("yesterday", -1), ("the day after tomorrow", 2),
              ("the day before yesterday", -2))  # fmt: skip
AHEAD = forms("""
    in {n}
    {n} from now
    {n} later
    {n} from today
    after {n}
    exactly {n} later
    * {n} after today
    * in just {n}
""")
AGO = forms("""
    {n} ago
    {n} earlier
    {n} before today
    {n} back
    just {n} ago
    exactly {n} ago
    * {n} before
    * just {n} earlier
""")
COMING = forms("""
    the first {w} after today
    the {w} after today
    the first {w} from tomorrow on
    the first {w} after that day
    the first {w} following today
    the coming {w}
    * the {w} that follows today
    * the first {w} that comes after today
""")
PASSED = forms("""
    the last {w} before today
    the {w} before today
    the last {w} up to yesterday
    the last {w} before that day
    the {w} just before today
    the {w} that has just passed
    * the last {w} that comes before today
    * the {w} that precedes today
""")


def shifted(draw: Draw) -> Expression:
    """Some days, weeks, months or years after or before a date."""
    day, back = some_date(draw), draw.chance(0.4)
    text, other = _shift(draw, day, back)
    phrase = draw.say(BEFORE if back else AFTER).format(n=text, d=say_date(draw, day))
    return Expression("day", phrase, other.isoformat())


def _shift(draw: Draw, day: dt.date, back: bool) -> tuple[str, dt.date]:
    """A number of days, weeks, months or years, and the day that far away."""
    unit = draw.pick(("day", "day", "week", "month", "year"))
    if unit in ("month", "year") and day.day > 28:
        unit = "day"
    n = draw.whole(2, MOST[unit]) if draw.chance(0.85) else 1
    count = "a" if n == 1 and draw.chance(0.5) else cardinal(draw, n)
    text, step = f"{count} {unit}" + ("s" if n > 1 else ""), -n if back else n
    if unit in ("day", "week"):
        return text, day + dt.timedelta(days=step * (7 if unit == "week" else 1))
    months = 12 * day.year + day.month - 1 + step * (12 if unit == "year" else 1)
    return text, day.replace(year=months // 12, month=months % 12 + 1)


def near_weekday(draw: Draw) -> Expression:
    """The first weekday of a name after a date, or the last before it."""
    day, back = some_date(draw), draw.chance(0.35)
    weekday, other = _weekday(draw, day, back)
    text = draw.say(WEEKDAY_BEFORE if back else WEEKDAY_AFTER)
    text = text.format(w=weekday, d=say_date(draw, day, WEEKDAY_DATE))
    return Expression("day", text, other.isoformat())


def _weekday(draw: Draw, day: dt.date, back: bool) -> tuple[str, dt.date]:
    distance = draw.whole(1, 7)
    other = day + dt.timedelta(days=-distance if back else distance)
    return DAYS[other.weekday()], other


def anchored(draw: Draw, today: dt.date) -> Expression:
    """An expression that is counted from a day named elsewhere."""
    style = draw.rng.random()
    back = draw.chance(0.4)
    if style < 0.2:
        text, distance = draw.pick(NAMED_DAYS)
        return Expression("day", text, (today + dt.timedelta(days=distance)).isoformat())
    if style < 0.45:
        weekday, other = _weekday(draw, today, back)
        return Expression("day", draw.say(PASSED if back else COMING).format(w=weekday), other.isoformat())
    count, other = _shift(draw, today, back)
    return Expression("day", draw.say(AGO if back else AHEAD).format(n=count), other.isoformat())
