"""IP addresses and networks, read as Go's netip reads them."""

import ipaddress
from typing import Self

from msgspec import Struct

from pilotage.model.go_text import quoted

V4_BITS, V6_BITS = 32, 128
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
LONGEST = 256


class InvalidAddress(ValueError):
    """The text is no address, in Go's words."""


class Address(Struct, frozen=True):
    """An IPv4 or IPv6 address."""

    number: int
    is_v6: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the address of a text, or raise InvalidAddress."""
        number, is_v6, zone = _parsed(text[:LONGEST])
        if zone:
            raise InvalidAddress(f"IP address {quoted(text)} with zone value is not allowed")
        if is_v6 and number >> V4_BITS == 0xFFFF:
            raise InvalidAddress(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
        return cls(number, is_v6)

    def known(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        """Return Python's own form."""
        return ipaddress.IPv6Address(self.number) if self.is_v6 else ipaddress.IPv4Address(self.number)

    @property
    def bits(self) -> int:
        """Return the length of the address."""
        return V6_BITS if self.is_v6 else V4_BITS

    def __str__(self) -> str:
        """Return the canonical text."""
        return str(self.known())

    def is_link_local_multicast(self) -> bool:
        """Return whether it is in 224.0.0.0/24 or ff02::/16, whatever the flags."""
        return self.number >> 112 & 0xFF0F == 0xFF02 if self.is_v6 else self.number >> 8 == 0xE00000

    def is_global_unicast(self) -> bool:
        """Return whether it is none of the special addresses; private ones are global."""
        known = self.known()
        is_broadcast = not self.is_v6 and self.number == 2**32 - 1
        is_local = known.is_unspecified or known.is_loopback or known.is_link_local
        return not (is_broadcast or is_local or known.is_multicast)


class Network(Struct, frozen=True):
    """An address and the length of its prefix."""

    address: Address
    length: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the network of a text, or raise InvalidAddress."""
        where = f"netip.ParsePrefix({quoted(text)})"
        before, slash, length = text.rpartition("/")
        if not slash:
            raise InvalidAddress(_twice(f"{where}: no '/'"))
        try:
            number, is_v6, zone = _parsed(before[:LONGEST])
        except InvalidAddress as error:
            raise InvalidAddress(_twice(f"{where}: {_without_context(str(error))}")) from error
        if zone:
            raise InvalidAddress(_twice(f"{where}: IPv6 zones cannot be present in a prefix"))
        if not (length.isascii() and length.isdigit()) or len(length) > 3 or (len(length) > 1 and length[0] == "0"):
            raise InvalidAddress(_twice(f"{where}: bad bits after slash: {quoted(length)}"))
        if int(length) > (V6_BITS if is_v6 else V4_BITS):
            raise InvalidAddress(_twice(f"{where}: prefix length out of range"))
        if is_v6 and number >> V4_BITS == 0xFFFF:
            raise InvalidAddress(f"{PREFIX}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
        return cls(Address(number, is_v6), int(length))

    def masked(self) -> "Network":
        """Return the network with no bits after its prefix."""
        rest = self.address.bits - self.length
        return Network(Address(self.address.number >> rest << rest, self.address.is_v6), self.length)

    def has(self, address: Address) -> bool:
        """Return whether an address is in the network."""
        rest = self.address.bits - self.length
        return address.is_v6 is self.address.is_v6 and address.number >> rest == self.address.number >> rest

    def includes(self, other: "Network") -> bool:
        """Return whether all of another network is in this one."""
        return self.length <= other.length and self.has(other.address)

    def __str__(self) -> str:
        """Return address/length."""
        return f"{self.address}/{self.length}"


PREFIX = "network address parse error during conversion from string: "


def _twice(text: str) -> str:
    return f"{PREFIX}{PREFIX}{text}"


def _without_context(text: str) -> str:
    return text.partition("parse error during conversion from string: ")[2]


def _parsed(text: str) -> tuple[int, bool, str]:
    """Return the number, whether it is IPv6, and the zone."""
    for sign in text:
        if sign == ".":
            return _parsed_v4(text, text), False, ""
        if sign == ":":
            return _parsed_v6(text)
        if sign == "%":
            raise _unreadable(text, "missing IPv6 address")
    raise _unreadable(text, "unable to parse IP")


def _unreadable(text: str, reason: str, rest: str = "") -> InvalidAddress:
    place = f" (at {quoted(rest)})" if rest else ""
    shown = f"ParseAddr({quoted(text)}): {reason}{place}"
    return InvalidAddress(f"IP Address {quoted(text)} parse error during conversion from string: {shown}")


def _parsed_v4(whole: str, text: str) -> int:
    fields: list[int] = []
    value = digits = 0
    for place, sign in enumerate(text):
        if sign.isascii() and sign.isdigit():
            if digits == 1 and value == 0:
                raise _unreadable(whole, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(sign), digits + 1
            if value > 255:
                raise _unreadable(whole, "IPv4 field has value >255")
        elif sign == ".":
            if place in (0, len(text) - 1) or text[place - 1] == ".":
                raise _unreadable(whole, "IPv4 field must have at least one digit", text[place:])
            if len(fields) == 3:
                raise _unreadable(whole, "IPv4 address too long")
            fields.append(value)
            value = digits = 0
        else:
            raise _unreadable(whole, "unexpected character", text[place:])
    if len(fields) < 3:
        raise _unreadable(whole, "IPv4 address too short")
    return int.from_bytes(bytes([*fields, value]))


def _parsed_v6(whole: str) -> tuple[int, bool, str]:
    text, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _unreadable(whole, "zone must be a non-empty string")
    groups: list[int] = []
    gap: int | None = None
    if text.startswith("::"):
        gap, text = 0, text[2:]
    while text and len(groups) < 8:
        length = next((place for place, sign in enumerate(text) if sign not in HEX_DIGITS), len(text))
        if length > 4:
            raise _unreadable(whole, "each group must have 4 or less digits", text)
        if length == 0:
            raise _unreadable(whole, "each colon-separated field must have at least one digit", text)
        if text[length : length + 1] == ".":
            if (gap is None and len(groups) != 6) or len(groups) > 6:
                raise _unreadable(whole, "embedded IPv4 address must replace the final 2 fields of the address", text)
            number = _parsed_v4(whole, text)
            groups += [number >> 16, number & 0xFFFF]
            text = ""
            break
        groups.append(int(text[:length], 16))
        text = text[length:]
        if not text:
            break
        if text[0] != ":":
            raise _unreadable(whole, "unexpected character, want colon", text)
        if len(text) == 1:
            raise _unreadable(whole, "colon must be followed by more characters", text)
        text = text[1:]
        if text[0] == ":":
            if gap is not None:
                raise _unreadable(whole, "multiple :: in address", text)
            gap, text = len(groups), text[1:]
    if text:
        raise _unreadable(whole, "trailing garbage after address", text)
    return _joined(whole, groups, gap), True, zone


def _joined(whole: str, groups: list[int], gap: int | None) -> int:
    if len(groups) < 8:
        if gap is None:
            raise _unreadable(whole, "address string too short")
        groups = [*groups[:gap], *[0] * (8 - len(groups)), *groups[gap:]]
    elif gap is not None:
        raise _unreadable(whole, "the :: must expand to at least one field of zeros")
    return int.from_bytes(b"".join(group.to_bytes(2) for group in groups))
