"""What is done with the result after the loop. ``{r}`` is the result, ``{o}`` a new one if it appears."""

# ruff: noqa: E501 - one operation a line, so that a table can be read down

from __future__ import annotations

from dlmrt.datasets.pythonic.ops import Op, make


def _then(kind: str, name: str, text: str, code: str, marks: str = "") -> Op:
    takes, gives = kind.split(">")
    return make(name, "after", takes, gives, text, code, marks=marks)


_INT = [
    _then("int>int", "total_modulo", "reduce the result modulo {k} | take the result's remainder modulo {k}", "{r} %= {k}"),
    _then("int>int", "total_times", "multiply the result by {k} | take {k} times the result", "{r} *= {k}"),
    _then("int>int", "total_plus", "add {t} to the result | increase the result by {t}", "{r} += {t}"),
    _then("int>int", "total_from", "subtract the result from {t} | take {t} minus the result", "{r} = {t} - {r}"),
    _then("int>int", "total_square", "square the result | multiply the result by itself", "{r} *= {r}"),
    _then("int>int", "total_abs", "take the absolute value of the result | drop the result's sign", "{r} = abs({r})"),
    _then("int>int", "total_cap", "limit the result to at most {t} | replace the result by {t} if it is larger", "if {r} > {t}:\n    {r} = {t}"),
    _then("int>int", "total_floor", "raise the result to {t} if it is less | limit the result to at least {t}", "if {r} < {t}:\n    {r} = {t}"),
    _then("int>int", "total_half", "halve the result, rounding down | divide the result by 2, rounding down", "{r} //= 2"),
    _then("int>int", "total_zero", "replace a result of 0 by -1 | use -1 in place of a result of 0", "if {r} == 0:\n    {r} = -1"),
    _then("int>int", "total_digits", "take the digit sum of the result | add up the digits of the result", "{o} = 0\nfor d in str(abs({r})):\n    {o} += int(d)"),
    _then("int>int", "total_root", "add up the digits of the result's absolute value until one digit is left | reduce the result's absolute value to one digit by repeated digit sums", "{r} = abs({r})\nwhile {r} > 9:\n    {r} = sum(int(d) for d in str({r}))"),
    _then("int>int", "total_parity", "halve the result if it is even, else add 1 to it | replace an even result by its half and an odd one by the next number", "if {r} % 2 == 0:\n    {r} //= 2\nelse:\n    {r} += 1"),
    _then("int>bool", "is_above", "tell whether the result is greater than {t} | compare the result with {t}, True if it is greater", "{o} = {r} > {t}"),
    _then("int>bool", "is_multiple", "tell whether the result is divisible by {k} | check that the result is a multiple of {k}", "{o} = {r} % {k} == 0"),
    _then("int>str", "total_text", "write the result as a string with {f} in front | make a string of {f} and the result", "{o} = {f} + str({r})"),
    _then("int>str", "total_word", 'give "many" for a result above {t}, "none" for 0, else "some" | call the result "none" if it is 0, "many" if above {t}, "some" otherwise', '{o} = "some"\nif {r} == 0:\n    {o} = "none"\nelif {r} > {t}:\n    {o} = "many"'),
    _then("int>list[int]", "total_list", "list the digits of the result's absolute value | make a list of the result's digits, its sign left out", "{o} = []\nfor d in str(abs({r})):\n    {o}.append(int(d))"),
]  # fmt: skip

