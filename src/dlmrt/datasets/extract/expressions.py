"""Single expressions of time: English and the ISO 8601 text that each stands for (rules: ``dates.py``)."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable

from dlmrt.datasets.extract.draw import Draw
from dlmrt.datasets.extract.durations import some_duration, some_step
from dlmrt.datasets.extract.english import (
    DAYS,
    MONTHS,
    ORDINALS,
    Expression,
    cardinal,
    say_date,
    say_time,
    some_date,
    some_time,
)
from dlmrt.datasets.extract.relative import near_weekday, shifted
from dlmrt.datasets.phrasing import forms

MOMENT = forms("""
    {d} at {t}
    on {d} at {t}
    at {t} on {d}
    {d}, {t}
    {t} on {d}
    at {t}, {d}
    * on {d}, at {t}
    * {t}, {d}
""")
EDGE = forms("""
    the {w} day of {m} {y}
    the {w} day in {m} {y}
    the {w} of {m} {y}
    {w} day of {m} {y}
    the {w} day of {m}, {y}
    the {w} day of the month of {m} {y}
    * {w} day in {m} {y}
    * the {w} day in {m} of {y}
""")
HOLIDAYS = (
    ("Christmas Eve", 12, 24),
    ("Christmas Day", 12, 25),
    ("New Year's Eve", 12, 31),
    ("New Year's Day", 1, 1),
    ("Valentine's Day", 2, 14),
    ("Halloween", 10, 31),
    ("May Day", 5, 1),
    ("April Fools' Day", 4, 1),
    ("All Saints' Day", 11, 1),
    ("St Patrick's Day", 3, 17),
)
HOLIDAY = forms("""
    {h} {y}
    {h} of {y}
    {h}, {y}
    {h} in {y}
    {h} in the year {y}
    {y}, {h}
    * {h} of the year {y}
    * {h}, in {y}
""")
WITHIN = forms("""
    from {a} to {b} {m} {y}
    {a} to {b} {m} {y}
    {a}-{b} {m} {y}
    {m} {a} to {b}, {y}
    from {m} {a} to {b}, {y}
    between {a} and {b} {m} {y}
    from {a} until {b} {m} {y}
    * {a} until {b} {m} {y}
    * {m} {a}-{b}, {y}
    * {a} through {b} {m} {y}
""")
ACROSS = forms("""
    from {a} to {b}
    {a} to {b}
    {a} - {b}
    from {a} until {b}
    {a} until {b}
    between {a} and {b}
    from {a} through {b}
    starting {a} and ending {b}
    * {a} through {b}
    * from {a} up to {b}
    * starting {a}, ending {b}
""")
MONTH = forms("""
    the whole of {m} {y}
    all of {m} {y}
    the month of {m} {y}
    from the first to the last day of {m} {y}
    (during|throughout) {m} {y}
    from the beginning to the end of {m} {y}
    * the whole month of {m} {y}
    * all through {m} {y}
""")
QUARTER = forms("""
    the {w} {part} of {y}
    (in|during) the {w} {part} of {y}
    the {w} {part} in {y}
    all of the {w} {part} of {y}
    {w} {part} of {y}
    the whole {w} {part} of {y}
    * {w} {part} {y}
    * throughout the {w} {part} of {y}
""")
SPAN = forms("""
    for {l} from {s}
    for {l} from {s} on
    for {l} starting on {s}
    from {s} for {l}
    for {l} beginning {s}
    {l} starting {s}
    * starting {s}, for {l}
    * {l} beginning on {s}
""")
HOURS = forms("""
    from {a} to {b} on {d}
    on {d} from {a} to {b}
    {d}, {a} to {b}
    {d} from {a} to {b}
    between {a} and {b} on {d}
    on {d} between {a} and {b}
    from {a} until {b} on {d}
    * {a} to {b} on {d}
    * {d} from {a} until {b}
""")
REPEATED = forms("""
    every {e} from {s}, {n} times
    {n} times, every {e}, starting {s}
    every {e}, {n} times, from {s}
    {n} times every {e} from {s} on
    starting {s}, every {e}, {n} times
    from {s}, every {e}, {n} times in all
    * starting on {s}, {n} times, every {e}
    * every {e} starting {s}, {n} times in all
""")
ENDLESS = forms("""
    every {e} from {s}
    every {e} from {s} on
    every {e}, starting {s}
    starting {s}, every {e}
    from {s} on every {e}
    every {e} beginning {s}
    * every {e} starting on {s}
    * beginning {s}, every {e}
