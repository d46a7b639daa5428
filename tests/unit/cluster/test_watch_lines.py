"""Lines, however the stream was cut into chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cluster.watch.watch_lines import BEGINNING, TooLong, WatchLines


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
    ("chunks", "lines"),
    [
        pytest.param([b"123456789\nab\n"], [TooLong(b"123456789"), b"ab"], id="in one chunk"),
        pytest.param([b"12345678", b"9", b"0\nab\n"], [TooLong(b"123456789"), b"ab"], id="growing chunk by chunk"),
        pytest.param([b"12345", b"6789\nab", b"\n"], [TooLong(b"123456789"), b"ab"], id="ending in a later chunk"),
        pytest.param([b"a\n12345", b"6789", b"0\n"], [b"a", TooLong(b"123456789")], id="after another line"),
        pytest.param([b"12345", b"678\n12345678\n"], [b"12345678", b"12345678"], id="the longest one passes"),
    ],
)
def test_a_line_that_is_too_long_is_one_line(chunks: list[bytes], lines: list[bytes | TooLong]) -> None:
    splitter = WatchLines(longest=8)
    assert [line for chunk in chunks for line in splitter.split(chunk)] == lines
    assert splitter.is_between_lines


def test_of_a_line_that_is_too_long_only_the_beginning_is_held() -> None:
    splitter = WatchLines(longest=3 * BEGINNING)
    for _ in range(1_000):
        assert splitter.split(b"x" * BEGINNING) == []
    assert splitter.split(b"\n") == [TooLong(b"x" * BEGINNING)]
