"""Text as klog writes it; whatever a pod brings along, one record is one line."""

import logging
import os
import re
import sys
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.telemetry.klog_text import LONGEST, KlogText, quoted

ANYTHING = st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.binary() | st.lists(st.text())


def record(message: object, *args: object, level: int = logging.INFO) -> logging.LogRecord:
    """Return a record as the module cycle would make it."""
    return logging.LogRecord("pilotage.x", level, "/some/where/cycle.py", 42, message, args, None)


def line_of(message: object, *args: object, **values: object) -> str:
    """Return what comes after the header."""
    made = record(message, *args)
    made.values = values
    return KlogText().format(made).partition("] ")[2]


def test_the_header_is_that_of_klog() -> None:
    made = record("Starting")
    made.created = datetime(2026, 11, 16, 14, 48, 33, 123456).timestamp()  # local, as klog's are
    text = KlogText().format(made)
    assert re.fullmatch(r'I1116 14:48:33\.12345[56] +\d+ cycle\.py:42] "Starting"', text)
    assert text[21:29] == f" {os.getpid():7d}"


@pytest.mark.parametrize(
    ("level", "letter"),
    [
        pytest.param(4, "I", id="the most verbose"),
        pytest.param(logging.INFO, "I", id="information"),
        pytest.param(logging.WARNING, "W", id="a warning"),
        pytest.param(logging.ERROR, "E", id="an error"),
        pytest.param(logging.CRITICAL, "F", id="the last words"),
    ],
)
def test_the_first_letter_is_the_severity(level: int, letter: str) -> None:
    assert KlogText().format(record("x", level=level))[0] == letter


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("default/web", '"default/web"', id="a text is quoted"),
        pytest.param(17, "17", id="a number is not"),
        pytest.param(True, "true", id="neither is a truth"),
        pytest.param('say "hi"', r'"say \"hi\""', id="quotes stay inside"),
        pytest.param("a\\b", r'"a\\b"', id="a backslash hides nothing"),
        pytest.param("a\nE1116 fake", r'"a\nE1116 fake"', id="a new line begins no other record"),
        pytest.param("a\rb\tc", r'"a\rb\tc"', id="the carriage cannot return"),
        pytest.param("\x1b[2Jgone", r'"\x1b[2Jgone"', id="a terminal is told nothing"),
        pytest.param("a\u2028b\u0085c", r'"a\u2028b\x85c"', id="rare separators of lines are none here"),
        pytest.param("\u202eevil", r'"\u202eevil"', id="nothing turns the direction of reading"),
        pytest.param("\ud800", r'"\ud800"', id="half a character"),
        pytest.param("Ünïcode 漢", '"Ünïcode 漢"', id="letters of all people stay"),
        pytest.param(["a", "b\n"], "\"['a', 'b\\\\n']\"", id="a list is quoted as a whole"),
    ],
)
def test_values(value: object, text: str) -> None:
    assert line_of("Message", pod=value) == f'"Message" pod={text}'


def test_a_name_of_a_value_cannot_break_out_either() -> None:
    made = record("Message")
    made.values = {'x="1"\n': 2}
    assert KlogText().format(made).endswith(r' "x=\"1\"\n"=2')


def test_what_is_long_is_cut() -> None:
    assert line_of("m" * 5000) == f'"{"m" * LONGEST}... (5000 characters)"'
    assert line_of("m", pod="p" * 10**6).endswith(f'{"p" * LONGEST}... (1000000 characters)"')


def test_arguments_that_do_not_fit_their_message_are_told_with_it() -> None:
    assert line_of("%d nodes", "no") == '''"%d nodes ('no',)"'''


def test_a_value_that_cannot_be_shown_is_told_by_its_type() -> None:
    class Silent:
        def __str__(self) -> str:
            raise RuntimeError

    assert line_of("m", pod=Silent(), count=10**5000).endswith('pod="<Silent: RuntimeError>" count=<int: ValueError>')


def test_an_exception_is_a_value_and_its_stack_another() -> None:
    made = record("Broken")
    try:
        raise KeyError("no\nwhere")
    except KeyError:
        made.exc_info = sys.exc_info()
    text = KlogText().format(made)
    assert r"""err="KeyError: 'no\\nwhere'" stack="Traceback (most recent call last):\n""" in text
    assert text.splitlines() == [text]


@given(st.text(), st.dictionaries(st.text(), ANYTHING), st.tuples(ANYTHING))
def test_one_record_is_one_line_of_harmless_characters(
    message: str, values: dict[str, object], args: tuple[object]
) -> None:
    made = record(message, *args)
    made.values = values
    text = KlogText().format(made)
    assert text.isprintable()
    assert text.splitlines() == [text]


@given(st.text())
def test_quotes_end_where_the_text_ends(text: str) -> None:
    inside = quoted(text)[1:-1]
    assert re.sub(r"\\.", "", inside).count('"') == 0
    assert not re.sub(r"\\\\", "", inside).endswith("\\")
