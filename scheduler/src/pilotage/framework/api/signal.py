"""Something that happens, and those who want to know."""

from collections.abc import Callable
from typing import Generic, TypeVarTuple

What = TypeVarTuple("What")


class Signal(Generic[*What]):
    """Tells all who are connected, in the order in which they were; what one of them raises is the caller's."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[*What], object], ...] = ()

    def connect(self, listener: Callable[[*What], object]) -> None:
        """Tell somebody from now on."""
        self._listeners += (listener,)

    def __call__(self, *what: *What) -> None:
        """Tell that it has happened."""
        for listener in self._listeners:
            listener(*what)