_INTS = [
    _then("list[int]>int", "list_sum", "add up the list | take the sum of the list", "{o} = sum({r})"),
    _then("list[int]>int", "list_max", "take the largest number of the list, 0 if it is empty | find the maximum of the list, or 0", "{o} = max({r}, default=0)"),
    _then("list[int]>int", "list_min", "take the smallest number of the list, 0 if it is empty | find the minimum of the list, or 0", "{o} = min({r}, default=0)"),
    _then("list[int]>int", "list_median", "take the middle number of the sorted list, the upper one of two, 0 if it is empty | find the upper median of the list, or 0", "{o} = 0\nif {r}:\n    {o} = sorted({r})[len({r}) // 2]"),
    _then("list[int]>int", "list_second", "find the second largest different number of the list, 0 if there is none | take the second largest of the list's distinct numbers, or 0", "{r} = sorted(set({r}))\n{o} = 0\nif len({r}) > 1:\n    {o} = {r}[-2]"),
    _then("list[int]>int", "list_above_mean", "count the numbers of the list above its mean | find how many numbers of the list exceed their average", "{o} = 0\nfor z in {r}:\n    if z * len({r}) > sum({r}):\n        {o} += 1"),
    _then("list[int]>list[int]", "list_differences", "take the differences of neighbours, later minus earlier | replace the list by the steps from each number to the next", "{o} = []\nfor j in range(1, len({r})):\n    {o}.append({r}[j] - {r}[j - 1])"),
    _then("list[int]>list[int]", "list_totals", "replace the list by its running totals | take the running sums of the list", "{o} = []\ntotal = 0\nfor z in {r}:\n    total += z\n    {o}.append(total)"),
    _then("list[int]>list[int]", "list_to_max", "subtract each number of the list from its largest | replace each number of the list by how far it is below the maximum", "{o} = []\nfor z in {r}:\n    {o}.append(max({r}) - z)"),
    _then("list[int]>list[int]", "list_scaled", "add {k} to each number of the list | increase all numbers of the list by {k}", "{o} = []\nfor z in {r}:\n    {o}.append(z + {k})"),
    _then("list[int]>list[int]", "list_trim", "sort the list and drop its smallest and largest number | put the list in order without the first and last number", "{r} = sorted({r})[1:-1]"),
    _then("list[int]>list[int]", "list_ranks", "replace each number of the list by how many in it are smaller | give for each number of the list its count of smaller ones", "{o} = []\nfor z in {r}:\n    {o}.append(sum(u < z for u in {r}))"),
    _then("list[int]>list[int]", "list_append_sum", "append the list's sum to it | add the total at the end of the list", "{r}.append(sum({r}))"),
    _then("list[int]>list[int]", "list_sort_abs", "sort the list by absolute value | order the list by distance from 0", "{r}.sort(key=abs)"),
]  # fmt: skip

_BOTH = [  # for lists of integers and of strings
    ("sort", "sort the list | put the list in ascending order", "{r}.sort()", ""),
    ("sort_down", "sort the list in descending order | put the list in falling order", "{r}.sort(reverse=True)", ""),
    ("reverse", "reverse the list | turn the list around", "{r}.reverse()", ""),
    ("take", "keep only the first {k} items of the list | cut the list after {k} items", "{r} = {r}[:{k}]", ""),
    ("skip", "drop the first {k} items of the list | leave out {k} items at the start of the list", "{r} = {r}[{k}:]", ""),
    ("keep_last", "keep only the last {k} items of the list | take the final {k} items of the list", "{r} = {r}[-{k}:]", ""),
    ("every_other", "keep every second item of the list, beginning with the first | leave out every other item of the list, from the second on", "{r} = {r}[::2]", ""),
    ("rotate", "move the first item of the list to its end | rotate the list left by one", "{r} = {r}[1:] + {r}[:1]", ""),
    ("double_list", "append the list's items to it in reverse | add the list backwards to its end", "{r} = {r} + {r}[::-1]", ""),
    ("unique_list", "drop repeated items of the list, keeping the first | leave each item of the list only where it first stands", "{o} = []\nfor z in {r}:\n    if z not in {o}:\n        {o}.append(z)", ""),
    ("singles", "keep only the items that stand in the list once | drop all items that the list holds more than once", "{o} = []\nfor z in {r}:\n    if {r}.count(z) == 1:\n        {o}.append(z)", ""),
    ("collapse", "drop items of the list that equal the one before | leave one of equal neighbours in the list", "{o} = []\nfor z in {r}:\n    if not {o} or {o}[-1] != z:\n        {o}.append(z)", ""),
    ("list_length", "take the length of the list | count the list's items", "{o} = len({r})", "int"),
    ("list_distinct", "count the different items of the list | take the number of distinct items of the list", "{o} = len(set({r}))", "int"),
    ("list_tally", "count the list's items in a dictionary | make a dictionary of how often the list holds each item", "{o} = {{}}\nfor z in {r}:\n    if z not in {o}:\n        {o}[z] = 0\n    {o}[z] += 1", "counts[e]"),
    ("list_index", "make a dictionary from each item of the list to its first index | store the first index of each item of the list in a dictionary", "{o} = {{}}\nfor j in range(len({r})):\n    if {r}[j] not in {o}:\n        {o}[{r}[j]] = j", "counts[e]"),
    ("list_line", "join the list's items to a string with {g} | write the list as a string separated by {g}", '{o} = {g}.join(str(z) for z in {r})', "str"),
]  # fmt: skip

