"""Conditions on a value or on its key: a clause in the plural, an expression and its negation."""

# ruff: noqa: E501 - one operation a line, so that a table can be read down

from __future__ import annotations

from dlmrt.datasets.pythonic.ops import Op, make


def _cond(takes: str, name: str, text: str, code: str, other: str, marks: str = "") -> Op:
    return make(name, "cond", takes, takes, text, code, other=other, marks=marks)


VOWELS = '("a", "e", "i", "o", "u")'

_INT = [
    _cond("int", "even", "are even", "{v} % 2 == 0", "{v} % 2 != 0"),
    _cond("int", "odd", "are odd", "{v} % 2 == 1", "{v} % 2 == 0"),
    _cond("int", "multiple", "are divisible by {k} | are multiples of {k}", "{v} % {k} == 0", "{v} % {k} != 0"),
    _cond("int", "remainder", "leave remainder {q} when divided by {k}", "{v} % {k} == {q}", "{v} % {k} != {q}"),
    _cond("int", "above", "are greater than {t} | exceed {t}", "{v} > {t}", "{v} <= {t}"),
    _cond("int", "from", "are at least {t} | are {t} or more", "{v} >= {t}", "{v} < {t}"),
    _cond("int", "below", "are less than {t} | are below {t}", "{v} < {t}", "{v} >= {t}"),
    _cond("int", "up_to", "are at most {t} | are {t} or less", "{v} <= {t}", "{v} > {t}"),
    _cond("int", "between", "lie between {lo} and {hi} inclusive | are in the range from {lo} to {hi}", "{lo} <= {v} <= {hi}", "{v} < {lo} or {v} > {hi}"),
    _cond("int", "strictly", "lie strictly between {lo} and {hi}", "{lo} < {v} < {hi}", "{v} <= {lo} or {v} >= {hi}"),
    _cond("int", "outside", "lie outside the range from {lo} to {hi}", "{v} < {lo} or {v} > {hi}", "{lo} <= {v} <= {hi}"),
    _cond("int", "positive", "are positive", "{v} > 0", "{v} <= 0"),
    _cond("int", "negative", "are negative", "{v} < 0", "{v} >= 0"),
    _cond("int", "not_equal", "differ from {t}", "{v} != {t}", "{v} == {t}"),
    _cond("int", "one_of", "are one of {k}, {m} and {t}", "{v} in ({k}, {m}, {t})", "{v} not in ({k}, {m}, {t})"),
    _cond("int", "last_digit", "end in the digit {d} | have {d} as last digit", "abs({v}) % 10 == {d}", "abs({v}) % 10 != {d}"),
    _cond("int", "has_digit", "contain the digit {d}", '"{d}" in str({v})', '"{d}" not in str({v})'),
    _cond("int", "two_digits", "have exactly two digits", "10 <= abs({v}) <= 99", "abs({v}) < 10 or abs({v}) > 99"),
    _cond("int", "one_digit", "have only one digit", "abs({v}) < 10", "abs({v}) >= 10"),
    _cond("int", "square", "are perfect squares | are squares of integers", "{v} >= 0 and int({v} ** 0.5) ** 2 == {v}", "{v} < 0 or int({v} ** 0.5) ** 2 != {v}"),
    _cond("int", "prime", "are prime", "{v} > 1 and all({v} % d != 0 for d in range(2, {v}))", "{v} < 2 or any({v} % d == 0 for d in range(2, {v}))", "heavy"),
    _cond("int", "digit_sum_even", "have an even digit sum", "sum(int(d) for d in str(abs({v}))) % 2 == 0", "sum(int(d) for d in str(abs({v}))) % 2 != 0"),
    _cond("int", "palindrome_number", "read the same backwards", "str({v}) == str({v})[::-1]", "str({v}) != str({v})[::-1]"),
    _cond("int", "either_multiple", "are divisible by {k} or by {m}", "{v} % {k} == 0 or {v} % {m} == 0", "{v} % {k} != 0 and {v} % {m} != 0"),
    _cond("int", "this_multiple", "are divisible by {k} but not by {m}", "{v} % {k} == 0 and {v} % {m} != 0", "{v} % {k} != 0 or {v} % {m} == 0"),
    _cond("int", "far", "have an absolute value above {k}", "abs({v}) > {k}", "abs({v}) <= {k}"),
    _cond("int", "near", "are within {k} of {t} | differ by at most {k} from {t}", "abs({v} - {t}) <= {k}", "abs({v} - {t}) > {k}"),
    _cond("int", "closer", "are closer to {lo} than to {hi}", "abs({v} - {lo}) < abs({v} - {hi})", "abs({v} - {lo}) >= abs({v} - {hi})"),
    _cond("int", "power_of_two", "are powers of two", "{v} > 0 and {v} & ({v} - 1) == 0", "{v} <= 0 or {v} & ({v} - 1) != 0"),
    _cond("int", "high_remainder", "leave a remainder above 1 when divided by {k}", "{v} % {k} > 1", "{v} % {k} <= 1"),
    _cond("int", "odd_tens", "have an odd tens digit", "abs({v}) // 10 % 2 == 1", "abs({v}) // 10 % 2 == 0"),
]  # fmt: skip

