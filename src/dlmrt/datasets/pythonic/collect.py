"""How values are collected: what stands before the loop, in it and after it, and the result that it makes.

``{cond}`` is the expression of a second operation, a condition, and ``{s}`` and ``{p}`` its clause in the
singular and the plural. ``g`` is the value of a second operation, a map, and ``{np}`` its noun phrase.
``{key}`` is the key that came with the value.
"""

# ruff: noqa: E501 - one operation a line, so that a table can be read down

from __future__ import annotations

from dlmrt.datasets.pythonic.ops import Op, make


def _into(
    takes: str, gives: str, name: str, text: str, init: str, code: str, after: str = "", **more: str
) -> Op:
    result = init.split(" = ")[0] if init else ""
    return make(
        name, "collect", takes, gives, text, code, init=init, after=after, **{"result": result, **more}
    )


def _returns(takes: str, gives: str, name: str, text: str, code: str, after: str, **more: str) -> Op:
    """Returns from inside the loop, or in the lines after it; nothing can follow."""
    return make(name, "collect", takes, gives, text, code, after=after, marks="final", **more)


_INT = [
    _into("int", "int", "sum", "add them up | compute their sum", "total = 0", "total += {v}"),
    _into("int", "int", "product", "multiply them all together, starting from 1 | compute their product, 1 if there are none", "product = 1", "product *= {v}"),
    _into("int", "int", "product_modulo", "multiply them together, reducing modulo 97 at each step | compute their product modulo 97, starting from 1", "product = 1", "product = product * {v} % 97"),
    _into("int", "int", "largest", "find the largest, 0 if there is none | compute their maximum, or 0 without any", "best = None", "if best is None or {v} > best:\n    best = {v}", "if best is None:\n    best = 0"),
    _into("int", "int", "smallest", "find the smallest, 0 if there is none | compute their minimum, or 0 without any", "best = None", "if best is None or {v} < best:\n    best = {v}", "if best is None:\n    best = 0"),
    _into("int", "int", "range", "find the difference between the largest and the smallest, 0 if there is none | compute their range, or 0 without any", "low = high = None", "if low is None or {v} < low:\n    low = {v}\nif high is None or {v} > high:\n    high = {v}", "spread = 0\nif low is not None:\n    spread = high - low", result="spread"),
    _into("int", "int", "mean", "compute their mean rounded down, 0 if there is none | find their average, rounded down, or 0 without any", "total = 0\ncount = 0", "total += {v}\ncount += 1", "mean = 0\nif count > 0:\n    mean = total // count", result="mean"),
    _into("int", "pair", "sum_and_count", "make a pair of their sum and their number | find the pair of their sum and how many there are", "total = 0\ncount = 0", "total += {v}\ncount += 1", "pair = (total, count)", result="pair"),
    _into("int", "pair", "extremes", "find the pair of the smallest and the largest, (0, 0) if there is none | make a pair of their minimum and maximum, (0, 0) without any", "low = high = None", "if low is None or {v} < low:\n    low = {v}\nif high is None or {v} > high:\n    high = {v}", "pair = (0, 0)\nif low is not None:\n    pair = (low, high)", result="pair"),
    _into("int", "pair", "two_largest", "find the pair of the largest and the second largest, both at least 0 | make a pair of the two largest, largest first, with 0 for what is missing or negative", "first = second = 0", "if {v} > first:\n    first, second = {v}, first\nelif {v} > second:\n    second = {v}", "pair = (first, second)", result="pair"),
    _into("int", "int", "alternating", "add the first, subtract the second, add the third and so on | compute their alternating sum, the first counted positive", "total = 0\nsign = 1", "total += sign * {v}\nsign = -sign"),
    _into("int", "int", "horner", "combine them into one number, multiplying by {k} before adding each | starting at 0, for each multiply the result by {k} and add it", "total = 0", "total = total * {k} + {v}"),
    _into("int", "int", "weighted", "add each times its rank, the first counting once | compute the sum of each times its position from 1", "total = 0\nrank = 0", "rank += 1\ntotal += rank * {v}"),
    _into("int", "int", "floor_sum", "add them up one by one, going back to 0 whenever the sum is negative | compute a running sum that never falls below 0 and take its end", "total = 0", "total += {v}\nif total < 0:\n    total = 0"),
    _into("int", "int", "best_run", "find the largest sum of consecutive ones of them, at least 0 | compute the greatest total of a contiguous stretch, 0 at the least", "best = 0\ntotal = 0", "total = max(0, total + {v})\nbest = max(best, total)"),
    _into("int", "int", "longest_rise", "find the length of the longest stretch in which each is greater than the one before | compute the length of the longest strictly rising stretch", "best = 0\nrun = 0\nlast = None", "if last is not None and {v} > last:\n    run += 1\nelse:\n    run = 1\nlast = {v}\nbest = max(best, run)"),
    _into("int", "int", "sign_changes", "count how often one is negative and the next is not, or the reverse | compute how many times they change between negative and not negative", "count = 0\nlast = None", "if last is not None and (last < 0) != ({v} < 0):\n    count += 1\nlast = {v}"),
    _into("int", "int", "rises", "count how many are greater than the one before | compute how often the next is greater", "count = 0\nlast = None", "if last is not None and {v} > last:\n    count += 1\nlast = {v}"),
    _into("int", "int", "xor", "combine them with bitwise exclusive or, starting from 0 | compute the exclusive or of their bits, 0 without any", "bits = 0", "bits ^= {v}"),
    _into("int", "int", "gcd", "find the greatest common divisor of them all, 0 if there is none | compute their greatest common divisor, starting from 0", "total = 0", "rest = abs({v})\nwhile rest > 0:\n    total, rest = rest, total % rest"),
    _into("int", "int", "sum_difference", "add those that {p} and subtract the others | compute the sum of those that {p} minus the sum of the rest", "total = 0", "if {cond}:\n    total += {v}\nelse:\n    total -= {v}", asks="cond"),
    _into("int", "list[int]", "chunk_totals", "collect the sums of each {k} in a row, a shorter rest included | gather the totals of successive groups of {k}, also of an incomplete last one", "result = []\ntotal = 0\ncount = 0", "total += {v}\ncount += 1\nif count == {k}:\n    result.append(total)\n    total = count = 0", "if count > 0:\n    result.append(total)"),
    _into("int", "list[int]", "insert", "insert each into a list so that it stays in ascending order | build an ascending list by insertion", "result = []", "j = 0\nwhile j < len(result) and result[j] < {v}:\n    j += 1\nresult.insert(j, {v})"),
    _into("int", "str", "digits_joined", "write them one after the other, joined by {g} | build a string of them, separated by {g}", 'joined = ""', "if joined:\n    joined += {g}\njoined += str({v})"),
]  # fmt: skip

