"""Records and dates: answers that an independent reading confirms, and what is held out."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import re
from typing import Any

import pytest

from dlmrt.datasets.extract import calendar
from dlmrt.datasets.extract.dates import FAMILY as DATES
from dlmrt.datasets.extract.family import FAMILY as RECORDS
from dlmrt.datasets.extract.family import held_out
from dlmrt.datasets.extract.kinds import FORMS, HELD_OUT_FORMS, KINDS
from dlmrt.datasets.extract.phrasing import Chooser

ISO = re.compile(
    r"\d{4}-\d\d-\d\d(T\d\d:\d\d|/\d{4}-\d\d-\d\d)?|P(\d+W|\d+D|\d+Y\d+M|T\d+H\d+M)"
    r"|R\d+/\d{4}-\d\d-\d\d/P\d[DWMY]"
)


def items(family: Any, split: str, count: int) -> list[dict[str, Any]]:
    found = (family.sample(random.Random(f"{split}{i}"), split) for i in range(60 * count))
    return list(itertools.islice((each for each in found if each is not None), count))


def test_records_are_json_with_the_fields_of_their_kind_in_order() -> None:
    keys = {kind.name: [field.key for field in kind.fields] for kind in KINDS}
    required = {kind.name: {f.key for f in kind.fields if f.required} for kind in KINDS}
    for each in items(RECORDS, "train", 400):
        record = json.loads(each["answer"])
        kind = record.pop("type")
        assert list(record) == [key for key in keys[kind] if key in record]
        assert required[kind] <= set(record)
        assert (
            json.dumps({"type": kind, **record}, ensure_ascii=False, separators=(",", ":")) == each["answer"]
        )


def test_what_is_copied_stands_in_the_text() -> None:
    copied = (
        "name",
        "customer",
        "email",
        "phone",
        "street",
        "reference",
        "number",
        "shelf",
        "guest",
        "place",
    )
    for each in items(RECORDS, "train", 300):
        record, text = json.loads(each["answer"]), each["prompt"].lower()
        assert all(str(record[key]).lower() in text for key in copied if key in record), each


def test_combinations_and_forms_are_held_out() -> None:
    assert len(FORMS) >= 8 and HELD_OUT_FORMS >= 2
    for split in ("train", "dev", "test"):
        for each in items(RECORDS, split, 150):
            record = json.loads(each["answer"])
            combination = tuple(key for key in record if key != "type")
            assert held_out(record["type"], combination) == (split == "test")
            last = [re.escape(form.partition("{")[0]) for form in FORMS[-2:]]
            if split != "test":
                assert not re.search("|".join(last), each["prompt"])


@pytest.mark.parametrize("split", DATES.splits)
def test_dates_are_iso_one_a_line(split: str) -> None:
    for each in items(DATES, split, 300):
        lines = each["answer"].splitlines()
        assert len(lines) == each["level"]
        assert all(ISO.fullmatch(line) for line in lines), each


def test_weekdays_named_beside_a_date_are_true() -> None:
    named = re.compile(r"(\w+day),? (?:the )?(\d+)(?:st|nd|rd|th)?(?: of)? (\w+),? (\d{4})")
    checked = 0
    for each in items(DATES, "train", 400):
        for day, number, month, year in named.findall(each["prompt"]):
            if day in calendar.DAYS and month in calendar.MONTHS:
                date = dt.date(int(year), calendar.MONTHS.index(month) + 1, int(number))
                assert calendar.DAYS[date.weekday()] == day
                checked += 1
    assert checked > 50


def test_spoken_times_are_read_back() -> None:
    hours = {name: i for i, name in enumerate(calendar.CARDINALS)}
    for minute in range(0, 24 * 60, 5):
        time = dt.time(minute // 60, minute % 60)
        text = calendar._spoken(time)
        if text in ("noon", "midnight"):
            assert minute == (720 if text == "noon" else 0)
            continue
        head, _, part = text.partition(" in the ")
        hour = hours[
            re.split(r" (?:past|to) | o'clock", head)[1 if " past " in head or " to " in head else 0]
        ]
        count = head.partition(" past ")[0] if " past " in head else head.partition(" to ")[0]
        ones = {**hours, "quarter": 15, "half": 30}
        past = 0 if "o'clock" in head else _minutes(count.removesuffix(" minutes"), ones)
        said = 60 * (hour % 12) + (past if " to " not in head else -past)
        assert said % 720 == minute % 720, (text, time)
        assert (part == "morning") == (minute < 720), (text, time)


def _minutes(text: str, ones: dict[str, int]) -> int:
    tens, _, rest = text.partition("-")
    return ones[tens] + (ones[rest] if rest else 0)


def test_a_chooser_keeps_held_out_forms_for_the_test_split() -> None:
    assert {Chooser(random.Random(i), "train").pick("abcd", 1) for i in range(200)} == set("abc")
    chooser = Chooser(random.Random(0), "test")
    assert {chooser.pick("abcd", 1) for _ in range(200)} == set("abcd")
    assert 60 < chooser.used < 140
