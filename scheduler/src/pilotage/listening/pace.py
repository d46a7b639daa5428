"""Limits the rate of handshakes per peer, since constant reconnects would use all our CPU time."""

_MOST_PEERS = 1024  # remembered


class Pace:
    """A token bucket of handshakes for each peer."""

    def __init__(self, at_once: int, a_second: float) -> None:
        self._at_once, self._a_second = at_once, a_second
        self._stores: dict[str, tuple[float, float]] = {}  # tokens left, and at what time

    def __len__(self) -> int:
        return len(self._stores)

    def delay(self, peer: str, now: float) -> float:
        """Take a token, and return how many seconds the handshake must wait."""
        left = self._left(peer, now) - 1
        # Waiting connections are soon closed for newer ones, so at most one bucket of them waits.
        self._stores[peer] = max(left, -self._at_once), now
        if len(self._stores) > _MOST_PEERS:
            self._forget_who_has_all(now)
        return max(0.0, -left / self._a_second)

    def _left(self, peer: str, now: float) -> float:
        left, then = self._stores.get(peer, (self._at_once, now))
        return min(self._at_once, left + (now - then) * self._a_second)

    def _forget_who_has_all(self, now: float) -> None:
        self._stores = {
            peer: store for peer, store in self._stores.items() if self._left(peer, now) < self._at_once - 1
        }
