"""No expression stalls the scheduler, fills its memory or raises anything but its own errors."""

import time
import tracemalloc
from itertools import islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import cel_expressions
from kit.cel_scene import answer, device
from kit.tiers import examples
from pilotage.model.cel import (
    AttributeValue,
    CelDevice,
    CelQuantity,
    CompileError,
    EvaluationError,
    Selector,
    compile_selector,
)

LONGEST = 0.6  # seconds of CPU; many times what it takes, because other tests run beside this one
MOST = 128 << 20  # bytes

TEN = "[0,1,2,3,4,5,6,7,8,9]"
TOO_COSTLY = "operation cancelled: actual cost limit exceeded"
TOKENS = [
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        "?",
        ":",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "<",
        "<=",
        "==",
        "!=",
        "&&",
        "||",
    ),
    *("in", "true", "null", "device", "attributes", "x", "y", "has", "all", "map", "cel", "bind", "optMap", "matches"),
    *('"a"', "'''b'''", 'r"\\d"', "b'c'", "1", "2.5", "3u", "0x1F", "`a.b`", "//", "\n", '"', "\\", "é", "\x00"),
]


def _bound(times: int, step: str, start: str, end: str) -> str:
    """Return an expression whose variables are each made from the one before."""
    made = "".join(f"cel.bind(v{number + 1}, {step.replace('?', f'v{number}')}, " for number in range(times))
    return f"cel.bind(v0, {start}, {made}{end.replace('?', f'v{times}')}{')' * (times + 1)}"


# All of them must give something; where what they give is known it is told.
HOSTILE = {
    "a thousand parentheses": (f"{'(' * 1000}true{')' * 1000}", None),
    "eighty parentheses": (f"{'(' * 80}true{')' * 80}", True),
    "a thousand brackets": (f"{'[' * 1000}1{']' * 1000} == []", None),
    "a thousand negations": (f"{'!' * 1000}true", True),
    "a sum of two thousand numbers": (f"{'1+' * 2000}1 > 0", None),
    "a thousand alternatives": (" || ".join(["device.driver == 'x'"] * 400), False),
    "a chain of conditions": (f"{'false ? false : ' * 500}true", None),
    "a thousand fields": (f"device.attributes['a']{'.a' * 1000} == 1", None),
    "a list of five thousand numbers": (f"[{'1,' * 5000}1].size() == 5001", True),
    "longer than an expression may be": (f"true{' ' * 10_240}", None),
    "seven loops in each other": (
        "".join(f"{TEN}.all({name}, " for name in "abcdefg") + "true" + ")" * 7,
        TOO_COSTLY,
    ),
    "six maps in each other": (
        "".join(f"{TEN}.map({name}, " for name in "abcdef") + "1" + ")" * 6 + ".size() == 10",
        TOO_COSTLY,
    ),
    "a text that doubles sixty times": (_bound(60, "? + ?", '"0123456789"', "?.size() > 0"), TOO_COSTLY),
    "a list that doubles sixty times": (_bound(60, "? + ?", "[1]", "?.size() > 0"), TOO_COSTLY),
    "a list of itself, twice, sixty times": (_bound(60, "[?, ?]", "[1]", "? == ?"), TOO_COSTLY),
    "a map of itself, twice, forty times": (_bound(40, '{"a": ?, "b": ?}', "{}", "? == ?"), TOO_COSTLY),
    "a text that is replaced by itself": (_bound(50, '?.replace("a", "aa")', '"aaaa"', "?.size() > 0"), TOO_COSTLY),
    "a text between its own characters": (_bound(50, '?.replace("", ?)', '"aaaa"', "?.size() > 0"), TOO_COSTLY),
    "a list that is joined by itself": (_bound(50, '?.split("").join(?)', '"aaaa"', "?.size() > 0"), TOO_COSTLY),
    "a formatted text of itself": (_bound(60, '"%s%s".format([?, ?])', '"aaaa"', "?.size() > 0"), TOO_COSTLY),
    "precise numbers in a loop": (
        'lists.range(100000).map(x, "%.1000f".format([1.5])).size() > 0',
        TOO_COSTLY,
    ),
    "a range in a loop": ("lists.range(5000).all(x, lists.range(100000).size() > 0)", TOO_COSTLY),
    "each once of many": ("lists.range(100000).distinct().size() > 0", TOO_COSTLY),
    "sets of many": ("sets.contains(lists.range(10000), lists.range(10000))", TOO_COSTLY),
    "a list compared in a loop": (
        "cel.bind(a, lists.range(10000), lists.range(10000).all(x, a == lists.range(10000)))",
        TOO_COSTLY,
    ),
    "a search in a loop": ("cel.bind(a, lists.range(50000), a.all(x, x in a))", TOO_COSTLY),
    "a search in what is written, in a loop": (f"lists.range(100000).all(x, !(x in [{'-1,' * 3000}-1]))", TOO_COSTLY),
    "long texts compared in a loop": (
        _bound(18, "? + ?", '"0123456789"', "lists.range(10000).all(x, ? <= ?)"),
        TOO_COSTLY,
    ),
    "a long list as text": ('"%s".format([lists.range(400000)]).size() > 0', TOO_COSTLY),
    "sorted in a loop": ("cel.bind(a, lists.range(10000), a.all(x, a.sort() == a))", TOO_COSTLY),
    "a pattern that goes back and tries again": (f'"{"a" * 60}!".matches("^(a+)+$")', False),
    "a pattern of patterns": (f'"{"a" * 1000}".matches("(((a*)*)*)*b")', None),
    "a pattern of all counts": (f'"{"a" * 60}".matches("(a?){{30}}a{{30}}(a|a|a|a)*$")', True),
    "a pattern that is repeated too often": ('"a".matches("((a{100}){100}){100}")', None),
    "a pattern with too many steps": (f'"a".matches("{"a{1000}" * 50}")', None),
    "a pattern with too many groups": (f'"a".matches("{"(" * 2000}a{")" * 2000}")', None),
    "a pattern in a loop": (
        f'cel.bind(t, "{"ab" * 500}", lists.range(10000).all(x, t.find("(a|b|ab)*c") == ""))',
        TOO_COSTLY,
    ),
    "patterns that are all different": (
        'lists.range(20000).all(x, !"aaaa".matches("(a|b|c|d|e|f|g|h)*" + string(x)))',
        TOO_COSTLY,
    ),
    "a format in a loop": (
        f'cel.bind(t, "{"a-" * 400}!", lists.range(20000).all(x, format.dns1123Subdomain().validate(t).hasValue()))',
        TOO_COSTLY,
    ),
    "a number of ten thousand digits": (f"{'9' * 10_000} == 1", None),
    "a text of digits that is no number": (f'int("{"9" * 10_000}") == 1', None),
    "a quantity of ten thousand digits": (f'quantity("{"9" * 10_000}").isInteger()', None),
    "a steep quantity": ('quantity("1e999999999").isInteger()', None),
    "a version of ten thousand digits": (f'semver("{"9" * 10_000}.1.1").major() == 1', None),
    "a network of ten thousand characters": (f'isCIDR("{"1:" * 5000}")', False),
    "a span of ten thousand digits": (f'duration("{"9" * 10_000}h") > duration("1h")', None),
    "a text that does not end": (f'"{"a" * 10_000}', None),
    "a text of escapes that does not end": ('"' + r"\"" * 5000, None),
    "half a quote, often": ("'''" * 3000, None),
}


