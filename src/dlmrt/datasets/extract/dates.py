"""The family of dates: English expressions to ISO 8601. The rules, so that each text has one answer:

* A date is YYYY-MM-DD, a moment YYYY-MM-DDTHH:MM, without a zone.
* Durations keep the units that the text names, largest first, as P1Y2M3DT4H5M; only weeks beside other
  units become days (two weeks and three days: P17D). Weeks alone are PnW, a fortnight is P2W. Half a year
  is P6M, an hour and a half PT1H30M, half an hour PT30M, a day and a half P1DT12H; 90 minutes stay PT90M.
* An interval is START/END, both days in it; START/DURATION if the text gives a start and a length. Months,
  quarters, halves of years and years that are meant as intervals run from their first to their last day.
* A repetition is Rn/START/STEP, n counting the first; R/START/STEP if the text gives no number.
* Days are counted from a day that the text names. "The first Friday after" it is never the day itself;
  "the Friday before" is the last one before it. Months and years keep the day of the month; such texts
  never start from a day above 28.
* A list has one answer a line, in order. A day named before a list holds for all its expressions.

Forms of dates and times are those of ``english.py``.
"""

from __future__ import annotations

import datetime as dt
import random
import re
from typing import Any

from dlmrt.datasets.extract.draw import TEST, Draw
from dlmrt.datasets.extract.english import Expression, say_date, some_date
from dlmrt.datasets.extract.expressions import FREE
from dlmrt.datasets.extract.relative import WEEKDAY_DATE, anchored
from dlmrt.datasets.phrasing import forms

DURATION = re.compile(r"P(?!$)(\d+W|(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+S)?)?)")
LIST_SHARE = 0.5
ANCHORED_SHARE = 0.2  # of lists that count from one day
SENTENCE_SHARE = 0.45  # of expressions that stand in a sentence
SENTENCES = {
    "date": forms("""
        The deadline is {e}.
        (We|They) (meet|met) on {e}.
        (It|The invoice) is (dated|due) {e}.
        When is {e}?
        (Write|Give) {e} as a date.
        (The market|The fair|The exam) is on {e}.
        (She|He) was born on {e}.
        * The (letter|exam) is due {e}.
        * (Give|Write) the date: {e}.
    """),
    "day": forms("""
        (What|Which) (day|date) is {e}?
        (What|Which) (day|date) do you get {e}?
        (The exam|The party|The race) (is|was) {e}.
        The deadline is {e}.
        (We|They) (meet|move|met|moved) {e}.
        (The market|The fair) (opens|opened) {e}.
        * (The party|The race) takes place {e}.
        * What date (will it be|was it) {e}?
    """),
    "moment": forms("""
        The (train|bus|ship) leaves {e}.
        (The meeting|The call|The show) (starts|begins) {e}.
        (Call|Wake|Pick) me up {e}.
        (We|They) (meet|met) {e}.
        (Write|Give) {e} as a date and time.
        The deadline is {e}.
        * The (show|meeting) will start {e}.
        * (Give|Write) the date and time: {e}.
    """),
    "duration": forms("""
        It (takes|took|lasts|lasted) {e}.
        (The trip|The course|The guarantee) (lasts|is) {e}.
        (Write|Give) {e} as a duration.
        (We|They) (stay|stayed|waited) {e}.
        How long is {e}?
        The (limit|delay|break) is {e}.
        * The (course|break) took {e}.
        * (Give|Write) the duration: {e}.
    """),
    "interval": forms("""
        (The course|The fair|The exhibition) is (on|open) {e}.
        (We|They) are (away|on holiday) {e}.
        (Write|Give) {e} as an interval.
        (The shop|The road) is closed {e}.
        (The offer|The ticket) is valid {e}.
        (She|He) worked there {e}.
        * The (offer|fair) holds {e}.
        * (Give|Write) the interval: {e}.
    """),
    "repeated": forms("""
        (The class|The market|The backup) is {e}.
        (We|They) (meet|train|play) {e}.
        (Write|Give) {e} as a repetition.
        (Remind|Call|Pay) me {e}.
        (The report|The bill) comes {e}.
        (The rent|The fee) is due {e}.
        * The (class|report) takes place {e}.
        * (Give|Write) the repetition: {e}.
    """),
}
ANCHORS = forms("""
    Today is {d}.
    Today: {d}
    (Counted|Counting) from {d}:
    Suppose (that|) today is {d}.
    It is {d} today.
    The (reference date|reference day) is {d}.
    If today is {d}:
    * Let today be {d}.
    * Reference date: {d}
    * It is now {d}.
""")
MARKS = ("- ", "- ", "", "", "* ", "{n}. ", "{n}) ")


class Dates:
    """English to ISO 8601."""

    name = "dates"
    version = 3
    prefix = "date: "
    split_rule = (
        "by phrasing: of the ways to say an expression, a date or a time those marked as held out occur in "
        "test only, and every test item has one"
    )
    splits = ("train", "dev", "test")

    def sample(self, rng: random.Random, split: str) -> dict[str, Any] | None:
        """Draw one expression or a list of them; None when it is of no use for the test split."""
        draw = Draw(rng, split)
        size = draw.whole(3, 6) if draw.chance(LIST_SHARE) else 1
        if draw.chance(ANCHORED_SHARE if size > 1 else ANCHORED_SHARE / 2):
            today = some_date(draw)
            head = draw.say(ANCHORS).format(d=say_date(draw, today, WEEKDAY_DATE))
            found = [anchored(draw, today) for _ in range(size)]
        else:
            head, found = "", [draw.pick(FREE)(draw) for _ in range(size)]
        texts = [_said(draw, each) for each in found]
        prompt = (
            _list(draw, head, texts) if size > 1 else f"{head} {_capital(texts[0])}" if head else texts[0]
        )
        if split == TEST and not draw.held:
            return None
        answer = "\n".join(check(each.iso) for each in found)
        return {"prompt": prompt, "answer": answer, "verifier": "exact", "level": size}


def _said(draw: Draw, expression: Expression) -> str:
    if not draw.chance(SENTENCE_SHARE):
        return expression.text
    return draw.say(SENTENCES[expression.kind]).format(e=expression.text)


def _list(draw: Draw, head: str, texts: list[str]) -> str:
    if draw.chance(0.15):
        return f"{head} " * bool(head) + "; ".join(text.rstrip(".?") for text in texts)
    mark = draw.pick(MARKS)
    lines = [mark.format(n=i) + text for i, text in enumerate(texts, 1)]
    return "\n".join([head, *lines] if head else lines)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def check(iso: str) -> str:
    """Give the text back if the standard library reads its dates, and an interval does not end early.

    Raises ValueError otherwise.
    """
    parts = iso.split("/")
    days = [dt.datetime.fromisoformat(part) for part in parts if part[0] not in "PR"]
    lengths = [part for part in parts if part[0] == "P"]
    if days != sorted(days) or not all(DURATION.fullmatch(part) for part in lengths):
        raise ValueError(f"{iso} is no ISO 8601 text of this family")
    return iso


FAMILY = Dates()
