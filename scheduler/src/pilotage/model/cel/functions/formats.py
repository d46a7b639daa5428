"""Named formats: format.dns1123Label().validate(text) and the like."""

import re
from collections.abc import Callable
from datetime import date

from pilotage.model.cel.calls import declare
from pilotage.model.cel.environment import Slots, spend
from pilotage.model.cel.named_formats import NamedFormat
from pilotage.model.cel.values import NONE, Optional
from pilotage.model.label_syntax import (
    DNS_LABEL,
    PREFIX_RULE,
    SUBDOMAIN,
    VALUE,
    VALUE_RULE,
    complaints,
    key_complaints,
)

MOST_MATCHED = 1024  # signs of a text
SIGNS_PER_UNIT = 100
LABEL_LENGTH, SUBDOMAIN_LENGTH = 63, 253
OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{DNS_LABEL}')"
)
OLD_LABEL_RULE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{OLD_LABEL}')"
)
UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")

Complain = Callable[[str], list[str]]


def _name(longest: int, pattern: str, rule: str, is_prefix: bool = False) -> Complain:
    def complain(text: str) -> list[str]:
        if is_prefix and len(text) > 1 and text.endswith("-"):
            text = f"{text[:-2]}a"  # what follows a prefix may make a hyphen valid
        return complaints(text, longest, pattern, rule)

    return complain


def _is_day(text: str) -> bool:
    match = DAY.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    try:
        date(year or 4, month, day)  # the year 0 is a leap year, too
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    match = TIME.fullmatch(rest.partition("t")[0])
    return _is_day(day) and match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _unless(is_right: Callable[[str], object], complaint: str) -> Complain:
    return lambda text: [] if is_right(text) else [complaint]


FORMATS: dict[str, tuple[str, Complain]] = {
    "dns1123Label": ("DNS1123Label", _name(LABEL_LENGTH, DNS_LABEL, LABEL_RULE)),
    "dns1123LabelPrefix": ("DNS1123LabelPrefix", _name(LABEL_LENGTH, DNS_LABEL, LABEL_RULE, is_prefix=True)),
    "dns1123Subdomain": ("DNS1123Subdomain", _name(SUBDOMAIN_LENGTH, SUBDOMAIN, PREFIX_RULE)),
    "dns1123SubdomainPrefix": (
        "DNS1123SubdomainPrefix",
        _name(SUBDOMAIN_LENGTH, SUBDOMAIN, PREFIX_RULE, is_prefix=True),
    ),
    "dns1035Label": ("DNS1035Label", _name(LABEL_LENGTH, OLD_LABEL, OLD_LABEL_RULE)),
    "dns1035LabelPrefix": ("DNS1035LabelPrefix", _name(LABEL_LENGTH, OLD_LABEL, OLD_LABEL_RULE, is_prefix=True)),
    "qualifiedName": ("QualifiedName", key_complaints),
    "labelValue": ("LabelValue", _name(LABEL_LENGTH, VALUE, VALUE_RULE)),
    "uuid": ("uuid", _unless(UUID.fullmatch, "does not match the UUID format")),
    "byte": ("byte", _unless(BASE64.fullmatch, "invalid base64")),
    "date": ("date", _unless(_is_day, "invalid date")),
    "datetime": ("datetime", _unless(_is_moment, "invalid datetime")),
}


def _named(name: str) -> Optional:
    return Optional(NamedFormat(FORMATS[name][0], name), True) if name in FORMATS else NONE


def _validate(slots: Slots, rule: NamedFormat, text: str) -> Optional:
    spend(slots, min(len(text), MOST_MATCHED) ** 2 // SIGNS_PER_UNIT)  # the patterns may go back and try again
    found = FORMATS[rule.key][1](text)
    return Optional(tuple(found), True) if found else NONE


def _constant(name: str) -> Callable[[], NamedFormat]:
    known = NamedFormat(FORMATS[name][0], name)
    return lambda: known


declare("format.named", ("(string) -> optional_type(named_format)", _named))
for each in FORMATS:
    declare(f"format.{each}", ("() -> named_format", _constant(each)))
declare("validate", ("named_format.(string) -> optional_type(list(string))", _validate), metered=True)
