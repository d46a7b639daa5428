"""Which waiting pods came, moved or left, for a reader that counts them from time to time."""

from collections.abc import Container


class ChangedPods:
    """The pods that the reader has to look at; one that came and left in between leaves no trace."""

    __slots__ = ("_counted", "keys")

    def __init__(self, counted: Container[str]) -> None:
        self.keys: dict[str, None] = {}  # by namespace/name
        self._counted = counted  # what the reader has counted

    def note(self, key: str) -> None:
        """Note that a pod came or moved."""
        self.keys[key] = None

    def left(self, key: str) -> None:
        """Note that a pod left."""
        if key in self._counted:
            self.keys[key] = None
        else:
            self.keys.pop(key, None)
