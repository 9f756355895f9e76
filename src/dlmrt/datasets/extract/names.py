"""Names of people, places and things: from lists, and made of syllables so that copying is learned."""

from __future__ import annotations

from dlmrt.datasets.extract.draw import Draw

FIRST = (
    "Ana Ben Clara David Elena Felix Grace Hassan Irene Jonas Katrin Liam Mei Nadia Oscar Priya Quinn Rosa "
    "Samir Tara Umar Vera Wim Xenia Yuki Zora Anton Bianca Cyril Dora Emil Farida Gustav Helen Ivan Judith "
    "Kenji Laura Marco Nora Omar Paula Ravi Sofia Tom Ulla Victor Wendy Yara Zoltan Alice Bruno Carmen "
    "Diego Esther Frank Greta Hugo Ines Jakob Karim Lena Magnus Nina Olga Peter Rania Stefan Tina Valerie "
    "Walter Aisha Boris Chloe Daniel Edith Fatima George Hanna Isaac Julia Kofi Lucas Maria Niels Oriol "
    "Petra Robert Sarah Thomas Ursula Vikram Wanda Adele Bastian Celine Dmitri Eva Finn Gloria Henrik Ida "
    "Jamal Kira Leon Mona Nikolai Odile Pavel Ruth Simon Theo Veronika William"
).split()
LAST = (
    "Adler Barros Castell Dahl Ekman Fischer Garcia Hansen Ibsen Jensen Keller Lindqvist Moreau Novak "
    "Okafor Petrov Quist Rossi Santos Tanaka Usman Varga Weber Yilmaz Zhang Abbott Baker Carver Dawson "
    "Ellis Foster Graham Hughes Irwin Jarvis Kapoor Lambert Mercer Nolan Osborne Parker Reyes Silva Turner "
    "Underwood Vance Walsh Young Archer Brandt Costa Duarte Eriksen Fontaine Gruber Holm Ivanov Johansson "
    "Kovac Lopez Marini Nielsen Olsen Pereira Rahman Schmidt Torres Ueda Vogel Wagner Arslan Bianchi Chen "
    "Diaz Engel Ferrari"
).split()
CITIES = (
    "Lisbon Oslo Turin Gdansk Leeds Nantes Ghent Graz Porto Malmo Cork Basel Split Bergen Utrecht Seville "
    "Riga Aarhus Bologna Dresden Lyon Tartu Vilnius Zagreb Bristol Cadiz Linz Lund Boston Denver Quebec "
    "Nairobi Osaka Perth Geneva Krakow Bilbao Cardiff Dundee Erfurt Fukuoka Genoa Halifax Izmir Jaipur "
    "Kassel Lagos Madrid Naples Odense Parma Rouen Salzburg Tampere Uppsala Verona Winnipeg York Zurich"
).split()
ONSETS = (
    "b br bl c ch cl d dr f fl fr g gl gr h j k kl kr l m n p pl pr qu r s sh sl sn st t th tr v w y z"
).split()
VOWELS = "a a e e i i o o u ai ea ee ia io oa ou".split()
CODAS = ["", "", "", "", "n", "l", "r", "s", "ck", "m", "nd", "rt", "x", "th", "ng", "lt"]
STREETS = (
    "Mill Oak Station Garden River Church Market Hill School Park Bridge Castle Harbour Elm Cedar Victoria "
    "King Queen North South Chapel Orchard Meadow Spring Baker Windmill Abbey Forest Lake Tower"
).split()
STREET_ENDS = "Street Road Lane Avenue Square Way Close Drive Street Road".split()
COLOURS = "red blue green black white grey brown yellow orange silver".split()
MATERIALS = (
    "steel oak cotton leather ceramic glass bamboo copper wool paper aluminium plastic brass linen cork "
    "rubber folding cordless portable compact heavy waterproof adjustable wireless electric"
).split()
THINGS = tuple(
    name.strip()
    for name in (
        "desk lamp, table, shelf, garden hose, blanket, kettle, tripod, office chair, rain barrel, bread "
        "knife, camping stove, bicycle pump, wall clock, tool box, yoga mat, paper shredder, hand drill, "
        "coffee mill, picture frame, door bell, water filter, sleeping bag, extension cord, chess board, "
        "soup pot, notebook, monitor stand, keyboard, headset, backpack, suitcase, umbrella, mirror, "
        "stool, bench, bucket, ladder, hammer, wrench, saw, pencil case, stapler, whiteboard, projector, "
        "speaker, microphone, candle holder, tray, mug, bowl, plate, bottle, lunch box, apron, curtain, "
        "cushion, rug, towel, doormat, bird feeder"
    ).split(",")
)
FOODS = tuple(
    name.strip()
    for name in (
        "flour, sugar, butter, milk, rice, honey, cream, oats, olive oil, salt, pepper, yeast, vinegar, "
        "paprika, cinnamon, cocoa, lentils, chickpeas, barley, tomato paste, coconut milk, soy sauce, "
        "grated cheese, chopped onion, spinach, peas, ground almonds, raisins, mustard, yoghurt, lemon "
        "juice, chicken stock"
    ).split(",")
)
DISHES = (
    "soup stew pie curry salad casserole bread cake pudding risotto omelette goulash tart pasta dumplings "
    "gratin"
).split()
FLAVOURS = (
    "lentil onion tomato apple mushroom lemon pumpkin potato spinach chicken leek garlic carrot cherry "
    "walnut fish barley pepper bean pear"
).split()
TRADES = "Foods Textiles Logistics Software Tools Media Motors Optics Paper Energy Consulting Design".split()
COMPANY_ENDS = ("Ltd", "GmbH", "Inc", "& Sons", "& Co", "Group", "AG", "Partners")
DOMAINS = "com org net io example.org example.com co.uk de eu".split()


