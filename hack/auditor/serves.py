"""Which users may bind which pods."""

from collections.abc import Iterable
from dataclasses import dataclass, field

ANY = "*"


class BadService(ValueError):
    """A --serves declaration is invalid."""


@dataclass(frozen=True, slots=True)
class Serves:
    """The declared schedulers: per user the scheduler names it serves; empty means that nothing was declared."""

    names: dict[str, frozenset[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names)

    def may_bind(self, user: str, scheduler: str) -> bool:
        """Return whether this user may bind pods that name this scheduler."""
        served = self.names.get(user, frozenset())
        return not self.names or ANY in served or scheduler in served

    def is_served(self, scheduler: str) -> bool:
        """Return whether anyone declared serves pods that name this scheduler."""
        return not self.names or any(ANY in served or scheduler in served for served in self.names.values())


def serves_of(declared: Iterable[str]) -> Serves:
    """Read declarations of the form USER=NAME[,NAME...]; a user's declarations add up."""
    names: dict[str, frozenset[str]] = {}
    for text in declared:
        user, _, listed = text.rpartition("=")
        served = frozenset(name.strip() for name in listed.split(",") if name.strip())
        if not user or not served:
            raise BadService(f"{text!r} does not say who serves whom; write USER=NAME[,NAME...] or USER=*")
        names[user] = names.get(user, frozenset()) | served
    return Serves(names)
