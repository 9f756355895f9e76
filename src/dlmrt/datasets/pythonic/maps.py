"""What one value becomes: maps (a noun phrase about "it") and stages that remember earlier values."""

# ruff: noqa: E501 - one operation a line, so that a table can be read down

from __future__ import annotations

from dlmrt.datasets.pythonic.ops import Op, make


def _map(kind: str, name: str, text: str, code: str, marks: str = "") -> Op:
    takes, gives = kind.split(">")
    if "\n" not in code:
        code = "{o} = " + code
    return make(name, "map", takes, gives, text, code, marks=marks)


def _loop(start: str, over: str, *lines: str) -> str:
    """A loop that builds ``{o}`` up from ``start``."""
    return "\n".join([f"{{o}} = {start}", f"for {over}:", *("    " + line for line in lines)])


_INT = [
    _map("int>int", "squared", "its square | it times itself", "{v} * {v}", "grows"),
    _map("int>int", "cubed", "its cube | its third power", "{v} ** 3", "grows"),
    _map("int>int", "times", "{k} times it | its product with {k}", "{v} * {k}", "grows"),
    _map("int>int", "plus", "it plus {k} | the sum of it and {k}", "{v} + {k}"),
    _map("int>int", "minus", "it minus {k} | it reduced by {k}", "{v} - {k}"),
    _map("int>int", "from_k", "{t} minus it | what it lacks to {t}", "{t} - {v}"),
    _map("int>int", "over", "it divided by {k}, rounded down | its integer quotient by {k}", "{v} // {k}", "by"),
    _map("int>int", "modulo", "its remainder modulo {k} | the remainder of it divided by {k}", "{v} % {k}", "by"),
    _map("int>int", "absolute", "its absolute value", "abs({v})"),
    _map("int>int", "negated", "its negative", "-{v}"),
    _map("int>int", "linear", "{k} times it plus {m}", "{v} * {k} + {m}", "grows"),
    _map("int>int", "linear_down", "{k} times it minus {m}", "{v} * {k} - {m}", "grows"),
    _map("int>int", "shifted_square", "the square of it minus {k}", "({v} - {k}) ** 2", "grows"),
    _map("int>int", "square_plus", "its square plus {k}", "{v} * {v} + {k}", "grows"),
    _map("int>int", "at_most", "the smaller of it and {t}", "min({v}, {t})"),
    _map("int>int", "at_least", "the larger of it and {t}", "max({v}, {t})"),
    _map("int>int", "clamped", "it limited to the range from {lo} to {hi}", "max({lo}, min({v}, {hi}))"),
    _map("int>int", "digit_sum", "the sum of its digits | its digit sum", _loop("0", "d in str(abs({v}))", "{o} += int(d)"), "by"),
    _map("int>int", "digit_product", "the product of its digits", _loop("1", "d in str(abs({v}))", "{o} *= int(d)")),
    _map("int>int", "digit_max", "its largest digit", 'max(int(d) for d in str(abs({v})))', "by"),
    _map("int>int", "digit_count", "its number of digits | how many digits it has", "len(str(abs({v})))", "by"),
    _map("int>int", "last_digit_of", "its last digit", "abs({v}) % 10", "by"),
    _map("int>int", "reversed_digits", "its digits in reverse, as a number", "int(str(abs({v}))[::-1])"),
    _map("int>int", "distance_to", "its distance to {t} | the absolute difference of it and {t}", "abs({v} - {t})"),
    _map("int>int", "round_down", "the largest multiple of {k} up to it | it rounded down to a multiple of {k}", "{v} // {k} * {k}", "by"),
    _map("int>int", "round_up", "the smallest multiple of {k} from it on | it rounded up to a multiple of {k}", "-(-{v} // {k}) * {k}", "by"),
    _map("int>int", "triangle", "the sum of the numbers from 1 to its absolute value", "abs({v}) * (abs({v}) + 1) // 2", "grows"),
    _map("int>int", "divisor_count", "its number of positive divisors, 0 if it is not positive", _loop("0", "d in range(1, {v} + 1)", "if {v} % d == 0:", "    {o} += 1"), "heavy by"),
    _map("int>int", "divisor_sum", "the sum of its divisors smaller than itself, 0 if it is not positive", _loop("0", "d in range(1, {v})", "if {v} % d == 0:", "    {o} += d"), "heavy"),
    _map("int>int", "sign", "its sign, that is 1, 0 or -1", "{o} = 0\nif {v} > 0:\n    {o} = 1\nelif {v} < 0:\n    {o} = -1", "by"),
    _map("int>int", "bits", "the number of ones in the binary form of its absolute value", 'bin(abs({v})).count("1")', "by"),
    _map("int>int", "gcd_with", "the greatest common divisor of it and {k}", "{o}, rest = abs({v}), {k}\nwhile rest > 0:\n    {o}, rest = rest, {o} % rest", "by"),
    _map("int>int", "collatz_step", "half of it if it is even, else three times it plus 1", "if {v} % 2 == 0:\n    {o} = {v} // 2\nelse:\n    {o} = 3 * {v} + 1"),
    _map("int>int", "halvings", "how often its absolute value can be halved, rounding down, until it is 0", "{o} = 0\nrest = abs({v})\nwhile rest > 0:\n    rest //= 2\n    {o} += 1", "by"),
    _map("int>int", "factor_twos", "it with {k} divided out as often as it goes, 0 left as it is", "{o} = {v}\nwhile {o} != 0 and {o} % {k} == 0:\n    {o} //= {k}"),
    _map("int>str", "as_text", "it written as a string", "str({v})"),
    _map("int>str", "stars", "a string of stars, as many as its remainder modulo {k}", '"*" * ({v} % {k})', "by label"),
    _map("int>str", "binary", "the binary form of its absolute value, without prefix", 'format(abs({v}), "b")'),
    _map("int>str", "padded", "its digits filled up with zeros to {k} places", "str(abs({v})).zfill({k})"),
    _map("int>str", "high_low", 'the string "high" if it is above {t}, else "low"', '{o} = "low"\nif {v} > {t}:\n    {o} = "high"', "by label"),
    _map("int>str", "parity", 'the string "even" or "odd", as it is', '{o} = "odd"\nif {v} % 2 == 0:\n    {o} = "even"', "by label"),
    _map("int>str", "three_way", 'the string "low" below {lo}, "high" above {hi}, else "mid"', '{o} = "mid"\nif {v} < {lo}:\n    {o} = "low"\nelif {v} > {hi}:\n    {o} = "high"', "by label"),
    _map("int>str", "prefixed", "a string of {f} followed by it", "{f} + str({v})"),
    _map("int>str", "fizz", 'the string "fizz" if it is divisible by {k}, else it written as a string', '{o} = str({v})\nif {v} % {k} == 0:\n    {o} = "fizz"'),
]  # fmt: skip

