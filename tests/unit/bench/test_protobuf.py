"""Events of a watch in protobuf."""

import pytest

from bench.live.bound_pods import Key, read_frames
from bench.live.protobuf import Event, event
from bench.live.watch import Sight


def _bytes(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _envelope(content: bytes) -> bytes:
    return b"k8s\0" + _bytes(1, _bytes(1, b"v1")) + _bytes(2, content)


def _frame(kind: bytes, name: bytes, version: bytes) -> bytes:
    uid, labels = _bytes(5, b"u" * 36), _bytes(11, b"x" * 300)
    generation = _varint(7 << 3) + _varint(300)
    metadata = _bytes(1, name) + _bytes(3, b"ns") + uid + _bytes(6, version) + generation + labels
    pod = _bytes(1, metadata) + _bytes(2, _bytes(10, b"node-1"))
    return _bytes(1, kind) + _bytes(2, _bytes(1, _envelope(pod)))


def test_an_event_says_what_happened_to_whom() -> None:
    assert event(_frame(b"ADDED", b"pod-1", b"77")) == Event("ADDED", "ns", "pod-1", "77")


def test_an_event_in_an_envelope_is_the_same() -> None:
    assert event(_envelope(_frame(b"DELETED", b"p", b"8"))) == Event("DELETED", "ns", "p", "8")


@pytest.mark.parametrize("cut", [0, 2, 4, 50])
def test_frames_are_read_as_far_as_they_are_whole(cut: int) -> None:
    frames = [_frame(b"ADDED", name, b"1") for name in (b"a", b"b")]
    sent = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    whole = len(sent) - len(frames[1]) - 4
    received = bytearray(sent[: whole + cut])
    assert read_frames(received) == [Sight("ADDED", "1", Key("ns", "a"))]
    received += sent[whole + cut :]
    assert read_frames(received) == [Sight("ADDED", "1", Key("ns", "b"))]
    assert received == b""