@pytest.mark.parametrize(("expression", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_it_is_answered_soon(expression: str, expected: bool | str | None) -> None:
    tracemalloc.start()
    try:
        start = time.thread_time()
        given_answer = answer(expression)
        spent = time.thread_time() - start
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert expected is None or given_answer == expected
    assert spent < LONGEST * 4  # tracing makes it slower
    assert most < MOST


@given(
    st.from_regex(r"[+-]?[0-9]{1,400}(\.[0-9]{0,400})?([KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]{1,6})", fullmatch=True),
)
@examples(200)
def test_a_quantity_that_the_api_accepts_is_read(text: str) -> None:
    amount = CelQuantity.parse(text)
    assert amount.compare(amount) == 0
    assert amount.plus(amount).compare(amount) in (-1, 0, 1)
    assert isinstance(amount.approximate_float(), float)


@given(st.text(max_size=200))
@examples(400)
def test_any_text_compiles_or_is_refused(text: str) -> None:
    _compiled(text)


@given(st.lists(st.sampled_from(TOKENS), max_size=40).map(" ".join))
@examples(800)
def test_any_tokens_compile_or_are_refused(text: str) -> None:
    _compiled(text)


@given(st.integers(0, 2**32), st.integers(0, 300), st.text(max_size=3))
@examples(400)
def test_a_damaged_expression_compiles_or_is_refused(seed: int, place: int, damage: str) -> None:
    expression = next(cel_expressions.expressions(seed))
    _compiled(expression[:place] + damage + expression[place + 1 :])


@given(st.integers(0, 2**32))
@examples(400)
def test_a_compiled_expression_gives_a_bool_or_its_own_error(seed: int) -> None:
    selector = _compiled(next(cel_expressions.expressions(seed)))
    if selector is not None:
        assert type(_asked(selector, _device(seed))) in (bool, str)


@given(st.integers(0, 2**32))
@examples(400)
def test_what_an_expression_does_not_mention_does_not_matter(seed: int) -> None:
    random = Random(seed)
    for expression in islice(cel_expressions.expressions(seed), 10):
        selector = _compiled(expression)
        if selector is None:
            continue
        attributes, capacity = _parts(random)
        changed, other = _parts(random)
        _copy_what_matters(selector, "attributes", attributes, changed)
        _copy_what_matters(selector, "capacity", capacity, other)
        one = device(attributes, capacity, cel_expressions.DRIVER)
        two = device(changed, other, cel_expressions.DRIVER)
        assert selector.projection(one) == selector.projection(two)
        assert _asked(selector, one) == _asked(selector, two)


def _copy_what_matters(selector: Selector, kind: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    for name in set(before) | set(after):
        domain, _, key = name.rpartition("/")
        domains = {"", cel_expressions.DRIVER} if domain in ("", cel_expressions.DRIVER) else {domain}
        if selector.mentions is None or any((kind, each, key) in selector.mentions for each in domains):
            after.pop(name, None)
            if name in before:
                after[name] = before[name]


def _compiled(text: str) -> Selector | None:
    start = time.thread_time()
    try:
        return compile_selector.__wrapped__(text)
    except CompileError:
        return None
    finally:
        assert time.thread_time() - start < LONGEST


def _asked(selector: Selector, of: CelDevice) -> bool | str:
    try:
        return selector.matches(of)
    except EvaluationError as error:
        return str(error)


def _parts(random: Random) -> tuple[dict[str, AttributeValue], dict[str, str]]:
    """Return attributes and capacities of a device that was drawn."""
    drawn = cel_expressions.device(random)
    attributes = {name: next(iter(value.values())) for name, value in drawn["attributes"].items()}
    return attributes, {name: value["value"] for name, value in drawn["capacity"].items()}


def _device(seed: int) -> CelDevice:
    attributes, capacity = _parts(Random(seed))
    return device(attributes, capacity, cel_expressions.DRIVER)
