"""Items of a list, however its JSON was cut into chunks."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cluster.watch import list_items
from pilotage.cluster.watch.list_items import ListItems
from pilotage.cluster.watch.watch_lines import BEGINNING, BrokenStream, TooLong

texts = st.text(st.sampled_from('ab\\"{}[]<,:é'), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, values, max_size=3)
frames = st.permutations(["kind", "metadata", "items", "remaining"])


def pieces(text: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


def split(*chunks: bytes, longest: int = 1 << 20) -> tuple[list[bytes | TooLong], bytes]:
    splitter = ListItems(longest)
    found = [item for chunk in chunks for item in splitter.split(chunk)]
    return found, splitter.frame()


@given(
    items=st.lists(objects, max_size=5),
    order=frames,
    metadata=objects,
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
    has_spaces=st.booleans(),
)
def test_the_cuts_do_not_matter(
    items: list[Any], order: list[str], metadata: Any, cuts: list[int], has_spaces: bool
) -> None:
    parts = {"kind": 'a "List" {[', "metadata": metadata, "items": items, "remaining": [[1], {"items": [{}]}]}
    whole = {key: parts[key] for key in order}
    text = json.dumps(whole, separators=None if has_spaces else (",", ":"), ensure_ascii=False).encode()
    found, frame = split(*pieces(text, cuts))
    assert [json.loads(item) for item in found if isinstance(item, bytes)] == items
    assert json.loads(frame) == {**whole, "items": []}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b'{"items":null,"metadata":{}}', id="no items at all"),
        pytest.param(b'{"items":[],"metadata":{}}', id="an empty list"),
        pytest.param(b"<html>", id="no JSON, which whoever decodes the frame finds out"),
    ],
)
def test_what_has_no_items_is_all_frame(answer: bytes) -> None:
    assert split(answer) == ([], answer)


@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param([], id="in one chunk"),
        pytest.param([30], id="in two"),
        pytest.param(list(range(10_000)), id="byte by byte"),
    ],
)
def test_an_item_that_is_too_long_is_one_item(cuts: list[int]) -> None:
    long = b'{"metadata":{"name":"long"},"x":"' + b"\\u003c" * 2_000 + b'"}'
    text = b'{"items":[{"a":1},' + long + b',{"b":2}]}'
    found, frame = split(*pieces(text, cuts), longest=6_000)
    assert found == [b'{"a":1}', TooLong(long[:BEGINNING]), b'{"b":2}']
    assert frame == b'{"items":[]}'


def test_the_longest_item_passes() -> None:
    assert split(b'{"items":[{"a":1},{"a":12}]}', longest=7) == ([b'{"a":1}', TooLong(b'{"a":12}')], b'{"items":[]}')


@pytest.mark.parametrize(
    ("chunks", "complaint"),
    [
        pytest.param([b'{"items":[{}'], "without an end", id="it breaks off"),
        pytest.param([b""], "without an end", id="nothing comes"),
        pytest.param([b'{"items":[]}}'], "an unmatched bracket", id="it has too many ends"),
        pytest.param([b'{"kind":"', b"x" * 2_000], "bytes around its items", id="the frame has no end"),
    ],
)
def test_what_is_no_list(chunks: list[bytes], complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_items, "LARGEST_FRAME", 1_000)
    with pytest.raises(BrokenStream, match=complaint):
        split(*chunks)
