"""Decodes the lines of a watch."""

from typing import Any, Final, Generic

import msgspec
from msgspec import Raw, Struct, structs

from pilotage.cluster.transport.api_errors import ApiError, api_error
from pilotage.cluster.watch.resources import ApiResource, T
from pilotage.cluster.watch.watch_lines import BrokenStream
from pilotage.kinds.decoding import without_nulls
from pilotage.model.quantity import InvalidQuantity

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
LONGEST_REASON = 300  # characters; the text quotes the object

# The API server writes the type first and without spaces; any other format is decoded more slowly.
CHANGES: Final = (b'{"type":"ADDED"', b'{"type":"MODIFIED"')
NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
NO_SUCH_OBJECT = (*NOT_JSON, InvalidQuantity)


class ObjectIdentity(Struct, frozen=True, gc=False, rename="camel"):
    """The known part of an object's identity; node and scheduler are only set for pods."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    node_name: str = ""
    scheduler_name: str = ""
    # As in ApiResource; only set for undecodable objects.
    resource: str = ""
    shape: Any = None


class Notice(Struct, frozen=True, gc=False):
    """Anything in a stream that is not the current state of an object."""


class Deletion(Notice, frozen=True, gc=False):
    """An object was deleted."""

    metadata: ObjectIdentity


class UndecodableObject(Notice, frozen=True, gc=False):
    """The current state of an object that cannot be decoded."""

    metadata: ObjectIdentity
    reason: str


class Skipped(Notice, frozen=True, gc=False):
    """An object that exists, or was deleted, and whose name cannot be read."""

    reason: str


class Bookmark(Notice, frozen=True, gc=False):
    """Everything up to a version has been sent; the first one also ends the initial list of a stream."""

    version: str
    ends_list: bool = False


class ServerError(Notice, frozen=True, gc=False):
    """The stream has ended with an error of the server."""

    error: ApiError


class _Envelope(Struct, gc=False):
    type: str
    object: Raw


class _Named(Struct, gc=False):
    metadata: ObjectIdentity


class _BookmarkMetadata(Struct, gc=False, rename="camel"):
    resource_version: str
    annotations: dict[str, str] | None = None


class _BookmarkObject(Struct, gc=False):
    metadata: _BookmarkMetadata


class _Status(Struct, gc=False):
    code: int = 500


_envelope = msgspec.json.Decoder(_Envelope).decode
_named = msgspec.json.Decoder(_Named).decode
_bookmark = msgspec.json.Decoder(_BookmarkObject).decode
_status = msgspec.json.Decoder(_Status).decode
_plain = msgspec.json.Decoder().decode


class EventReader(Generic[T]):
    """Reads the events and the objects of one resource."""

    def __init__(self, resource: ApiResource[T]) -> None:
        self.build = resource.build
        self.shape = resource.shape
        self.resource = str(resource)
        change: Any = msgspec.defstruct("Change", [("object", resource.shape)], gc=False)
        self._change = msgspec.json.Decoder(change).decode
        self._object = msgspec.json.Decoder(resource.shape).decode

    def event(self, line: bytes) -> T | Notice:
        """Return the new state of an object, or another event; BrokenStream if the line is not an event."""
        if line.startswith(CHANGES):
            try:
                return with_name(self.build(self._change(line).object))
            except NO_SUCH_OBJECT:
                pass  # the slower decoding determines why
        return self._any_event(line)

    def object(self, raw: Raw | bytes) -> T | UndecodableObject:
        """Return an object, or its identity if it cannot be decoded; BrokenStream without a name."""
        try:
            return with_name(self.build(self._object(raw)))
        except NO_SUCH_OBJECT:
            return self._without_nulls(_data(raw))

    def _any_event(self, line: bytes) -> T | Notice:
        try:
            event = _envelope(line)
        except NOT_JSON as error:
            raise BrokenStream(f"a line that is not an event: {error}") from None
        match event.type:
            case "ADDED" | "MODIFIED":
                return self.object(event.object)
            case "DELETED":
                return Deletion(_identity(event.object))
            case "BOOKMARK":
                return _read_bookmark(event.object)
            case "ERROR":
                return _read_error(event.object)
        raise BrokenStream(f"an event of the unknown type {event.type[:40]!r}")

    def _without_nulls(self, data: Any) -> T | UndecodableObject:
        """Retry without nulls, which few objects contain."""
        try:
            return with_name(self.build(self._object(msgspec.json.encode(without_nulls(data)))))
        except NO_SUCH_OBJECT as error:
            identity = structs.replace(_leniently(data), resource=self.resource, shape=self.shape)
            return UndecodableObject(identity, str(error)[:LONGEST_REASON])


def with_name(given: T) -> T:
    """Return the object; BrokenStream if it has no name."""
    if given.metadata.name:
        return given
    raise BrokenStream("an object without a name")


def _data(raw: Raw | bytes) -> Any:
    try:
        return _plain(raw)
    except NOT_JSON as error:
        raise BrokenStream(f"an object that cannot be read: {error}") from None


def _identity(raw: Raw) -> ObjectIdentity:
    try:
        found = _named(raw).metadata
    except NOT_JSON:
        return _leniently(_data(raw))
    return found if found.name else _leniently(_data(raw))


def _leniently(data: Any) -> ObjectIdentity:
    metadata, spec = _inner(data, "metadata"), _inner(data, "spec")
    found = ObjectIdentity(
        _text(metadata, "name"),
        _text(metadata, "namespace"),
        _text(metadata, "uid"),
        _text(metadata, "resourceVersion"),
        _text(spec, "nodeName"),
        _text(spec, "schedulerName"),
    )
    if not found.name:
        raise BrokenStream("an object without a name")
    return found


def _inner(data: Any, key: str) -> Any:
    return data.get(key) if isinstance(data, dict) else None


def _text(data: Any, key: str) -> str:
    found = _inner(data, key)
    return found if isinstance(found, str) else ""


def _read_bookmark(raw: Raw) -> Bookmark:
    try:
        metadata = _bookmark(raw).metadata
    except NOT_JSON as error:
        raise BrokenStream(f"a bookmark that cannot be read: {error}") from None
    return Bookmark(metadata.resource_version, (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true")


def _read_error(raw: Raw) -> ServerError:
    try:
        code = _status(raw).code
    except NOT_JSON:
        code = 500
    return ServerError(api_error(code, bytes(raw), None))
