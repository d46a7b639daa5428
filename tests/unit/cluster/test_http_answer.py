"""Answers taken apart: the same in whatever pieces they come, and refused when they are not right."""

import gc
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cluster.transport.http_answer import LARGEST_HEAD, AnswerParser, Irregular

HEAD = b"HTTP/1.1 200 OK\r\n"
ONE = b"Content-Length: 1\r\n\r\nx"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

# The answer, its status, its body, whether the connection can be used again.
VALID = [
    pytest.param(HEAD + b"Content-Length: 5\r\n\r\nhello", 200, b"hello", True, id="a counted body"),
    pytest.param(HEAD + b"content-length:0\r\n\r\n", 200, b"", True, id="an empty body"),
    pytest.param(HEAD + b"A: b\r\nA: c\r\nX-Y: \xe9\r\n" + ONE, 200, b"x", True, id="other headers"),
    pytest.param(b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", 200, b"x", True, id="a status without a phrase"),
    pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True, id="no content, so no length"),
    pytest.param(CHUNKED + b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n", 200, b"hello!", True, id="chunks"),
    pytest.param(CHUNKED + b"00A;x=y\r\n0123456789\r\n0;z\r\n\r\n", 200, b"0123456789", True, id="extensions"),
    pytest.param(CHUNKED + b"1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n", 200, b"x", True, id="trailers"),
    pytest.param(CHUNKED + b"2\r\n\r\n\r\n0\r\n\r\n", 200, b"\r\n", True, id="line breaks inside of a chunk"),
    pytest.param(CHUNKED + b"0\r\n\r\n", 200, b"", True, id="no chunks"),
    pytest.param(HEAD + b"transfer-ENCODING: Chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200, b"x", True, id="capitals"),
    pytest.param(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + HEAD + ONE,
        200, b"x", True, id="interim answers before the real one",
    ),
    pytest.param(HEAD + b"Connection: x, Close\r\n" + ONE, 200, b"x", False, id="it says that it closes"),
    pytest.param(HEAD + b"Connection: x\r\nConnection: close\r\n" + ONE, 200, b"x", False, id="it says so last"),
    pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False, id="an old server"),
    pytest.param(HEAD + b"Content-Length: 1\r\n\r\nxsurplus", 200, b"x", False, id="more than was asked for"),
    pytest.param(HEAD + ONE + HEAD + ONE, 200, b"x", False, id="another answer that nobody asked for"),
    pytest.param(HEAD + b"Connection: close\r\n" + ONE + HEAD + ONE, 200, b"x", False, id="another one after the last"),
    pytest.param(HEAD + b"Content-Encoding: identity\r\n" + ONE, 200, b"x", True, id="not compressed"),
    pytest.param(b"HTTP/1.1 304 No\r\nContent-Length: 7\r\n\r\n", 304, b"", True, id="the length of what is not sent"),
    pytest.param(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + ONE, 200, b"x", True, id="an old server that keeps open"
    ),
    pytest.param(
        b"HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\nContent-Encoding: gzip\r\n\r\n" + HEAD + ONE,
        200, b"x", True, id="fields of an interim answer are not those of the real one",
    ),
]  # fmt: skip

IRREGULAR = [
    pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="another protocol"),
    pytest.param(b"HTTP/2 200 OK\r\n\r\n", id="another version"),
    pytest.param(b"HTTP/1.1 2000 OK\r\n\r\n", id="a status of four digits"),
    pytest.param(b"HTTP/1.1 099 OK\r\n\r\n", id="a status that is none"),
    pytest.param(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", id="a switch to another protocol"),
    pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 11, id="interim answers without end"),
    pytest.param(HEAD + b"No colon\r\n\r\n", id="a header without a colon"),
    pytest.param(HEAD + b"Blank : x\r\n\r\n", id="a blank before the colon"),
    pytest.param(HEAD + b"A: b\r\n c\r\n\r\n", id="a header that is folded"),
    pytest.param(HEAD + b"A: b\x00\r\n\r\n", id="a control character"),
    pytest.param(HEAD + b"A: b\nContent-Length: 0\r\n\r\n", id="a bare line feed"),
    pytest.param(HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", id="two lengths"),
    pytest.param(HEAD + b"Content-Length: -1\r\n\r\n", id="a length below zero"),
    pytest.param(HEAD + b"Content-Length: 1, 1\r\n\r\nx", id="a list of lengths"),
    pytest.param(HEAD + b"Content-Length: \r\n\r\nx", id="an empty length"),
    pytest.param(HEAD + b"Content-Length: 9999999999999999\r\n\r\nx", id="a length beyond all measure"),
    pytest.param(HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks and a length"),
    pytest.param(HEAD + b"Content-Encoding: identity\r\nContent-Encoding: gzip\r\n" + ONE, id="two codings"),
    pytest.param(HEAD + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", id="two transfer codings"),
    pytest.param(b"HTTP/1.1 600 OK\r\n" + ONE, id="a status beyond the last"),
    pytest.param(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="another transfer coding"),
    pytest.param(b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunks of an old server"),
    pytest.param(HEAD + b"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", id="a compressed body"),
    pytest.param(CHUNKED + b"x\r\n", id="a chunk without a size"),
    pytest.param(CHUNKED + b"-1\r\n", id="a chunk below zero"),
    pytest.param(CHUNKED + b"0x1\r\nx\r\n", id="a size with a prefix"),
    pytest.param(CHUNKED + b"1\nx\r\n", id="a chunk line with a bare line feed"),
    pytest.param(CHUNKED + b"1\r\nxy\r\n", id="a chunk that is longer than it said"),
    pytest.param(CHUNKED + b"1" * 17 + b"\r\n", id="a chunk beyond all measure"),
    pytest.param(CHUNKED + b"0\r\nno trailer\r\n\r\n", id="a trailer without a colon"),
    pytest.param(HEAD + b"A: " + b"b" * LARGEST_HEAD + b"\r\n\r\n", id="too many headers"),
    pytest.param(HEAD + b"A: " + b"b" * LARGEST_HEAD, id="headers without end"),
    pytest.param(CHUNKED + b"1;" + b"x" * LARGEST_HEAD, id="a chunk line without end"),
    pytest.param(CHUNKED + b"1\r\nx\r\n1;" + b"x" * (LARGEST_HEAD + 8192), id="a later chunk line without end"),
    pytest.param(CHUNKED + b"0\r\n" + b"A: b\r\n" * 6000, id="trailers without end"),
    pytest.param(HEAD + b"Content-Length: 101\r\n\r\n", id="a body that will be too large"),
    pytest.param(CHUNKED + b"32\r\n" + b"x" * 50 + b"\r\n33\r\n" + b"x" * 51, id="chunks too large together"),
    pytest.param(CHUNKED + b"1000000000\r\n" + b"x" * 101, id="a chunk that is too large by itself"),
    pytest.param(HEAD + b"\r\n" + b"x" * 101, id="a body without a length that is too large"),
]  # fmt: skip


def fed(*pieces: bytes) -> AnswerParser:
    parser = AnswerParser(100)
    for piece in pieces:
        parser.feed(piece)
    return parser


def cut(data: bytes, at: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize(("data", "status", "body", "keeps_open"), VALID)
def test_an_answer_is_read(data: bytes, status: int, body: bytes, keeps_open: bool) -> None:
    for parser in (fed(data), fed(*(data[at : at + 1] for at in range(len(data))))):
        assert (parser.status, b"".join(parser.pieces), parser.is_complete) == (status, body, True)
        assert parser.keeps_open == keeps_open


@given(case=st.sampled_from(VALID), at=st.lists(st.integers(0, 500), max_size=20))
def test_how_it_is_split_makes_no_difference(case: Any, at: list[int]) -> None:
    data, status, body, keeps_open = case.values
    parser = fed(*cut(data, at))
    assert (parser.status, b"".join(parser.pieces), parser.is_complete) == (status, body, True)
    assert parser.keeps_open == keeps_open


@pytest.mark.parametrize("data", IRREGULAR)
def test_what_is_not_right_is_refused(data: bytes) -> None:
    with pytest.raises(Irregular):
        fed(data)


@given(case=st.sampled_from(IRREGULAR), at=st.lists(st.integers(0, 500), max_size=20))
def test_it_is_refused_in_pieces_too(case: Any, at: list[int]) -> None:
    with pytest.raises(Irregular):
        fed(*cut(case.values[0], at))


@given(data=st.binary(max_size=200), at=st.lists(st.integers(0, 200), max_size=5))
def test_garbage_is_refused_or_waited_for_and_nothing_else(data: bytes, at: list[int]) -> None:
    for prefix in (b"", HEAD, CHUNKED):
        try:
            parser = fed(prefix, *cut(data, at))
        except Irregular:
            continue
        assert len(b"".join(parser.pieces)) <= 100


@given(cases=st.lists(st.sampled_from([case for case in VALID if case.values[3]]), max_size=5), size=st.integers(1, 99))
def test_one_connection_has_one_answer_after_the_other(cases: list[Any], size: int) -> None:
    parser = AnswerParser(0)
    for case in cases:
        data, status, body, _ = case.values
        parser.expect(100)
        assert not parser.has_begun
        for at in range(0, len(data), size):
            parser.feed(data[at : at + size])
        assert (parser.status, parser.taken(), parser.is_complete) == (status, body, True)
        assert parser.keeps_open
        assert not parser.pieces


@given(
    case=st.sampled_from(VALID),
    at=st.integers(0, 300),
    length=st.integers(0, 5),
    other=st.binary(max_size=5),
    cuts=st.lists(st.integers(0, 500), max_size=5),
)
def test_an_answer_with_a_fault_is_refused_or_read_and_nothing_else(
    case: Any, at: int, length: int, other: bytes, cuts: list[int]
) -> None:
    data = case.values[0]
    at %= len(data)
    parser = AnswerParser(100)
    try:
        for piece in cut(data[:at] + other + data[at + length :], cuts):
            parser.feed(piece)
            if parser.is_complete:
                break
    except Irregular:
        return
    assert len(parser.taken()) <= 100
    assert isinstance(parser.end(), bool)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(HEAD + b"Content-Length: 5\r\n\r\nhell", id="a counted body"),
        pytest.param(HEAD + b"Content-Le", id="a header"),
        pytest.param(CHUNKED + b"5\r\nhello", id="a chunk"),
        pytest.param(CHUNKED + b"5\r\nhello\r\n", id="the last chunk is missing"),
        pytest.param(CHUNKED + b"5\r\nhello\r\n0\r\n", id="the end of the trailers is missing"),
        pytest.param(b"", id="everything"),
    ],
)
def test_an_end_in_the_middle_is_no_whole_answer(data: bytes) -> None:
    parser = fed(data)
    assert not parser.is_complete
    assert not parser.end()


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    parser = fed(b"HTTP/1.0 503 Service Unavailable\r\nConnection: close\r\n\r\n", b"<html>", b"</html>")
    assert not parser.is_complete
    assert parser.end()
    assert (parser.status, b"".join(parser.pieces), parser.keeps_open) == (503, b"<html></html>", False)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        pytest.param(b"7", 7.0, id="seconds"),
        pytest.param(b"Fri, 31 Dec 1999 23:59:59 GMT", None, id="a date is not read"),
        pytest.param(b"9999999", None, id="weeks are not believed"),
    ],
)
def test_when_to_come_again(value: bytes, seconds: float | None) -> None:
    parser = fed(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: " + value + b"\r\nContent-Length: 0\r\n\r\n")
    assert parser.retry_after == seconds


def test_many_small_chunks_are_no_long_line() -> None:
    parser = AnswerParser(None)
    parser.feed(CHUNKED + b"1\r\nx\r\n" * 40_000)
    parser.feed(b"1\r\nx\r\n" * 40_000 + b"0\r\n\r\n")
    assert (parser.is_complete, len(parser.taken())) == (True, 80_000)


def test_a_closed_one_is_no_garbage() -> None:
    gc.disable()
    try:
        while gc.collect():  # what other tests left; its finalizers may leave some more
            pass
        parser = AnswerParser(100)
        parser.feed(HEAD + ONE)
        parser.close()
        del parser
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_stream_has_no_limit() -> None:
    parser = AnswerParser(None)
    parser.feed(CHUNKED)
    for _ in range(100):
        parser.feed(b"400\r\n" + b"x" * 1024 + b"\r\n")
    assert sum(map(len, parser.pieces)) == 100 << 10