_STR = [
    _cond("str", "longer", "have more than {k} characters | are longer than {k} characters", "len({v}) > {k}", "len({v}) <= {k}"),
    _cond("str", "at_least_long", "have at least {k} characters", "len({v}) >= {k}", "len({v}) < {k}"),
    _cond("str", "shorter", "have fewer than {k} characters | are shorter than {k} characters", "len({v}) < {k}", "len({v}) >= {k}"),
    _cond("str", "exactly_long", "have exactly {k} characters", "len({v}) == {k}", "len({v}) != {k}"),
    _cond("str", "even_length", "have an even number of characters | have an even length", "len({v}) % 2 == 0", "len({v}) % 2 != 0"),
    _cond("str", "starts", "start with {c} | begin with {c}", "{v}.startswith({c})", "not {v}.startswith({c})"),
    _cond("str", "ends", "end with {c}", "{v}.endswith({c})", "not {v}.endswith({c})"),
    _cond("str", "holds", "contain {c}", "{c} in {v}", "{c} not in {v}"),
    _cond("str", "starts_vowel", "start with a lower-case vowel", "{v}.startswith(" + VOWELS + ")", "not {v}.startswith(" + VOWELS + ")"),
    _cond("str", "ends_vowel", "end with a lower-case vowel", "{v}.endswith(" + VOWELS + ")", "not {v}.endswith(" + VOWELS + ")"),
    _cond("str", "palindrome", "are palindromes | read the same backwards", "{v} == {v}[::-1]", "{v} != {v}[::-1]"),
    _cond("str", "capital", "start with a capital letter", "{v}[:1].isupper()", "not {v}[:1].isupper()"),
    _cond("str", "all_lower", "are all in lower case", "{v} == {v}.lower()", "{v} != {v}.lower()"),
    _cond("str", "all_letters", "consist of letters alone", "{v}.isalpha()", "not {v}.isalpha()"),
    _cond("str", "all_digits", "consist of digits alone", "{v}.isdigit()", "not {v}.isdigit()"),
    _cond("str", "any_digit", "contain a digit", "any(ch.isdigit() for ch in {v})", "not any(ch.isdigit() for ch in {v})"),
    _cond("str", "many_vowels", "have at least two vowels", 'sum(ch in "aeiou" for ch in {v}) >= 2', 'sum(ch in "aeiou" for ch in {v}) < 2'),
    _cond("str", "same_ends", "start and end with the same character", "{v}[:1] == {v}[-1:]", "{v}[:1] != {v}[-1:]"),
    _cond("str", "repeats", "have a repeated character | contain some character twice", "len(set({v})) < len({v})", "len(set({v})) == len({v})"),
    _cond("str", "before", "come before {c} in sorted order", "{v} < {c}", "{v} >= {c}"),
    _cond("str", "twice", "contain {c} more than once", "{v}.count({c}) > 1", "{v}.count({c}) <= 1"),
    _cond("str", "rising_ends", "have a first character that sorts before the last", "{v}[:1] < {v}[-1:]", "{v}[:1] >= {v}[-1:]"),
    _cond("str", "ordered", "have their characters in sorted order", "list({v}) == sorted({v})", "list({v}) != sorted({v})"),
    _cond("str", "either_letter", "contain {c} or have more than {k} characters", "{c} in {v} or len({v}) > {k}", "{c} not in {v} and len({v}) <= {k}"),
    _cond("str", "double", "contain the same character twice in a row", "any({v}[j] == {v}[j - 1] for j in range(1, len({v})))", "all({v}[j] != {v}[j - 1] for j in range(1, len({v})))"),
]  # fmt: skip

