"""Where the values come from: loops over the arguments of a function.

``{a}`` and ``{b}`` are the arguments, ``{v}`` the value of one round. ``key`` says how the value's key is
called: ``name`` or ``key`` (text) or ``i`` (an index).
"""

# ruff: noqa: E501 - one operation a line, so that a table can be read down

from __future__ import annotations

from dlmrt.datasets.pythonic.ops import Op, make

NESTED = "nested"


def _source(name: str, gives: str, arguments: str, text: str, code: str, **more: str | int) -> Op:
    return make(name, "source", "", gives, text, code, arguments=arguments, **{"opens": 1, **more})


def _list(name: str, what: str, code: str) -> list[Op]:
    """The same way through a list of integers and through one of words."""
    return [
        _source(name + "_ints", "int", "ints", what.replace("ITEM", "number"), f"for {{v}} in {code}:"),
        _source(name + "_words", "str", "words", what.replace("ITEM", "word"), f"for {{v}} in {code}:"),
    ]


_EACH = [
    *_list("each", "go through the list of ITEMs {a} | take the ITEMs of {a} one by one | loop over the ITEMs in {a}", "{a}"),
    *_list("back", "go through the ITEMs of {a} from last to first | loop over the list of ITEMs {a} backwards", "reversed({a})"),
    *_list("sorted", "go through the ITEMs of {a} in ascending order | take the ITEMs of {a} from smallest to largest", "sorted({a})"),
    *_list("falling", "go through the ITEMs of {a} in descending order | take the ITEMs of {a} from largest to smallest", "sorted({a}, reverse=True)"),
    *_list("rest", "go through all ITEMs of {a} but the first | loop over the ITEMs of {a} after the first", "{a}[1:]"),
    *_list("second", "go through every second ITEM of {a}, beginning with the first | take the ITEMs at even indices of {a}", "{a}[::2]"),
    *_list("odd_places", "go through every second ITEM of {a}, beginning with the second | take the ITEMs at odd indices of {a}", "{a}[1::2]"),
    *_list("head", "go through the first {k} ITEMs of {a} | loop over no more than the first {k} ITEMs of {a}", "{a}[:{k}]"),
    *_list("tail", "go through the last {k} ITEMs of {a} | loop over the last {k} ITEMs in {a}", "{a}[-{k}:]"),
    *_list("distinct", "go through the distinct ITEMs of {a} in ascending order | take each different ITEM of {a} once, in sorted order", "sorted(set({a}))"),
    *_list("once", "go through the ITEMs of {a}, each only where it first occurs | take each different ITEM of {a} once, in order of first occurrence", "dict.fromkeys({a})"),
]  # fmt: skip

