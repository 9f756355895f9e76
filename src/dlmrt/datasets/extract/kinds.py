"""All kinds of records, with the values that their fields take."""

from __future__ import annotations

from dlmrt.datasets.extract import names, values
from dlmrt.datasets.extract.draw import Draw
from dlmrt.datasets.extract.kinds_people import APPOINTMENT, CONTACT, JOB
from dlmrt.datasets.extract.kinds_plans import LOAN, RECIPE, TRIP
from dlmrt.datasets.extract.kinds_things import BUG, SENSOR, WEATHER
from dlmrt.datasets.extract.kinds_trade import BOOKING, INVOICE, ORDER
from dlmrt.datasets.extract.schema import read_kind

PROFESSIONS = (
    "nurse cook driver teacher gardener painter plumber baker translator lawyer designer programmer welder "
    "carpenter tailor manager researcher technician secretary cashier barber librarian mechanic journalist "
    "chemist dentist florist pharmacist bookkeeper roofer"
).split()
RANKS = ("", "", "", "senior ", "junior ", "head ", "part-time ", "lead ", "trainee ", "freelance ")
TOPICS = (
    "budget sales marketing safety hiring product design team project customer garden tax school health "
    "travel contract quality training website warehouse research roadmap kitchen press"
).split()
MEETINGS = (
    "review meeting planning interview workshop briefing check talk lunch audit demo call session".split()
)
PERIODS = ("", "", "", "weekly ", "monthly ", "quarterly ", "annual ", "first ", "final ", "short ")
BOOK_FIRST = (
    "Silent Golden Broken Last Hidden Northern Winter Empty Secret Burning Lost Second Little Distant "
    "Paper Iron Borrowed Quiet Salt Crooked"
).split()
BOOK_LAST = (
    "Garden River House Letters Road Harbour Bridge Mirror Clock Island Orchard Season Museum Map Window "
    "Kingdom Lighthouse Forest Station Gardener"
).split()
PLACES = (
    (
        "cellar greenhouse attic kitchen workshop garage barn office corridor laboratory warehouse hall "
        "archive stable lobby server room boiler room cold store engine room"
    )
    .replace(" room", "_room")
    .replace(" store", "_store")
    .split()
)
SIDES = ("", "", "", "north ", "south ", "east ", "west ", "upper ", "lower ", "old ", "new ")
PARTS = (
    "login page", "search box", "report export", "payment form", "start screen", "mail client", "file dialog",
    "address book", "print preview", "settings menu", "image viewer", "backup tool", "calendar view",
    "sync service", "help page", "password reset", "chat window", "data import", "user list", "installer",
)  # fmt: skip
SYSTEMS = ("Windows", "macOS", "Ubuntu", "Debian", "Fedora", "Android", "iOS", "FreeBSD")
DEGREES = " degrees|°C| °C| degrees Celsius| C"
SKILLS = (
    "Python|Java|SQL|Excel|German|French|Spanish|English|Dutch|first "
    "aid|bookkeeping|welding|cooking|accounting|driving|photography|project "
    "planning|patience|teamwork|sales|statistics|carpentry|typing|public speaking|machine repair|gardening"
)


def _role(draw: Draw) -> str:
    return draw.pick(RANKS) + draw.pick(PROFESSIONS)


def _subject(draw: Draw) -> str:
    topic = names.word(draw).capitalize() if draw.chance(0.25) else draw.pick(TOPICS)
    return f"{draw.pick(PERIODS)}{topic} {draw.pick(MEETINGS)}"


def _book(draw: Draw) -> str:
    noun = draw.pick(BOOK_LAST)
    style = draw.rng.random()
    if style < 0.35:
        return f"The {draw.pick(BOOK_FIRST)} {noun}"
    if style < 0.7:
        return f"The {noun} of {names.word(draw).capitalize()}"
    if style < 0.85:
        return f"{names.word(draw).capitalize()} and the {noun}"
    return f"{draw.pick(BOOK_FIRST)} {noun}"


def _place(draw: Draw) -> str:
    number = f" {draw.whole(1, 40)}" if draw.chance(0.25) else ""
    return draw.pick(SIDES) + draw.pick(PLACES).replace("_", " ") + number


