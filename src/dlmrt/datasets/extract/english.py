"""Numbers, dates, times of day and lengths of time in English. Each text has one reading.

Rules. Of dates in digits, those with the year first are year, month, day, and those with dots are day,
month, year; slashes with the year last are never used. A day begins at midnight, so midnight is 00:00.
Noon is 12:00. "At night" is from ten in the evening until four.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from dlmrt.datasets.extract.draw import Draw
from dlmrt.datasets.phrasing import Forms, forms

MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
ORDINALS = "first second third fourth fifth".split()
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()

DATE = forms("""
    {d} {month} {y}
    {month} {d}, {y}
    {d} {short} {y}
    {short} {d}, {y}
    {y}-{mm}-{dd}
    {nth} {month} {y}
    the {nth} of {month} {y}
    {weekday}, {d} {month} {y}
    {weekday} {d} {month} {y}
    {dd}.{mm}.{y}
    {month} {nth}, {y}
    {y}/{mm}/{dd}
    {wd}, {d} {short} {y}
    * {weekday}, {month} {d}, {y}
    * the {nth} of {month}, {y}
    * {weekday} the {nth} of {month} {y}
    * {nth} of {month} {y}
""")
TIME = forms("""
    {h}:{mm}
    {hh}:{mm}
    {h12}:{mm} (am|a.m.|AM)
    {h12}.{mm} am
    {hh}:{mm} hours
    {h12}.{mm} (a.m.|AM)
    * {h12}:{mm}am
    * {hh}h{mm}
""")
FULL_HOUR = forms("""
    {hh}:00
    {h12} am
    {h12} (a.m.|AM)
    {h12}am
    {word} o'clock {part}
    {word} {part}
    {h12} {part}
    * {h12} o'clock {part}
    * {h12}:00 am
""")
SPOKEN = forms("""
    {past} {word} {part}
    {past} {word} {part}
    {past} {h12} {part}
    * {past} {word}, {part}
    * {past} {h12}, {part}
""")


class Expression(NamedTuple):
    """kind: a key of ``dates.SENTENCES``: the sentences it fits into."""

    kind: str
    text: str
    iso: str


def number_words(number: int) -> str:
    """0 to 999 in words: 342 is three hundred and forty-two."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return _TENS[ten] + (f"-{_ONES[one]}" if one else "")
    hundred, rest = divmod(number, 100)
    return f"{_ONES[hundred]} hundred" + (f" and {number_words(rest)}" if rest else "")


def cardinal(draw: Draw, number: int, words: float = 0.5) -> str:
    """A number in digits or words: in this share in words up to 20, in a quarter of it up to 99."""
    share = words if number <= 20 else words / 4 if number < 100 else 0.0
    return number_words(number) if draw.chance(share) else str(number)


def nth(number: int) -> str:
    """1st, 2nd, 3rd, 4th, ..."""
    suffix = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"


def some_date(draw: Draw, first: int = 2015, last: int = 2034) -> dt.date:
    """A date of these years."""
    start = dt.date(first, 1, 1)
    return start + dt.timedelta(days=draw.whole(0, (dt.date(last, 12, 31) - start).days))


def say_date(draw: Draw, date: dt.date, phrasings: Forms = DATE) -> str:
    """A date with its year."""
    month, weekday = MONTHS[date.month - 1], DAYS[date.weekday()]
    return draw.say(phrasings).format(
        d=date.day, dd=f"{date.day:02d}", mm=f"{date.month:02d}", y=date.year, month=month, short=month[:3],
        nth=nth(date.day), weekday=weekday, wd=weekday[:3],
    )  # fmt: skip


def some_time(draw: Draw) -> dt.time:
    """A time of day: full hours and quarters more often, working hours too."""
    hour = draw.whole(7, 20) if draw.chance(0.75) else draw.whole(0, 23)
    minute = (
        draw.whole(0, 59) if draw.chance(0.2) else draw.pick((0, 0, 0, 15, 30, 30, 45, 10, 20, 40, 50, 5))
    )
    return dt.time(hour, minute)


def say_time(draw: Draw, time: dt.time) -> str:
    """A time of day: 16:30, 4:30 pm, half past four in the afternoon."""
    hour, minute = time.hour, time.minute
    if minute == 0 and hour in (0, 12) and draw.chance(0.6):
        return "midnight" if hour == 0 else "noon"
    spoken = minute % 5 == 0 and minute != 0 and draw.chance(0.45)
    text = draw.say(SPOKEN if spoken else TIME if minute else FULL_HOUR)
    named = (hour + (spoken and minute > 30)) % 12 or 12
    text = text.format(
        h=hour, hh=f"{hour:02d}", mm=f"{minute:02d}", h12=named, word=number_words(named),
        part=_part_of_day(draw, hour), past=_past(minute),
    )  # fmt: skip
    return text if hour < 12 else _afternoon(text)


def _afternoon(text: str) -> str:
    for am, pm in (("am", "pm"), ("a.m.", "p.m."), ("AM", "PM")):
        if text.endswith(am):
            return text[: -len(am)] + pm
    return text


def _part_of_day(draw: Draw, hour: int) -> str:
    if hour >= 22:
        return "at night"
    if hour < 4:
        return draw.pick(("at night", "in the morning"))
    return "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"


def _past(minute: int) -> str:
    past, side = (minute, "past") if minute <= 30 else (60 - minute, "to")
    name = {15: "quarter", 30: "half"}.get(past) or number_words(past)
    return f"{name} {side}"


def some_minutes(draw: Draw) -> tuple[int, str]:
    """A length of time in minutes."""
    if draw.chance(0.45):
        minutes = draw.pick((5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 75, 90, draw.whole(2, 120)))
        if minutes in (30, 45) and draw.chance(0.5):
            return minutes, "half an hour" if minutes == 30 else "three quarters of an hour"
        return minutes, draw.pick(
            (f"{minutes} minutes", f"{minutes} min", f"{number_words(minutes)} minutes")
        )
    hours, rest = draw.whole(1, 8), draw.pick((0, 0, 30, 30, 15, 45, 10, 20, 40, 50))
    unit, count = "hour" if hours == 1 else "hours", cardinal(draw, hours)
    if rest == 30 and draw.chance(0.6):
        whole = "an hour and a half" if hours == 1 else f"{count} and a half hours"
        return 60 * hours + 30, whole
    if rest == 0:
        return 60 * hours, draw.pick((f"{count} {unit}", f"{hours} h" if hours > 1 else "an hour"))
    return 60 * hours + rest, draw.pick((f"{count} {unit} and {rest} minutes", f"{hours} h {rest} min"))
