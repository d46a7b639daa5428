"""Limits the number of connections, in total and per peer, and chooses which one is closed for a new one.

                 begin
enter ──> idle ─────────> busy      idle: connecting, or connected without a complete request
            ^─────────────┘         busy: being answered
                  end
"""

import ipaddress
from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V", bound=Hashable)

_IPV6_HOST_BITS = 64


def peer_of(address: str) -> str:
    """Return the peer of an address: itself, or the network of an IPv6 one."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    # A host can use all addresses of its /64 network.
    return str(ipaddress.ip_network((int(found) >> _IPV6_HOST_BITS << _IPV6_HOST_BITS, 128 - _IPV6_HOST_BITS)))


class Admission(Generic[V]):
    """Counts visits; a peer is never displaced by peers with more visits."""

    def __init__(self, most: int, most_of_one_peer: int) -> None:
        self._most, self._most_of_one_peer = most, most_of_one_peer
        self._peers: dict[V, str] = {}
        # By peer, the longest idle or busy one first.
        self._idle: dict[str, dict[V, None]] = {}
        self._busy: dict[str, dict[V, None]] = {}

    def __len__(self) -> int:
        return len(self._peers)

    def count(self, peer: str) -> int:
        """Return the number of visits of a peer."""
        return len(self._idle.get(peer, ())) + len(self._busy.get(peer, ()))

    def enter(self, visit: V, peer: str) -> V | None:
        """Admit a visit, and return the visit to close for it: itself if there is no other."""
        leaving = self._who_leaves(visit, peer)
        if leaving is not None:
            self.leave(leaving)
        if leaving != visit:
            self._peers[visit] = peer
            self._idle.setdefault(peer, {})[visit] = None
        return leaving

    def _who_leaves(self, visit: V, peer: str) -> V | None:
        own = self.count(peer)
        if own >= self._most_of_one_peer:
            return self._oldest_idle(peer, visit)
        if len(self) < self._most:
            return None
        largest = max((*self._idle, *self._busy), key=self.count)
        if self.count(largest) <= own:
            return self._oldest_idle(peer, visit)
        # A peer with fewer visits takes precedence.
        return next(iter([*self._idle.get(largest, {}), *self._busy.get(largest, {})]))

    def _oldest_idle(self, peer: str, otherwise: V) -> V:
        return next(iter(self._idle.get(peer, ())), otherwise)

    def begin(self, visit: V) -> None:
        """Record that the request of a visit is being handled."""
        self._move(visit, self._busy)

    def end(self, visit: V) -> None:
        """Record that a visit got its response."""
        self._move(visit, self._idle)

    def _move(self, visit: V, group: dict[str, dict[V, None]]) -> None:
        if (peer := self._peers.get(visit)) is not None:
            self._forget(visit, peer)
            group.setdefault(peer, {})[visit] = None

    def leave(self, visit: V) -> None:
        """Forget a visit, if it is known."""
        if (peer := self._peers.pop(visit, None)) is not None:
            self._forget(visit, peer)

    def _forget(self, visit: V, peer: str) -> None:
        for group in (self._idle, self._busy):
            found = group.get(peer, {})
            found.pop(visit, None)
            if not found:
                group.pop(peer, None)
