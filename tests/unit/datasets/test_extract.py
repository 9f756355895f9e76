"""Records: answers that another reading of the text confirms, and what is held out."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from dlmrt.datasets.extract import english, values
from dlmrt.datasets.extract.draw import TEST, Draw
from dlmrt.datasets.extract.family import ANSWER_CHARS, FAMILY
from dlmrt.datasets.extract.kinds import KINDS, VALUES
from dlmrt.datasets.extract.schema import LABELLED, NOTE, TRUTH, Field, Kind, read_kind
from dlmrt.datasets.phrasing import Forms, expand, forms

BY_NAME = {kind.name: kind for kind in KINDS}
ISO = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d")
NAMED = {"difficulty", "mode", "room", "severity", "sky", "status", "unit"}  # one of a few, said in many ways


class OnlyRandom(random.Random):
    """Fails on any draw whose algorithm Python may change."""

    def getrandbits(self, k: int) -> int:
        raise AssertionError("only random() may be used")


def items(split: str, count: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = OnlyRandom(f"{split}{seed}")
    drawn = (FAMILY.sample(rng, split) for _ in range(30 * count))
    return list(itertools.islice((each for each in drawn if each is not None), count))


def all_forms(kind: Kind) -> Iterator[tuple[str, Forms]]:
    yield "openings", kind.openings
    for field in kind.fields.values():
        for part, each in (("says", field.says), ("yes", field.yes), ("no", field.no)):
            if len(each):
                yield f"{field.key}.{part}", each
    for joint in kind.joints:
        yield "+".join(sorted(joint.keys)), joint.says


def texts(lines: tuple[tuple[str, ...], ...]) -> set[str]:
    return {text for line in lines for text in line}


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each, key)
    else:
        yield key, value


@pytest.mark.parametrize("split", FAMILY.splits)
def test_records_hold_the_fields_of_their_kind_in_order(split: str) -> None:
    for each in items(split, 500):
        record = json.loads(each["answer"])
        assert json.dumps(record, ensure_ascii=False, separators=(",", ":")) == each["answer"]
        fields = BY_NAME[record["type"]].fields
        keys = [key for key in record if key not in ("type", "currency")]
        assert keys == [key for key in fields if key in record] and len(keys) == each["level"]
        assert {key for key, field in fields.items() if field.required} <= set(keys)
        assert next(iter(record)) == "type" and each["schema"] == record["type"]
        assert "currency" not in record or list(record)[-1] == "currency"
        assert ANSWER_CHARS[0] <= len(each["answer"]) <= ANSWER_CHARS[1]
        assert each["verifier"] == "json" and not each["prompt"].startswith(FAMILY.prefix)


@pytest.mark.parametrize("split", FAMILY.splits)
def test_what_is_copied_stands_in_the_text(split: str) -> None:
    copied = 0
    for each in items(split, 600):
        record, text = json.loads(each["answer"]), each["prompt"]
        for key, value in leaves({k: v for k, v in record.items() if k not in ("type", "currency")}):
            if isinstance(value, str) and key not in NAMED and not ISO.fullmatch(value):
                assert value in text, (key, value, text)
                copied += 1
    assert copied > 1500


def test_nothing_of_the_format_is_left_in_a_text() -> None:
    for split in FAMILY.splits:
        for each in items(split, 400):
            assert not re.search(r"[{}|]|\.\.|  | [.,;:?!](?!\d)|\ba [aeio]", each["prompt"]), each["prompt"]


def test_every_kind_is_drawn() -> None:
    assert len(KINDS) >= 12
    counts = Counter(each["schema"] for each in items("train", 1500))
    assert set(counts) == set(BY_NAME) and min(counts.values()) > 40


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_fields_have_phrasings_enough_of_which_some_are_held_out(kind: Kind) -> None:
    assert len(kind.fields) >= 8
    for name, each in all_forms(kind):
        generic = _labelled(kind.fields[name.partition(".")[0]]) if "." in name else Forms(())
        known, held = texts(each.known + generic.known), texts(each.held + generic.held)
        assert not known & held, (name, known & held)
        if "." in name:
            assert len(each) >= (8 if name.endswith("says") else 6) and len(each.held) >= 2, name
    for joint in kind.joints:
        assert all(kind.fields[key].value is not None for key in joint.keys)


def _labelled(field: Field) -> Forms:
    """What a field's labels add to its own phrasings."""
    known, held = (
        tuple(
            text.format(L=label[:1].upper() + label[1:], l=label, v="{v}", V="{v}")
            for text in texts(lines)
            for label in field.nouns
        )
        for lines in ((LABELLED if field.value else TRUTH).known, (LABELLED if field.value else TRUTH).held)
    )
    return Forms((known,), (held,))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_mention_or_label_fits_two_fields(kind: Kind) -> None:
    mentions = Counter(
        text for name, each in all_forms(kind) if "." in name for text in texts(each.known) | texts(each.held)
    )
    labels = Counter(label for field in kind.fields.values() for label in field.labels)
    assert {name for name, count in (mentions + labels).items() if count > 1} == set()


