"""Binds of other schedulers: their rate, and the last ones by node."""

from typing import NamedTuple

MOMENT = 1.0  # seconds: binds to one node within this time are reported together
MINUTE = 60.0
KEPT_FOR = 600.0  # seconds after the last bind to a node


class Lately(NamedTuple):
    """The last binds of other schedulers to one node."""

    last: float
    pods: int  # bound in a row, each within MOMENT of the one before
    scheduler: str


class ForeignBinds:
    """Counts binds of pods whose schedulerName none of our profiles serves."""

    def __init__(self) -> None:
        self.total = 0
        self._by_node: dict[str, Lately] = {}
        self._minute, self._now, self._before = 0, 0, 0  # the current minute, its binds, and those of the minute before

    def note(self, node: str, scheduler: str, now: float) -> None:
        """Count a bind."""
        self.total += 1
        self._turn(now)
        self._now += 1
        known = self._by_node.get(node)
        pods = known.pods + 1 if known is not None and now - known.last <= MOMENT else 1
        self._by_node[node] = Lately(now, pods, scheduler)

    def per_minute(self, now: float) -> int:
        """Return the number of the last full minute, or of the current one if that is larger."""
        self._turn(now)
        return max(self._now, self._before)

    def at(self, node: str) -> Lately | None:
        """Return the last foreign binds to a node."""
        return self._by_node.get(node)

    def nodes(self) -> list[str]:
        """Return the nodes that other schedulers have used lately."""
        return list(self._by_node)

    def forget_old(self, now: float) -> None:
        """Forget nodes that other schedulers have not used for long."""
        self._by_node = {node: each for node, each in self._by_node.items() if now - each.last <= KEPT_FOR}

    def _turn(self, now: float) -> None:
        minute = int(now // MINUTE)
        if minute != self._minute:
            self._before = self._now if minute == self._minute + 1 else 0
            self._minute, self._now = minute, 0
