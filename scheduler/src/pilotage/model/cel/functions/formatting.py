"""string.format: clauses such as %s, %d and %.2f filled in from a list."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import Slots, size, spend
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.functions.conversions import text_of
from pilotage.model.cel.types import DURATION, TIMESTAMP, Type
from pilotage.model.cel.values import MAPS, CelType, Duration, Timestamp, UInt, of_key, type_name
from pilotage.model.go_text import quoted

CLAUSE = re.compile(r"%(?:(%)|(\.([0-9]*))?(.)?)", re.DOTALL)
USUAL_PRECISION, MOST_PRECISION = 6, 1000
INFINITE = frozenset({"NaN", "Infinity", "-Infinity"})
RAISED = str.maketrans("0123456789-+", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺")
TEXTS = frozenset({int, UInt, float, bool, str, bytes, Duration, Timestamp, CelType})
STRING_CLAUSE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
    "and timestamps"
)

NESTED = TEXTS | MAPS | {tuple, type(None)}

Formatter = Callable[[Any, int | None], str]


class WrongFormat(ValueError):
    """The text before the arguments is no format."""


def clauses(text: str) -> Iterator[str | tuple[str, int | None]]:
    """Return plain texts, and for each clause its letter and its precision; raise WrongFormat when one is wrong."""
    end = 0
    for match in CLAUSE.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        end = match.end()
        percent, point, digits, letter = match.groups()
        if percent:
            yield "%"
            continue
        if point is not None and letter is None:
            raise WrongFormat(f"{UNREADABLE}error while parsing precision: could not find end of precision specifier")
        if letter is None:
            raise WrongFormat("unexpected end of string")
        if point is not None and not digits:
            reason = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            raise WrongFormat(f"{UNREADABLE}error while parsing precision: {reason}")
        yield letter, _precision(digits)
    if end < len(text):
        yield text[end:]


PRINTING_COST = 5  # units for a part of a value
UNREADABLE = "could not parse formatting clause: "


def _precision(digits: str | None) -> int | None:
    if digits is None:
        return None
    if len(digits) > 4 or int(digits) > MOST_PRECISION:
        reason = f"precision {digits} exceeds maximum allowed precision {MOST_PRECISION}"
        raise WrongFormat(f"{UNREADABLE}error while parsing precision: {reason}")
    return int(digits)


def _format(slots: Slots, text: str, values: Sequence[Any]) -> str:
    spend(slots, PRINTING_COST * size(values))
    found: list[str] = []
    used = 0
    try:
        for part in clauses(text):
            if isinstance(part, str):
                found.append(part)
                continue
            if used >= len(values):
                raise EvaluationError(f"index {used} out of range")
            letter, precision = part
            if letter not in FORMATTERS:
                raise WrongFormat(f'{UNREADABLE}unrecognized formatting clause "{letter}"')
            found.append(FORMATTERS[letter](values[used], precision))
            spend(slots, len(found[-1]) // 10)
            used += 1
    except WrongFormat as error:
        raise EvaluationError(str(error)) from error
    return "".join(found)


def _refused(clause: str, value: Any) -> EvaluationError:
    return EvaluationError(f"error during formatting: {clause}, was given {type_name(value)}")


def _string(value: Any, _: int | None = None) -> str:
    kind = type(value)
    if kind is tuple:
        return f"[{', '.join(map(_nested, value))}]"
    if kind in MAPS:
        pairs = sorted((_nested(of_key(key)), _nested(each)) for key, each in value.items())
        return "{" + ", ".join(f"{key}:{each}" for key, each in pairs) + "}"
    if value is None:
        return "null"
    if kind in TEXTS:
        return text_of(value)
    raise _refused(STRING_CLAUSE, value)


def _nested(value: Any) -> str:
    if type(value) is str:
        return quoted(value)
    if type(value) is bytes:
        return f"b{quoted(text_of(value))}"
    if type(value) is float:
        return _fixed(value, None) if math.isfinite(value) else quoted(text_of(value))
    if type(value) not in NESTED:
        raise EvaluationError(f"error during formatting: no formatting function for {type_name(value)}")
    return _string(value)


def _decimal(value: Any, _: int | None) -> str:
    if type(value) not in (int, UInt):
        raise _refused("decimal clause can only be used on integers", value)
    return str(int(value))


def _number(clause: str, value: Any) -> float:
    if type(value) is float:
        return value
    if type(value) is str and value in INFINITE:
        return float(value)
    raise _refused(clause, value)


def _unusual(number: float) -> str | None:
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "∞" if number > 0 else "-∞"
    return None


def _fixed(value: Any, precision: int | None) -> str:
    number = _number("fixed-point clause can only be used on doubles", value)
    places = USUAL_PRECISION if precision is None else precision
    if (unusual := _unusual(number)) is not None:
        return unusual
    return f"{number or 0.0:,.{places}f}"


def _scientific(value: Any, precision: int | None) -> str:
    number = _number("scientific clause can only be used on doubles", value)
    places = USUAL_PRECISION if precision is None else precision
    if (unusual := _unusual(number)) is not None:
        return unusual
    mantissa, _, exponent = f"{number or 0.0:.{USUAL_PRECISION}e}".partition("e")
    power = int(exponent)
    shown = f"{'-' if power < 0 else ''}{abs(power):02d}".translate(RAISED)
    # kube-scheduler takes the precision for a width.
    return f"{mantissa}\u00d710{shown}".rjust(places)


def _binary(value: Any, _: int | None) -> str:
    if type(value) not in (int, UInt, bool):
        raise _refused("only integers and bools can be formatted as binary", value)
    return f"{int(value):b}"


def _hex(value: Any, _: int | None) -> str:
    if type(value) is str:
        return value.encode().hex()
    if type(value) is bytes:
        return value.hex()
    if type(value) not in (int, UInt):
        raise _refused("only integers, byte buffers, and strings can be formatted as hex", value)
    return f"{int(value):x}"


def _octal(value: Any, _: int | None) -> str:
    if type(value) not in (int, UInt):
        raise _refused("octal clause can only be used on integers", value)
    return f"{int(value):o}"


CLAUSES = {
    "d": ("decimal clause can only be used on integers", {"int", "uint"}),
    "f": ("fixed-point clause can only be used on doubles", {"double", "string"}),
    "e": ("scientific clause can only be used on doubles", {"double", "string"}),
    "b": ("only integers and bools can be formatted as binary", {"int", "uint", "bool"}),
    "o": ("octal clause can only be used on integers", {"int", "uint"}),
    "s": (
        STRING_CLAUSE,
        {
            "list",
            "map",
            "int",
            "uint",
            "double",
            "bool",
            "string",
            "bytes",
            "type",
            "null",
            DURATION.name,
            TIMESTAMP.name,
        },
    ),
}
HEX_CLAUSE = ("only integers, byte buffers, and strings can be formatted as hex", {"int", "uint", "string", "bytes"})


def format_complaint(text: str, at: int, kinds: Sequence[tuple[int, Type]]) -> tuple[int, str] | None:
    """Return where and why a format cannot take values of these types, None if it can."""
    used = 0
    try:
        for part in clauses(text):
            if isinstance(part, str):
                continue
            if used >= len(kinds):
                return at, f"index {used} out of range"
            place, kind = kinds[used]
            clause, known = HEX_CLAUSE if part[0] in "xX" else CLAUSES.get(part[0], ("", set()))
            if not clause:
                raise WrongFormat(f'{UNREADABLE}unrecognized formatting clause "{part[0]}"')
            if kind.name not in known and kind.name != "dyn" and not kind.name.startswith("_var"):
                return place, f"error during formatting: {clause}, was given {kind.name}"
            used += 1
    except WrongFormat as error:
        return at, str(error)
    if used < len(kinds):
        return at, f"too many arguments supplied to string.format (expected {used}, got {len(kinds)})"
    return None


FORMATTERS: dict[str, Formatter] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex,
    "X": lambda value, precision: _hex(value, precision).upper(),
    "o": _octal,
}

declare("format", ("string.(list(dyn)) -> string", _format), metered=True)
