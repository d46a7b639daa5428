"""Adds a finalizer to a claim as the API server stores it, without reading the rest.

A claim that was created with white space in `opaque.parameters` cannot be changed by clients that speak JSON: the
server keeps the spaces, sends and receives JSON without them, and takes that for a change of the immutable spec. In
protobuf the parameters are bytes, which come back as they were.
"""

from collections.abc import Iterator
from typing import NamedTuple

PROTOBUF = "application/vnd.kubernetes.protobuf"

_MAGIC = b"k8s\x00"
_RAW = 2  # the object in its envelope
_METADATA = 1  # of every object
_UID, _VERSION, _FINALIZERS = 5, 6, 14  # of the metadata
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class StoredClaim(NamedTuple):
    """The identity of a stored claim, and its bytes with one more finalizer."""

    uid: str
    version: str
    with_finalizer: bytes


class NotUnderstood(ValueError):
    """The bytes are not an object of the API."""


def add_finalizer(stored: bytes, finalizer: str) -> StoredClaim:
    """Return a stored claim with one more finalizer; NotUnderstood if it is none."""
    if not stored.startswith(_MAGIC):
        raise NotUnderstood("the object has no envelope")
    envelope = stored[len(_MAGIC) :]
    metadata = dict(_fields(_only(_only(envelope, _RAW), _METADATA)))
    added = _field(_FINALIZERS, finalizer.encode())
    changed = _extended(envelope, _RAW, _extended(_only(envelope, _RAW), _METADATA, added, append=True))
    uid, version = (bytes(metadata.get(number, b"")).decode() for number in (_UID, _VERSION))
    return StoredClaim(uid, version, _MAGIC + changed)


def _only(message: bytes, number: int) -> bytes:
    """Return a field that occurs once."""
    for found, value in _fields(message):
        if found == number:
            return value
    raise NotUnderstood(f"field {number} is missing")


def _extended(message: bytes, number: int, value: bytes, *, append: bool = False) -> bytes:
    """Return a message with another value of a field, or with more behind its value."""
    parts = []
    for found, start, end, own in _spans(message):
        changed = found == number
        parts.append(_field(number, own + value if append else value) if changed else message[start:end])
    return b"".join(parts)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields that are bytes: strings and messages."""
    for number, _, _, value in _spans(message):
        yield number, value


def _spans(message: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield each field: its number, where it starts and ends, and its value if that is bytes."""
    place = 0
    while place < len(message):
        start = place
        tag, place = _varint(message, place)
        kind, value = tag & 7, b""
        if kind == _VARINT:
            _, place = _varint(message, place)
        elif kind == _BYTES:
            length, place = _varint(message, place)
            value, place = message[place : place + length], place + length
        elif kind in (_FIXED64, _FIXED32):
            place += 8 if kind == _FIXED64 else 4
        else:
            raise NotUnderstood(f"there is no wire type {kind}")
        if place > len(message):
            raise NotUnderstood("a field is cut off")
        yield tag >> 3, start, place, value


def _field(number: int, value: bytes) -> bytes:
    return _encoded(number << 3 | _BYTES) + _encoded(len(value)) + value


def _varint(message: bytes, place: int) -> tuple[int, int]:
    found = shift = 0
    while place < len(message) and shift < 70:
        byte = message[place]
        place += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found, place
        shift += 7
    raise NotUnderstood("a number is cut off")


def _encoded(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
