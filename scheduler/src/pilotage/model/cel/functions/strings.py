"""Texts: positions count code points."""

from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import SIGNS_PER_UNIT, CostExceeded
from pilotage.model.cel.errors import COST_LIMIT, EvaluationError
from pilotage.model.cel.printing import shown

LONGEST = COST_LIMIT * SIGNS_PER_UNIT  # no evaluation can pay for a longer text
UPPER, LOWER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
TO_LOWER, TO_UPPER = str.maketrans(UPPER, LOWER), str.maketrans(LOWER, UPPER)
SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
QUOTED = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def _checked(place: int, text: str) -> int:
    if 0 <= place <= len(text):
        return place
    raise EvaluationError(f"index out of range: {place}")


def _char_at(text: str, place: int) -> str:
    place = _checked(place, text)
    return text[place : place + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    return text.find(part, start) if part else min(start, len(text))


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part) if part else len(text)
    if start < 0:
        raise EvaluationError(f"index out of range: {start}")
    if not part:
        return min(start, len(text))
    return -1 if start >= len(text) else text.rfind(part, 0, start + len(part))


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    start = _checked(start, text)
    return text[start : _checked(end, text)] if end is not None else text[start:]


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    times = text.count(old) if old else len(text) + 1
    if most >= 0:
        times = min(times, most)
    if len(text) + times * (len(new) - len(old)) > LONGEST // 100:
        raise CostExceeded  # before it is built
    return text.replace(old, new, most if most < 0 else times)


def _split(text: str, separator: str, most: int = -1) -> tuple[str, ...]:
    if most == 0:
        return ()
    if separator:
        return tuple(text.split(separator, most - 1 if most > 0 else -1))
    if 0 < most < len(text):
        return (*text[: most - 1], text[most - 1 :])
    return tuple(text)


def _join(parts: tuple[Any, ...], separator: str = "") -> str:
    for each in parts:
        if type(each) is not str:
            raise EvaluationError(f"join: invalid input: {shown(each)}")
    if sum(map(len, parts)) + len(parts) * len(separator) > LONGEST // 100:
        raise CostExceeded
    return separator.join(parts)


def _quote(text: str) -> str:
    return '"' + "".join(QUOTED.get(sign, sign) for sign in text) + '"'


declare("charAt", ("string.(int) -> string", _char_at))
declare("contains", ("string.(string) -> bool", lambda text, part: part in text), refusal="")
declare("endsWith", ("string.(string) -> bool", str.endswith), refusal="")
declare("startsWith", ("string.(string) -> bool", str.startswith), refusal="")
declare("indexOf", ("string.(string) -> int", _index_of), ("string.(string, int) -> int", _index_of))
declare("lastIndexOf", ("string.(string) -> int", _last_index_of), ("string.(string, int) -> int", _last_index_of))
declare("join", ("list(string).() -> string", _join), ("list(string).(string) -> string", _join))
declare("lowerAscii", ("string.() -> string", lambda text: text.translate(TO_LOWER)))
declare("upperAscii", ("string.() -> string", lambda text: text.translate(TO_UPPER)))
declare(
    "replace",
    ("string.(string, string) -> string", _replace),
    ("string.(string, string, int) -> string", _replace),
)
declare(
    "split",
    ("string.(string) -> list(string)", _split),
    ("string.(string, int) -> list(string)", _split),
)
declare("substring", ("string.(int) -> string", _substring), ("string.(int, int) -> string", _substring))
declare("trim", ("string.() -> string", lambda text: text.strip(SPACE)))
declare("strings.quote", ("(string) -> string", _quote))
