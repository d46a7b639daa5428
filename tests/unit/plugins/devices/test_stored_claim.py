"""Finalizers that are added to the bytes of a claim."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.kinds.devices import DELETE_PROTECTION
from pilotage.plugins.devices.dynamic_resources.stored_claim import NotUnderstood, add_finalizer


def varint(number: int) -> bytes:
    found = b""
    while number >= 0x80:
        found += bytes([number & 0x7F | 0x80])
        number >>= 7
    return found + bytes([number])


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


NUMBER = varint(7 << 3) + varint(300)
FIXED = varint(9 << 3 | 1) + b"12345678" + varint(10 << 3 | 5) + b"1234"
TYPE = field(1, b"\x0a\x02v1")
IDENTITY = field(5, b"uid") + field(6, b"42")
ONE = field(14, DELETE_PROTECTION.encode())


@given(
    before=st.binary(max_size=300).map(lambda value: field(2, value) + NUMBER),
    after=st.binary(max_size=300).map(lambda value: FIXED + field(15, value)),
    spec=st.binary(max_size=40_000),
)
def test_everything_else_stays_as_it_is(before: bytes, after: bytes, spec: bytes) -> None:
    def stored(*finalizers: bytes) -> bytes:
        metadata = b"".join([before, IDENTITY, after, *finalizers])
        return b"k8s\x00" + TYPE + field(2, field(1, metadata) + field(2, spec)) + field(3, b"")

    found = add_finalizer(stored(field(14, b"other")), DELETE_PROTECTION)
    assert (found.uid, found.version) == ("uid", "42")
    assert found.with_finalizer == stored(field(14, b"other"), ONE)


@pytest.mark.parametrize(
    "stored",
    [
        b'{"kind": "Status"}',
        b"k8s\x00",
        b"k8s\x00" + field(2, b""),
        b"k8s\x00" + field(2, b"\x0a\xff"),
        b"k8s\x00" + b"\xff" * 20,
        b"k8s\x00" + varint(3 << 3 | 3),
    ],
)
def test_what_is_no_claim_is_refused(stored: bytes) -> None:
    with pytest.raises(NotUnderstood):
        add_finalizer(stored, DELETE_PROTECTION)
