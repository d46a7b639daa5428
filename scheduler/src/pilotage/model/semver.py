"""Semantic versions 2.0, parsed and compared as Kubernetes does."""

import re
from functools import lru_cache, total_ordering
from typing import Any

from msgspec import Struct

from pilotage.model.go_text import quoted

LARGEST_NUMBER = 2**64 - 1
LONGEST = 1024  # characters; an attribute has 64 at most
NUMBERS = re.compile(r"[0-9]*")
WORDS = re.compile(r"[0-9A-Za-z-]*")
REMEMBERED = 1 << 14

PartKey = tuple[int, int, str]  # of a pre-release: numbers before words
NO_PRERELEASE: tuple[PartKey, ...] = ((2, 0, ""),)  # a release comes after all of its pre-releases


class InvalidSemver(ValueError):
    """The text is not a semantic version."""


@total_ordering
class Semver(Struct, frozen=True, eq=False):
    """A version; build metadata is kept, and counts neither for equality nor for the order."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()
    key: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Semver) else NotImplemented

    def __lt__(self, other: "Semver") -> bool:
        return bool(self.key < other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        """Return the text that this was parsed from."""
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(map(str, self.prerelease))
        return text + ("+" + ".".join(self.build) if self.build else "")


@lru_cache(maxsize=REMEMBERED)
def parse(text: str) -> Semver:
    """Return the version of a text, or raise InvalidSemver with the text that Kubernetes shows."""
    if not text:
        raise InvalidSemver("Version string empty")
    if len(text) > LONGEST:
        raise InvalidSemver(f"the version has more than {LONGEST} characters")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise InvalidSemver("No Major.Minor.Patch elements found")
    major, minor = _number("Major", parts[0]), _number("Minor", parts[1])
    rest, has_build, build = parts[2].partition("+")
    rest, has_prerelease, prerelease = rest.partition("-")
    patch = _number("Patch", rest)
    words = tuple(map(_prerelease_part, prerelease.split("."))) if has_prerelease else ()
    metadata = tuple(map(_build_part, build.split("."))) if has_build else ()
    return Semver(major, minor, patch, words, metadata, (major, minor, patch, _key(words)))


def normalized(text: str) -> Semver:
    """Return the version of a text that may start with v, lack minor and patch, or have leading zeros."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise InvalidSemver("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _without_zeros(part: str) -> str:
    if len(part) <= 1:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in tuple("0123456789") else f"0{rest}"


def _number(name: str, text: str) -> int:
    if not NUMBERS.fullmatch(text):
        raise InvalidSemver(f"Invalid character(s) found in {name.lower()} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise InvalidSemver(f"{name} number must not contain leading zeroes {quoted(text)}")
    return _unsigned(text)


def _unsigned(text: str) -> int:
    # Go's words for what its parser of numbers refuses.
    if not text:
        raise InvalidSemver('strconv.ParseUint: parsing "": invalid syntax')
    if (number := int(text)) > LARGEST_NUMBER:
        raise InvalidSemver(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return number


def _prerelease_part(text: str) -> int | str:
    if not text:
        raise InvalidSemver("Prerelease is empty")
    if NUMBERS.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            raise InvalidSemver(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return _unsigned(text)
    if not WORDS.fullmatch(text):
        raise InvalidSemver(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _build_part(text: str) -> str:
    if not text:
        raise InvalidSemver("Build meta data is empty")
    if not WORDS.fullmatch(text):
        raise InvalidSemver(f"Invalid character(s) found in build meta data {quoted(text)}")
    return text


def _key(prerelease: tuple[int | str, ...]) -> tuple[PartKey, ...]:
    if not prerelease:
        return NO_PRERELEASE
    return tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in prerelease)
