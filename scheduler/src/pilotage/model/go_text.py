"""Formats values like Go does in messages: plain strings quoted, everything else as JSON."""

import json
from typing import Any

_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    '"': r"\"",
    "\\": r"\\",
}
# Go escapes JSON for use in HTML and scripts.
_UNSAFE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "&<>\u2028\u2029"})


def quoted(text: str) -> str:
    """Format a text like Go's %q."""
    return f'"{"".join(map(_escaped, text))}"'


def as_json(value: Any) -> str:
    """Format a value like Go's JSON: compact, and with HTML characters escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str).translate(_UNSAFE)


def shown(value: Any) -> str:
    """Format a value like Kubernetes' messages about invalid fields."""
    return quoted(value) if isinstance(value, str) else as_json(value)


def _escaped(sign: str) -> str:
    if sign in _ESCAPES:
        return _ESCAPES[sign]
    if sign.isprintable():
        return sign
    code = ord(sign)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
