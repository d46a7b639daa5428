"""Pages of something long: where one ends, the next begins, whatever has changed meanwhile."""

import base64
import binascii
from collections.abc import Callable, Iterable
from heapq import nsmallest
from itertools import islice
from typing import Any, TypeVar

import msgspec

from pilotage.scheduling.decision_log import Expired
from pilotage.views.state import STEP, Steps

__all__ = ["Expired", "InvalidQuestion", "after", "continued", "page"]

Item = TypeVar("Item")
Key = tuple[Any, ...]

LONGEST_TOKEN = 2048


class InvalidQuestion(Exception):
    """A parameter that cannot be; the text says which, and what can."""


def continued(*key: object) -> str:
    """Return a token for what comes after a key; nobody outside reads it."""
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def after(token: str, shape: type[Key]) -> Key | None:
    """Return the key of a token; None without one."""
    if not token:
        return None
    try:
        if len(token) > LONGEST_TOKEN:
            raise ValueError("too long")
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=shape)
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise InvalidQuestion("continue: not a token of this path; leave it out to begin anew") from None


def page(
    found: Iterable[Item], key: Callable[[Item], Key], limit: int, behind: Key | None
) -> Steps[tuple[list[Item], int, bool]]:
    """Return the first items by their key behind a key, how many there are in all, and whether more follow."""
    kept: list[tuple[Key, Item]] = []
    total = coming = 0
    source = iter(found)
    while part := list(islice(source, STEP)):
        total += len(part)
        keyed = [(key(item), item) for item in part]
        if behind is not None:
            keyed = [each for each in keyed if each[0] > behind]
        coming += len(keyed)
        if len(kept) == limit:
            last = kept[-1][0]
            keyed = [each for each in keyed if each[0] < last]
        if keyed:
            kept = nsmallest(limit, [*kept, *keyed], key=lambda each: each[0])
        yield
    return [item for _, item in kept], total, coming > limit
