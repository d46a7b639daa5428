"""Parses times like Go, by a layout that shows how Mon Jan 2 15:04:05 2006 would be formatted."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

RFC3339 = "2006-01-02T15:04:05Z07:00"
LONGEST = 256  # characters of a layout or a time; the regular expressions stay fast below this

Found = dict[str, int]  # by the name of the part: year, month, offset
Read = Callable[[str], Found]  # ValueError for an impossible value

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
NANOS = 10**9
FIRST_OF_LAST_CENTURY = 69  # two-digit years from here on are in the twentieth century


class InvalidLayout(ValueError):
    """The text is not a time layout."""


class GoLayout:
    """A compiled layout."""

    def __init__(self, layout: str) -> None:
        if len(layout) > LONGEST:
            raise InvalidLayout(f"it has more than {LONGEST} characters")
        if not {"2006", "06"}.intersection(TOKEN.findall(layout)):
            raise InvalidLayout("it has no year; write 2 January 2006 15:04:05 in the format of the times")
        self._readers: list[Read] = []
        self._pattern = re.compile("".join(self._patterns(layout)))

    def seconds(self, text: str) -> float | None:
        """Return the seconds from 1970 to a time; None if the text does not match the layout."""
        match = self._pattern.fullmatch(text) if len(text) <= LONGEST else None
        if match is None:
            return None
        found: Found = {}
        try:
            for read, part in zip(self._readers, match.groups(""), strict=True):
                found |= read(part)
            return _seconds(found)
        except (ValueError, OverflowError):  # such as the 31st of February
            return None

    def _patterns(self, layout: str) -> Iterator[str]:
        """Yield the regular expressions of all parts, and register the readers of the groups."""
        end = 0
        for match in TOKEN.finditer(layout):
            yield _literally(layout[end : match.start()])
            end, token = match.end(), match.group()
            pattern, read = _of_fraction(token) if token[0] in ".," else TOKENS[token]
            self._readers.append(read)
            yield f"((?>{pattern}))"  # Go never backtracks
            if token in ("05", "5") and not FRACTION.match(layout, end):
                # Go accepts a fraction of a second even if the layout has none.
                self._readers.append(_fraction)
                yield "((?:[.,][0-9]++)?+)"
        yield _literally(layout[end:])


def _number(name: str, most: int) -> Read:
    def read(text: str) -> Found:
        if int(text) > most:
            raise ValueError
        return {name: int(text)}

    return read


def _month(text: str) -> Found:
    return {"month": [each[:3].lower() for each in MONTHS].index(text[:3].lower()) + 1}


def _short_year(text: str) -> Found:
    return {"year": int(text) + (1900 if int(text) >= FIRST_OF_LAST_CENTURY else 2000)}


def _nothing(text: str) -> Found:
    return {}


def _half(text: str) -> Found:
    return {"afternoon": int(text in ("PM", "pm"))}


def _fraction(text: str) -> Found:
    return {"nanos": int(text[1:10].ljust(9, "0"))} if text else {}


def _offset(text: str) -> Found:
    hours, minutes, seconds = ([int(part) for part in re.findall("[0-9]{2}", text)] + [0, 0, 0])[:3]
    if hours > 24 or minutes > 60 or seconds > 60:  # as lenient as Go
        raise ValueError
    size = hours * 3600 + minutes * 60 + seconds
    return {"offset": -size if text.startswith("-") else size}


def _zone(text: str) -> Found:
    # Go knows only its local zone, and treats all others as UTC, even GMT+3, whose offset is explicit.
    return {"zone": int(text[3:]) * 3600 if text[3:4] in ("+", "-") else 0}


def _of_fraction(token: str) -> tuple[str, Read]:
    """Return the pattern of a fraction: exactly as many digits for zeros, any number or none for nines."""
    return (f"[.,][0-9]{{{len(token) - 1}}}" if token[1] == "0" else "(?:[.,][0-9]+)?"), _fraction


def _names(names: list[str], length: int | None = None) -> str:
    return f"(?i:{'|'.join(name[:length] for name in names)})"


ONE_OR_TWO, TWO = "[0-9]{1,2}", "[0-9]{2}"
HOUR_OFFSETS = ("07", "0700", "07:00", "070000", "07:00:00")
TOKENS: dict[str, tuple[str, Read]] = {
    "2006": ("[0-9]{4}", _number("year", 9999)),
    "06": (TWO, _short_year),
    "January": (_names(MONTHS), _month),
    "Jan": (_names(MONTHS, 3), _month),
    "01": (TWO, _number("month", 12)),
    "1": (ONE_OR_TWO, _number("month", 12)),
    "02": (TWO, _number("day", 31)),
    "_2": (f" ?{ONE_OR_TWO}", _number("day", 31)),
    "2": (ONE_OR_TWO, _number("day", 31)),
    "002": ("[0-9]{3}", _number("day of the year", 366)),
    "__2": (" {0,2}[0-9]{1,3}", _number("day of the year", 366)),
    "Monday": (_names(DAYS), _nothing),
    "Mon": (_names(DAYS, 3), _nothing),
    "15": (ONE_OR_TWO, _number("hour", 23)),
    "03": (TWO, _number("hour", 12)),
    "3": (ONE_OR_TWO, _number("hour", 12)),
    "PM": ("AM|PM", _half),
    "pm": ("am|pm", _half),
    "04": (TWO, _number("minute", 59)),
    "4": (ONE_OR_TWO, _number("minute", 59)),
    "05": (TWO, _number("second", 59)),
    "5": (ONE_OR_TWO, _number("second", 59)),
    "MST": ("GMT[+-](?:2[0-3]|[01]?[0-9])|ChST|MeST|WITA|[A-Z]{3,4}T|[A-Z]{3}", _zone),
    **{f"-{each}": (f"[+-]{re.sub('[0-9]', '[0-9]', each)}", _offset) for each in HOUR_OFFSETS},
    **{f"Z{each}": (f"Z|[+-]{re.sub('[0-9]', '[0-9]', each)}", _offset) for each in HOUR_OFFSETS},
}
# If more characters follow, these are another part, or plain text.
UNLESS = {"Jan": "(?![a-z])", "Mon": "(?![a-z])", "_2": "(?!006)"}
FRACTION = re.compile(r"[.,](?:0+|9+)(?![0-9])")
TOKEN = re.compile(
    "|".join(re.escape(token) + UNLESS.get(token, "") for token in sorted(TOKENS, key=len, reverse=True))
    + f"|{FRACTION.pattern}"
)


def _seconds(found: Found) -> float:
    """Return the seconds from 1970 to a time; ValueError if there is no such time."""
    year, hour = found["year"], found.get("hour", 0)
    if found.get("afternoon") == 1 and hour < 12:
        hour += 12
    elif found.get("afternoon") == 0 and hour == 12:
        hour = 0
    day = datetime(year, found.get("month", 1), found.get("day", 1), tzinfo=UTC)
    if (number := found.get("day of the year")) is not None:
        day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=number - 1)
        if (year, found.get("month", day.month), found.get("day", day.day)) != (day.year, day.month, day.day):
            raise ValueError
    time = day + timedelta(hours=hour, minutes=found.get("minute", 0), seconds=found.get("second", 0))
    offset = found.get("offset", found.get("zone", 0))
    return (time - EPOCH).total_seconds() - offset + found.get("nanos", 0) / NANOS


def _literally(text: str) -> str:
    """Return a pattern that matches this text literally, with any number of spaces for each run of spaces."""
    return re.sub(r"(?:\\ )+", " +", re.escape(text))
