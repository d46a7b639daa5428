"""Lines, however the stream was cut into chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cluster.watch_lines import BrokenStream, WatchLines


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    cuts=st.lists(st.integers(0, 100), max_size=12),
)
def test_the_cuts_do_not_matter(lines: list[bytes], cuts: list[int]) -> None:
    text = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    splitter = WatchLines()
    found = [line for start, end in pairwise(places) for line in splitter.split(text[start:end])]
    assert found == lines
    assert splitter.is_between_lines


@pytest.mark.parametrize(
    ("chunks", "is_whole"),
    [
        pytest.param([b"ab", b"\n"], True, id="a line that came in two chunks is whole"),
        pytest.param([b"ab\nc"], False, id="a stream can end in the middle of a line"),
        pytest.param([b""], True, id="an empty chunk begins no line"),
    ],
)
def test_the_end(chunks: list[bytes], is_whole: bool) -> None:
    splitter = WatchLines()
    for chunk in chunks:
        splitter.split(chunk)
    assert splitter.is_between_lines is is_whole


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([b"123456789"], id="in one chunk that does not end it"),
        pytest.param([b"12345678", b"9"], id="growing chunk by chunk"),
        pytest.param([b"12345", b"6789\n"], id="ending in the chunk that makes it too long"),
        pytest.param([b"a\n12345", b"6789"], id="after another line"),
    ],
)
def test_a_line_that_is_too_long_breaks_the_stream(chunks: list[bytes]) -> None:
    splitter = WatchLines(longest=8)
    *before, last = chunks
    for chunk in before:
        splitter.split(chunk)
    with pytest.raises(BrokenStream, match="more than 8 bytes"):
        splitter.split(last)


def test_the_longest_line_passes() -> None:
    splitter = WatchLines(longest=8)
    assert splitter.split(b"12345") == []
    assert splitter.split(b"678\n12345678\n") == [b"12345678", b"12345678"]