def word(draw: Draw, syllables: int = 2) -> str:
    """A made-up word in lower case."""
    parts = [draw.pick(ONSETS) + draw.pick(VOWELS) for _ in range(syllables)]
    return "".join(parts) + draw.pick(CODAS)


def first_name(draw: Draw) -> str:
    """A first name, two in five made up."""
    return draw.pick(FIRST) if draw.chance(0.6) else word(draw).capitalize()


def last_name(draw: Draw) -> str:
    """A surname, two in three made up."""
    if draw.chance(0.35):
        return draw.pick(LAST)
    made = word(draw, draw.pick((1, 2, 2, 3))).capitalize()
    extra = draw.rng.random()
    return f"van {made}" if extra < 0.03 else f"{made}-{draw.pick(LAST)}" if extra < 0.06 else made


def person_name(draw: Draw) -> str:
    """First name and surname, sometimes with an initial between."""
    middle = f" {draw.pick('ABCDEFGHJKLMNPRSTW')}." if draw.chance(0.08) else ""
    return f"{first_name(draw)}{middle} {last_name(draw)}"


def city_name(draw: Draw) -> str:
    """A city, half of them made up."""
    if draw.chance(0.5):
        return draw.pick(CITIES)
    made = word(draw, draw.pick((1, 2, 2, 3))).capitalize()
    return draw.pick(("Port ", "New ", "Saint ", "Bad ")) + made if draw.chance(0.1) else made


def street_name(draw: Draw) -> str:
    """House number and street."""
    name = draw.pick(STREETS) if draw.chance(0.5) else word(draw).capitalize()
    return f"{draw.whole(1, 299)} {name} {draw.pick(STREET_ENDS)}"


def company_name(draw: Draw) -> str:
    """A firm."""
    name = draw.pick(LAST) if draw.chance(0.3) else word(draw).capitalize()
    trade = f" {draw.pick(TRADES)}" if draw.chance(0.4) else ""
    return f"{name}{trade} {draw.pick(COMPANY_ENDS)}"


def thing_name(draw: Draw) -> str:
    """An article in lower case, sometimes with a model name."""
    style = draw.rng.random()
    thing = draw.pick(THINGS)
    if style < 0.3:
        return f"{draw.pick(MATERIALS)} {thing}"
    if style < 0.5:
        return f"{draw.pick(COLOURS)} {thing}"
    if style < 0.6:
        return f"{draw.pick(COLOURS)} {draw.pick(MATERIALS)} {thing}"
    if style < 0.8:
        return f"{thing} {word(draw).capitalize()}{draw.pick(('', '', f' {draw.whole(2, 900)}'))}"
    return thing


def code_name(draw: Draw, letters: str = "ABCDEFGHJKLMNPQRSTUVWXYZ") -> str:
    """A reference such as KT-4821, R2025-117 or 8841/B."""
    head = "".join(draw.pick(letters) for _ in range(draw.whole(1, 4)))
    style = draw.rng.random()
    if style < 0.55:
        return f"{head}-{draw.whole(10, 99_999)}"
    if style < 0.75:
        return f"{head}{draw.whole(100, 999_999)}"
    if style < 0.9:
        return f"{head}{draw.whole(2019, 2031)}-{draw.whole(1, 9_999):04d}"
    return f"{draw.whole(100, 99_999)}/{head[0]}"


def email_name(draw: Draw) -> str:
    """An e-mail address."""
    one, two = word(draw, draw.pick((1, 2))), draw.pick(LAST).lower() if draw.chance(0.4) else word(draw)
    local = draw.pick((one, f"{one}.{two}", f"{one[0]}.{two}", f"{one}_{two}", f"{two}{draw.whole(1, 99)}"))
    return f"{local}@{word(draw, draw.pick((1, 2)))}.{draw.pick(DOMAINS)}"


def phone_number(draw: Draw) -> str:
    """A telephone number as it is to be copied."""
    style = draw.rng.random()
    if style < 0.4:
        return f"+{draw.whole(1, 99)} {draw.whole(20, 999)} {draw.whole(1_000, 9_999_999)}"
    if style < 0.7:
        return f"0{draw.whole(20, 999)} {draw.whole(100_000, 9_999_999)}"
    return f"{draw.whole(200, 999)}-{draw.whole(200, 999)}-{draw.whole(0, 9_999):04d}"
