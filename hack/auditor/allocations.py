"""The rules about devices: each has one owner, and shares and parts fit what they are of."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from auditor.claim import Claim, Device, Use
from auditor.device_slice import Amounts
from auditor.rules import Violation, claim_violation
from auditor.slices import Slices

NONE = Fraction(0)


@dataclass(frozen=True, slots=True)
class Doubt:
    """An allocation that did not fit the slices as known then, and all that was allocated beside it."""

    claim: Claim
    at: float
    shared: dict[Device, Amounts]  # what all shares of its devices have together
    taken: dict[tuple[str, str], frozenset[Device]]  # all allocated devices of its pools


class Allocations:
    """Judges allocations; slices come by another stream than claims, so a doubt is settled with fresh ones."""

    def __init__(self, slices: Slices, grace: float) -> None:
        self._slices, self._grace = slices, grace
        self._uses: dict[Device, dict[str, list[Use]]] = defaultdict(dict)
        self._taken: dict[tuple[str, str], dict[Device, int]] = defaultdict(lambda: defaultdict(int))
        self._names: dict[str, Claim] = {}
        self._doubts: list[Doubt] = []

    def replace(self, old: Claim | None, new: Claim | None) -> None:
        """Take the next version of a claim into account."""
        for use in old.uses if old else ():
            if self._uses[use.device].pop(old.uid if old else "", None) is not None:
                self._count(use.device, -1)
        if old:
            self._names.pop(old.uid, None)
        if new:
            self._names[new.uid] = new
            for use in new.uses:
                if new.uid not in self._uses[use.device]:
                    self._count(use.device, +1)
                self._uses[use.device].setdefault(new.uid, []).append(use)

    def judge(self, claim: Claim, now: float) -> Iterator[Violation]:
        """Judge a claim that has just got its devices, and remember it if the verdict depends on slices."""
        if not claim.is_protected:
            yield claim_violation("unprotected-claim", now, claim, "allocated without its finalizer")
        for device in dict.fromkeys(use.device for use in claim.uses):
            if others := self._conflict(claim, device):
                yield claim_violation("device-twice", now, claim, f"device {device} belongs to {others} as well")
        doubt = self._doubt(claim, now)
        if self._shortages(doubt):
            self._doubts.append(doubt)

    def settle(self, slices_as_of: float, final: bool = False) -> Iterator[Violation]:
        """Decide the doubts for which the slices are known as they were a grace after the allocation."""
        undecided = []
        for doubt in self._doubts:
            shortages = self._shortages(doubt)
            if shortages and (final or slices_as_of > doubt.at + self._grace):
                yield claim_violation("device-overcommit", doubt.at, doubt.claim, ", ".join(shortages))
            elif shortages:
                undecided.append(doubt)
        self._doubts = undecided

    def needs_slices(self, now: float) -> bool:
        """Return whether a doubt is ripe and only a fresh list of slices is missing."""
        return any(now > doubt.at + self._grace for doubt in self._doubts)

    def _count(self, device: Device, change: int) -> None:
        taken = self._taken[device[:2]]
        taken[device] += change
        if not taken[device]:
            del taken[device]

    def _conflict(self, claim: Claim, device: Device) -> str:
        """Return who else has a device that is not only shared."""
        uses = self._uses[device]
        if len([use for some in uses.values() for use in some]) < 2:
            return ""
        if all(use.is_share for some in uses.values() for use in some):
            return ""
        others = [f"claim {self._names[uid]}" for uid in uses if uid != claim.uid]
        return ", ".join(others) or "another request of this claim"

    def _doubt(self, claim: Claim, now: float) -> Doubt:
        shared = {use.device: self._shares(use.device) for use in claim.uses if use.is_share}
        pools = {use.device[:2] for use in claim.uses}
        return Doubt(claim, now, shared, {pool: frozenset(self._taken[pool]) for pool in pools})

    def _shares(self, device: Device) -> Amounts:
        total: Amounts = defaultdict(Fraction)
        for some in self._uses[device].values():
            for use in some:
                for name, amount in use.consumed:
                    total[name] += amount
        return dict(total)

    def _shortages(self, doubt: Doubt) -> list[str]:
        since = doubt.at - self._grace
        return [*self._too_many_shares(doubt, since), *self._too_many_parts(doubt, since)]

    def _too_many_shares(self, doubt: Doubt, since: float) -> Iterator[str]:
        for device, wanted in doubt.shared.items():
            offered = self._slices.capacity(device, since)
            if offered is None:
                continue  # the device is unknown, or not any more
            for name, amount in wanted.items():
                if amount > offered.get(name, NONE):
                    yield f"{name} of device {device}: {float(amount):g} of {float(offered.get(name, NONE)):g}"

    def _too_many_parts(self, doubt: Doubt, since: float) -> Iterator[str]:
        for pool, devices in doubt.taken.items():
            own = {use.device for use in doubt.claim.uses if use.device[:2] == pool}
            concerned = {counter for device in own for counter in self._slices.consumption(device, since)}
            offered = self._slices.counters(pool, since)
            for counter in sorted(concerned & set(offered)):
                wanted = sum((self._slices.consumption(device, since).get(counter, NONE) for device in devices), NONE)
                if wanted > offered[counter]:
                    name = "/".join((*pool, *counter))
                    yield f"counter {name}: {float(wanted):g} of {float(offered[counter]):g}"
