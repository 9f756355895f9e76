"""How hard word problems are. Changing any of these raises the family's version."""

from __future__ import annotations

STEPS = (2, 8)  # equations of a solution: train, dev, test
HARDER_STEPS = (9, 10)
HELD_OUT_SHARE = 0.25  # of the facts and questions of test and harder problems, each of which has one
MOST = 9_999  # no quantity is larger
START = ((0.4, 12, 99), (0.8, 100, 999), (1.0, 1_000, 2_500))  # cumulative share, least, most
CHANGE = ((0.5, 3, 40), (0.9, 12, 250), (1.0, 100, 1_200))
FACTOR = (2, 9)
PACKS = ((2, 9), (3, 30))  # how many, of how many each
SHARE = (2, 8)
FRACTIONS = (
    (1, 2),
    (1, 3),
    (2, 3),
    (1, 4),
    (3, 4),
    (1, 5),
    (2, 5),
    (3, 5),
    (4, 5),
    (1, 6),
    (5, 6),
    (1, 8),
    (3, 8),
)
PERCENTS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80)  # each is taken as a fraction: 15 is 3/20
PRICES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 20)
MODES = (("single", 0.3), ("pair", 0.5), ("reverse", 0.2))
DISTRACTORS = (0.45, 0.35, 0.2)  # shares of problems with none, one, two
IN_WORDS = 0.15  # of the numbers up to twenty in a problem's text
