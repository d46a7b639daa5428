"""Durations in Go's format: `15s`, `1m30s`, `1.5h`."""

import re
from decimal import Decimal
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

_NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,
    "μs": 1_000,  # the Greek letter; the line above has the micro sign
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_TERM = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(" + "|".join(sorted(_NANOSECONDS, key=len, reverse=True)) + ")", re.ASCII)
_WHOLE = re.compile(rf"([-+]?)((?:{_TERM.pattern})+)", re.ASCII)
_LONGEST = (1 << 63) - 1
_MOST_CHARACTERS = 200


class Duration(int):
    """A duration in nanoseconds, printed in Go's format."""

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Parse a text like Go's time.ParseDuration; ValueError if it is invalid."""
        if text in {"0", "+0", "-0"}:
            return cls(0)
        # A longer text can only be an attack.
        found = _WHOLE.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
        if not found:
            raise ValueError(f"time: invalid duration {text!r}")
        total = sum(int(Decimal(number) * _NANOSECONDS[unit]) for number, unit in _TERM.findall(found[2]))
        value = -total if found[1] == "-" else total
        if not -_LONGEST - 1 <= value <= _LONGEST:
            raise ValueError(f"time: invalid duration {text!r}")
        return cls(value)

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return self / _NANOSECONDS["s"]

    def __str__(self) -> str:
        sign, size = ("-" if self < 0 else ""), abs(int(self))
        if size < _NANOSECONDS["s"]:
            return sign + _below_a_second(size)
        minutes, rest = divmod(size, _NANOSECONDS["m"])
        hours, minutes = divmod(minutes, 60)
        seconds = f"{_plain(Decimal(rest) / _NANOSECONDS['s'])}s"
        if hours:
            return f"{sign}{hours}h{minutes}m{seconds}"
        return f"{sign}{minutes}m{seconds}" if minutes else sign + seconds

    __repr__ = __str__

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic models contain durations, which are texts outside."""
        return core_schema.no_info_plain_validator_function(
            cls._from_file,
            serialization=core_schema.to_string_ser_schema(),
        )

    @classmethod
    def _from_file(cls, value: Any) -> "Duration":
        if isinstance(value, cls):
            return value
        try:
            return cls.parse(value)
        except (TypeError, ValueError):
            raise PydanticCustomError("duration", "no duration") from None


def _below_a_second(size: int) -> str:
    if not size:
        return "0s"
    unit = next(unit for unit in ("ms", "µs", "ns") if size >= _NANOSECONDS[unit])
    return f"{_plain(Decimal(size) / _NANOSECONDS[unit])}{unit}"


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}"