_STR = [
    _map("str>int", "length", "its length | its number of characters", "len({v})", "by"),
    _map("str>int", "vowel_count", "its number of vowels | how many vowels it has", _loop("0", "ch in {v}", 'if ch in "aeiou":', "    {o} += 1"), "by"),
    _map("str>int", "letter_count", "how often it contains {c} | the number of times {c} occurs in it", "{v}.count({c})", "by"),
    _map("str>int", "distinct_count", "its number of different characters", "len(set({v}))", "by"),
    _map("str>int", "find", "the index of the first {c} in it, -1 if there is none", "{v}.find({c})", "by"),
    _map("str>int", "digits_in", "the sum of the digits in it", _loop("0", "ch in {v}", "if ch.isdigit():", "    {o} += int(ch)"), "by"),
    _map("str>int", "capitals", "its number of capital letters", _loop("0", "ch in {v}", "if ch.isupper():", "    {o} += 1"), "by"),
    _map("str>int", "code_sum", "the sum of its character codes modulo {k}", "sum(ord(ch) for ch in {v}) % {k}", "by"),
    _map("str>int", "longest_run", "the length of its longest run of one character", '{o} = streak = 0\nold = ""\nfor ch in {v}:\n    streak = streak + 1 if ch == old else 1\n    old = ch\n    {o} = max({o}, streak)', "by"),
    _map("str>int", "doubles", "how many of its characters equal the one before", _loop("0", "j in range(1, len({v}))", "if {v}[j] == {v}[j - 1]:", "    {o} += 1"), "by"),
    _map("str>str", "upper", "it in capital letters | its upper-case form", "{v}.upper()"),
    _map("str>str", "lower", "it in lower case | its lower-case form", "{v}.lower()"),
    _map("str>str", "capitalised", "it with a capital first letter and the rest in lower case", "{v}.capitalize()"),
    _map("str>str", "reversed", "it spelled backwards | its reverse", "{v}[::-1]"),
    _map("str>str", "first_k", "its first {k} characters", "{v}[:{k}]"),
    _map("str>str", "last_k", "its last {k} characters", "{v}[-{k}:]"),
    _map("str>str", "drop_first", "it without its first character", "{v}[1:]"),
    _map("str>str", "drop_last", "it without its last character", "{v}[:-1]"),
    _map("str>str", "first_letter", "its first character", "{v}[:1]", "by"),
    _map("str>str", "last_letter", "its last character", "{v}[-1:]", "by"),
    _map("str>str", "no_vowels", "it without its vowels", _loop('""', "ch in {v}", 'if ch not in "aeiou":', "    {o} += ch")),
    _map("str>str", "vowels_only", "the vowels in it", _loop('""', "ch in {v}", 'if ch in "aeiou":', "    {o} += ch"), "by label"),
    _map("str>str", "letters_only", "the letters in it", _loop('""', "ch in {v}", "if ch.isalpha():", "    {o} += ch")),
    _map("str>str", "twice_over", "it written twice", "{v} * 2"),
    _map("str>str", "replaced", "it with every {c} replaced by {g}", "{v}.replace({c}, {g})"),
    _map("str>str", "removed", "it without any {c}", '{v}.replace({c}, "")'),
    _map("str>str", "ends_only", "its first and last character together", "{v}[:1] + {v}[-1:]", "by"),
    _map("str>str", "letters_sorted", "its characters in sorted order", '"".join(sorted({v}))', "by"),
    _map("str>str", "swapped_case", "it with upper and lower case exchanged", "{v}.swapcase()"),
    _map("str>str", "suffixed", "it followed by {f}", "{v} + {f}"),
    _map("str>str", "with_prefix", "it with {f} put in front", "{f} + {v}"),
    _map("str>str", "mirrored", "it followed by its reverse", "{v} + {v}[::-1]"),
    _map("str>str", "stutter", "it with every character doubled", _loop('""', "ch in {v}", "{o} += ch + ch")),
    _map("str>str", "rotated", "it with its first {k} characters moved to the end", "{v}[{k}:] + {v}[:{k}]"),
    _map("str>str", "every_second", "every second character of it, beginning with the first", "{v}[::2]"),
    _map("str>str", "unique_letters", "it with repeated characters left out", _loop('""', "ch in {v}", "if ch not in {o}:", "    {o} += ch")),
    _map("str>str", "spaced", "its characters joined by {g}", "{g}.join({v})"),
    _map("str>str", "head_last", "it with its first character moved to the end", "{v}[1:] + {v}[:1]"),
    _map("str>str", "pig", 'it plus "way" if it starts with a vowel, else its first character moved to the end plus "ay"', 'if {v}[:1] in tuple("aeiou"):\n    {o} = {v} + "way"\nelse:\n    {o} = {v}[1:] + {v}[:1] + "ay"'),
    _map("str>str", "masked", 'it with each vowel replaced by "*"', _loop('""', "ch in {v}", 'if ch in "aeiou":', '    {o} += "*"', "else:", "    {o} += ch")),
    _map("str>str", "filled", 'it filled up with "." on the right to {k} characters', '{v}.ljust({k}, ".")'),
    _map("str>str", "length_after", "it followed by its length", "{v} + str(len({v}))"),
    _map("str>str", "alternating", "it with the characters at even indices in upper case", _loop('""', "j in range(len({v}))", "if j % 2 == 0:", "    {o} += {v}[j].upper()", "else:", "    {o} += {v}[j]")),
    _map("str>str", "size_word", 'the string "long" if it has more than {k} characters, else "short"', '{o} = "short"\nif len({v}) > {k}:\n    {o} = "long"', "by label"),
]  # fmt: skip

