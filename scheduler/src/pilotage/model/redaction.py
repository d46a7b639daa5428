"""Redacts credentials in output."""

import re
from typing import Any

REDACTED = "REDACTED"
_SECRET = re.compile(r"(token|password|passwd|secret|apikey|privatekey|keydata)$", re.IGNORECASE)
_USER = re.compile(r"(?<=//)[^/?#\s]*(?=@)")  # of a URL, with the password


def redacted(value: Any, name: str = "") -> Any:
    """Return a document without the values of fields that hold credentials by their names, and passwords of URLs."""
    if isinstance(value, dict):
        return {key: redacted(part, str(key)) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(part, name) for part in value]
    if not isinstance(value, str):
        return value
    return REDACTED if value and is_secret(name) else without_password(value)


def is_secret(name: str) -> bool:
    """Return whether a field of this name contains a credential, and not only a reference."""
    return _SECRET.search(name) is not None


def without_password(text: str) -> str:
    """Return a text without the user and the password of a URL in it."""
    return _USER.sub(REDACTED, text) if "@" in text else text
