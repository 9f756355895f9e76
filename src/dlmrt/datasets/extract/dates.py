"""The family of dates: English expressions to ISO 8601 dates, moments, durations, intervals, repetitions.

Half of the items ask for a list of three to six, one value a line. Rules beside those of ``calendar.py``:
an interval is START/END with both days in it; a repetition is Rn/START/DURATION; relative expressions name
the day that they count from; "the first Friday after" a day lies after it, never on it.
"""

from __future__ import annotations

import calendar
import datetime as dt
import random
from collections.abc import Callable
from typing import Any

from dlmrt.datasets.extract.calendar import (
    DAYS,
    MONTHS,
    ORDINALS,
    cardinal,
    draw_date,
    draw_time,
    iso_minute,
    say_date,
    say_time,
)
from dlmrt.datasets.extract.phrasing import HELD_OUT_SPLIT, Chooser

LIST_SHARE = 0.5
LIST_SIZES = (3, 6)
Expression = tuple[str, str]  # English, ISO


def _date(choose: Chooser) -> Expression:
    date = draw_date(choose.rng)
    form = choose.pick(("{}", "the day of {}", "on {}", "as of {}", "dated {}"), 1)
    return form.format(say_date(date, choose)), date.isoformat()


def _moment(choose: Chooser) -> Expression:
    date, time = draw_date(choose.rng), draw_time(choose.rng)
    form = choose.pick(("{d} at {t}", "{t} on {d}", "at {t}, {d}", "{d}, {t}", "{d}, starting at {t}"), 1)
    return form.format(d=say_date(date, choose), t=say_time(time, choose)), iso_minute(date, time)


def _weekday_of_month(choose: Chooser) -> Expression:
    rng = choose.rng
    year, month, day, which = rng.randint(2010, 2035), rng.randint(1, 12), rng.randrange(7), rng.randrange(5)
    days = [w[day] for w in calendar.monthcalendar(year, month) if w[day]]
    number = days[-1] if which == 4 else days[which]
    forms = ("the {w} {d} of {m} {y}", "the {w} {d} in {m} {y}", "{m} {y}, {w} {d}", "{w} {d} of {m}, {y}")
    word = "last" if which == 4 else ORDINALS[which]
    text = choose.pick(forms, 1).format(w=word, d=DAYS[day], m=MONTHS[month - 1], y=year)
    return text, dt.date(year, month, number).isoformat()


def _edge_of_month(choose: Chooser) -> Expression:
    rng = choose.rng
    year, month, last = rng.randint(2010, 2035), rng.randint(1, 12), rng.random() < 0.6
    number = calendar.monthrange(year, month)[1] if last else 1
    forms = ("the {w} day of {m} {y}", "the {w} of {m} {y}", "{m} {y}, {w} day", "{w} day in {m} of {y}")
    text = choose.pick(forms, 1).format(w="last" if last else "first", m=MONTHS[month - 1], y=year)
    return text, dt.date(year, month, number).isoformat()


def _duration(choose: Chooser) -> Expression:
    rng = choose.rng
    kind = rng.randrange(6)
    if kind == 0:
        n = rng.randint(2, 12)
        return f"{cardinal(n, rng)} weeks", f"P{n}W"
    if kind == 1:
        w, d = rng.randint(1, 6), rng.randint(1, 6)
        form = choose.pick(
            ("{w} week{s} and {d} day{e}", "{d} day{e} and {w} week{s}", "{w} week{s} plus {d} day{e}"), 1
        )
        text = form.format(w=cardinal(w, rng), s="s"[: w > 1], d=cardinal(d, rng), e="s"[: d > 1])
        return text, f"P{7 * w + d}D"
    if kind == 2:
        h = rng.randint(1, 9)
        text = "an hour and a half" if h == 1 else f"{cardinal(h, rng)} and a half hours"
        return text, f"PT{h}H30M"
    if kind == 3:
        h, m = rng.randint(1, 20), rng.choice((5, 10, 12, 15, 20, 25, 40, 45, 50))
        form = choose.pick(
            (
                "{h} hour{s} and {m} minutes",
                "{h} hour{s} {m} minutes",
                "{h}h {m}min",
                "{h} hour{s}, {m} minutes",
            ),
            1,
        )
        return form.format(h=h, s="s"[: h > 1], m=m), f"PT{h}H{m}M"
    if kind == 4:
        y, m = rng.randint(1, 9), rng.randint(1, 11)
        form = choose.pick(
            ("{y} year{s} and {m} month{e}", "{m} month{e} and {y} year{s}", "{y} year{s}, {m} month{e}"), 1
        )
        return form.format(
            y=cardinal(y, rng), s="s"[: y > 1], m=cardinal(m, rng), e="s"[: m > 1]
        ), f"P{y}Y{m}M"
    n = rng.randint(2, 90)
    form = choose.pick(("{} days", "{} days in all", "a stretch of {} days", "{} full days"), 1)
    return form.format(cardinal(n, rng)), f"P{n}D"