_CHR = [
    _map("chr>chr", "chr_upper", "its upper-case form", "{v}.upper()"),
    _map("chr>chr", "chr_lower", "its lower-case form", "{v}.lower()", "by"),
    _map("chr>chr", "chr_swapped", "it with its case exchanged", "{v}.swapcase()"),
    _map("chr>chr", "next_chr", "the character with the next code", "chr(ord({v}) + 1)"),
    _map("chr>chr", "shifted", "the character with a code {k} higher", "chr(ord({v}) + {k})"),
    _map("chr>chr", "hide_digit", 'it, or "#" if it is a digit', '{o} = {v}\nif {v}.isdigit():\n    {o} = "#"'),
    _map("chr>chr", "blank_mark", 'it, or "_" if it is a blank', '{o} = {v}\nif {v} == " ":\n    {o} = "_"'),
    _map("chr>int", "code", "its character code", "ord({v})"),
    _map("chr>int", "code_modulo", "its character code modulo {k}", "ord({v}) % {k}", "by"),
    _map("chr>int", "place", "its place in the alphabet, 1 for a, 0 if it is no letter", "{o} = 0\nif {v}.isalpha():\n    {o} = ord({v}.lower()) - 96"),
    _map("chr>int", "vowel_score", "2 if it is a vowel, 1 for any other letter, else 0", '{o} = 0\nif {v} in "aeiou":\n    {o} = 2\nelif {v}.isalpha():\n    {o} = 1', "by"),
    _map("chr>str", "chr_doubled", "it written twice", "{v} * 2"),
    _map("chr>str", "wrapped", "it in parentheses", '"(" + {v} + ")"'),
    _map("chr>str", "class_name", 'the string "letter", "digit" or "other", as it is', '{o} = "other"\nif {v}.isalpha():\n    {o} = "letter"\nelif {v}.isdigit():\n    {o} = "digit"', "by label"),
    _map("chr>str", "case_name", 'the string "upper" for a capital letter, else "lower"', '{o} = "lower"\nif {v}.isupper():\n    {o} = "upper"', "by label"),
]  # fmt: skip

