"""Values of record fields: what the JSON holds, and how a text says it.

Rules. Counts are whole numbers: "two dozen" is 24, "half a dozen" 6. Money is a number without currency
(the record holds ``currency`` once, as its last key), without trailing zeros: "$1,299.00" is 1299, "12.50
euros" 12.5. Percentages, degrees and measured values are numbers; lengths of time are minutes. Dates are
YYYY-MM-DD, times HH:MM. Names, codes, addresses and telephone numbers are copied as they stand.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import Any

from dlmrt.datasets.extract import names
from dlmrt.datasets.extract.draw import Draw
from dlmrt.datasets.extract.english import (
    cardinal,
    number_words,
    say_date,
    say_time,
    some_date,
    some_minutes,
    some_time,
)  # fmt: skip
from dlmrt.datasets.phrasing import forms

Said = tuple[Any, str]  # the JSON value, the text
Value = Callable[[Draw], Said]
MONEY = {
    "USD": forms("${n}\n{n} dollars\n{n} USD\nUSD {n}\n${n}\n* US${n}\n* $ {n}"),
    "EUR": forms("€{n}\n{n} euros\n{n} EUR\nEUR {n}\n{n} €\n* € {n}\n* {n}€"),
    "GBP": forms("£{n}\n{n} pounds\n{n} GBP\nGBP {n}\n£{n}\n* £ {n}\n* {n} pounds sterling"),
    "CHF": forms("{n} francs\nCHF {n}\n{n} CHF\n* {n} Swiss francs"),
}
CURRENCIES = ("USD", "USD", "EUR", "EUR", "GBP", "CHF")
UNITS = (("g", ("g", "grams of")), ("kg", ("kg", "kilos of")), ("ml", ("ml", "millilitres of")),
         ("l", ("l", "litres of")), ("tbsp", ("tbsp", "tablespoons of")), ("tsp", ("tsp", "teaspoons of")),
         ("cup", ("cups", "cups of")))  # fmt: skip
LINE = forms("""
    {q} x {item} at {price} (each|)
    {q} pieces of {item} for {price} each
    {item} ({q} at {price} each)
    {q} of the {item} at {price} apiece
    * {item}, {q} at {price} each
    * {q} x {item} for {price} apiece
""")


def copied(name: Callable[[Draw], str]) -> Value:
    """A text that is copied as it stands."""

    def value(draw: Draw) -> Said:
        text = name(draw)
        return text, text

    return value


def one_of(text: str) -> Value:
    """One of a few values, each with the ways to say it: ``high: high|urgent; low: low|not urgent``."""
    options = []
    for option in text.split(";"):
        name, _, ways = option.partition(":")
        held = forms("\n".join(ways.strip().split("|")))
        options.append((name.strip(), held))

    def value(draw: Draw) -> Said:
        name, ways = draw.pick(options)
        return name, draw.say(ways)

    return value


def whole(least: int, most: int, words: float = 0.45) -> Value:
    """A whole number of this range."""

    def value(draw: Draw) -> Said:
        number = draw.whole(least, min(most, 20)) if draw.chance(0.6) else draw.whole(least, most)
        return number, cardinal(draw, number, words)

    return value


def quantity(draw: Draw) -> Said:
    """A number of pieces from 2 on: digits, words, dozens."""
    if draw.chance(0.15):
        dozens = draw.whole(1, 8)
        name = draw.pick(("a dozen", "one dozen")) if dozens == 1 else f"{number_words(dozens)} dozen"
        return (6, "half a dozen") if draw.chance(0.15) else (12 * dozens, name)
    number = draw.whole(2, draw.pick((20, 20, 99, 2_500)))
    if number >= 1_000 and draw.chance(0.6):
        return number, f"{number:,}"
    return number, cardinal(draw, number, 0.5)


def currency(draw: Draw) -> str:
    """The item's currency, drawn at its first use."""
    if "currency" not in draw.facts:
        draw.facts["currency"] = draw.pick(CURRENCIES)
    return str(draw.facts["currency"])


