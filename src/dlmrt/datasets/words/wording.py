"""Saying facts: phrases by split, pronouns, numbers in words."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from dlmrt.datasets.phrasing import Forms
from dlmrt.datasets.words import settings as hard
from dlmrt.datasets.words.operations import Event
from dlmrt.datasets.words.phrases import PHRASES, QUESTIONS
from dlmrt.datasets.words.vocabulary import FRACTION_WORDS, NUMBER_WORDS, OTHER_THINGS, Person

HELD_OUT_SPLITS = ("test", "harder")


@dataclass
class Teller:
    """Words the facts of one problem. held_out: whether a held-out phrase was used yet."""

    rng: random.Random
    split: str
    things: str
    pack: str
    pronouns: bool
    held_out: bool = False
    _named: set[str] = field(default_factory=set)

    def event(self, person: Person, event: Event) -> str:
        """Say an event."""
        numbers = {"k": event.k, "n": event.n, "m": event.n}
        fraction = FRACTION_WORDS.get(event.fraction, "")
        return self._say(event.kind, person, numbers, f=fraction, F=fraction)

    def number(self, kind: str, person: Person, k: int) -> str:
        """Say a start or an end."""
        return self._say(kind, person, {"k": k})

    def unknown(self, person: Person) -> str:
        """Say that the start is not known."""
        return self._fill(self._question("unknown"), person, {})

    def relation(self, kind: str, person: Person, other: Person, k: int) -> str:
        """Say what ``other`` has against ``person``."""
        return self._say(kind, person, {"k": k, "m": k}, q=other.name, r=person.name)

    def distractor(self, person: Person) -> str:
        """Say something of no use."""
        x = self.rng.choice(OTHER_THINGS)
        return self._say("distractor", person, {"k": self.rng.randint(2, 60)}, x=x)

    def question(self, kind: str, person: Person, other: Person | None, k: int = 0) -> str:
        """Ask."""
        self._named.discard(person.name)  # a question names whom it means
        return self._fill(self._question(kind), person, {"k": k}, q=other.name if other else "")

    def _say(self, kind: str, person: Person, numbers: dict[str, int], **words: str) -> str:
        return self._fill(self._one_of(PHRASES[kind]), person, numbers, **words)

    def _question(self, kind: str) -> str:
        return self._one_of(QUESTIONS[kind])

    def _one_of(self, phrasings: Forms) -> str:
        lines = phrasings.known
        if self.split in HELD_OUT_SPLITS and self.rng.random() < hard.HELD_OUT_SHARE:
            self.held_out = True
            lines = phrasings.held
        return self.rng.choice(self.rng.choice(lines))

    def _fill(self, phrase: str, person: Person, numbers: dict[str, int], **words: str) -> str:
        named = self.pronouns and person.name in self._named and self.rng.random() < 0.6
        self._named.add(person.name)
        owner = person.possessive if named else f"{person.name}'s"
        text = phrase.format(
            P=person.subject if named else person.name,
            p=person.subject,
            o=person.object if named else person.name,
            s=owner,
            s_=owner,
            t=self.things,
            c=self.pack,
            **{name: self._number(value) for name, value in numbers.items()},
            **words,
        )
        return text[0].upper() + text[1:]

    def _number(self, value: int) -> str:
        in_words = value < len(NUMBER_WORDS) and self.rng.random() < hard.IN_WORDS
        return NUMBER_WORDS[value] if in_words else str(value)


def later(sentence: str, names: tuple[str, ...]) -> str:
    """The sentence, said of the end."""
    first = sentence.split()[0].removesuffix("'s")
    return "In the end, " + (sentence if first in names else sentence[0].lower() + sentence[1:])
