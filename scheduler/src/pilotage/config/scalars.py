"""The values of unquoted words in YAML as kube-scheduler parses them, which follows only parts of YAML 1.1.

Its parser reads `yes`, `on` and `y` as booleans and `014` as twelve, as in YAML 1.1, but `1:30` and dates as strings;
Python's parser differs in all of these.
"""

import re
from functools import lru_cache
from typing import TypeAlias

Scalar: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
}
_MAY_BE_NUMBER = frozenset("+-.0123456789")
_WHOLE = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[01]+)|0[oO]?(?P<octal>[0-7]+)"
    r"|(?P<decimal>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_SMALLEST, _LARGEST, _LARGEST_UNSIGNED = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
_LONGEST_NUMBER = 400


@lru_cache(maxsize=1 << 12)  # the same words occur again and again
def meaning_of(word: str) -> Scalar:
    """Return the value of an unquoted, untagged word."""
    if word in _WORDS:
        return _WORDS[word]
    # No valid number is longer, and parsing a million digits would take long.
    if word[0] not in _MAY_BE_NUMBER or len(word) > _LONGEST_NUMBER:
        return word
    digits = word if word.startswith(".") else word.replace("_", "")
    whole = _whole_number(digits)
    return whole if whole is not None else _float(digits, word)


def key_of(value: Scalar) -> str | None:
    """Return the JSON key for a key of a map, or None if JSON has none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else f"{value:.8g}"


def _whole_number(digits: str) -> int | None:
    found = _WHOLE.fullmatch(digits)
    if not found:
        return None
    base, text = next((base, found[name]) for name, base in _BASES.items() if found[name] is not None)
    value = int(found["sign"] + text, base)
    largest = _LARGEST if found["sign"] else _LARGEST_UNSIGNED
    return value if _SMALLEST <= value <= largest else None


def _float(digits: str, word: str) -> float | str:
    if not _FLOAT.fullmatch(digits):
        return word
    value = float(digits)
    return word if abs(value) == float("inf") else value
