"""Values of record fields: what JSON holds, and how a text says it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from dlmrt.datasets.extract.calendar import CARDINALS, draw_date, draw_time, say_date, say_time
from dlmrt.datasets.extract.phrasing import Chooser

FIRST = (
    "Ana Ben Clara David Elena Felix Grace Hassan Irene Jonas Katrin Liam Mei Nadia Oscar Priya Quinn Rosa "
    "Samir Tara Umar Vera Wim Xenia Yuki Zora Anton Bianca Cyril Dora"
).split()
ONSETS = "b br c ch d dr f g gr h j k l m n p pr r s st t tr v w z".split()
VOWELS = "a e i o u ai ee oa".split()
CODAS = ["", "", "n", "l", "r", "s", "ck", "m", "nd", "rt"]
CITIES = (
    "Lisbon Oslo Turin Gdansk Leeds Nantes Ghent Graz Porto Malmo Cork Basel Split Bergen Utrecht Seville "
    "Riga Aarhus Bologna Dresden Lyon Tartu Vilnius Zagreb Bristol Cadiz Linz Lund"
).split()
PRODUCTS = tuple(
    name.strip()
    for name in (
        "desk lamp, oak table, steel shelf, garden hose, wool blanket, kettle, tripod, office chair, "
        "rain barrel, bread knife, camping stove, bicycle pump, wall clock, tool box, yoga mat, "
        "paper shredder, hand drill, coffee mill, picture frame, door bell, water filter, sleeping bag, "
        "extension cord, chess board, soup pot"
    ).split(",")
)
FOODS = "flour sugar butter milk rice onions carrots lentils tomatoes garlic cream honey oats basil".split()
STREETS = "Mill Oak Station Garden River Church Market Hill School Park Bridge Castle".split()
KINDS_OF_STREET = "Street Road Lane Avenue Square".split()
DOMAINS = "example.org mail.example example.net post.example".split()


def word(rng: random.Random, syllables: int = 2) -> str:
    """A made-up word, so that copying is learned and no list of names."""
    parts = [rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)]
    return "".join(parts) + rng.choice(CODAS)


def surname(rng: random.Random) -> str:
    """A made-up surname."""
    return word(rng).capitalize()


Said = tuple[Any, str]  # the JSON value, the text


def person(choose: Chooser) -> Said:
    """First name and surname."""
    name = f"{choose.rng.choice(FIRST)} {surname(choose.rng)}"
    return name, name


def city(choose: Chooser) -> Said:
    """A city, half of them made up."""
    name = choose.rng.choice(CITIES) if choose.rng.random() < 0.5 else word(choose.rng, 3).capitalize()
    return name, name


def product(choose: Chooser) -> Said:
    """An article, some with a made-up model name."""
    name = choose.rng.choice(PRODUCTS)
    if choose.rng.random() < 0.3:
        name += f" {word(choose.rng).capitalize()}"
    return name, name


def count(choose: Chooser) -> Said:
    """A whole number, in digits, words or dozens."""
    rng = choose.rng
    form = rng.random()
    if form < 0.15:
        dozens = rng.randint(1, 6)
        return 12 * dozens, f"{'a' if dozens == 1 else CARDINALS[dozens]} dozen"
    number = rng.randint(2, 20) if form < 0.5 else rng.randint(2, 400)
    return number, CARDINALS[number] if number <= 20 and rng.random() < 0.5 else str(number)


def money(choose: Chooser) -> Said:
    """An amount in dollars: a whole number, or one with two decimals that don't end in 0."""
    rng = choose.rng
    whole = rng.choice((rng.randint(2, 99), rng.randint(100, 999), rng.randint(1_000, 9_999)))
    cents = 0 if rng.random() < 0.6 else rng.choice((25, 75, 99, 49, 15))
    value = whole if not cents else whole + cents / 100
    digits = f"{whole:,}" if rng.random() < 0.5 else str(whole)
    exact = f"{digits}.{cents:02d}" if cents or rng.random() < 0.4 else digits
    return value, choose.pick(("${}", "{} dollars", "USD {}", "{} USD"), 1).format(exact)


