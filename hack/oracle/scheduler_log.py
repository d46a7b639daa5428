"""Reads what kube-scheduler logs, as it logs it."""

import ctypes
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEADER = re.compile(
    r'[IWEF]\d{4} \S+ +\d+ (?P<file>[\w.]+):\d+\] "(?P<message>(?:[^"\\]|\\.)*)"(?P<rest>.*)', re.DOTALL
)
FACT = re.compile(
    r'(?P<key>[\w ]+)=(?:<\n(?P<block>.*?)\n >|(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<plain>\[.*?\]|\S*))', re.DOTALL
)
KEEP_SIZE, PUNCH_HOLE, OFFSET = 1, 2, ctypes.c_int64  # of fallocate(2)
TAIL_BYTES = 20_000
PAUSE_SECONDS = 0.001


@dataclass(frozen=True)
class Entry:
    """One message and its facts."""

    message: str
    facts: dict[str, str]


class NoAnswer(Exception):
    """The scheduler did not say what was waited for."""


class SchedulerLog:
    """The growing log of one scheduler, read once from beginning to end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("r+b")
        self._rest = b""
        # Subscribers that must see everything, however the log is read.
        self.listeners: list[Callable[[Entry], None]] = []

    def read(self) -> list[Entry]:
        """Everything that was logged since the last call."""
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        found = entries([line.decode(errors="replace") for line in lines])
        for listener in self.listeners:
            for entry in found:
                listener(entry)
        return found

    def wait_until(self, satisfied: Callable[[Entry], bool], what: str, seconds: float = 20) -> None:
        """Read until one message satisfies; every message on the way is shown to it."""
        deadline = time.monotonic() + seconds
        # All that was read is shown, also what comes after the answer: nothing is read twice.
        while True not in [satisfied(entry) for entry in self.read()]:
            if time.monotonic() > deadline:
                raise NoAnswer(f"kube-scheduler did not say within {seconds:.0f} s: {what}\n{self.last_words()}")
            time.sleep(PAUSE_SECONDS)

    def forget(self) -> None:
        """Release the memory of what was read; to the writer the file looks unchanged."""
        ctypes.CDLL(None).fallocate(self._file.fileno(), PUNCH_HOLE | KEEP_SIZE, OFFSET(0), OFFSET(self._file.tell()))

    def last_words(self, count: int = 15) -> str:
        """The end of the log, for a person."""
        with self._path.open("rb") as file:
            file.seek(max(0, self._path.stat().st_size - TAIL_BYTES))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])

    def close(self) -> None:
        """Stop reading."""
        self._file.close()


def entries(lines: list[str]) -> list[Entry]:
    """The messages in some lines; a message of several lines must be there as a whole."""
    joined: list[str] = []
    for line in lines:
        if HEADER.match(line) or not joined:
            joined.append(line)
        else:
            joined[-1] += f"\n{line}"
    found = (HEADER.match(text) for text in joined)
    return [Entry(match["message"], _facts(match["rest"])) for match in found if match]


def _facts(text: str) -> dict[str, str]:
    return {match["key"].strip(): _value(match) for match in FACT.finditer(text)}


def _value(match: re.Match[str]) -> str:
    if match["block"] is not None:
        return "\n".join(line.removeprefix("\t") for line in match["block"].split("\n"))
    # Go quotes as JSON does, except for bytes such as \x00.
    quoted = match["quoted"]
    return str(match["plain"]) if quoted is None else str(json.loads(quoted.replace("\\x", "\\u00")))
