"""Regular expressions of RE2, run by a machine of our own."""

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import Slots, spend
from pilotage.model.cel.errors import EvaluationError
from pilotage.model.cel.pattern_machine import Pattern, pattern
from pilotage.model.cel.pattern_syntax import InvalidPattern, UnsupportedPattern

COMPILATION_COST, BUILDING_COST = 50, 10  # units for a character of a pattern that is new, and for a step of it


def compiled_pattern(slots: Slots, text: str, prefix: str = "") -> Pattern:
    """Return the machine of a pattern, or raise EvaluationError."""
    known = pattern.cache_info().misses
    try:
        machine = pattern(text)
        if pattern.cache_info().misses > known:
            spend(slots, COMPILATION_COST * len(text) + BUILDING_COST * machine.length)
        return machine
    except InvalidPattern as error:
        raise EvaluationError(f"{prefix}{error}") from error
    except UnsupportedPattern as error:
        raise EvaluationError(f"{error} is not supported by this scheduler") from error


def _matches(slots: Slots, text: str, regex: str) -> bool:
    return compiled_pattern(slots, regex).matches(slots, text)


def _find(slots: Slots, text: str, regex: str) -> str:
    found = compiled_pattern(slots, regex, "Illegal regex: ").find(slots, text)
    return text[found[0] : found[1]] if found is not None else ""


def _find_all(slots: Slots, text: str, regex: str, most: int = -1) -> tuple[str, ...]:
    machine = compiled_pattern(slots, regex, "Illegal regex: ")
    found: list[str] = []
    at, last = 0, -1
    while at <= len(text) and (most < 0 or len(found) < most):
        spend(slots, 1)
        match = machine.find(slots, text, at)
        if match is None:
            break
        start, end = match
        # An empty match right after another one is none.
        if end > start or start != last:
            found.append(text[start:end])
        last = end
        at = end if end > start else end + 1
    return tuple(found)


declare("matches", ("string.(string) -> bool", _matches), refusal="matches", metered=True)
declare("matches", ("(string, string) -> bool", _matches), refusal="matches", metered=True)
declare("find", ("string.(string) -> string", _find), metered=True)
declare(
    "findAll",
    ("string.(string) -> list(string)", _find_all),
    ("string.(string, int) -> list(string)", _find_all),
    metered=True,
)