MAPS: tuple[Op, ...] = (*_INT, *_STR, *_CHR)


def _state(takes: str, name: str, text: str, init: str, code: str, opens: int = 0, marks: str = "") -> Op:
    kind = "hold" if "{o}" in code else "stop" if "break" in code else "pass"
    return make(name, kind, takes, takes, text, code, init=init, opens=opens, marks=marks)


#: imperatives with {nouns} and {noun}; kind ``hold`` makes a new value, ``pass`` lets some through
STATES: tuple[Op, ...] = (
    _state("any", "unseen", "skip {nouns} that came up before | keep only the first of equal {nouns}", "seen = []", "if {v} not in seen:\n    seen.append({v})", 1),
    _state("any", "seen_before", "keep only {nouns} that came up before | skip a {noun} when it comes up for the first time", "seen = []", "again = {v} in seen\nseen.append({v})\nif again:", 1),
    _state("any", "changed", "skip a {noun} that equals the one just before it | keep only {nouns} that differ from the previous one", "prev = None", "same = {v} == prev\nprev = {v}\nif not same:", 1),
    _state("any", "every_kth", "of each {k} of these {nouns}, keep only the last | keep these {nouns} only at ranks divisible by {k}, counting from 1", "step = 0", "step += 1\nif step % {k} == 0:", 1),
    _state("any", "alternate", "keep only the first, third, fifth of these {nouns} and so on | of these {nouns}, skip every other one, beginning with the second", "use = False", "use = not use\nif use:", 1),
    _state("any", "after_first", "leave out the first of these {nouns} | skip the first {noun} that gets here", "step = 0", "step += 1\nif step > 1:", 1),
    _state("any", "after_k", "leave out the first {k} of these {nouns} | skip the first {k} {nouns} that get here", "step = 0", "step += 1\nif step > {k}:", 1),
    _state("any", "only_k", "use only the first {k} of these {nouns} | take at most {k} of these {nouns}", "step = 0", "step += 1\nif step <= {k}:", 1),
    _state("int", "running", "replace each number by the sum of it and all these numbers before it | turn the numbers into running totals", "running = 0", "running += {v}\n{o} = running", marks="grows"),
    _state("int", "running_max", "replace each number by the largest of these numbers so far | turn the numbers into running maxima", "highest = None", "if highest is None or {v} > highest:\n    highest = {v}\n{o} = highest"),
    _state("int", "running_min", "replace each number by the smallest of these numbers so far | turn the numbers into running minima", "lowest = None", "if lowest is None or {v} < lowest:\n    lowest = {v}\n{o} = lowest"),
    _state("int", "difference", "replace each number by its difference to the one before, 0 for the first | subtract from each number the previous one, the first from itself", "prev = None", "if prev is None:\n    prev = {v}\n{o} = {v} - prev\nprev = {v}"),
    _state("int", "with_previous", "add to each number the one before it, nothing to the first | replace each number by its sum with the previous one, if there is one", "prev = 0", "{o} = {v} + prev\nprev = {v}"),
    _state("int", "record", "keep only numbers greater than all of these before | skip each number that does not exceed the largest of these so far", "highest = None", "if highest is None or {v} > highest:\n    highest = {v}", 1),
    _state("int", "new_low", "keep only numbers smaller than all of these before | skip each number that is not below the smallest of these so far", "lowest = None", "if lowest is None or {v} < lowest:\n    lowest = {v}", 1),
    _state("int", "risen", "keep only numbers greater than the one just before | skip the first number and each that is not above the previous one", "prev = None", "rise = prev is not None and {v} > prev\nprev = {v}\nif rise:", 1),
    _state("int", "ranked", "multiply each number by its rank in this order, 1 for the first | replace each number by it times how many came so far, itself counted", "step = 0", "step += 1\n{o} = {v} * step", marks="grows"),
    _state("int", "flipped", "change the sign of every second one of these numbers | negate the second, fourth, sixth of these numbers and so on", "flip = 1", "{o} = {v} * flip\nflip = -flip"),
    _state("int", "budget", "stop once the sum of these numbers exceeds {t}, leaving that number out | end the loop before the number that takes their sum above {t}", "running = 0", "running += {v}\nif running > {t}:\n    break"),
    _state("str", "numbered", 'put its rank and a ":" in front of each string, the first being 1 | number the strings from 1, as in "1:abc"', "step = 0", 'step += 1\n{o} = str(step) + ":" + {v}'),
    _state("str", "longer_than_last", "keep only strings longer than the one just before, the first with any | skip each string no longer than the previous one", "span = 0", "grown = len({v}) > span\nspan = len({v})\nif grown:", 1),
    _state("str", "with_last", "put the previous string's first character in front of each | replace each string by the one before's first character followed by it", 'prev = ""', "{o} = prev[:1] + {v}\nprev = {v}"),
    _state("str", "new_initial", "keep only the first string for each initial | skip strings whose first character was the first of an earlier one", "seen = []", "if {v}[:1] not in seen:\n    seen.append({v}[:1])", 1),
    _state("chr", "toggled", "put every second one of these characters in upper case | change the second, fourth, sixth of these characters and so on to upper case", "big = True", "big = not big\n{o} = {v}\nif big:\n    {o} = {v}.upper()"),
)  # fmt: skip
