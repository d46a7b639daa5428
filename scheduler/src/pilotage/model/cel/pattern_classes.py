"""Sets of characters in regular expressions, as RE2 has them."""

import re
import unicodedata
from bisect import bisect_right

from msgspec import Struct

LAST = 0x10FFFF
Ranges = list[tuple[int, int]]

DIGIT: Ranges = [(0x30, 0x39)]
SPACE: Ranges = [(0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)]
UPPER, LOWER = (0x41, 0x5A), (0x61, 0x7A)
WORD: Ranges = [*DIGIT, UPPER, (0x5F, 0x5F), LOWER]
PERL = {"d": DIGIT, "s": SPACE, "w": WORD}
POSIX: dict[str, Ranges] = {
    "alnum": [*DIGIT, UPPER, LOWER],
    "alpha": [UPPER, LOWER],
    "ascii": [(0, 0x7F)],
    "blank": [(0x09, 0x09), (0x20, 0x20)],
    "cntrl": [(0, 0x1F), (0x7F, 0x7F)],
    "digit": DIGIT,
    "graph": [(0x21, 0x7E)],
    "lower": [LOWER],
    "print": [(0x20, 0x7E)],
    "punct": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)],
    "space": [(0x09, 0x0D), (0x20, 0x20)],
    "upper": [UPPER],
    "word": WORD,
    "xdigit": [*DIGIT, (0x41, 0x46), (0x61, 0x66)],
}
CATEGORY = re.compile(r"Any|C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")
# Letters that fold to one of ASCII and back.
FAR_FOLDS = {"k": "\u212a", "s": "\u017f"}


class CharacterSet(Struct, frozen=True):
    """Characters in ranges or categories of Unicode, or all others."""

    starts: tuple[int, ...]
    ends: tuple[int, ...]
    categories: tuple[tuple[str, bool], ...] = ()  # a category, and whether it is excluded
    is_negated: bool = False
    folds: bool = False

    def has(self, sign: str) -> bool:
        """Return whether a character is one of these."""
        signs = folded(sign) if self.folds else (sign,)
        return any(map(self._has, signs)) is not self.is_negated

    def _has(self, sign: str) -> bool:
        code = ord(sign)
        place = bisect_right(self.starts, code) - 1
        if place >= 0 and code <= self.ends[place]:
            return True
        return any(_is_in(sign, category) is not excluded for category, excluded in self.categories)


def _is_in(sign: str, category: str) -> bool:
    return category == "Any" or unicodedata.category(sign).startswith(category)


def folded(sign: str) -> set[str]:
    """Return all characters that are the same but for their case."""
    found = {sign, sign.lower(), sign.upper(), sign.lower().upper(), sign.upper().lower()}
    found |= {FAR_FOLDS[each] for each in found if each in FAR_FOLDS}
    return {each for each in found if len(each) == 1}


def character_set(
    ranges: Ranges,
    categories: tuple[tuple[str, bool], ...] = (),
    is_negated: bool = False,
    folds: bool = False,
) -> CharacterSet:
    """Return the set of these ranges, which may overlap."""
    merged: Ranges = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    starts, ends = tuple(start for start, _ in merged), tuple(end for _, end in merged)
    return CharacterSet(starts, ends, categories, is_negated, folds)


def inverted(ranges: Ranges) -> Ranges:
    """Return all that these ranges, sorted and apart, leave out."""
    found, following = [], 0
    for start, end in sorted(ranges):
        if following < start:
            found.append((following, start - 1))
        following = end + 1
    return [*found, (following, LAST)] if following <= LAST else found
