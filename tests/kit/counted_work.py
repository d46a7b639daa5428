"""Texts and numbers that count how often they are compared, for tests of how much work something is."""


class CountedText(str):
    """A text that counts comparisons."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        """Compare, and count it."""
        CountedText.compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Compare, and count it."""
        CountedText.compared += 1
        return str.__ne__(self, other)

    __hash__ = str.__hash__


class CountedNumber(int):
    """A number that counts comparisons and additions."""

    __slots__ = ()
    used = 0

    def __gt__(self, other: int) -> bool:
        """Compare, and count it."""
        CountedNumber.used += 1
        return int.__gt__(self, other)

    def __lt__(self, other: int) -> bool:
        """Compare, and count it."""
        CountedNumber.used += 1
        return int.__lt__(self, other)

    def __add__(self, other: int) -> "CountedNumber":
        """Add, and count it."""
        CountedNumber.used += 1
        return CountedNumber(int.__add__(self, other))

    __radd__ = __add__