_ANY = [
    _into("any", "int", "count", "count them | find how many there are", "count = 0", "count += 1"),
    _into("any", "list[v]", "list", "collect them in a list | make a list of them | append each to a list", "result = []", "result.append({v})"),
    _into("any", "list[v]", "list_front", "put each in front of a list | build a list of them in reverse order", "result = []", "result.insert(0, {v})"),
    _into("any", "list[v]", "list_unique", "collect the different ones in a list, in order | make a list of them without repetitions", "result = []", "if {v} not in result:\n    result.append({v})"),
    _into("any", "list[v]", "list_both_ends", "put those that {p} in front of a list and the others at its end | build a list, each added at the front if it {s}, at the end otherwise", "result = []", "if {cond}:\n    result.insert(0, {v})\nelse:\n    result.append({v})", asks="cond"),
    _into("any", "list[v]", "those_first", "make a list of those that {p}, followed by the others | collect those that {p} and the others apart, and join the two lists", "result = []\nothers = []", "if {cond}:\n    result.append({v})\nelse:\n    others.append({v})", "result = result + others", asks="cond"),
    _into("any", "pair", "count_both", "make a pair of how many {p} and how many do not | count those that {p} and the others, as a pair", "yes = no = 0", "if {cond}:\n    yes += 1\nelse:\n    no += 1", "pair = (yes, no)", asks="cond", result="pair"),
    _into("any", "int", "longest_stretch", "find the length of the longest stretch of ones that {p} | compute how many in a row {p} at most", "best = 0\nrun = 0", "if {cond}:\n    run += 1\n    best = max(best, run)\nelse:\n    run = 0", asks="cond"),
    _into("any", "int", "count_if", "count those that {p} | find how many of them {p}", "count = 0", "if {cond}:\n    count += 1", asks="cond"),
    _into("any", "int", "score", "score {k} points for each that {s} and lose 1 for each other | give {k} for each that {s}, take 1 for any other, and add up", "score = 0", "if {cond}:\n    score += {k}\nelse:\n    score -= 1", asks="cond"),
    _into("any", "int", "last_rank", "find the rank of the last that {s}, counting from 1, or 0 | compute at which place, from 1, the last one that {s} comes, 0 if none does", "place = 0\ncount = 0", "count += 1\nif {cond}:\n    place = count", asks="cond"),
    _returns("any", "bool", "any", "return True if any of them {s}, else False | return whether at least one {s}", "if {cond}:\n    return True", "return False", asks="cond"),
    _returns("any", "bool", "all", "return False if any of them {not_s}, else True | return whether every one {s}", "if {ncond}:\n    return False", "return True", asks="cond"),
    _returns("any", "int", "first_rank", "return the rank of the first that {s}, counting from 1, or -1 | return at which place, from 1, the first one that {s} comes, -1 if none does", "count += 1\nif {cond}:\n    return count", "return -1", asks="cond", init="count = 0"),
    _returns("any", "bool", "at_least_k", "return True if at least {k} of them {p}, else False | return whether {k} or more of them {p}", "if {cond}:\n    count += 1\n    if count == {k}:\n        return True", "return False", asks="cond", init="count = 0"),
    _returns("any", "any", "first_that", "return the first that {s}, or None | return the first one that {s}, None if none does", "if {cond}:\n    return {v}", "return None", asks="cond"),
    _returns("any", "any", "second", "return the second of them, or None | return the second one, None if there are fewer", "count += 1\nif count == 2:\n    return {v}", "return None", init="count = 0"),
    _into("any", "counts[v]", "count_each", "count how often each occurs, in a dictionary | build a dictionary from each to its number of occurrences", "result = {{}}", "if {v} not in result:\n    result[{v}] = 0\nresult[{v}] += 1"),
    _into("any", "counts[by]", "count_by", "count them in a dictionary by {np} | build a dictionary that counts them by {np}", "result = {{}}", "if g not in result:\n    result[g] = 0\nresult[g] += 1", asks="by"),
    _into("any", "groups[by,v]", "group_by", "group them into lists, in a dictionary by {np} | build a dictionary from {np} to the list of those that have it", "result = {{}}", "if g not in result:\n    result[g] = []\nresult[g].append({v})", asks="by"),
    _into("any", "groups[v,int]", "places", "build a dictionary from each to the list of its ranks, counting from 0 | list in a dictionary at which places, from 0, each occurs", "result = {{}}\nplace = 0", "if {v} not in result:\n    result[{v}] = []\nresult[{v}].append(place)\nplace += 1"),
    _into("int", "counts[by]", "sum_by", "add them up in a dictionary by {np} | build a dictionary from {np} to the sum of those that have it", "result = {{}}", "if g not in result:\n    result[g] = 0\nresult[g] += {v}", asks="by"),
    _into("int", "counts[by]", "max_by", "keep in a dictionary the largest by {np} | build a dictionary from {np} to the largest of those that have it", "result = {{}}", "if g not in result or {v} > result[g]:\n    result[g] = {v}", asks="by"),
    _into("int", "counts[v]", "map_to", "build a dictionary from each to {np} | make a dictionary that holds {np} for each", "result = {{}}", "result[{v}] = g", asks="by int"),
    _into("str", "counts[v]", "word_to", "build a dictionary from each to {np} | make a dictionary that holds {np} for each", "result = {{}}", "result[{v}] = g", asks="by int"),
    _returns("any", "any", "best_by", "return the one for which {np} is largest, the first of equals, or None | return the first with the greatest value of {np}, None without any", "if top is None or g > top:\n    best, top = {v}, g", "return best", init="best = top = None", asks="by int"),
    _returns("any", "any", "least_by", "return the one for which {np} is smallest, the first of equals, or None | return the first with the least value of {np}, None without any", "if low is None or g < low:\n    best, low = {v}, g", "return best", init="best = low = None", asks="by int"),
    _into("any", "int", "sum_of", "add up {np} over all of them | compute the total of {np}", "total = 0", "total += g", asks="by int"),
    _into("any", "pair", "count_changes", "make a pair of how many there are and how many differ from the one before | count them, and those that differ from the previous one, as a pair", "count = changes = 0\nlast = None", "if count > 0 and {v} != last:\n    changes += 1\nlast = {v}\ncount += 1", "pair = (count, changes)", result="pair"),
    _into("any", "int", "repeats_count", "count how many equal the one just before | compute how often one is followed by an equal one", "count = 0\nlast = None", "if {v} == last:\n    count += 1\nlast = {v}"),
]  # fmt: skip