@pytest.mark.parametrize("each", [LABELLED, NOTE, TRUTH, values.LINE, *values.MONEY.values()])
def test_shared_phrasings_are_not_known_and_held_out(each: Forms) -> None:
    assert each.held and not texts(each.known) & texts(each.held)


def test_combinations_of_fields_are_held_out() -> None:
    held = 0
    for split in FAMILY.splits:
        for each in items(split, 300):
            kind = BY_NAME[each["schema"]]
            keys = frozenset(json.loads(each["answer"])) - {"type", "currency"}
            assert keys in (kind.known if split != TEST else kind.known + kind.held_out)
            held += keys in kind.held_out
    assert 80 < held < 220
    for kind in KINDS:
        assert kind.held_out and not set(kind.known) & set(kind.held_out)
        assert len(kind.held_out) <= 0.15 * len(kind.known)


def test_held_out_mentions_occur_in_test_alone() -> None:
    def found(each: dict[str, Any]) -> bool:
        return any(piece in each["prompt"] for piece in pieces[each["schema"]])

    pieces = {kind.name: _held_out_pieces(kind) for kind in KINDS}
    assert all(len(each) > 5 for each in pieces.values())
    assert not any(found(each) for split in ("train", "dev") for each in items(split, 800))
    assert sum(map(found, items("test", 400))) > 100


def _held_out_pieces(kind: Kind) -> set[str]:
    """Texts between slots that are long, held out, and in no known phrasing of any field."""
    known = "\n".join(text for each in KINDS for _, f in all_forms(each) for text in texts(f.known))
    held = {text for name, each in all_forms(kind) if "." in name for text in texts(each.held)}
    pieces = {max(re.split(r"\{\w+\}", text), key=len) for text in held}
    return {piece for piece in pieces if len(piece) >= 14 and piece not in known}