_INTS = [
    _source("chain", "int", "ints ints", "go through the numbers of {a} and then those of {b} | loop over the numbers in {a} followed by those in {b}", "for {v} in {a} + {b}:"),
    _source("zip_sum", "int", "ints ints", "take the sums of the numbers at the same places of {a} and {b} | add the numbers of {a} and {b} place by place", "for left, right in zip({a}, {b}):\n    {v} = left + right"),
    _source("zip_difference", "int", "ints ints", "take the numbers of {a} minus those at the same places of {b} | subtract the numbers of {b} from those of {a} place by place", "for left, right in zip({a}, {b}):\n    {v} = left - right"),
    _source("zip_product", "int", "ints ints", "take the products of the numbers at the same places of {a} and {b} | multiply the numbers of {a} and {b} place by place", "for left, right in zip({a}, {b}):\n    {v} = left * right"),
    _source("zip_max", "int", "ints ints", "take the larger of the two numbers at each place of {a} and {b} | compare {a} and {b} place by place and take the larger number", "for left, right in zip({a}, {b}):\n    {v} = max(left, right)"),
    _source("steps", "int", "ints", "take the differences between each number of {a} and the one before it | go through the changes from one number of {a} to the next", "for i in range(1, len({a})):\n    {v} = {a}[i] - {a}[i - 1]"),
    _source("neighbour_sum", "int", "ints", "take the sums of neighbouring numbers in {a} | add each number of {a} to the one before it", "for i in range(1, len({a})):\n    {v} = {a}[i - 1] + {a}[i]"),
    _source("neighbour_min", "int", "ints", "take the smaller of each two neighbouring numbers in {a} | compare neighbours in {a} and take the smaller number", "for i in range(1, len({a})):\n    {v} = min({a}[i - 1], {a}[i])"),
    _source("window_sum", "int", "ints", "take the sum of each window of {k} consecutive numbers in {a} | slide a window of size {k} over {a} and take its sums", "for i in range(len({a}) - {k} + 1):\n    {v} = sum({a}[i:i + {k}])"),
    _source("window_max", "int", "ints", "take the largest number of each window of {k} consecutive numbers in {a} | slide a window of size {k} over {a} and take its maxima", "for i in range(len({a}) - {k} + 1):\n    {v} = max({a}[i:i + {k}])"),
    _source("chunk_sum", "int", "ints", "cut {a} into chunks of {k} numbers and take the sum of each | take the sums of successive chunks of {k} numbers of {a}", "for i in range(0, len({a}), {k}):\n    {v} = sum({a}[i:i + {k}])"),
    _source("distance", "int", "ints", "take the numbers {k} places apart in {a} and subtract the earlier from the later | subtract from each number of {a} the one {k} places before it", "for i in range({k}, len({a})):\n    {v} = {a}[i] - {a}[i - {k}]"),
    _source("mirror_sum", "int", "ints", "add the numbers of the first half of {a} to those as far from its end | pair the numbers of {a} from both ends inwards and take their sums", "for i in range(len({a}) // 2):\n    {v} = {a}[i] + {a}[-1 - i]"),
    _source("place_times", "int", "ints", "take each number of {a} times its index | multiply the numbers of {a} by their indices", "for i in range(len({a})):\n    {v} = i * {a}[i]"),
    _source("pair_sum", "int", "ints", "take the sums of all pairs of numbers in {a} | add each number of {a} to every later one", "for i in range(len({a})):\n    for j in range(i + 1, len({a})):\n        {v} = {a}[i] + {a}[j]", opens=2, marks=NESTED),
    _source("pair_gap", "int", "ints", "take the distances between all pairs of numbers in {a} | take the absolute difference of each number of {a} and every later one", "for i in range(len({a})):\n    for j in range(i + 1, len({a})):\n        {v} = abs({a}[i] - {a}[j])", opens=2, marks=NESTED),
    _source("cross", "int", "ints ints", "take the products of each number of {a} with each of {b} | multiply every number of {a} by every number of {b}", "for left in {a}:\n    for right in {b}:\n        {v} = left * right", opens=2, marks=NESTED + " grows"),
    _source("cells", "int", "grid", "go through all numbers of the grid {a}, row by row | loop over the rows of the grid {a} and their numbers", "for row in {a}:\n    for {v} in row:", opens=2, marks=NESTED),
    _source("cells_down", "int", "grid", "go through all numbers of the grid {a}, column by column | loop over the columns of the grid {a} and their numbers", "for column in zip(*{a}):\n    for {v} in column:", opens=2, marks=NESTED),
    _source("row_sum", "int", "grid", "take the sum of each row of the grid {a} | add up every row of the grid {a}", "for row in {a}:\n    {v} = sum(row)"),
    _source("row_max", "int", "grid", "take the largest number of each row of the grid {a} | find the maximum of every row of the grid {a}", "for row in {a}:\n    {v} = max(row)"),
    _source("row_range", "int", "grid", "take the difference between the largest and smallest number of each row of the grid {a} | find the spread of every row of the grid {a}", "for row in {a}:\n    {v} = max(row) - min(row)"),
    _source("column_sum", "int", "grid", "take the sum of each column of the grid {a} | add up every column of the grid {a}", "for column in zip(*{a}):\n    {v} = sum(column)"),
    _source("column_min", "int", "grid", "take the smallest number of each column of the grid {a} | find the minimum of every column of the grid {a}", "for column in zip(*{a}):\n    {v} = min(column)"),
    _source("diagonal", "int", "grid", "go along the main diagonal of the square grid {a} | take the numbers on the diagonal of the square grid {a}", "for i in range(len({a})):\n    {v} = {a}[i][i]"),
    _source("anti_diagonal", "int", "grid", "go along the diagonal of the square grid {a} from top right to bottom left | take the numbers on the anti-diagonal of the square grid {a}", "for i in range(len({a})):\n    {v} = {a}[i][-1 - i]"),
    _source("upper", "int", "grid", "go through the numbers above the diagonal of the square grid {a} | take the numbers of the square grid {a} right of its diagonal", "for i in range(len({a})):\n    for j in range(i + 1, len({a})):\n        {v} = {a}[i][j]", opens=2, marks=NESTED),
    _source("count_up", "int", "n", "go through the numbers from 1 to {a} | count from 1 to {a}", "for {v} in range(1, {a} + 1):"),
    _source("count_down", "int", "n", "go through the numbers from {a} down to 1 | count down from {a} to 1", "for {v} in range({a}, 0, -1):"),
    _source("stride", "int", "n", "go through the numbers from 0 up to but not including {a} in steps of {k} | count from 0 in steps of {k} while below {a}", "for {v} in range(0, {a}, {k}):"),
    _source("divisors", "int", "n", "go through the divisors of {a} in ascending order | take each positive divisor of {a}, smallest first", "for {v} in range(1, {a} + 1):\n    if {a} % {v} == 0:", opens=2),
    _source("digits", "int", "big", "go through the digits of {a} from last to first | take the decimal digits of {a}, the last one first", "while {a} > 0:\n    {v} = {a} % 10\n    {a} //= 10"),
    _source("digits_on", "int", "big", "go through the digits of {a} from first to last | take the decimal digits of {a} in order", "for d in str({a}):\n    {v} = int(d)"),
    _source("base", "int", "big", "take the digits of {a} in base {k}, lowest first | write {a} in base {k} and take its digits from the lowest", "while {a} > 0:\n    {v} = {a} % {k}\n    {a} //= {k}"),
    _source("halves", "int", "big", "go through {a} and its repeated halves, rounded down, while positive | halve {a} again and again, rounding down, and take each value above 0", "while {a} > 0:\n    {v} = {a}\n    {a} //= 2"),
    _source("countdown_by", "int", "n", "go from {a} down in steps of {k} while above 0 | start at {a} and subtract {k} while it is positive", "while {a} > 0:\n    {v} = {a}\n    {a} -= {k}"),
    _source("fibonacci", "int", "n", "go through the Fibonacci numbers 1, 1, 2, 3, ... up to {a} | take each Fibonacci number from 1, 1 on that is at most {a}", "left, right = 1, 1\nwhile left <= {a}:\n    {v} = left\n    left, right = right, left + right"),
    _source("powers", "int", "big", "go through the powers of {k} from 1 up to {a} | take 1, {k}, {k} squared and so on while at most {a}", "p = 1\nwhile p <= {a}:\n    {v} = p\n    p *= {k}"),
    _source("collatz", "int", "n", "go through the Collatz sequence of {a} until it reaches 1 | from {a}, halve even numbers and triple odd ones plus 1, until 1, and take each number before", "while {a} != 1:\n    {v} = {a}\n    if {a} % 2 == 0:\n        {a} //= 2\n    else:\n        {a} = 3 * {a} + 1", marks="grows"),
    _source("values", "int", "counts", "go through the values of the dictionary {a} | take each value of the dictionary {a}", "for {v} in {a}.values():"),
    _source("group_values", "int", "groups", "go through all numbers in the lists of the dictionary {a} | loop over the lists in the dictionary {a} and their numbers", "for row in {a}.values():\n    for {v} in row:", opens=2, marks=NESTED),
    _source("text_numbers", "int", "text", "go through the numbers among the words of {a} | split {a} at blanks and take the words made of digits as numbers", "for w in {a}.split():\n    if w.isdigit():\n        {v} = int(w)", opens=2),
]  # fmt: skip