_STR = [
    _into("str", "str", "joined", "join them with {g} | build a string of them, separated by {g}", 'joined = ""', "if joined:\n    joined += {g}\njoined += {v}"),
    _into("str", "str", "joined_back", "join them in reverse order with {g} | build a string of them, the last first, separated by {g}", 'joined = ""', "if joined:\n    joined = {g} + joined\njoined = {v} + joined"),
    _into("str", "int", "total_length", "add up their lengths | find how many characters they have together", "total = 0", "total += len({v})"),
    _into("str", "str", "longest", "find the longest, the first of equals | take the first of the longest ones, an empty string without any", 'best = ""', "if len({v}) > len(best):\n    best = {v}"),
    _into("str", "str", "last_longest", "find the longest, the last of equals | take the last of the longest ones, an empty string without any", 'best = ""', "if len({v}) >= len(best):\n    best = {v}"),
    _into("str", "str", "shortest", "find the shortest, the first of equals, an empty string if there is none | take the first of the shortest ones, an empty string without any", "best = None", "if best is None or len({v}) < len(best):\n    best = {v}", 'if best is None:\n    best = ""'),
    _into("str", "str", "greatest", "find the last in sorted order, an empty string if there is none | take the one that sorts last, an empty string without any", 'best = ""', "if {v} > best:\n    best = {v}"),
    _into("str", "str", "initials", "string together their first characters | build a string of their initials", 'joined = ""', "joined += {v}[:1]"),
    _into("str", "str", "marked", "join them with {g}, those that {p} in capitals | build a string of them separated by {g}, in upper case where one {s}", 'joined = ""', "if joined:\n    joined += {g}\nif {cond}:\n    joined += {v}.upper()\nelse:\n    joined += {v}", asks="cond"),
    _into("str", "counts[str]", "letters_over", "count all their characters in a dictionary | build a dictionary of how often each character occurs in them", "result = {{}}", "for ch in {v}:\n    if ch not in result:\n        result[ch] = 0\n    result[ch] += 1"),
    _into("str", "counts[by]", "longest_by", "keep in a dictionary the greatest length by {np} | build a dictionary from {np} to the greatest length of those that have it", "result = {{}}", "if g not in result or len({v}) > result[g]:\n    result[g] = len({v})", asks="by"),
    _into("str", "list[str]", "wrapped_lines", "fill lines joined by blanks, beginning a new one when it would exceed 12 characters | make a list of lines, words joined by blanks, of up to 12 characters where possible", 'result = []\njoined = ""', 'if joined and len(joined) + 1 + len({v}) > 12:\n    result.append(joined)\n    joined = {v}\nelif joined:\n    joined += " " + {v}\nelse:\n    joined = {v}', "if joined:\n    result.append(joined)"),
]  # fmt: skip

