"""The syntax of label keys and values, and Kubernetes' messages about invalid ones."""

import re

NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
VALUE = f"({NAME})?"
DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{DNS_LABEL}(\.{DNS_LABEL})*"
ENDS = "and must start and end with an alphanumeric character"
CHARACTERS = f"consist of alphanumeric characters, '-', '_' or '.', {ENDS}"
DNS_CHARACTERS = f"consist of lower case alphanumeric characters, '-' or '.', {ENDS}"


def _wanted(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)  # two spaces before "or", as Kubernetes has them
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


NAME_RULE = _wanted(f"must {CHARACTERS}", NAME, "MyName", "my.name", "123-abc")
KEY_RULE = f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
VALUE_RULE = _wanted(f"a valid label must be an empty string or {CHARACTERS}", VALUE, "MyValue", "my_value", "12345")
PREFIX_RULE = _wanted(f"a lowercase RFC 1123 subdomain must {DNS_CHARACTERS}", SUBDOMAIN, "example.com")


# The same patterns in a form that is faster to match.
_WORDS = "[a-z0-9]+(?:-+[a-z0-9]+)*"
_KEY = re.compile(rf"(?:{_WORDS}(?:\.{_WORDS})*/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def is_key(text: str) -> bool:
    """Return whether a text is a valid label key."""
    if len(text) > 63:  # otherwise both of its parts are short enough
        prefix, _, name = text.rpartition("/")
        if len(name) > 63 or len(prefix) > 253:
            return False
    return _KEY.fullmatch(text) is not None


def is_value(text: str) -> bool:
    """Return whether a text is a valid label value."""
    return _VALUE.fullmatch(text) is not None


def key_complaints(key: str) -> list[str]:
    """Return the errors in a label key."""
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        return [KEY_RULE]
    found = ["prefix part must be non-empty"] if prefixes == [""] else []
    for prefix in filter(None, prefixes):
        found += [f"prefix part {complaint}" for complaint in complaints(prefix, 253, SUBDOMAIN, PREFIX_RULE)]
    found += [] if name else ["name part must be non-empty"]
    return found + [f"name part {complaint}" for complaint in complaints(name, 63, NAME, NAME_RULE)]


def complaints(text: str, longest: int, pattern: str, rule: str) -> list[str]:
    """Return the errors in a text with a maximum length and a pattern."""
    too_long = len(text.encode(errors="replace")) > longest
    # A text above the limit may be of any size, and patterns with nested repetition are slow to reject it.
    wrong = not re.fullmatch(pattern, text[:1024])
    return [f"must be no more than {longest} bytes"] * too_long + [rule] * wrong