""")


def _moment_iso(date: dt.date, time: dt.time) -> str:
    return f"{date.isoformat()}T{time.strftime('%H:%M')}"


def _date(draw: Draw) -> Expression:
    day = some_date(draw)
    return Expression("date", say_date(draw, day), day.isoformat())


def _moment(draw: Draw) -> Expression:
    time = some_time(draw)
    day = draw.pick((_date, _date, _date, _date, _holiday))(draw)
    text = draw.say(MOMENT).format(d=day.text, t=say_time(draw, time))
    return Expression("moment", text, f"{day.iso}T{time.strftime('%H:%M')}")


def _edge(draw: Draw) -> Expression:
    year, month, last = draw.whole(2000, 2039), draw.whole(1, 12), draw.chance(0.65)
    if last and draw.chance(0.3):
        month = 2
    day = calendar.monthrange(year, month)[1] if last else 1
    text = draw.say(EDGE).format(w="last" if last else "first", m=MONTHS[month - 1], y=year)
    return Expression("date", text, dt.date(year, month, day).isoformat())


def _holiday(draw: Draw) -> Expression:
    name, month, day = draw.pick(HOLIDAYS)
    year = draw.whole(2000, 2039)
    return Expression("date", draw.say(HOLIDAY).format(h=name, y=year), dt.date(year, month, day).isoformat())


def _duration(draw: Draw) -> Expression:
    text, iso = some_duration(draw)
    return Expression("duration", text, iso)


def _interval(draw: Draw) -> Expression:
    start = some_date(draw)
    last = calendar.monthrange(start.year, start.month)[1]
    if start.day < last and draw.chance(0.45):
        end = start.replace(day=draw.whole(start.day + 1, last))
        text = draw.say(WITHIN).format(a=start.day, b=end.day, m=MONTHS[start.month - 1], y=start.year)
    else:
        end = start + dt.timedelta(days=draw.whole(2, 500))
        text = draw.say(ACROSS).format(a=say_date(draw, start), b=say_date(draw, end))
    return Expression("interval", text, f"{start.isoformat()}/{end.isoformat()}")


def _period(draw: Draw) -> Expression:
    year, months = draw.whole(2000, 2039), draw.pick((1, 1, 3, 6))
    first = 1 + months * draw.whole(0, 12 // months - 1)
    if months == 1:
        text = draw.say(MONTH).format(m=MONTHS[first - 1], y=year)
    else:
        part = "quarter" if months == 3 else "half"
        text = draw.say(QUARTER).format(w=ORDINALS[(first - 1) // months], part=part, y=year)
    start = dt.date(year, first, 1)
    end = dt.date(year, first + months - 1, calendar.monthrange(year, first + months - 1)[1])
    return Expression("interval", text, f"{start.isoformat()}/{end.isoformat()}")


def _span(draw: Draw) -> Expression:
    start = some_date(draw)
    length, iso = some_step(draw)
    text = draw.say(SPAN).format(l=length, s=say_date(draw, start))
    return Expression("interval", text, f"{start.isoformat()}/{iso}")


def _hours(draw: Draw) -> Expression:
    day, one, two = some_date(draw), some_time(draw), some_time(draw)
    if one == two:
        two = dt.time((one.hour + 1) % 24, one.minute)
    start, end = min(one, two), max(one, two)
    text = draw.say(HOURS).format(a=say_time(draw, start), b=say_time(draw, end), d=say_date(draw, day))
    return Expression("interval", text, f"{_moment_iso(day, start)}/{_moment_iso(day, end)}")


def _repeated(draw: Draw) -> Expression:
    day, style = some_date(draw), draw.rng.random()
    start, iso = say_date(draw, day), day.isoformat()
    if style < 0.3:  # every Monday at nine
        every, step = DAYS[day.weekday()], "P1W"
        if draw.chance(0.6):
            time = some_time(draw)
            every, iso = f"{every} at {say_time(draw, time)}", _moment_iso(day, time)
    else:
        every, step = some_step(draw)
        every = every.removeprefix("one ").removeprefix("1 ").removeprefix("a ")
    if draw.chance(0.4):
        return Expression("repeated", draw.say(ENDLESS).format(e=every, s=start), f"R/{iso}/{step}")
    n = draw.whole(2, 30)
    text = draw.say(REPEATED).format(e=every, s=start, n=cardinal(draw, n))
    return Expression("repeated", text, f"R{n}/{iso}/{step}")


FREE: tuple[Callable[[Draw], Expression], ...] = (
    _date, _date, _moment, _moment, _moment, _date, _edge, _holiday, _duration, _duration,
    _duration, _interval, _interval, _interval, _period, _period, _span, _hours, shifted, shifted,
    near_weekday, _repeated, _repeated,
)  # fmt: skip