_CHR = [
    _into("chr", "str", "string", "put them together to a string | build a string of them", 'joined = ""', "joined += {v}"),
    _into("chr", "str", "string_back", "put them together to a string in reverse order | build a string of them, each in front", 'joined = ""', "joined = {v} + joined"),
    _into("chr", "str", "string_unique", "build a string of the different ones in order | put them together to a string without repetitions", 'joined = ""', "if {v} not in joined:\n    joined += {v}"),
    _into("chr", "str", "string_apart", "build a string of those that {p}, followed by the others | put those that {p} and the others in two strings and join them", 'joined = ""\nothers = ""', "if {cond}:\n    joined += {v}\nelse:\n    others += {v}", "joined += others", asks="cond"),
    _into("chr", "str", "string_marked", "build a string of them, with {g} in place of those that {p} | put them together to a string, writing {g} where one {s}", 'joined = ""', "if {cond}:\n    joined += {g}\nelse:\n    joined += {v}", asks="cond"),
    _into("chr", "str", "string_cut", "build a string of them with {g} after every {k} | put them together to a string, adding {g} after each {k} of them", 'joined = ""\ncount = 0', "joined += {v}\ncount += 1\nif count % {k} == 0:\n    joined += {g}"),
    _into("chr", "str", "run_lengths", "build a string of each run of equal ones as the character and its count | encode runs of equal ones as the character followed by how many", 'joined = ""\nlast = ""\nrun = 0', 'if {v} == last:\n    run += 1\nelse:\n    if run > 0:\n        joined += last + str(run)\n    last = {v}\n    run = 1', "if run > 0:\n    joined += last + str(run)"),
    _into("chr", "list[str]", "pieces", "make a list of the strings between those that {p} | cut them into strings at those that {p}, as a list", 'result = []\njoined = ""', 'if {cond}:\n    result.append(joined)\n    joined = ""\nelse:\n    joined += {v}', "result.append(joined)", asks="cond"),
]  # fmt: skip