def _interval(choose: Chooser) -> Expression:
    rng = choose.rng
    start = draw_date(rng)
    forms: tuple[str, ...]
    if rng.random() < 0.35 and start.day < 20:
        last = calendar.monthrange(start.year, start.month)[1]
        end = start.replace(day=rng.randint(start.day + 1, last))
        forms = (
            "from {a} to {b} {m} {y}",
            "{a} to {b} {m} {y}",
            "{m} {a} to {b}, {y}",
            "between {a} and {b} {m} {y}",
        )
        text = choose.pick(forms, 1).format(a=start.day, b=end.day, m=MONTHS[start.month - 1], y=start.year)
    elif rng.random() < 0.3:
        quarter = (start.month - 1) // 3
        end_month = 3 * quarter + 3
        start = dt.date(start.year, 3 * quarter + 1, 1)
        end = dt.date(start.year, end_month, calendar.monthrange(start.year, end_month)[1])
        forms = ("the {q} quarter of {y}", "{y}, {q} quarter", "quarter {n} of {y}", "Q{n} {y}")
        text = choose.pick(forms, 1).format(q=ORDINALS[quarter], n=quarter + 1, y=start.year)
    else:
        end = start + dt.timedelta(days=rng.randint(2, 400))
        forms = (
            "from {a} to {b}",
            "{a} until {b}",
            "{a} through {b}",
            "between {a} and {b}",
            "starting {a}, ending {b}",
        )
        text = choose.pick(forms, 1).format(a=say_date(start, choose), b=say_date(end, choose))
    return text, f"{start.isoformat()}/{end.isoformat()}"


def _relative(choose: Chooser) -> Expression:
    rng = choose.rng
    today = draw_date(rng)
    base = say_date(today, choose)
    kind = rng.randrange(4)
    if kind == 0:
        n, day = rng.randrange(2), rng.randrange(7)
        ahead = (day - today.weekday() - 1) % 7 + 1 + 7 * n
        forms = (
            "the {w} {d} after {b}",
            "the {w} {d} that follows {b}",
            "{w} {d} after {b}",
            "the {w} {d} past {b}",
        )
        text = choose.pick(forms, 1).format(w=ORDINALS[n], d=DAYS[day], b=base)
        return text, (today + dt.timedelta(days=ahead)).isoformat()
    n = rng.randint(2, 20 if kind == 1 else 8)
    unit, days = ("days", n) if kind == 1 else ("weeks", 7 * n)
    if kind == 3:
        days = -days
        forms = (
            "{n} {u} before {b}",
            "{n} {u} prior to {b}",
            "{n} {u} ahead of {b}",
            "{n} {u} earlier than {b}",
        )
    else:
        forms = ("{n} {u} after {b}", "{n} {u} from {b}", "{n} {u} later than {b}", "{n} {u} past {b}")
    text = choose.pick(forms, 1).format(n=cardinal(n, rng), u=unit, b=base)
    return text, (today + dt.timedelta(days=days)).isoformat()


def _repeated(choose: Chooser) -> Expression:
    rng = choose.rng
    start, times = draw_date(rng), rng.randint(2, 20)
    every, duration = rng.choice(
        (("day", "P1D"), ("week", "P1W"), ("month", "P1M"), ("year", "P1Y"), ("two weeks", "P2W"))
    )
    forms = (
        "every {e}, {n} times, from {s}",
        "{n} times, once every {e}, beginning {s}",
        "from {s}, every {e}, {n} times in all",
        "{n} dates at intervals of one each {e} from {s}",
    )
    text = choose.pick(forms, 1).format(e=every, n=cardinal(times, rng), s=say_date(start, choose))
    return text, f"R{times}/{start.isoformat()}/{duration}"


DRAW: tuple[Callable[[Chooser], Expression], ...] = (
    _date, _moment, _moment, _weekday_of_month, _edge_of_month, _duration, _interval, _interval, _relative,
    _relative, _repeated,
)  # fmt: skip


class Dates:
    """English to ISO 8601."""

    name = "dates"
    version = 1
    prefix = "date: "
    split_rule = "by phrasing: the last forms of every list occur in test only; every test item has one"
    splits = ("train", "dev", "test")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one expression, or a list of them."""
        choose = Chooser(rng, split)
        size = rng.randint(*LIST_SIZES) if rng.random() < LIST_SHARE else 1
        drawn = [rng.choice(DRAW)(choose) for _ in range(size)]
        if split == HELD_OUT_SPLIT and not choose.used:
            return None
        if size == 1:
            prompt = drawn[0][0]
        else:
            mark, joint = rng.choice((("- ", "\n"), ("", "\n"), ("", "; ")))
            prompt = joint.join(f"{mark}{text}" for text, _ in drawn)
        return {
            "prompt": prompt,
            "answer": "\n".join(value for _, value in drawn),
            "verifier": "exact",
            "level": size,
        }


FAMILY = Dates()