def date(choose: Chooser) -> Said:
    """A date, as ISO."""
    day = draw_date(choose.rng)
    return day.isoformat(), say_date(day, choose)


def time(choose: Chooser) -> Said:
    """A time of day, as HH:MM."""
    moment = draw_time(choose.rng)
    return moment.strftime("%H:%M"), say_time(moment, choose)


def email(choose: Chooser) -> Said:
    """An address."""
    rng = choose.rng
    local = rng.choice(
        (word(rng), f"{rng.choice(FIRST).lower()}.{word(rng)}", f"{word(rng)}{rng.randint(1, 99)}")
    )
    address = f"{local}@{rng.choice(DOMAINS)}"
    return address, address


def phone(choose: Chooser) -> Said:
    """A telephone number, copied as it stands."""
    rng = choose.rng
    number = f"+{rng.randint(1, 99)} {rng.randint(20, 999)} {rng.randint(1_000, 9_999_999)}"
    return number, number


def code(choose: Chooser) -> Said:
    """A reference such as KT-4821."""
    rng = choose.rng
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTVWXZ") for _ in range(rng.randint(1, 3)))
    value = f"{letters}-{rng.randint(10, 99_999)}"
    return value, value


def street(choose: Chooser) -> Said:
    """House number and street."""
    rng = choose.rng
    name = rng.choice(STREETS) if rng.random() < 0.5 else surname(rng)
    value = f"{rng.randint(1, 199)} {name} {rng.choice(KINDS_OF_STREET)}"
    return value, value


def degrees(choose: Chooser) -> Said:
    """A temperature."""
    rng = choose.rng
    number = rng.randint(-15, 38)
    said = f"{number} degrees" if rng.random() < 0.6 else f"{number} C"
    return number, f"minus {-number} degrees" if number < 0 and rng.random() < 0.5 else said


def percent(choose: Chooser) -> Said:
    """A percentage, as a number."""
    number = choose.rng.randint(1, 100)
    return number, choose.rng.choice((f"{number} %", f"{number} percent"))


def minutes(choose: Chooser) -> Said:
    """A length of time, as minutes."""
    rng = choose.rng
    hours, rest = rng.randint(0, 3), rng.choice((0, 10, 15, 20, 30, 45))
    if hours == 0:
        rest = rest or 30
        return rest, rng.choice((f"{rest} minutes", f"{rest} min"))
    if rest == 30 and rng.random() < 0.5:
        return 60 * hours + 30, "an hour and a half" if hours == 1 else f"{CARDINALS[hours]} and a half hours"
    plural = "s" if hours > 1 else ""
    return 60 * hours + rest, f"{hours} hour{plural}" + (f" and {rest} minutes" if rest else "")


def foods(choose: Chooser) -> Said:
    """A list of two to five things."""
    items = choose.rng.sample(FOODS, choose.rng.randint(2, 5))
    joint = choose.rng.choice((" and ", " and ", " as well as "))
    return items, ", ".join(items[:-1]) + joint + items[-1]


def people(choose: Chooser) -> Said:
    """A list of two to four names."""
    names = [person(choose)[0] for _ in range(choose.rng.randint(2, 4))]
    return names, ", ".join(names[:-1]) + " and " + names[-1]


def lines(choose: Chooser) -> Said:
    """Items of an invoice: objects with item, quantity and price."""
    rng = choose.rng
    items, said = [], []
    for name in rng.sample(PRODUCTS, rng.randint(2, 3)):
        quantity, price = rng.randint(1, 20), money(choose)
        items.append({"item": name, "quantity": quantity, "price": price[0]})
        said.append(f"{quantity} x {name} at {price[1]} each")
    return items, "; ".join(said)


def one_of(*options: tuple[str | int, tuple[str, ...]]) -> Callable[[Chooser], Said]:
    """A value of a fixed list, said in one of its ways."""

    def draw(choose: Chooser) -> Said:
        value, ways = choose.rng.choice(options)
        return value, choose.pick(ways, 1 if len(ways) > 2 else 0)

    return draw
