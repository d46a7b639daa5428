"""YAML from anybody: read as kube-scheduler reads it, or refused with file, document and line."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import binary, text

from pilotage.config.documents import LARGEST, Spot, Unreadable, documents, read_file

BOMB = "a: &a [x, x]\n" + "".join(f"{this}: &{this} [*{last}, *{last}]\n" for last, this in pairwise("abcdefgh"))


def values(data: bytes | str) -> list[Any]:
    return [document.value for document in documents(data, "f.yaml")]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("", [], id="an empty text has no document"),
        pytest.param("# nothing\n", [], id="nor has a comment"),
        pytest.param("---\n", [None], id="a mark alone begins an empty one"),
        pytest.param("a: 1\n---\nb: [x, {c: no}]\n", [{"a": 1}, {"b": ["x", {"c": False}]}], id="two documents"),
        pytest.param('{"a": "\\u0041", "b": [1, null, true]}', [{"a": "A", "b": [1, None, True]}], id="JSON"),
        pytest.param('{\n\t"a":\t1\n}', [{"a": 1}], id="JSON with tabs"),
        pytest.param("a: 1.0\nb: 1e2\n", [{"a": 1, "b": 100}], id="a whole number stays one in JSON"),
        pytest.param(
            "a: 'no'\nb: \"014\"\nc: |\n  yes\n", [{"a": "no", "b": "014", "c": "yes\n"}], id="quotes make words"
        ),
        pytest.param("yes: 1\n12: 2\n1.5: 3\n", [{"true": 1, "12": 2, "1.5": 3}], id="keys become words"),
        pytest.param("a: !!str 12\nb: !!int '12'\nc: !!map {}\n", [{"a": "12", "b": 12, "c": {}}], id="known tags"),
        pytest.param(b"\xef\xbb\xbfa: \xc3\xa4\n", [{"a": "ä"}], id="a mark of byte order"),
        pytest.param("'<<': 1\n", [{"<<": 1}], id="a quoted merge key is a word"),
    ],
)
def test_values(data: bytes | str, expected: list[Any]) -> None:
    assert values(data) == expected


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", 'line 3: key "a" already set in map (line 1)', id="a key twice"),
        pytest.param(
            "1: x\n'1': y\n", 'line 2: key "1" already set in map (line 1)', id="a key twice in two spellings"
        ),
        pytest.param(BOMB, "line 1: &a refers to another place; write the value out", id="an alias bomb"),
        pytest.param("a: &x 1\n", "line 1: &x refers", id="an anchor"),
        pytest.param("a: *x\n", "line 1: *x refers", id="an alias to nothing"),
        pytest.param("a: &x [*x]\n", "line 1: &x refers", id="an alias to itself"),
        pytest.param("a:\n  <<: {b: 1}\n", "line 2: << takes fields from another place", id="a merge key"),
        pytest.param("[" * 20_000, "line 1: nested deeper than 100 levels", id="deep nesting in one line"),
        pytest.param(
            "".join(f"{' ' * i}a:\n" for i in range(200)), "line 101: nested deeper", id="deep nesting in many"
        ),
        pytest.param("- " * 5_000, "line 1: nested deeper", id="deep nesting with dashes"),
        pytest.param("a:\n\t- b\n", "found character that cannot start any token; indent with spaces", id="a tab"),
        pytest.param("a: \0\n", "line 1: a character that YAML does not allow", id="NUL"),
        pytest.param(b"a: 1\nb: \xff\n", "line 2: a character that YAML does not allow", id="no UTF-8"),
        pytest.param("a: \ud800", "not valid Unicode", id="half a character"),
        pytest.param("a: [1\n", "line 2: while parsing a flow sequence", id="a list without end"),
        pytest.param("a: 'x\n", "while scanning a quoted scalar", id="a word without end"),
        pytest.param("? [a]\n: 1\n", "line 1: a key must be a word", id="a list for a key"),
        pytest.param("~: 1\n", "line 1: null cannot be a key", id="null for a key"),
        pytest.param("a: .nan\n", "line 1: .nan is not a number that JSON can represent", id="no number"),
        pytest.param("a: !!python/object/new:os.system [x]\n", "line 1: the tag", id="a tag that would make an object"),
        pytest.param("a: !!int x\n", "line 1: 'x' is not what its tag", id="a tag that does not fit"),
        pytest.param("a: 1\n---\nb: 1\nb: 2\n", "f.yaml: document 2, line 4: key", id="the second document"),
        pytest.param("a: " + "x" * LARGEST, "f.yaml: larger than 1048576 bytes", id="too large"),
    ],
)
def test_refused(data: bytes | str, told: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        values(data)
    assert told in str(refusal.value)


def followed(data: str) -> list[Any]:
    return [document.value for document in documents(data, "f.yaml", references=20)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("a: &x 1\nb: *x\n", {"a": 1, "b": 1}, id="a word"),
        pytest.param("a: &x {c: [1]}\nb: *x\n", {"a": {"c": [1]}, "b": {"c": [1]}}, id="a map"),
        pytest.param("&x a: *x\n", {"a": "a"}, id="a key"),
        pytest.param("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}, id="the last of two anchors"),
        pytest.param("<<: {a: 1, b: 2}\nb: 3\n", {"b": 3, "a": 1}, id="a merge key yields to what is written"),
        pytest.param("x: &x {a: 1}\nz: {<<: *x, b: 2}\n", {"x": {"a": 1}, "z": {"a": 1, "b": 2}}, id="a merged map"),
        pytest.param("<<: [{a: 1}, {a: 2, b: 2}]\n", {"a": 1, "b": 2}, id="of several maps the first"),
    ],
)
def test_references_are_followed_where_they_are_allowed(data: str, expected: Any) -> None:
    assert followed(data) == [expected]


def test_what_a_reference_stands_for_is_a_copy() -> None:
    (value,) = followed("a: &x [1]\nb: *x\n")
    assert value["a"] is not value["b"]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(BOMB, "line 4: references stand for more than 20 values", id="an alias bomb"),
        pytest.param("a: *x\n", "*x refers to nothing; an anchor &x must stand before it", id="an alias to nothing"),
        pytest.param("a: &x 1\n---\nb: *x\n", "document 2, line 3: *x refers to nothing", id="of another document"),
        pytest.param("a: &x [*x]\n", "*x stands inside of what it refers to", id="an alias to itself"),
        pytest.param("a: &x 1\n*x : 2\n", "a key must be a word, not a reference", id="an alias for a key"),
        pytest.param("<<: 5\n", "<< takes a map, or a list of maps", id="nothing to merge"),
    ],
)
def test_references_that_cannot_be_followed(data: str, told: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        followed(data)
    assert told in str(refusal.value)


def test_references_do_not_lead_deeper_than_allowed() -> None:
    deep = "a: &a " + "[" * 90 + "]" * 90 + "\nb: " + "[" * 20 + "*a" + "]" * 20
    with pytest.raises(Unreadable, match="nested too deeply, by way of references"):
        list(documents(deep, "f.yaml", references=10**6))


def test_progress_is_told_now_and_then() -> None:
    told: list[tuple[int, int]] = []
    text = "- a\n" * 20_000
    list(documents(text, "f.yaml", progress=lambda done, total: told.append((done, total))))
    assert [total for _, total in told] == [len(text)] * 3
    assert told[0][0] < told[1][0] < told[2][0] <= len(text)


def test_what_comes_before_a_bad_document_is_there() -> None:
    read = documents("a: 1\n---\n]\n", "f.yaml")
    assert next(read).value == {"a": 1}
    with pytest.raises(Unreadable):
        next(read)


@pytest.mark.parametrize(
    ("at", "spot"),
    [
        pytest.param(("b", 1, "c"), Spot(5, "no"), id="a bare word is told as it was written"),
        pytest.param(("b", 0), Spot(4), id="a quoted one is not"),
        pytest.param(("b", 1, "d", "e"), Spot(5), id="for what is not there, what is around it"),
        pytest.param((), Spot(3), id="the whole document"),
    ],
)
def test_spots(at: tuple[str | int, ...], spot: Spot) -> None:
    _, second = documents("x: 1\n---\nb:\n- 'y'\n- c: no\n", "f.yaml")
    assert second.spot(at) == spot


def test_a_file_is_read_no_further_than_allowed() -> None:
    with pytest.raises(Unreadable, match="larger than 5 bytes"):
        read_file(Path("/dev/zero"), largest=5)


@given(binary(max_size=200) | text(alphabet="[]{}:,-?&*!|>'\"%@`#ab1 \n\t", max_size=60))
def test_anything_is_read_or_refused(data: bytes | str) -> None:
    with suppress(Unreadable):
        values(data)
    with suppress(Unreadable):
        list(documents(data, "f.yaml", references=100))
