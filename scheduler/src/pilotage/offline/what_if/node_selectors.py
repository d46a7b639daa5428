"""Label selectors in the form of kubectl: pool=old,disk!=hdd,gpu,!spot,zone in (a,b)."""

import re
from collections.abc import Iterator

from pilotage.model.selectors import LabelSelectorRequirement

_KEY, _VALUE = r"[-A-Za-z0-9_./]+", r"[-A-Za-z0-9_.]*"
_TERM = re.compile(
    rf"\s*(?:(?P<key>{_KEY})\s*(?P<operator>==|=|!=)\s*(?P<value>{_VALUE})"
    rf"|(?P<among>{_KEY})\s+(?P<how>in|notin)\s*\((?P<values>[^()]*)\)"
    rf"|(?P<absent>!)?\s*(?P<bare>{_KEY}))\s*(?:,|$)"
)


def selector_in(text: str) -> Iterator[LabelSelectorRequirement]:
    """Yield the conditions of a selector; ValueError if it is invalid."""
    end = 0
    while end < len(text):
        found = _TERM.match(text, end)
        if found is None:
            raise ValueError("write it like pool=old, disk!=hdd, gpu, !spot or zone in (a,b)")
        yield _condition(found)
        end = found.end()


def _condition(found: re.Match[str]) -> LabelSelectorRequirement:
    if found["key"]:
        operator = "NotIn" if found["operator"] == "!=" else "In"
        return LabelSelectorRequirement(found["key"], operator, (found["value"],))
    if found["among"]:
        values = tuple(value.strip() for value in found["values"].split(","))
        return LabelSelectorRequirement(found["among"], "In" if found["how"] == "in" else "NotIn", values)
    return LabelSelectorRequirement(found["bare"], "DoesNotExist" if found["absent"] else "Exists")