_STRS = [
    _source("text_words", "str", "text", "go through the words of the text {a} | split the text {a} at blanks and take each word", "for {v} in {a}.split():"),
    _source("text_back", "str", "text", "go through the words of the text {a} from last to first | split the text {a} at blanks and take its words backwards", "for {v} in reversed({a}.split()):"),
    _source("text_sorted", "str", "text", "go through the words of the text {a} in sorted order | split the text {a} at blanks and take its words sorted", "for {v} in sorted({a}.split()):"),
    _source("by_length", "str", "words", "go through {a}, a list of words, from the shortest word to the longest | take the words of {a} in order of length", "for {v} in sorted({a}, key=len):"),
    _source("chain_words", "str", "words words", "go through the words of {a} and then those of {b} | loop over the words in {a} followed by those in {b}", "for {v} in {a} + {b}:"),
    _source("zip_words", "str", "words words", "join the words at the same places of {a} and {b} | put the words of {a} in front of those at the same places of {b}", "for left, right in zip({a}, {b}):\n    {v} = left + right"),
    _source("zip_longer", "str", "words words", "take the longer of the two words at each place of {a} and {b}, or that of {a} if they are as long | compare {a} and {b} place by place and take the longer word, that of {a} in a tie", "for left, right in zip({a}, {b}):\n    {v} = left\n    if len(right) > len(left):\n        {v} = right"),
    _source("neighbour_words", "str", "words", "join each word of {a} with the one after it | take neighbouring words of {a} joined together", "for i in range(1, len({a})):\n    {v} = {a}[i - 1] + {a}[i]"),
    _source("line_words", "str", "lines", "go through the words of all lines in {a} | loop over the lines in {a} and split each at blanks into words", "for line in {a}:\n    for {v} in line.split():", opens=2, marks=NESTED),
    _source("line_first", "str", "lines", "take the first word of each line in {a} that is not empty | loop over the lines in {a}, pass over empty ones, and take the first word", "for line in {a}:\n    if line:\n        {v} = line.split()[0]", opens=2),
    _source("team_words", "str", "teams", "go through all words in the lists of the dictionary {a} | loop over the lists in the dictionary {a} and their words", "for row in {a}.values():\n    for {v} in row:", opens=2, marks=NESTED),
    _source("dict_keys", "str", "counts", "go through the keys of the dictionary {a} | take each key of the dictionary {a}", "for {v} in {a}:"),
    _source("dict_keys_sorted", "str", "counts", "go through the keys of the dictionary {a} in sorted order | take the keys of the dictionary {a} sorted", "for {v} in sorted({a}):"),
    _source("pair_names", "str", "pairs", "go through the names in the pairs (name, number) of {a} | take the first part of each pair in {a}", "for {v}, _ in {a}:"),
    _source("common_words", "str", "words words", "go through the words of {a} that also occur in {b} | take each word of {a} that {b} holds too", "for {v} in {a}:\n    if {v} in {b}:", opens=2),
    _source("missing_words", "str", "words words", "go through the words of {a} that do not occur in {b} | take each word of {a} that {b} does not hold", "for {v} in {a}:\n    if {v} not in {b}:", opens=2),
]  # fmt: skip