_CHR = [
    _cond("chr", "vowel", "are lower-case vowels", '{v} in "aeiou"', '{v} not in "aeiou"'),
    _cond("chr", "any_vowel", "are vowels of either case", '{v}.lower() in "aeiou"', '{v}.lower() not in "aeiou"'),
    _cond("chr", "consonant", "are consonants", '{v}.isalpha() and {v}.lower() not in "aeiou"', 'not {v}.isalpha() or {v}.lower() in "aeiou"'),
    _cond("chr", "digit", "are digits", "{v}.isdigit()", "not {v}.isdigit()"),
    _cond("chr", "letter", "are letters", "{v}.isalpha()", "not {v}.isalpha()"),
    _cond("chr", "upper_case", "are capital letters", "{v}.isupper()", "not {v}.isupper()"),
    _cond("chr", "lower_case", "are lower-case letters", "{v}.islower()", "not {v}.islower()"),
    _cond("chr", "blank", "are blanks", '{v} == " "', '{v} != " "'),
    _cond("chr", "stop_mark", "are punctuation marks from .,!?", '{v} in ".,!?"', '{v} not in ".,!?"'),
    _cond("chr", "letter_or_digit", "are letters or digits", "{v}.isalnum()", "not {v}.isalnum()"),
    _cond("chr", "early", "sort before {c}", "{v} < {c}", "{v} >= {c}"),
    _cond("chr", "late", "sort after {c}", "{v} > {c}", "{v} <= {c}"),
    _cond("chr", "is_char", "equal {c}", "{v} == {c}", "{v} != {c}"),
    _cond("chr", "even_code", "have an even character code", "ord({v}) % 2 == 0", "ord({v}) % 2 != 0"),
]  # fmt: skip

#: conditions on the key of a value, and on value and key together
_KEY = [
    _cond("name:int", "name_longer", "have a {key} of more than {k} characters", "len({key}) > {k}", "len({key}) <= {k}"),
    _cond("name:int", "name_shorter", "have a {key} of at most {k} characters", "len({key}) <= {k}", "len({key}) > {k}"),
    _cond("name:int", "name_holds", "have a {key} that contains {c}", "{c} in {key}", "{c} not in {key}"),
    _cond("name:int", "name_starts", "have a {key} that starts with {c}", "{key}.startswith({c})", "not {key}.startswith({c})"),
    _cond("name:int", "name_capital", "have a {key} that starts with a capital letter", "{key}[:1].isupper()", "not {key}[:1].isupper()"),
    _cond("name:int", "name_letters", "have a {key} of letters alone", "{key}.isalpha()", "not {key}.isalpha()"),
    _cond("name:int", "above_name", "are greater than the length of their {key}", "{v} > len({key})", "{v} <= len({key})"),
    _cond("i:any", "even_index", "stand at an even index", "i % 2 == 0", "i % 2 != 0"),
    _cond("i:any", "odd_index", "stand at an odd index", "i % 2 == 1", "i % 2 == 0"),
    _cond("i:any", "late_index", "stand at an index of at least {k}", "i >= {k}", "i < {k}"),
    _cond("i:any", "early_index", "stand at an index below {k}", "i < {k}", "i >= {k}"),
    _cond("i:any", "index_multiple", "stand at an index divisible by {k}", "i % {k} == 0", "i % {k} != 0"),
    _cond("i:int", "above_index", "are greater than their index", "{v} > i", "{v} <= i"),
    _cond("i:int", "same_parity", "have the same parity as their index", "({v} - i) % 2 == 0", "({v} - i) % 2 != 0"),
    _cond("i:str", "longer_index", "have more characters than their index", "len({v}) > i", "len({v}) <= i"),
]  # fmt: skip

CONDITIONS: tuple[Op, ...] = (*_INT, *_STR, *_CHR, *_KEY)