def _room(draw: Draw) -> str:
    return draw.pick((f"room {draw.whole(1, 499)}", f"the {names.word(draw).capitalize()} Hall",
                      names.street_name(draw), f"{names.last_name(draw)}'s office",
                      f"the {names.word(draw).capitalize()} cafe"))  # fmt: skip


def _component(draw: Draw) -> str:
    return f"{names.word(draw).capitalize()} module" if draw.chance(0.3) else draw.pick(PARTS)


def _version(draw: Draw) -> str:
    tail = f".{draw.whole(0, 30)}" if draw.chance(0.6) else ""
    return f"{draw.whole(0, 29)}.{draw.whole(0, 20)}{tail}"


def _system(draw: Draw) -> str:
    tail = f".{draw.whole(0, 9)}" if draw.chance(0.2) else ""
    return f"{draw.pick(SYSTEMS)} {draw.whole(7, 24)}{tail}"


def _dish(draw: Draw) -> str:
    made = f"{names.word(draw).capitalize()} " if draw.chance(0.4) else ""
    return f"{made}{draw.pick(names.FLAVOURS)} {draw.pick(names.DISHES)}"


VALUES: dict[str, values.Value] = {
    "address": values.address,
    "birthday": values.birthday,
    "book": values.copied(_book),
    "city": values.copied(names.city_name),
    "code": values.copied(names.code_name),
    "company": values.copied(names.company_name),
    "component": values.copied(_component),
    "date": values.date,
    "degrees": values.decimal(-15, 38, DEGREES),
    "lower": values.decimal(-15, 25, DEGREES, below=DEGREES),
    "difficulty": values.one_of("easy: easy|simple; medium: medium|moderate; hard: hard|difficult"),
    "dish": values.copied(_dish),
    "email": values.copied(names.email_name),
    "guests": values.guests,
    "ingredients": values.ingredients,
    "lines": values.lines,
    "location": values.copied(_place),
    "minutes": values.minutes,
    "mode": values.one_of("train: train|railway; plane: plane|aeroplane; bus: bus|coach; ship: ship|ferry"),
    "nights": values.whole(2, 30),
    "oven": values.oven,
    "people": values.several(names.person_name, 2, 3),
    "percent": values.decimal(1, 99, "%| %| percent| per cent"),
    "person": values.copied(names.person_name),
    "phone": values.copied(names.phone_number),
    "place": values.copied(_room),
    "pressure": values.decimal(950, 1_050, " hPa| hectopascals| mbar"),
    "fee": values.money(1, 60),
    "salary": values.money(900, 9_000),
    "rate": values.money(20, 400),
    "fare": values.money(5, 900),
    "ahead": values.ahead,
    "later": values.later,
    "price": values.money(2, 5_000),
    "quantity": values.quantity,
    "rain": values.decimal(0, 80, " mm| millimetres|mm"),
    "role": values.copied(_role),
    "room": values.one_of("single: single|one-bed; double: double|two-bed; family: family; twin: twin"),
    "severity": values.one_of(
        "low: low|minor; medium: medium|normal; high: high|major; critical: critical|top"
    ),
    "skills": values.choices(SKILLS, 2, 4),
    "sky": values.one_of(
        "clear: clear|cloudless|sunny; cloudy: cloudy|overcast|grey; rainy: rainy|wet; foggy: foggy|misty"
    ),
    "small": values.whole(2, 9),
    "status": values.one_of(
        "ok: ok|fine|in order; faulty: faulty|broken|defective; offline: offline|not online"
    ),
    "subject": values.copied(_subject),
    "system": values.copied(_system),
    "thing": values.copied(names.thing_name),
    "time": values.time,
    "version": values.copied(_version),
    "whole": values.whole(2, 48),
    "wind": values.decimal(1, 120, " km/h| kilometres per hour| kmh"),
}
KINDS = tuple(
    read_kind(text, VALUES)
    for text in (
        ORDER, CONTACT, APPOINTMENT, BUG, RECIPE, TRIP, JOB, INVOICE, WEATHER, BOOKING, LOAN, SENSOR
    )
)  # fmt: skip
