"""Pages of long lists: the next one starts where the last one ended, even if the list changed."""

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import msgspec

from pilotage.scheduling.decision_log import Expired
from pilotage.views.state import STEP, Steps

__all__ = ["Expired", "InvalidQuestion", "after", "continued", "page", "page_of_keys"]

Item = TypeVar("Item")
Key = tuple[Any, ...]
SomeKey = TypeVar("SomeKey", bound=Key)

LONGEST_TOKEN = 2048


class InvalidQuestion(Exception):
    """A parameter is invalid; the text says which, and what is valid."""


def continued(*key: object) -> str:
    """Return the opaque token of the page after a key."""
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
        raise InvalidQuestion("continue: not a token of this path; leave it out to start again") from None


def page(
    found: Iterable[Item], key: Callable[[Item], Key], limit: int, behind: Key | None
) -> Steps[tuple[list[Item], int, bool]]:
    """Return the first items by their key after a key, how many there are in all, and whether more follow."""
    items: dict[Key, Item] = {}

    def parts() -> Iterator[list[Key]]:
        source = iter(found)
        while part := {key(item): item for item in islice(source, STEP)}:
            items.update(part)
            yield list(part)

    keys, total, more = yield from page_of_keys(parts(), limit, behind)
    return [items[each] for each in keys], total, more


def page_of_keys(
    parts: Iterable[list[SomeKey]], limit: int, behind: Key | None
) -> Steps[tuple[list[SomeKey], int, bool]]:
    """Return the same for keys alone, one part per step."""
    kept: list[SomeKey] = []
    total = coming = 0
    for whole in parts:
        part = whole if behind is None else [each for each in whole if each > behind]
        total += len(whole)
        coming += len(part)
        if len(kept) == limit:
            last = kept[-1]
            part = [each for each in part if each < last]
        if part:
            kept = sorted([*kept, *part])[:limit]
        yield
    return kept, total, coming > limit