_STRS = [
    _then("list[str]>list[str]", "sort_length", "sort the list by length | order the list from shortest to longest", "{r}.sort(key=len)"),
    _then("list[str]>list[str]", "sort_last", "sort the list by last character | order the list by how each item ends", "{r}.sort(key=lambda z: z[-1:])"),
    _then("list[str]>str", "list_longest", "take the longest item of the list, the first of equals, or an empty string | find the first of the list's longest items, an empty string without any", '{o} = ""\nfor z in {r}:\n    if len(z) > len({o}):\n        {o} = z'),
    _then("list[str]>list[str]", "list_numbered", "put the index from 0 in front of each item of the list | write each item of the list after its index", "{o} = []\nfor j in range(len({r})):\n    {o}.append(str(j) + {r}[j])"),
    _then("list[str]>list[str]", "list_no_empty", "drop empty strings from the list | keep the list's items that are not empty", "{o} = []\nfor z in {r}:\n    if z:\n        {o}.append(z)"),
    _then("list[str]>int", "list_chars", "add up the lengths of the list's items | count the characters in the list", "{o} = 0\nfor z in {r}:\n    {o} += len(z)"),
    _then("list[str]>list[int]", "list_lengths", "replace the list's items by their lengths | list how long each item is", "{o} = []\nfor z in {r}:\n    {o}.append(len(z))"),
    _then("list[str]>counts[str]", "list_word_lengths", "make a dictionary from each item of the list to its length | store the length of each item of the list in a dictionary", "{o} = {{}}\nfor z in {r}:\n    {o}[z] = len(z)"),
    _then("list[str]>list[str]", "list_framed", "put {g} around each item of the list | frame each item of the list with {g}", "{o} = []\nfor z in {r}:\n    {o}.append({g} + z + {g})"),
]  # fmt: skip

_COUNTS = [
    _then("counts>list[k]", "keys_from", "list the dictionary's keys with a value of at least {t} | keep the keys whose value is {t} or more, as a list", "{o} = []\nfor item in {r}:\n    if {r}[item] >= {t}:\n        {o}.append(item)"),
    _then("counts>counts[k]", "values_above", "keep the dictionary's items with a value above {k} | drop from the dictionary all values up to {k}", "{o} = {{}}\nfor item in {r}:\n    if {r}[item] > {k}:\n        {o}[item] = {r}[item]"),
    _then("counts>list[int]", "sorted_values", "list the dictionary's values in ascending order | take the sorted values of the dictionary", "{o} = sorted({r}.values())"),
    _then("counts>int", "values_total", "add up the dictionary's values | take the sum of the dictionary's values", "{o} = sum({r}.values())"),
    _then("counts>int", "values_max", "take the dictionary's largest value, 0 if it is empty | find the greatest value of the dictionary, or 0", "{o} = max({r}.values(), default=0)"),
    _then("counts>list[k]", "top_keys", "list the keys that have the dictionary's largest value | take all keys with the greatest value, as a list", "{o} = []\nfor item in {r}:\n    if {r}[item] == max({r}.values()):\n        {o}.append(item)"),
    _then("counts>groups[int,k]", "swap_groups", "turn the dictionary around: from each value to the list of its keys | invert the dictionary, with a list of keys for each value", "{o} = {{}}\nfor item in {r}:\n    if {r}[item] not in {o}:\n        {o}[{r}[item]] = []\n    {o}[{r}[item]].append(item)"),
    _then("counts>counts[k]", "values_scaled", "multiply each value of the dictionary by {k} | take {k} times each of the dictionary's values", "for item in {r}:\n    {r}[item] *= {k}"),
    _then("counts>counts[k]", "values_share", "subtract the smallest value of the dictionary from each | lower all values of the dictionary so that the least is 0", "{o} = {{}}\nfor item in {r}:\n    {o}[item] = {r}[item] - min({r}.values())"),
    _then("counts>list[str]", "value_lines", 'list strings of key, "=" and value of the dictionary | write each item of the dictionary as a string with "=" in between', '{o} = []\nfor item in {r}:\n    {o}.append(str(item) + "=" + str({r}[item]))'),
    _then("counts>list[k]", "keys_by_value", "list the dictionary's keys by falling value | sort the dictionary's keys from the largest value to the smallest", "{o} = sorted({r}, key=lambda item: -{r}[item])"),
    _then("counts>int", "size_above", "count the dictionary's values above {k} | find how many values of the dictionary exceed {k}", "{o} = 0\nfor item in {r}:\n    if {r}[item] > {k}:\n        {o} += 1"),
]  # fmt: skip

