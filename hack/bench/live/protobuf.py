"""As much of the API server's protobuf encoding as it takes to know which pod an event of a watch is about."""

from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"k8s\x00"
LENGTH_DELIMITED, VARINT, EIGHT_BYTES, FOUR_BYTES = 2, 0, 1, 5
NAME, NAMESPACE, VERSION = 1, 3, 6  # in the metadata of an object


class Event(NamedTuple):
    """What happened to which object."""

    kind: str
    namespace: str
    name: str
    version: str


def event(frame: bytes) -> Event:
    """One event of a watch."""
    kind = found = b""
    for number, value in _fields(_content(frame)):
        if number == 1:
            kind = value
        elif number == 2:  # an object of any type
            found = _field(value, 1)
    known = dict.fromkeys((NAME, NAMESPACE, VERSION), b"")
    for number, value in _fields(_field(_content(found), 1)):
        if number in known:
            known[number] = value
        if number >= VERSION:
            break  # the rest is long
    return Event(kind.decode(), known[NAMESPACE].decode(), known[NAME].decode(), known[VERSION].decode())


def _content(message: bytes) -> bytes:
    """What is inside the envelope that says which type it is; a watch event comes without one."""
    return _field(message[len(MAGIC) :], 2) if message.startswith(MAGIC) else message


def _field(message: bytes, wanted: int) -> bytes:
    for number, value in _fields(message):
        if number == wanted:
            return value
    return b""


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields that hold bytes, in their order; numbers are passed over."""
    position, end = 0, len(message)
    while position < end:
        key, position = _number(message, position)
        wire = key & 7
        if wire == LENGTH_DELIMITED:
            length, position = _number(message, position)
            yield key >> 3, message[position : position + length]
            position += length
        elif wire == VARINT:
            _, position = _number(message, position)
        else:
            position += {EIGHT_BYTES: 8, FOUR_BYTES: 4}[wire]


def _number(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
