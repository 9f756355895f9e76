"""The kinds of records: their fields in the order of the JSON, and the names that a text may use for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlmrt.datasets.extract import values as v
from dlmrt.datasets.extract.phrasing import Chooser

HELD_OUT_FORMS = 3
# A field with its label and value; the last ones are held out.
FORMS = (
    "The {l} is {v}.",
    "{L}: {v}.",
    "As for the {l}, it is {v}.",
    "For the {l}, put {v}.",
    "{V} is the {l}.",
    "We have {v} as the {l}.",
    "Please note the {l}: {v}.",
    "{L} = {v}.",
    "The {l} was given as {v}.",
    "And the {l}? {V}.",
    "They wrote {v} under {l}.",
    "{V}, that is the {l}.",
    "Under {l} it says {v}.",
    "I was told the {l}: {v}.",
)
YES = (
    "{L}: yes.",
    "With {l}.",
    "{L} is wanted.",
    "They ask for {l}.",
    "It includes {l}.",
    "Do add {l}.",
    "{L} was agreed.",
    "Not without {l}.",
)
NO = (
    "{L}: no.",
    "Without {l}.",
    "{L} is not wanted.",
    "They do not ask for {l}.",
    "It does not include {l}.",
    "Leave out {l}.",
    "{L} was ruled out.",
    "No need of {l}.",
)
HELD_OUT_FLAGS = 2


@dataclass(frozen=True)
class Field:
    """A field. labels: names a text uses; draw: None for one that is true or false."""

    key: str
    labels: tuple[str, ...]
    draw: Callable[[Chooser], v.Said] | None = None
    required: bool = False


@dataclass(frozen=True)
class Kind:
    """A kind of record. openings: sentences that say what the text is about."""

    name: str
    openings: tuple[str, ...]
    fields: tuple[Field, ...]


def _f(
    key: str, labels: str, draw: Callable[[Chooser], v.Said] | None = None, required: bool = False
) -> Field:
    return Field(key, tuple(labels.split("|")), draw, required)


PRIORITY = v.one_of(
    ("low", ("low", "not urgent", "can wait")),
    ("normal", ("normal", "ordinary", "as usual")),
    ("high", ("high", "urgent", "as soon as possible")),
)
SYSTEM = v.one_of(
    ("linux", ("Linux", "a Linux machine", "some Linux")),
    ("windows", ("Windows", "a Windows machine", "some Windows")),
    ("macos", ("macOS", "a Mac", "an Apple computer")),
)
OVEN = v.one_of(*((heat, (f"{heat} degrees", f"{heat} C")) for heat in (160, 180, 200, 220)))
TITLE = v.one_of(
    *((job, (job,)) for job in ("nurse", "cook", "driver", "engineer", "teacher", "gardener", "accountant"))
)
SKY = v.one_of(
    ("clear", ("clear", "cloudless", "without a cloud")),
    ("cloudy", ("cloudy", "overcast", "full of clouds")),
    ("rain", ("rainy", "wet", "full of rain")),
)
KINDS = (
    Kind(
        "order",
        ("New order.", "An order came in.", "Order received.", "Somebody ordered something."),
        (
            _f("customer", "customer|buyer|client", v.person, True),
            _f("product", "product|article|goods", v.product, True),
            _f("quantity", "quantity|number of units|amount", v.count),
            _f("price", "unit price|price per piece", v.money),
            _f("date", "order date|date of the order", v.date),
            _f("city", "destination|place of delivery", v.city),
            _f("express", "express delivery"),
        ),
    ),
    Kind(
        "contact",
        ("A new contact.", "Contact details.", "Add this person to the address book.", "Here is a contact."),
        (
            _f("name", "name|full name", v.person, True),
            _f("email", "e-mail address|e-mail", v.email),
            _f("phone", "phone number|telephone", v.phone),
            _f("street", "street address|street", v.street),
            _f("city", "city|town", v.city, True),
            _f("birthday", "birthday|date of birth", v.date),
            _f("newsletter", "the newsletter"),
        ),
    ),
    Kind(
        "appointment",
        (
            "An appointment.",
            "Please enter an appointment.",
            "A meeting was arranged.",
            "Something for the calendar.",
        ),
        (
            _f("with", "person to meet|other person", v.person, True),
            _f("date", "date|day", v.date, True),
            _f("time", "starting time|time", v.time),
            _f("minutes", "length|duration", v.minutes),
            _f("place", "place|location", v.street),
            _f("reference", "reference|reference number", v.code),
            _f("reminder", "a reminder"),
        ),
    ),
    Kind(
        "bug",
        ("A bug report.", "Somebody reports a fault.", "Bug filed.", "There is a problem with the program."),
        (
            _f("id", "ticket number|ticket", v.code, True),
            _f("reporter", "reporter|person who reports it", v.person),
            _f("priority", "priority|urgency", PRIORITY, True),
            _f("found", "date found|day it was found", v.date),
            _f("system", "system|operating system", SYSTEM),
            _f("affected", "number of affected users|users affected", v.count),
            _f("workaround", "a workaround"),
        ),
    ),
    Kind(
        "recipe",
        ("A recipe.", "Here is a recipe.", "Write down this recipe.", "Something to cook."),
        (
            _f("author", "author|cook", v.person),
            _f("ingredients", "ingredients|things needed", v.foods, True),
            _f("servings", "servings|number of people it feeds", v.count, True),
            _f("minutes", "cooking time|time it takes", v.minutes),
            _f("temperature", "oven temperature|heat of the oven", OVEN),
            _f("vegan", "vegan preparation"),
        ),
    ),
    Kind(
        "trip",
        ("A journey.", "Travel plans.", "A trip was booked.", "Somebody is travelling."),
        (
            _f("traveller", "traveller|passenger", v.person, True),
            _f("from", "place of departure|starting point", v.city, True),
            _f("to", "destination|place of arrival", v.city, True),
            _f("date", "date of travel|day of travel", v.date),
            _f("departure", "departure time|time of departure", v.time),
            _f("number", "train number|booking code", v.code),
            _f("fare", "fare|price of the ticket", v.money),
            _f("bicycle", "a place for a bicycle"),
        ),
    ),
    Kind(
        "job",
        ("A job advert.", "An open position.", "We are hiring.", "Somebody looks for staff."),
        (
            _f("title", "position|job title", TITLE, True),
            _f("city", "place of work|city", v.city, True),
            _f("salary", "monthly pay|salary", v.money),
            _f("start", "first day|starting date", v.date),
            _f("hours", "hours a week|weekly hours", v.count),
            _f("contact", "contact|address for applications", v.email),
            _f("remote", "remote work"),
        ),
    ),
    Kind(
        "invoice",
        ("An invoice.", "An invoice arrived.", "Bill received.", "Please book this invoice."),
        (
            _f("number", "invoice number|number of the invoice", v.code, True),
            _f("customer", "customer|recipient", v.person),
            _f("items", "items|lines", v.lines, True),
            _f("date", "invoice date|date of issue", v.date),
            _f("due", "due date|last day to pay", v.date),
            _f("discount", "discount|reduction", v.percent),
            _f("tax", "sales tax"),
        ),
    ),
    Kind(
        "weather",
        ("A weather report.", "The weather.", "Observations of a weather station.", "Forecast."),
        (
            _f("place", "place|station", v.city, True),
            _f("date", "date|day", v.date, True),
            _f("high", "highest temperature|high", v.degrees),
            _f("low", "lowest temperature|low", v.degrees),
            _f("humidity", "humidity|relative humidity", v.percent),
            _f("sky", "sky|state of the sky", SKY),
            _f("wind_warning", "a wind warning"),
        ),
    ),
    Kind(
        "booking",
        ("A room was booked.", "A booking for the hotel.", "Hotel reservation.", "Somebody reserves a room."),
        (
            _f("guest", "guest|name of the guest", v.person, True),
            _f("arrival", "arrival|day of arrival", v.date, True),
            _f("departure", "departure|day of departure", v.date),
            _f("room", "room|room number", v.count),
            _f("rate", "rate per night|price per night", v.money),
            _f("phone", "phone number|telephone", v.phone),
            _f("breakfast", "breakfast"),
        ),
    ),
    Kind(
        "loan",
        ("A library loan.", "A book was lent.", "Loan recorded.", "Somebody borrowed a book."),
        (
            _f("reader", "reader|borrower", v.person, True),
            _f("shelf", "shelf mark|signature", v.code, True),
            _f("lent", "date of the loan|day it was lent", v.date),
            _f("due", "due date|day of return", v.date),
            _f("renewals", "number of renewals|renewals", v.count),
            _f("fee", "fee|fine", v.money),
            _f("reserved", "a reservation by others"),
        ),
    ),
    Kind(
        "event",
        ("An event.", "An evening is being planned.", "A concert is announced.", "Programme note."),
        (
            _f("speakers", "speakers|people on stage", v.people, True),
            _f("venue", "venue|address", v.street),
            _f("city", "city|town", v.city),
            _f("date", "date|day", v.date, True),
            _f("doors", "time of admission|doors", v.time),
            _f("seats", "number of seats|seats", v.count),
            _f("ticket", "ticket price|admission", v.money),
            _f("stream", "a live stream"),
        ),
    ),
)
DISTRACTORS = (
    "Thanks for the quick reply.",
    "The printer was out of paper again.",
    "I hope this finds you well.",
    "We talked for 20 minutes.",
    "The coffee was cold.",
    "Nothing else was said.",
    "Please file it with the others.",
    "It took 3 attempts to get through.",
    "The line was bad.",
    "Greetings from the second floor.",
    "I will be out of the office tomorrow.",
    "Sorry for the delay.",
)
