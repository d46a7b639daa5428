"""Formats log records like klog, one line each: I1116 14:48:33.123456   28763 cycle.py:42] "Message" pod="a/b"."""

import logging
import os
import traceback
from collections.abc import Mapping
from time import localtime, strftime

LONGEST = 4096  # characters of a message or a value; longer ones are cut
LONGEST_TRACE = 16 * 1024  # characters; the end of a trace is the most important part

NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t", '"': r"\"", "\\": r"\\"}
WORDS = {True: "true", False: "false", None: "null"}


class KlogText(logging.Formatter):
    """Formats records as text."""

    def __init__(self) -> None:
        super().__init__()
        self._second, self._day_and_time = -1, ""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line, whatever it contains."""
        line = f"{self._header(record)} {quoted(message_of(record))}"
        for name, value in values_of(record).items():
            line += f" {name if name.isidentifier() else quoted(name)}={_shown(value)}"
        return line

    def _header(self, record: logging.LogRecord) -> str:
        second = int(record.created)
        if second != self._second:
            self._second, self._day_and_time = second, strftime("%m%d %H:%M:%S", localtime(second))
        micros = int((record.created - second) * 1e6)
        return f"{severity(record.levelno)}{self._day_and_time}.{micros:06d} {os.getpid():7d} {caller(record)}]"


def message_of(record: logging.LogRecord) -> str:
    """Return the message; if its arguments do not match, unformatted."""
    try:
        return cut(record.getMessage())
    except Exception:
        return cut(f"{record.msg!s} {record.args!r}")


def values_of(record: logging.LogRecord) -> Mapping[str, object]:
    """Return the names and values of a record, including an exception and its traceback."""
    values: dict[str, object] = getattr(record, "values", None) or {}
    if not record.exc_info or record.exc_info[1] is None:
        return values
    error = record.exc_info[1]
    trace = "".join(traceback.format_exception(error)).strip()
    return {**values, "err": f"{type(error).__name__}: {error}", "stack": Trace(trace[-LONGEST_TRACE:])}


class Trace(str):
    """A text that is already cut."""

    __slots__ = ()


def severity(level: int) -> str:
    """Return the letter of a level."""
    if level >= logging.ERROR:
        return "E" if level < logging.CRITICAL else "F"
    return "I" if level < logging.WARNING else "W"


def caller(record: logging.LogRecord) -> str:
    """Return file and line of a record."""
    return f"{record.filename}:{record.lineno}"


def text_of(value: object) -> str:
    """Return any value as a text of limited length."""
    if isinstance(value, Trace):
        return value
    try:
        return cut(str(value))
    except Exception as error:
        return f"<{type(value).__name__}: {type(error).__name__}>"


def cut(text: str) -> str:
    """Limit the length of a text."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def quoted(text: str) -> str:
    """Quote a text, and escape line breaks, quotes and control characters."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join([_escaped(character) for character in text]) + '"'


def _escaped(character: str) -> str:
    if character in NAMED:
        return NAMED[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown(value: object) -> str:
    if value is None or isinstance(value, bool):
        return WORDS[value]
    return text_of(value) if type(value) in (int, float) else quoted(text_of(value))
