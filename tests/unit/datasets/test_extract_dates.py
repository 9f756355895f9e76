"""Dates: every kind of expression is read back by a reader that shares nothing with the writer."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from dlmrt.datasets.extract import dates, durations, english, expressions, relative
from dlmrt.datasets.extract.dates import FAMILY, check
from dlmrt.datasets.extract.draw import TEST, Draw
from dlmrt.datasets.extract.english import Expression
from dlmrt.datasets.phrasing import Forms

WORDS = {english.number_words(number): number for number in range(1000)} | {"a": 1, "an": 1}
MONTHS = {name[:3]: i for i, name in enumerate(english.MONTHS, 1)}
MONTH = "(" + "|".join(f"{name}|{name[:3]}" for name in english.MONTHS) + ")"
DATE = re.compile(
    rf"(?P<y>\d{{4}})[-/](?P<m>\d\d)[-/](?P<d>\d\d)|(?P<d2>\d\d)\.(?P<m2>\d\d)\.(?P<y2>\d{{4}})"
    rf"|(?P<d3>\d+)(?:st|nd|rd|th)? (?:of )?(?P<n3>{MONTH}),? (?P<y3>\d{{4}})"
    rf"|(?P<n4>{MONTH}) (?P<d4>\d+)(?:st|nd|rd|th)?,? (?P<y4>\d{{4}})"
)
UNIT = re.compile(
    r"((?:[a-z]+ hundred(?: and )?)?[\w-]+)( and a half)? (year|month|week|day|hour|minute|second)s?\b"
)
TIME = re.compile(
    r"(?:(?P<count>\w+|twenty-five) (?P<side>past|to) )?(?P<hour>\w+)(?: o'clock)?,? "
    r"(?P<part>at night|in the \w+)$|(?P<h>\d+)[:.h](?P<m>\d\d)(?P<half> ?[apAP]\.?[mM]\.?)?(?: hours)?$"
    r"|(?P<h2>\d+)(?P<half2> ?[apAP]\.?[mM]\.?)$|(?P<word>noon|midnight)$"
)


def read_dates(text: str) -> list[dt.date]:
    found = []
    for each in DATE.finditer(text):
        part = {name.rstrip("234"): value for name, value in each.groupdict().items() if value}
        month = MONTHS[part["n"][:3]] if "n" in part else int(part["m"])
        found.append(dt.date(int(part["y"]), month, int(part["d"])))
    return found


def read_time(text: str) -> dt.time:
    found = TIME.match(text)
    assert found is not None, text
    if found["word"]:
        return dt.time(12 if found["word"] == "noon" else 0)
    if found["part"]:
        hour = number(found["hour"]) % 12
        past = {"quarter": 15, "half": 30}.get(found["count"]) or number(found["count"] or "zero")
        minutes = 60 * hour + (-past if found["side"] == "to" else past)
        night = found["part"] == "at night"
        late = found["part"] in ("in the afternoon", "in the evening") or (night and not 0 <= minutes < 240)
        minutes = minutes % 720 + 720 * late
        return dt.time(minutes // 60, minutes % 60)
    hour, half = int(found["h"] or found["h2"]), (found["half"] or found["half2"] or "").strip().lower()
    if half:
        hour = hour % 12 + 12 * half.startswith("p")
    return dt.time(hour, int(found["m"] or 0))


def number(text: str) -> int:
    return WORDS[text] if text in WORDS else int(text)


def drawn(make: Callable[..., Expression], *args: Any, count: int = 1500) -> list[Expression]:
    rng = random.Random(make.__name__)
    return [make(Draw(rng, TEST), *args) for _ in range(count)]


def test_all_times_of_day_are_read_back() -> None:
    rng = random.Random(0)
    for minute in range(24 * 60):
        time = dt.time(minute // 60, minute % 60)
        for _ in range(12):
            text = english.say_time(Draw(rng, TEST), time)
            assert read_time(text) == time, text


def test_dates_and_moments_are_read_back() -> None:
    for each in drawn(expressions._date):
        assert [day.isoformat() for day in read_dates(each.text)] == [each.iso], each
    for each in drawn(expressions._moment):
        if found := DATE.search(each.text):
            rest = (each.text[: found.start()] + "|" + each.text[found.end() :]).strip("|")
            rest = re.sub(rf"\b({'|'.join(d[:3] + '[a-z]*' for d in english.DAYS)})\b,?", "", rest)
            rest = re.sub(r"\b(at(?! night)|on|the)\b(?! (?:morning|afternoon|evening))|\|", "", rest)
            time = read_time(rest.strip(" ,"))
            assert f"{read_dates(each.text)[0]}T{time:%H:%M}" == each.iso, (each, rest)


def test_named_weekdays_are_those_of_the_calendar() -> None:
    count = 0
    for each in drawn(expressions._date):
        for name in re.findall(r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*", each.text):
            assert dt.date.fromisoformat(each.iso).strftime("%A").startswith(name)
            count += 1
    assert count > 300


def test_edges_of_months_are_counted_day_by_day() -> None:
    for each in drawn(expressions._edge):
        year = int(re.findall(r"\d{4}", each.text)[0])
        month = MONTHS[re.findall(MONTH, each.text)[0][:3]]
        days = [day for n in range(1, 32) if (day := _day(year, month, n)) is not None]
        wanted = days[-1] if "last" in each.text else days[0]
        assert wanted.isoformat() == each.iso, each


def _day(year: int, month: int, number: int) -> dt.date | None:
    try:
        return dt.date(year, month, number)
    except ValueError:
        return None


def test_intervals_are_read_back() -> None:
    for each in drawn(expressions._interval):
        start, end = map(dt.date.fromisoformat, each.iso.split("/"))
        found = read_dates(each.text)
        if len(found) == 2:
            assert found == [start, end], each
        else:  # two days of a month
            days = [int(n) for n in re.findall(r"\b\d{1,2}\b", each.text)]
            month = MONTHS[re.findall(MONTH, each.text)[0][:3]]
            year = int(re.findall(r"\d{4}", each.text)[0])
            assert [dt.date(year, month, day) for day in days] == [start, end], each
    for each in drawn(expressions._period):
        start, end = map(dt.date.fromisoformat, each.iso.split("/"))
        months = 3 if "quarter" in each.text else 6 if "half" in each.text else 1
        assert start.day == 1 and (end + dt.timedelta(days=1)).day == 1 and str(start.year) in each.text
        assert (end.year - start.year) * 12 + end.month - start.month == months - 1
        place = [word for word in english.ORDINALS if word in each.text]
        assert months == 1 or start.month == 1 + months * english.ORDINALS.index(place[0])


def total(text: str) -> tuple[int, int]:
    """Months and seconds of a duration in English."""
    fixed = {"a fortnight": "two weeks", "half an hour": "30 minutes", "half a year": "6 months",
             "half a day": "12 hours", "half a minute": "30 seconds", "a quarter of an hour": "15 minutes",
             "three quarters of an hour": "45 minutes"}  # fmt: skip
    text = re.sub(r"\b(an?) (year|day|hour|minute) and a half", r"\1 and a half \2", text)
    for words, plain in fixed.items():
        text = text.replace(words, plain)
    months, seconds = 0.0, 0.0
    scale = {"week": 604_800, "day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
    for count, half, unit in UNIT.findall(text):
        n = number(count.removeprefix("of ")) + (0.5 if half else 0)
        if unit in scale:
            seconds += n * scale[unit]
        else:
            months += n * (12 if unit == "year" else 1)
    return int(months), int(seconds)


def iso_total(iso: str) -> tuple[int, int]:
    date, _, time = iso[1:].partition("T")
    months = sum(int(n) * {"Y": 12, "M": 1}.get(unit, 0) for n, unit in re.findall(r"(\d+)(\w)", date))
    days = sum(int(n) * {"W": 7, "D": 1}.get(unit, 0) for n, unit in re.findall(r"(\d+)(\w)", date))
    rest = sum(int(n) * {"H": 3_600, "M": 60, "S": 1}[unit] for n, unit in re.findall(r"(\d+)(\w)", time))
    return months, 86_400 * days + rest


def test_durations_are_read_back() -> None:
    for each in drawn(expressions._duration, count=4000):
        assert total(each.text) == iso_total(each.iso), each
    for each in drawn(expressions._span):
        start, length = each.iso.split("/")
        assert [day.isoformat() for day in read_dates(each.text)] == [start]
        assert total(DATE.sub("", each.text)) == iso_total(length), each


def test_rules_of_durations() -> None:
    iso = durations.iso_duration
    assert iso({"weeks": 2, "days": 3}) == "P17D"
    assert iso({"weeks": 2}) == "P2W"
    assert iso({"minutes": 90}) == "PT90M"
    assert iso({"months": 2, "weeks": 1}) == "P2M7D"
    assert iso({"years": 1, "months": 2, "days": 3}) == "P1Y2M3D"
    assert iso({"days": 1, "hours": 12, "seconds": 5}) == "P1DT12H5S"
    assert ("an hour and a half", "PT1H30M") in durations.HALVES


def shift(day: dt.date, text: str, back: bool) -> dt.date:
    months, seconds = total(text)
    sign = -1 if back else 1
    for _ in range(months):  # month by month, each to the same day
        away = day.replace(day=15) + sign * dt.timedelta(days=30)
        day = day.replace(year=away.year, month=away.month)
    return day + sign * dt.timedelta(seconds=seconds)


def test_shifted_days_are_counted_again() -> None:
    for each in drawn(relative.shifted):
        back = re.search(r"before|earlier|prior|ahead|minus|less", each.text) is not None
        day = read_dates(each.text)[0]
        assert shift(day, DATE.sub("", each.text), back).isoformat() == each.iso, each


@pytest.mark.parametrize("make", [relative.near_weekday, relative.anchored])
def test_weekdays_near_a_day_are_walked_to(make: Callable[..., Expression]) -> None:
    today = dt.date(2026, 2, 27)
    args = (today,) if make is relative.anchored else ()
    walked = 0
    for each in drawn(make, *args):
        # The weekday that is asked for comes first; a second one belongs to the date.
        named = re.findall("|".join(english.DAYS), each.text)
        if not named or (args and "day after" in each.text):
            continue
        back = re.search(r"before|preced|passed|up to", each.text) is not None
        day = step = today if args else read_dates(each.text)[0]
        while step == day or step.strftime("%A") != named[0]:
            step += dt.timedelta(days=-1 if back else 1)
        assert step.isoformat() == each.iso, each
        walked += 1
    assert walked > 200


def test_days_counted_from_an_anchor() -> None:
    today = dt.date(2026, 2, 27)
    plain = dict(relative.NAMED_DAYS)
    counted = 0
    for each in drawn(relative.anchored, today):
        if each.text in plain:
            assert (dt.date.fromisoformat(each.iso) - today).days == plain[each.text]
        elif re.search("|".join(english.DAYS), each.text) is None:
            back = re.search(r"ago|earlier|before|back", each.text) is not None
            assert shift(today, each.text, back).isoformat() == each.iso, each
            counted += 1
    assert counted > 500


def test_repetitions_are_read_back() -> None:
    for each in drawn(expressions._repeated):
        count, start, step = each.iso.split("/")
        assert read_dates(each.text)[0].isoformat() == start[:10]
        times = re.search(r"([\w-]+) times", each.text)
        assert count == (f"R{number(times[1])}" if times else "R"), each
        every = re.search(r"every ([A-Z]\w+day)\b", each.text)
        if every:
            assert step == "P1W" and dt.date.fromisoformat(start[:10]).strftime("%A") == every[1]
        else:
            said = re.search(r"every ((?:[\w-]+ )?(?:day|week|month|year)s?)", each.text)
            assert said is not None
            words = said[1] if " " in said[1] else f"a {said[1]}"
            assert total(words) == iso_total(step), each


def test_hours_of_a_day_end_after_they_begin() -> None:
    for each in drawn(expressions._hours):
        start, end = map(dt.datetime.fromisoformat, each.iso.split("/"))
        assert start.date() == end.date() == read_dates(each.text)[0] and start < end


@pytest.mark.parametrize("split", FAMILY.splits)
def test_items_have_one_iso_text_a_line(split: str) -> None:
    rng = random.Random(split)
    found = [each for each in (FAMILY.sample(rng, split) for _ in range(1500)) if each is not None]
    for each in found:
        lines = each["answer"].split("\n")
        assert len(lines) == each["level"] and all(check(line) == line for line in lines)
        assert each["verifier"] == "exact" and not re.search(r"[{}|]|  ", each["prompt"]), each["prompt"]
    assert 0.4 < sum(each["level"] > 1 for each in found) / len(found) < 0.65
    assert {each["level"] for each in found} == {1, 3, 4, 5, 6}


def _all_forms() -> list[Forms]:
    values = [
        each
        for module in (dates, durations, english, expressions, relative)
        for each in vars(module).values()
    ]
    groups = [list(each.values()) if isinstance(each, dict) else [each] for each in values]
    return [each for each in itertools.chain(*groups) if isinstance(each, Forms)]


def test_phrasings_are_held_out_for_test() -> None:
    for each in _all_forms():
        known, held = ({text for line in lines for text in line} for lines in (each.known, each.held))
        assert len(held) >= 2 and not known & held
    rng = random.Random(2)
    for _ in range(400):
        for split in ("train", "dev"):
            draw = Draw(rng, split)
            for make in (*expressions.FREE, lambda d: relative.anchored(d, dt.date(2025, 5, 5))):
                make(draw)
            assert draw.held == 0
        prompt = (FAMILY.sample(rng, "train") or {"prompt": ""})["prompt"]
        assert not re.search(r"Let today be|Reference date|It is now|takes place|in total|preceding", prompt)


def test_the_same_random_numbers_give_the_same_item() -> None:
    one, two = ([FAMILY.sample(random.Random(i), "test") for i in range(50)] for _ in range(2))
    assert one == two and len({str(each) for each in one}) > 30


@pytest.mark.parametrize(
    "text", ["2025-02-30", "2025-05-02/2025-05-01", "P", "PT", "P1H", "R3/2025-01-01/1D", "P1DT"]
)
def test_what_is_no_iso_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        check(text)
