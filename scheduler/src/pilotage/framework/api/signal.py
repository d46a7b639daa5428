"""A signal and its subscribers."""

from collections.abc import Callable
from typing import Generic, TypeVarTuple

What = TypeVarTuple("What")


class Signal(Generic[*What]):
    """Calls all subscribers in order; exceptions propagate to the caller."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[*What], object], ...] = ()

    def connect(self, listener: Callable[[*What], object]) -> None:
        """Subscribe a function."""
        self._listeners += (listener,)

    def __call__(self, *what: *What) -> None:
        """Call all subscribers."""
        for listener in self._listeners:
            listener(*what)
