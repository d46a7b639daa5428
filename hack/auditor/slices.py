"""All slices, with their recent versions."""

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeVar

from auditor.claim import Device
from auditor.device_slice import Amounts, Counters, DeviceSlice

Key = TypeVar("Key")
KEPT_VERSIONS = 600.0  # seconds; longer than any doubt lasts


class Slices:
    """What pools offer; where versions differ the most generous one counts, since anybody may have seen that."""

    def __init__(self) -> None:
        self.current: dict[str, DeviceSlice] = {}
        self._past: list[tuple[float, DeviceSlice]] = []

    def see(self, found: DeviceSlice, now: float) -> None:
        """Record a slice's version."""
        if self.current.get(found.name) != found:
            self.lose(found.name, now)
            self.current[found.name] = found

    def lose(self, name: str, now: float) -> None:
        """Record that a slice, or its version so far, is gone."""
        if old := self.current.pop(name, None):
            self._past = [one for one in self._past if one[0] >= now - KEPT_VERSIONS]
            self._past.append((now, old))

    def capacity(self, device: Device, since: float) -> Amounts | None:
        """Return what a device had at most since then, or None if it was not seen."""
        found = [one.capacities[device] for one in self._versions(device[:2], since) if device in one.capacities]
        return _largest(found) if found else None

    def consumption(self, device: Device, since: float) -> Counters:
        """Return what a device takes of the counters of its pool, at least."""
        found = [one.consumption[device] for one in self._versions(device[:2], since) if device in one.consumption]
        shared = set.intersection(*(set(one) for one in found)) if found else set()
        return {counter: min(one[counter] for one in found) for counter in shared}

    def counters(self, pool: tuple[str, str], since: float) -> Counters:
        """Return what the counters of a pool had at most since then."""
        return _largest([one.counters for one in self._versions(pool, since)])

    def _versions(self, pool: tuple[str, ...], since: float) -> Iterator[DeviceSlice]:
        yield from (one for one in self.current.values() if one.pool == pool)
        yield from (one for until, one in self._past if until >= since and one.pool == pool)


def _largest(found: list[dict[Key, Fraction]]) -> dict[Key, Fraction]:
    largest: dict[Key, Fraction] = {}
    for one in found:
        for key, amount in one.items():
            largest[key] = max(amount, largest.get(key, amount))
    return largest