_CHARS = [
    _source("chars", "chr", "text", "go through the characters of the text {a} | take each character of the text {a}", "for {v} in {a}:"),
    _source("chars_back", "chr", "text", "go through the characters of the text {a} from last to first | take the characters of the text {a} backwards", "for {v} in reversed({a}):"),
    _source("chars_lower", "chr", "text", "go through the characters of the text {a} in lower case | put the text {a} in lower case and take each character", "for {v} in {a}.lower():"),
    _source("chars_sorted", "chr", "text", "go through the characters of the text {a} in sorted order | sort the characters of the text {a} and take each", "for {v} in sorted({a}):"),
    _source("chars_once", "chr", "text", "go through the different characters of the text {a} in order of first occurrence | take each character of the text {a} only where it first occurs", "for {v} in dict.fromkeys({a}):"),
    _source("chars_second", "chr", "text", "go through every second character of the text {a}, beginning with the first | take the characters at even indices of the text {a}", "for {v} in {a}[::2]:"),
    _source("word_chars", "chr", "words", "go through the characters of all words in {a} | loop over the words in {a} and their characters", "for w in {a}:\n    for {v} in w:", opens=2, marks=NESTED),
    _source("word_heads", "chr", "words", "take the first character of each word in {a} | go through the initials of the words in {a}", "for w in {a}:\n    {v} = w[0]"),
    _source("word_ends", "chr", "words", "take the last character of each word in {a} | go through the final characters of the words in {a}", "for w in {a}:\n    {v} = w[-1]"),
    _source("text_heads", "chr", "text", "take the first character of each word of the text {a} | split the text {a} at blanks and take the initials", "for w in {a}.split():\n    {v} = w[0]"),
]  # fmt: skip