_GROUPS = [
    _then("groups>counts[k]", "group_sizes", "replace each list in the dictionary by its length | make a dictionary of the lists' lengths", "{o} = {{}}\nfor item in {r}:\n    {o}[item] = len({r}[item])"),
    _then("groups>groups[k,e]", "big_groups", "keep the dictionary's lists of at least two items | drop from the dictionary all lists of one item", "{o} = {{}}\nfor item in {r}:\n    if len({r}[item]) > 1:\n        {o}[item] = {r}[item]"),
    _then("groups>groups[k,e]", "sorted_groups", "sort each list in the dictionary | put every list in the dictionary in order", "for item in {r}:\n    {r}[item].sort()"),
    _then("groups>groups[k,e]", "reversed_groups", "reverse each list in the dictionary | turn every list in the dictionary around", "for item in {r}:\n    {r}[item].reverse()"),
    _then("groups>int", "largest_group", "take the length of the dictionary's longest list, 0 if there is none | find how long the longest list is, or 0", "{o} = 0\nfor item in {r}:\n    {o} = max({o}, len({r}[item]))"),
    _then("groups>list[k]", "group_keys", "list the keys whose list has at least {k} items | keep the keys with {k} or more items, as a list", "{o} = []\nfor item in {r}:\n    if len({r}[item]) >= {k}:\n        {o}.append(item)"),
    _then("groups>list[e]", "flattened", "join the dictionary's lists to one, in the order of sorted keys | chain the lists of the dictionary by sorted key", "{o} = []\nfor item in sorted({r}):\n    {o} += {r}[item]"),
    _then("groups>list[e]", "group_heads", "list the first item of each list in the dictionary | take the first of every list in the dictionary", "{o} = []\nfor item in {r}:\n    {o}.append({r}[item][0])"),
    _then("groups>groups[k,e]", "distinct_groups", "sort each list in the dictionary and drop repeated items | put the different items of every list in the dictionary in order", "for item in {r}:\n    {r}[item] = sorted(set({r}[item]))"),
]  # fmt: skip

_STR = [
    _then("str>str", "line_upper", "put the string in capitals | write the string in upper case", "{r} = {r}.upper()"),
    _then("str>str", "line_back", "reverse the string | turn the string around", "{r} = {r}[::-1]"),
    _then("str>int", "line_length", "take the string's length | count the string's characters", "{o} = len({r})"),
    _then("str>str", "line_cut", "cut the string to at most {k} characters | keep only the first {k} characters of the string", "{r} = {r}[:{k}]"),
    _then("str>str", "line_brackets", "put the string in square brackets | add [ before and ] after the string", '{r} = "[" + {r} + "]"'),
    _then("str>str", "line_empty", 'replace an empty string by "none" | use "none" if the string is empty', 'if not {r}:\n    {r} = "none"'),
    _then("str>int", "line_count", "count how often {c} occurs in the string | find the number of {c} in the string", "{o} = {r}.count({c})"),
    _then("str>str", "line_twice", "double the string if it is shorter than {k} characters | write the string twice if it has fewer than {k} characters", "if len({r}) < {k}:\n    {r} *= 2"),
    _then("str>str", "line_size", "append the string's length to it | add the number of its characters to the string", "{r} += str(len({r}))"),
    _then("str>str", "line_dots", 'shorten the string to {k} characters and "..." if it is longer | cut a string of more than {k} characters after them and add "..."', 'if len({r}) > {k}:\n    {r} = {r}[:{k}] + "..."'),
    _then("str>list[str]", "line_chars", "make a sorted list of the string's different characters | list the distinct characters of the string in order", "{o} = sorted(set({r}))"),
    _then("str>counts[str]", "line_tally", "count the string's characters in a dictionary | make a dictionary of how often the string holds each character", "{o} = {{}}\nfor ch in {r}:\n    {o}[ch] = {o}.get(ch, 0) + 1"),
    _then("str>bool", "line_palindrome", "tell whether the string reads the same backwards | check that the string equals its reverse", "{o} = {r} == {r}[::-1]"),
]  # fmt: skip

_PAIR = [
    _then("pair>int", "pair_difference", "subtract the second part of the pair from the first | take the pair's first number minus its second", "{o} = {r}[0] - {r}[1]"),
    _then("pair>int", "pair_product", "multiply the two parts of the pair | take the product of the pair's numbers", "{o} = {r}[0] * {r}[1]"),
    _then("pair>pair", "pair_swap", "swap the parts of the pair | exchange the pair's two numbers", "{r} = ({r}[1], {r}[0])"),
    _then("pair>list[int]", "pair_range", "list the numbers from the smaller part of the pair to the larger, both included | make a list of all integers between the pair's numbers, both included", "{o} = list(range(min({r}), max({r}) + 1))", "heavy"),
    _then("pair>str", "pair_text", 'write the pair as a string with "/" in between | join the pair\'s numbers to a string with "/"', '{o} = str({r}[0]) + "/" + str({r}[1])'),
    _then("pair>int", "pair_larger", "take the larger part of the pair | find the maximum of the pair", "{o} = max({r})"),
]  # fmt: skip

_LISTS = [
    _then(f"{takes}>{gives or takes}", name, text, code)
    for name, text, code, gives in _BOTH
    for takes in ("list[int]", "list[str]")
]
AFTERS: tuple[Op, ...] = (*_INT, *_INTS, *_LISTS, *_STRS, *_COUNTS, *_GROUPS, *_STR, *_PAIR)
