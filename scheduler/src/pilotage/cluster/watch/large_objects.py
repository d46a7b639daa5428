"""Decodes large objects in steps, and identifies those that are too large to decode."""

import re
from collections.abc import Awaitable, Callable
from typing import Any, Generic

import msgspec
from msgspec import Raw, Struct, structs

from pilotage.cluster.watch.resources import T
from pilotage.cluster.watch.stepwise_decoding import Steps, decoded_in_steps
from pilotage.cluster.watch.watch_events import (
    CHANGES,
    LONGEST_REASON,
    NO_SUCH_OBJECT,
    NOT_JSON,
    Deletion,
    EventReader,
    Notice,
    ObjectIdentity,
    Skipped,
    UndecodableObject,
    with_name,
)
from pilotage.cluster.watch.watch_lines import LONGEST_OBJECT, BrokenStream, TooLong

LARGE = 1 << 20  # bytes; decoding ten times as much in one step takes 50 ms and more
TOO_LONG = f"it has more than {LONGEST_OBJECT >> 20} MiB of JSON"

# The start of an event and of an object as sent by the API server. Anchored at the first byte, so that no content can
# imitate it.
_TEXT = rb'"[^"\\]{0,253}"'
_EVENT = re.compile(rb'\{"type":"(ADDED|MODIFIED|DELETED)","object":')
_OBJECT = re.compile(
    rb'\{(?:"kind":TEXT,)?(?:"apiVersion":TEXT,)?"metadata":\{"name":(TEXT)(?:,"generateName":TEXT)?'
    rb'(?:,"namespace":(TEXT))?,"uid":(TEXT),"resourceVersion":(TEXT)'.replace(b"TEXT", _TEXT)
)

GiveWay = Callable[[], Awaitable[None]]


class _Placing(Struct, frozen=True, gc=False, rename="camel"):
    node_name: str = ""
    scheduler_name: str = ""


class _Known(Struct, gc=False):
    metadata: ObjectIdentity
    spec: _Placing = _Placing()


class _Change(Struct, gc=False):
    object: Raw


_known = msgspec.json.Decoder(_Known).decode
_change = msgspec.json.Decoder(_Change).decode


class LargeReader(Generic[T]):
    """Reads one resource like EventReader, but yields to other tasks between steps."""

    def __init__(self, reader: EventReader[T]) -> None:
        self._reader = reader

    async def event(self, line: bytes | TooLong, give_way: GiveWay) -> T | Notice:
        """Return the event in a line; BrokenStream if it is not an event."""
        if isinstance(line, TooLong):
            return self._begun_event(line.beginning)
        await give_way()
        if not line.startswith(CHANGES):
            return self._reader.event(line)
        try:
            raw = _change(line).object
        except NOT_JSON as error:
            raise BrokenStream(f"a line that is not an event: {error}") from None
        return await self.object(raw, give_way)

    async def object(self, item: Raw | bytes | TooLong, give_way: GiveWay) -> T | UndecodableObject:
        """Return an object, or its identity if it cannot be decoded; BrokenStream without a name."""
        if isinstance(item, TooLong):
            return self._begun_object(item.beginning)
        await give_way()
        # Without the second attempt for smaller objects: handling nulls is not worth the cost.
        try:
            decoded = await _run(decoded_in_steps(item, self._reader.shape), give_way)
            await give_way()
            return with_name(self._reader.build(decoded))
        except NO_SUCH_OBJECT as error:
            reason = str(error)[:LONGEST_REASON]
        await give_way()
        return self._undecodable(_identity(item), reason)

    def _begun_event(self, beginning: bytes) -> Notice:
        kind = _EVENT.match(beginning)
        try:
            found = self._begun_object(beginning[kind.end() :] if kind else b"")
        except BrokenStream as error:
            return Skipped(str(error))
        return Deletion(found.metadata) if kind and kind[1] == b"DELETED" else found

    def _begun_object(self, beginning: bytes) -> UndecodableObject:
        begun = _OBJECT.match(beginning)
        if begun is None:
            raise BrokenStream(f"an object without a name at its beginning, and {TOO_LONG}")
        name, namespace, uid, version = (part[1:-1].decode(errors="replace") for part in begun.groups(b'""'))
        return self._undecodable(ObjectIdentity(name, namespace, uid, version), TOO_LONG)

    def _undecodable(self, identity: ObjectIdentity, reason: str) -> UndecodableObject:
        return UndecodableObject(
            structs.replace(identity, resource=self._reader.resource, shape=self._reader.shape), reason
        )


async def _run(steps: Steps, give_way: GiveWay) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        await give_way()


def _identity(raw: Raw | bytes) -> ObjectIdentity:
    try:
        known = _known(raw)
    except NOT_JSON as error:
        raise BrokenStream(f"an object that cannot be read: {error}") from None
    if not known.metadata.name:
        raise BrokenStream("an object without a name")
    spec = known.spec
    return structs.replace(known.metadata, node_name=spec.node_name, scheduler_name=spec.scheduler_name)