def money(least: int, most: int) -> Value:
    """An amount in the item's currency; small amounts have cents more often."""

    def value(draw: Draw) -> Said:
        span = draw.pick((most, most, max(least, most // 10), max(least, most // 50)))
        amount = draw.whole(least, span)
        cents = draw.pick((0, 0, 0, 50, 99, 95, 25, 75, draw.whole(1, 99))) if amount < 1_000 else 0
        digits = f"{amount:,}" if amount >= 1_000 and draw.chance(0.6) else str(amount)
        if cents or draw.chance(0.25):
            digits += f".{cents:02d}"
        said = draw.say(MONEY[currency(draw)]).format(n=digits)
        return (amount + cents / 100 if cents else amount), said

    return value


def date(draw: Draw) -> Said:
    """A date."""
    day = draw.facts["date"] = some_date(draw)
    return day.isoformat(), say_date(draw, day)


def later(draw: Draw) -> Said:
    """A date some days after the last one of :func:`date`, if the item has one."""
    last = draw.facts.get("date")
    day = last + dt.timedelta(days=draw.whole(2, 90)) if last else some_date(draw)
    return day.isoformat(), say_date(draw, day)


def birthday(draw: Draw) -> Said:
    """A date of birth."""
    day = some_date(draw, 1940, 2012)
    return day.isoformat(), say_date(draw, day)


def time(draw: Draw) -> Said:
    """A time of day."""
    moment = some_time(draw)
    return moment.strftime("%H:%M"), say_time(draw, moment)


def decimal(least: int, most: int, unit: str, below: str = "") -> Value:
    """A measured value with at most one decimal; ``unit``: ways to write its unit, as ``%| percent``."""
    units = unit.split("|")

    def value(draw: Draw) -> Said:
        number = draw.whole(10 * least, 10 * most) if draw.chance(0.5) else 10 * draw.whole(least, most)
        if below:  # the low of a day lies below its high
            number = draw.facts.get(below, number) - draw.whole(5, 150)
        draw.facts[unit] = number
        amount = number // 10 if number % 10 == 0 else number / 10
        minus = draw.chance(0.4) and number < 0
        digits = f"minus {-amount}" if minus else str(amount)
        return amount, digits + draw.pick(units)

    return value


def address(draw: Draw) -> Said:
    """A street, a city and mostly a postcode; one object."""
    street, city = names.street_name(draw), names.city_name(draw)
    if draw.chance(0.3):
        return {"street": street, "city": city}, draw.pick((f"{street}, {city}", f"{street} in {city}"))
    code = str(draw.whole(1_000, 99_999))
    text = draw.pick((f"{street}, {code} {city}", f"{street}, {city} {code}", f"{street} in {code} {city}"))
    return {"street": street, "postcode": code, "city": city}, text


def guests(draw: Draw) -> Said:
    """Adults and mostly children; one object."""
    adults, children = draw.whole(1, 6), draw.whole(0, 4)
    text = f"{cardinal(draw, adults)} adult" + ("s" if adults > 1 else "")
    if not children:
        return {"adults": adults, "children": 0}, text + draw.pick((" and no children", " without children"))
    child = "child" if children == 1 else "children"
    return {"adults": adults, "children": children}, f"{text} and {cardinal(draw, children)} {child}"


def minutes(draw: Draw) -> Said:
    """A length of time, in minutes."""
    return some_minutes(draw)


def ahead(draw: Draw) -> Said:
    """How long before something, in minutes."""
    minutes, hours = draw.pick((5, 10, 15, 20, 30, 45)), draw.whole(1, 4)
    if draw.chance(0.6):
        return minutes, draw.pick(
            (f"{minutes} minutes", f"{minutes} min", f"{number_words(minutes)} minutes")
        )
    return 60 * hours, f"{cardinal(draw, hours)} hours" if hours > 1 else draw.pick(("one hour", "an hour"))


def oven(draw: Draw) -> Said:
    """An oven's temperature."""
    degrees = 5 * draw.whole(24, 50)
    return degrees, f"{degrees}{draw.pick((' degrees', '°C', ' °C', ' degrees Celsius', ' C'))}"


def listed(draw: Draw, parts: list[str]) -> str:
    """Parts joined as a list: a, b and c."""
    joint = draw.pick((", ", ", ", "; "))
    last = draw.pick((" and ", " and ", ", and " if len(parts) > 2 else " and ", joint, " plus "))
    return joint.join(parts[:-1]) + last + parts[-1]


def lines(draw: Draw) -> Said:
    """Two or three positions of an order or invoice: item, quantity, unit price."""
    form, price_of = draw.say(LINE), money(1, 900)
    found, said = [], []
    for _ in range(draw.pick((2, 2, 2, 3))):
        item, count, price = names.thing_name(draw), quantity(draw), price_of(draw)
        found.append({"item": item, "quantity": count[0], "price": price[0]})
        said.append(form.format(q=count[1], item=item, price=price[1]))
    return found, listed(draw, said)


def ingredients(draw: Draw) -> Said:
    """Three to five ingredients: name, amount, unit."""
    found, said = [], []
    for food in draw.some(names.FOODS, draw.pick((3, 3, 4, 4, 5))):
        unit, (short, spoken) = draw.pick(UNITS)
        amount = 10 * draw.whole(1, 80) if unit in ("g", "ml") else draw.whole(1, 8)
        found.append({"name": food, "amount": amount, "unit": unit})
        text = f"{amount} {short}" if draw.chance(0.5) else f"{cardinal(draw, amount, 0.4)} {spoken}"
        said.append(f"{_single(text) if amount == 1 else text} {food}")
    return found, listed(draw, said)


def _single(text: str) -> str:
    return text if text.endswith("sp") else re.sub(r"(\w\w)s( of)?$", r"\1\2", text)


def several(name: Callable[[Draw], str], least: int, most: int) -> Value:
    """A list of different texts that are copied."""

    def value(draw: Draw) -> Said:
        found = list(dict.fromkeys(name(draw) for _ in range(draw.whole(least, most))))
        return found, listed(draw, found) if len(found) > 1 else found[0]

    return value


def choices(text: str, least: int, most: int) -> Value:
    """A list out of fixed lower-case words, separated by ``|``."""
    words = text.split("|")

    def value(draw: Draw) -> Said:
        found = draw.some(words, draw.whole(least, most))
        return found, listed(draw, found) if len(found) > 1 else found[0]

    return value
