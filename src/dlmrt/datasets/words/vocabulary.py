"""Who and what word problems are about."""

from __future__ import annotations

from dataclasses import dataclass

WOMEN = (
    "Ava Chloe Ella Grace Iris Kira Maya Olga Nora Ruth Lena Zoe Amira Beth Carla Dana Edith Farah Gina Hana "
    "Ida Jana Leila Mona Nina Petra Rosa Sara Tess Uma Vera Wanda Yara Alma Celia Doris Elsa Flora Greta"
).split()
MEN = (
    "Ben Dan Finn Hugo Jack Leo Noah Paul Omar Raj Sam Tom Viktor Will Yusuf Zack Adam Boris Carl Dirk Emil "
    "Felix Georg Henry Ivan Jonas Kofi Luis Marco Nils Otto Pedro Quentin Rolf Stefan Theo Ugo Walter Xaver"
).split()
# What is counted, and in what it is packed.
THINGS = tuple(
    (word.replace("_", " "), pack)
    for word, pack in (
        pair.split(":")
        for pair in (
            "apples:crates stickers:sheets marbles:bags books:boxes shells:jars coins:rolls pencils:packs "
            "cards:decks tickets:books beads:strings stamps:albums buttons:tins candles:boxes bricks:pallets "
            "cups:cartons plates:stacks eggs:trays screws:packets nails:boxes bolts:bags tiles:boxes "
            "flowers:bunches bulbs:sacks seeds:packets bottles:crates cans:cases sweets:bags cookies:tins "
            "postcards:sets badges:packs magnets:boxes keys:rings ribbons:rolls photos:albums records:boxes "
            "puzzles:sets dice:bags pebbles:buckets feathers:bundles walnuts:sacks lemons:nets oranges:nets "
            "pears:crates potatoes:sacks carrots:bunches onions:nets envelopes:packs notebooks:packs "
            "batteries:packs lamps:cartons chairs:stacks towels:bales blankets:bales masks:boxes "
            "model_cars:cases paper_clips:boxes trading_cards:packs toy_soldiers:sets light_bulbs:cartons"
        ).split()
    )
)
OTHER_THINGS = "umbrellas hats kites violins scarves teapots mugs rucksacks vases drums globes".split()
NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
).split()
FRACTION_WORDS = {
    (1, 2): "half", (1, 3): "a third", (2, 3): "two thirds", (1, 4): "a quarter", (3, 4): "three quarters",
    (1, 5): "a fifth", (2, 5): "two fifths", (3, 5): "three fifths", (4, 5): "four fifths",
    (1, 6): "a sixth", (5, 6): "five sixths", (1, 8): "an eighth", (3, 8): "three eighths",
}  # fmt: skip


@dataclass(frozen=True)
class Person:
    """Somebody with pronouns."""

    name: str
    subject: str
    object: str
    possessive: str


PEOPLE = tuple(Person(name, "she", "her", "her") for name in WOMEN) + tuple(
    Person(name, "he", "him", "his") for name in MEN
)