_KEYED = [
    _into("key:int", "counts[key]", "key_sums", "add them up by {key} in a dictionary | build a dictionary from each {key} to its sum", "result = {{}}", "if {key} not in result:\n    result[{key}] = 0\nresult[{key}] += {v}"),
    _into("key:int", "counts[key]", "key_max", "keep in a dictionary the largest by {key} | build a dictionary from each {key} to its largest number", "result = {{}}", "if {key} not in result or {v} > result[{key}]:\n    result[{key}] = {v}"),
    _into("key:any", "counts[key]", "key_counts", "count them by {key} in a dictionary | build a dictionary from each {key} to how many it has", "result = {{}}", "if {key} not in result:\n    result[{key}] = 0\nresult[{key}] += 1"),
    _into("key:any", "groups[key,v]", "key_lists", "collect them in lists by {key}, in a dictionary | build a dictionary from each {key} to its list", "result = {{}}", "if {key} not in result:\n    result[{key}] = []\nresult[{key}].append({v})"),
    _into("key:int", "counts[key]", "key_last", "store each under its {key} in a dictionary, later ones replacing earlier | build a dictionary from each {key} to its last number", "result = {{}}", "result[{key}] = {v}"),
    _into("key:int", "counts[key]", "key_first", "store each under its {key} in a dictionary, unless it has the {key} already | build a dictionary from each {key} to its first number", "result = {{}}", "if {key} not in result:\n    result[{key}] = {v}"),
    _into("key:any", "groups[v,key]", "invert", "build a dictionary from each to the list of its {key}s | list in a dictionary which {key}s each comes with", "result = {{}}", "if {v} not in result:\n    result[{v}] = []\nresult[{v}].append({key})"),
    _into("key:any", "groups[by,key]", "keys_by", "group the {key}s into lists, in a dictionary by {np} | build a dictionary from {np} to the list of {key}s that have it", "result = {{}}", "if g not in result:\n    result[g] = []\nresult[g].append({key})", asks="by"),
    _into("key:any", "list[key]", "key_list", "make a list of their {key}s | collect the {key}s in a list", "result = []", "result.append({key})"),
    _into("key:any", "list[key]", "keys_if", "make a list of the {key}s of those that {p} | collect the {key} of each that {s}", "result = []", "if {cond}:\n    result.append({key})", asks="cond"),
    _into("key:any", "list[key]", "keys_unique", "make a list of their different {key}s in order | collect the {key}s in a list without repetitions", "result = []", "if {key} not in result:\n    result.append({key})"),
    _into("key:any", "list[str]", "labels", 'make a list of strings of {key}, "=" and value | collect each as a string, its {key} and it with "=" between', "result = []", 'result.append(str({key}) + "=" + str({v}))'),
    _into("key:any", "str", "label_line", 'join them to one string, each as {key}, ":" and value, separated by {g} | build a string of each {key}, a ":" and it, with {g} in between', 'joined = ""', 'if joined:\n    joined += {g}\njoined += str({key}) + ":" + str({v})'),
    _returns("key:int", "any", "key_of_max", "return the {key} of the largest, the first of equals, or None | return the {key} whose number is largest, the first in a tie, None without any", "if top is None or {v} > top:\n    best, top = {key}, {v}", "return best", init="best = top = None"),
    _returns("key:int", "any", "key_of_min", "return the {key} of the smallest, the first of equals, or None | return the {key} whose number is smallest, the first in a tie, None without any", "if low is None or {v} < low:\n    best, low = {key}, {v}", "return best", init="best = low = None"),
    _returns("key:any", "any", "key_first_that", "return the {key} of the first that {s}, or None | return the {key} of the first one that {s}, None if none does", "if {cond}:\n    return {key}", "return None", asks="cond"),
    _into("key:int", "counts[key]", "key_gain", "add up in a dictionary by {key} those that {p}, and subtract the others | build a dictionary from each {key} to the sum of what {s} minus the rest", "result = {{}}", "if {key} not in result:\n    result[{key}] = 0\nif {cond}:\n    result[{key}] += {v}\nelse:\n    result[{key}] -= {v}", asks="cond"),
]  # fmt: skip

COLLECTORS: tuple[Op, ...] = (*_INT, *_ANY, *_STR, *_CHR, *_KEYED)