_KEYED = [
    _source("pairs", "int", "pairs", "go through the pairs (name, number) in {a} | take each name and number of the list of pairs {a}", "for name, {v} in {a}:", key="name"),
    _source("pairs_back", "int", "pairs", "go through the pairs (name, number) in {a} from last to first | take the names and numbers of the list of pairs {a} backwards", "for name, {v} in reversed({a}):", key="name"),
    _source("pairs_sorted", "int", "pairs", "go through the pairs (name, number) in {a} in sorted order | sort the pairs (name, number) of {a} and take each", "for name, {v} in sorted({a}):", key="name"),
    _source("items", "int", "counts", "go through the keys and values of the dictionary {a} | take each key of the dictionary {a} with its value", "for key, {v} in {a}.items():", key="key"),
    _source("items_sorted", "int", "counts", "go through the keys of the dictionary {a} in sorted order, with their values | take the items of the dictionary {a} sorted by key", "for key in sorted({a}):\n    {v} = {a}[key]", key="key"),
    _source("items_sum", "int", "groups", "take the sum of each list in the dictionary {a} | go through the dictionary {a} and add up the list of each key", "for key, row in {a}.items():\n    {v} = sum(row)", key="key"),
    _source("items_len", "int", "groups", "take the length of each list in the dictionary {a} | go through the dictionary {a} and count the numbers of each key", "for key, row in {a}.items():\n    {v} = len(row)", key="key"),
    _source("items_max", "int", "groups", "take the largest number of each list in the dictionary {a}, or 0 if it is empty | find for each key of the dictionary {a} the maximum of its list, 0 for an empty one", "for key, row in {a}.items():\n    {v} = max(row, default=0)", key="key"),
    _source("items_each", "int", "groups", "go through the numbers of each list in the dictionary {a}, with their keys | loop over the keys of the dictionary {a} and the numbers of their lists", "for key, row in {a}.items():\n    for {v} in row:", key="key", opens=2, marks=NESTED),
    _source("teams_each", "str", "teams", "go through the words of each list in the dictionary {a}, with their keys | loop over the keys of the dictionary {a} and the words of their lists", "for key, row in {a}.items():\n    for {v} in row:", key="key", opens=2, marks=NESTED),
    _source("zip_keys", "int", "words ints", "go through the names of {a} and the numbers of {b} side by side | take each name of {a} with the number at the same place of {b}", "for name, {v} in zip({a}, {b}):", key="name"),
    _source("merged", "int", "counts counts", "take each key of the dictionary {a} with its values in {a} and {b} added, 0 where {b} has none | go through the dictionary {a} and add the value that {b} has for the key, or 0", "for key, {v} in {a}.items():\n    {v} += {b}.get(key, 0)", key="key"),
    _source("shared", "int", "counts counts", "go through the keys that both dictionaries {a} and {b} have, with the smaller value | take each key of {a} that is in {b} too, and the smaller of its two values", "for key in {a}:\n    if key in {b}:\n        {v} = min({a}[key], {b}[key])", key="key", opens=2),
    _source("only_first", "int", "counts counts", "go through the keys and values of the dictionary {a} whose keys {b} does not have | take each item of the dictionary {a} whose key is not in {b}", "for key, {v} in {a}.items():\n    if key not in {b}:", key="key", opens=2),
    _source("indexed", "int", "ints", "go through the numbers of {a} with their indices | take each index of {a} and the number there", "for i, {v} in enumerate({a}):", key="i"),
    _source("indexed_words", "str", "words", "go through the words of {a} with their indices | take each index of {a} and the word there", "for i, {v} in enumerate({a}):", key="i"),
    _source("indexed_text", "str", "text", "go through the words of the text {a} with their indices | split the text {a} at blanks and take each index and word", "for i, {v} in enumerate({a}.split()):", key="i"),
    _source("indexed_rows", "int", "grid", "take the sum of each row of the grid {a}, with the row's index | go through the rows of the grid {a} by index and add up each", "for i, row in enumerate({a}):\n    {v} = sum(row)", key="i"),
    _source("words_length", "int", "words", "take the length of each word in {a}, with the word as its name | go through the words of {a} as names and their lengths as numbers", "for name in {a}:\n    {v} = len(name)", key="name"),
]  # fmt: skip

SOURCES: tuple[Op, ...] = (*_EACH, *_INTS, *_STRS, *_CHARS, *_KEYED)
