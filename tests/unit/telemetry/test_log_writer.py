"""Lines reach the reader whole and in order; a reader that is stuck costs lines, never time."""

import logging
import os
from collections.abc import Iterator

import pytest

from pilotage.telemetry.klog_text import KlogText
from pilotage.telemetry.log_writer import LineWriter

Pipe = tuple[int, LineWriter]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    """Yield the reading end of a pipe and what writes to the other."""
    reader, writer = os.pipe()
    made = LineWriter(writer)
    made.setFormatter(KlogText())
    os.set_blocking(reader, False)
    yield reader, made
    for end in (reader, writer):
        try:
            os.close(end)
        except OSError:
            continue  # the test closed it


def say(writer: LineWriter, text: str) -> None:
    """Write one record."""
    writer.handle(logging.LogRecord("x", logging.INFO, "cycle.py", 1, text, None, None))


def read(reader: int) -> str:
    """Return what came."""
    text = b""
    while True:
        try:
            text += os.read(reader, 1 << 20)
        except BlockingIOError:
            return text.decode()


def messages(reader: int) -> list[str]:
    """Return what came, without headers."""
    return [line.partition("] ")[2] for line in read(reader).splitlines()]


def test_lines_come_at_once_and_in_order(pipe: Pipe) -> None:
    reader, writer = pipe
    say(writer, "one")
    say(writer, "two")
    assert messages(reader) == ['"one"', '"two"']


def test_a_long_line_comes_whole(pipe: Pipe) -> None:
    reader, writer = pipe
    writer.setFormatter(logging.Formatter("%(message)s"))
    say(writer, "] " + "x" * 30_000)
    assert messages(reader) == ["x" * 30_000]


def test_lines_that_nobody_takes_are_dropped_and_told_of_later(pipe: Pipe) -> None:
    reader, writer = pipe
    while not writer.dropped:
        say(writer, "x" * 1000)
    say(writer, "lost")
    assert writer.dropped == 2
    assert set(messages(reader)) == {f'"{"x" * 1000}"'}
    say(writer, "found")
    say(writer, "again")
    assert messages(reader) == ['"The log could not be written, lines are missing" lines=2', '"found"', '"again"']


def test_after_half_a_line_the_next_begins_on_its_own(pipe: Pipe) -> None:
    reader, writer = pipe
    writer.setFormatter(logging.Formatter("%(message)s"))
    say(writer, "] " + "x" * 200_000)  # more than a pipe holds
    assert writer.dropped == 1
    assert 0 < len(read(reader)) < 200_000
    say(writer, "next")
    assert read(reader) == "\nThe log could not be written, lines are missing\nnext\n"


def test_a_reader_that_is_gone_stops_nobody(pipe: Pipe) -> None:
    reader, writer = pipe
    os.close(reader)
    say(writer, "one")
    say(writer, "two")
    assert writer.dropped == 2


def test_a_record_that_cannot_be_written_stops_nobody(pipe: Pipe) -> None:
    reader, writer = pipe
    writer.setFormatter(logging.Formatter("%(nothing)s"))
    say(writer, "one")
    assert writer.dropped == 1
    writer.setFormatter(KlogText())
    say(writer, "two")
    assert messages(reader)[-1] == '"two"'
