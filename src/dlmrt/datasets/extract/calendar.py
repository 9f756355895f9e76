"""Dates, times and durations in English, and the ISO 8601 text that each stands for.

Rules: a date is YYYY-MM-DD, a time HH:MM, a moment YYYY-MM-DDTHH:MM. Weeks alone are PnW; beside other
units they count as days, 7 each. An hour and a half is PT1H30M. Forms at the end of a list are held out.
"""

from __future__ import annotations

import datetime as dt
import random

from dlmrt.datasets.extract.phrasing import Chooser

MONTHS = ("January February March April May June July August September October November December").split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ORDINALS = "first second third fourth".split()
CARDINALS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()
DATE_FORMS = (
    "{d} {month} {y}", "{month} {d}, {y}", "the {nth} of {month} {y}", "{weekday}, {d} {month} {y}",
    "{d:02d}/{m:02d}/{y} (day first)", "{month} {nth}, {y}", "{d} {short} {y}", "{y}-{m:02d}-{d:02d}",
    "{weekday} the {nth} of {month}, {y}", "{nth} {month} {y}", "{short} {d}, {y}",
)  # fmt: skip
TIME_FORMS = (
    "{h:02d}:{min:02d}",
    "{h12}:{min:02d} {ampm}",
    "{spoken}",
    "{h:02d}.{min:02d} hours",
    "{h:02d}:{min:02d} hours",
)
HELD_OUT_DATES, HELD_OUT_TIMES = 3, 1


def draw_date(rng: random.Random) -> dt.date:
    """A date of 2010 to 2035."""
    return dt.date(2010, 1, 1) + dt.timedelta(days=rng.randrange(9_496))


def nth(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    if 10 <= number % 100 <= 20:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def cardinal(number: int, rng: random.Random, share: float = 0.5) -> str:
    """A number in words or digits."""
    return CARDINALS[number] if number < len(CARDINALS) and rng.random() < share else str(number)


def say_date(date: dt.date, choose: Chooser) -> str:
    """A date in English; raises nothing, and always with its year."""
    form = choose.pick(DATE_FORMS, HELD_OUT_DATES)
    month = MONTHS[date.month - 1]
    return form.format(
        d=date.day, m=date.month, y=date.year, month=month, short=month[:3], nth=nth(date.day),
        weekday=DAYS[date.weekday()],
    )  # fmt: skip


def draw_time(rng: random.Random) -> dt.time:
    """A time on a multiple of five minutes, mostly of fifteen."""
    return dt.time(rng.randrange(24), rng.choice((0, 0, 15, 30, 30, 45, 5, 10, 20, 25, 35, 40, 50, 55)))


def say_time(time: dt.time, choose: Chooser) -> str:
    """A time in English."""
    form = choose.pick(TIME_FORMS, HELD_OUT_TIMES)
    hour, half = time.hour % 12 or 12, "am" if time.hour < 12 else "pm"
    return form.format(h=time.hour, min=time.minute, h12=hour, ampm=half, spoken=_spoken(time))


def _spoken(time: dt.time) -> str:
    """As in quarter past four in the afternoon."""
    if time.minute == 0 and time.hour in (0, 12):
        return "midnight" if time.hour == 0 else "noon"
    hour = time.hour + (time.minute > 30)
    part = "in the morning" if time.hour < 12 else "in the afternoon" if time.hour < 18 else "in the evening"
    name = CARDINALS[hour % 12 or 12]
    past = time.minute if time.minute <= 30 else 60 - time.minute
    if past == 0:
        return f"{name} o'clock {part}"
    words = {15: "quarter", 30: "half"}.get(past) or f"{_minutes(past)} minutes"
    return f"{words} {'past' if time.minute <= 30 else 'to'} {name} {part}"


def _minutes(number: int) -> str:
    return CARDINALS[number] if number <= 20 else f"twenty-{CARDINALS[number - 20]}"


def iso_minute(date: dt.date, time: dt.time) -> str:
    """A moment as YYYY-MM-DDTHH:MM."""
    return f"{date.isoformat()}T{time.strftime('%H:%M')}"