def test_every_test_item_has_a_held_out_phrasing(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    say = Draw.say

    def counted(self: Draw, phrasings: Forms) -> str:
        before = self.held
        text = say(self, phrasings)
        if self.held > before:
            assert self.split == TEST and text in texts(phrasings.held)
            taken[-1] += 1
        return text

    monkeypatch.setattr(Draw, "say", counted)
    for split in FAMILY.splits:
        rng = random.Random(1)
        for _ in range(300):
            taken.append(0)
            item = FAMILY.sample(rng, split)
            assert item is None or (taken[-1] > 0) == (split == TEST)


def test_the_same_random_numbers_give_the_same_item() -> None:
    assert items("test", 40, seed=3) == items("test", 40, seed=3)
    assert items("test", 40, seed=3) != items("test", 40, seed=4)


def draws(name: str, count: int = 800) -> list[tuple[Any, str]]:
    rng = random.Random(name)
    return [VALUES[name](Draw(rng, TEST)) for _ in range(count)]


def test_amounts_of_money_are_read_back() -> None:
    for value, text in draws("price"):
        digits = re.sub(r"[^\d.]", "", text.replace("US$", ""))
        assert float(digits) == value, text
        assert isinstance(value, int) == float(value).is_integer()


def test_one_item_has_one_currency() -> None:
    signs = {"USD": "$ dollars USD", "EUR": "€ euros EUR", "GBP": "£ pounds GBP", "CHF": "francs CHF"}
    seen = 0
    for each in items("test", 800):
        name = json.loads(each["answer"]).get("currency")
        for other, words in signs.items():
            said = any(word in each["prompt"] for word in words.split())
            assert said == (name == other), each
            seen += said
    assert seen > 100


WORDS = {english.number_words(number): number for number in range(1000)}


def test_quantities_are_read_back() -> None:
    for value, text in draws("quantity"):
        count = text.removesuffix(" dozen")
        if text == "half a dozen":
            assert value == 6
        elif count != text:
            assert value == 12 * (1 if count == "a" else WORDS[count])
        else:
            assert value == (WORDS[text] if text in WORDS else int(text.replace(",", "")))


def test_measured_values_are_read_back() -> None:
    for name in ("degrees", "percent", "pressure", "rain", "wind"):
        for value, text in draws(name, 300):
            number = re.match(r"(minus |-)?(\d+(?:\.\d+)?)", text)
            assert number is not None
            assert value == (-1 if number[1] else 1) * float(number[2]), text


def test_lengths_of_time_are_read_back() -> None:
    fixed = {"half an hour": 30, "three quarters of an hour": 45, "an hour and a half": 90, "an hour": 60}
    for value, text in draws("minutes"):
        if text in fixed:
            assert value == fixed[text]
            continue
        total = 30 * (" and a half" in text)
        counted = re.findall(r"((?:one hundred(?: and )?)?[\w-]*) (h|min)", text.replace(" and a half", ""))
        for count, unit in counted:
            total += (WORDS[count] if count in WORDS else int(count)) * (60 if unit == "h" else 1)
        assert total == value, text


def test_lists_and_objects_are_said_whole() -> None:
    for value, text in draws("ingredients", 200):
        assert len({each["name"] for each in value}) == len(value) >= 3
        assert all(each["name"] in text for each in value)
    for value, text in draws("guests", 200):
        assert ("no children" in text or "without children" in text) == (value["children"] == 0)
    for value, text in draws("lines", 200):
        assert 2 <= len(value) <= 3 and all(each["item"] in text for each in value)


def test_a_due_date_lies_after_the_date() -> None:
    found = 0
    for each in items("train", 800):
        record = json.loads(each["answer"])
        if record["type"] == "invoice" and {"date", "due"} <= record.keys():
            assert dt.date.fromisoformat(record["date"]) < dt.date.fromisoformat(record["due"])
            found += 1
    assert found > 5


def test_alternatives_are_expanded_and_spaces_closed() -> None:
    assert expand("a (b|c) d") == ("a b d", "a c d")
    assert expand("gone (again|).") == ("gone again.", "gone.")
    assert forms("x\n* y\n\n") == Forms((("x",),), (("y",),))


def test_alternatives_must_mention_the_same_fields() -> None:
    with pytest.raises(ValueError, match="different fields"):
        read_kind("= thing\n& The ({one}|thing) is in {two}.\none city | one\ntwo city | two\n", VALUES)


def test_a_kind_is_read_from_its_text() -> None:
    kind = read_kind(
        "= thing\n> A thing.\n& {one} is in {two}.\n&* In {two}, {one}.\n"
        "one! person | one | :who\nOne is {v}.\n* It is {v}, one.\ntwo city | two\nTwo is {v}.\n"
        "three city | three\nThree is {v}.\nfour bool | four\n+ Four.\n+* With four.\n- No four.\n"
        "five city | five\nFive is {v}.\n",
        VALUES,
    )
    one, four = kind.fields["one"], kind.fields["four"]
    assert isinstance(one, Field) and one.required and one.labels == ("one", "who") and one.nouns == ("one",)
    assert one.says == Forms((("One is {v}.",),), (("It is {v}, one.",),))
    assert four.value is None and four.yes.held == (("With four.",),) and four.no.known == (("No four.",),)
    assert kind.joints[0].keys == {"one", "two"} and len(kind.joints[0].says) == 2
    assert kind.held_out == (frozenset(("one", "two", "three", "four", "five")),) and kind.known == ()
