"""Who holds which devices: each claim as watched, as written by us, and as decided but not written yet.

                reserve                    write answered               watch shows it
   free ──────> IN FLIGHT ───────────────> ASSUMED ───────────────────> SEEN
                    │   └── no answer ──> IN DOUBT ── watch or GET ──>   │
                    └── unreserve ──> free                               └── deallocated, or deleted ──> free

The newest known state of a claim counts. While it says that the claim has no devices, those count that are decided or
in doubt. Every change of what counts goes to the usage, so that no device is free while somebody holds it.
"""

from collections.abc import Iterator
from typing import Protocol

from pilotage.kinds.devices import Allocation, Consumer, ResourceClaim
from pilotage.model.gangs import GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claim_bodies import as_allocated
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id

UNKNOWN = -1
MOST_GONE = 4096  # remembered deletions: an answer that comes later than the deletion must not bring a claim back


class Holdings(Protocol):
    """What each claim holds, by its id."""

    def take(self, claim_uid: str, allocation: Allocation) -> None:
        """Note what a claim holds, in place of what it held before."""

    def release(self, claim_uid: str) -> None:
        """Note that a claim holds nothing."""


class Flight:
    """Devices chosen for a claim that are not written yet, and the pods for which they were chosen."""

    __slots__ = ("allocation", "claim", "holders")

    def __init__(self, claim: ResourceClaim, allocation: Allocation) -> None:
        self.claim = claim
        self.allocation = allocation
        self.holders: dict[str, GangName | None] = {}  # the gang of each pod, by uid

    def is_shared_with(self, pod: Pod) -> bool:
        """Return whether a pod need not wait for the write, because it is placed together with a holder."""
        gang = gang_of(pod)
        return pod.uid in self.holders or (gang is not None and gang in self.holders.values())


class Doubt:
    """Devices of a write without an answer: it may take effect until a newer version of the claim is known."""

    __slots__ = ("allocation", "version")

    def __init__(self, allocation: Allocation, version: int) -> None:
        self.allocation = allocation
        self.version = version  # on which the write was based


class _Entry:
    """All that is known of one claim."""

    __slots__ = ("assumed", "counted", "doubt", "flight", "key", "seen", "seen_then")

    def __init__(self, key: tuple[str, str]) -> None:
        self.key = key
        self.seen: ResourceClaim | None = None
        self.assumed: ResourceClaim | None = None
        self.seen_then: ResourceClaim | None = None  # what the watch had shown when the state was assumed
        self.flight: Flight | None = None
        self.doubt: Doubt | None = None
        self.counted: Allocation | None = None  # what the usage has

    @property
    def latest(self) -> ResourceClaim | None:
        """Return the newest known state."""
        return self.seen if self.assumed is None else self.assumed

    @property
    def effective(self) -> Allocation | None:
        """Return the devices that count."""
        latest = self.latest
        if latest is not None and latest.status.allocation is not None:
            return latest.status.allocation  # nobody can change it, so that an own decision has failed
        if self.flight is not None:
            return self.flight.allocation
        return None if self.doubt is None else self.doubt.allocation

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is known any more."""
        return self.latest is None and self.flight is None and self.doubt is None


class ClaimsLedger:
    """All claims of a cluster, and the devices that they hold."""

    def __init__(self, usage: Holdings) -> None:
        self._usage = usage
        self._entries: dict[str, _Entry] = {}  # by the id of the claim
        self._ids: dict[tuple[str, str], str] = {}  # of the newest claim of each name
        self._gone: dict[str, None] = {}  # the ids of deleted claims, the oldest first

    # ------------------------------------------------------------------------------------------ questions

    def find(self, namespace: str, name: str) -> ResourceClaim | None:
        """Return the newest known state of a claim."""
        found = self._ids.get((namespace, name))
        return None if found is None else self.latest(found)

    def latest(self, uid: str) -> ResourceClaim | None:
        """Return the newest known state of the claim with this id."""
        entry = self._entries.get(uid)
        return None if entry is None else entry.latest

    def is_seen(self, uid: str) -> bool:
        """Return whether the watch has shown the claim."""
        entry = self._entries.get(uid)
        return entry is not None and entry.seen is not None

    def flight(self, uid: str) -> Flight | None:
        """Return the devices that are chosen and not written yet."""
        entry = self._entries.get(uid)
        return None if entry is None else entry.flight

    def is_undecided(self, uid: str) -> bool:
        """Return whether the claim may be about to get devices."""
        entry = self._entries.get(uid)
        return entry is not None and (entry.flight is not None or entry.doubt is not None)

    def as_decided(self, claim: ResourceClaim) -> ResourceClaim:
        """Return the newest state of a claim, with the devices that it is about to get, and for whom."""
        entry = self._entries.get(claim_id(claim))
        latest = claim if entry is None or entry.latest is None else entry.latest
        if entry is None or entry.effective is None or latest.status.allocation is not None:
            return latest
        holders = () if entry.flight is None else entry.flight.holders
        return as_allocated(latest, entry.effective, [Consumer(resource="pods", uid=uid) for uid in holders])

    def __iter__(self) -> Iterator[ResourceClaim]:
        """Yield the newest known state of every claim."""
        return (entry.latest for entry in self._entries.values() if entry.latest is not None)

    # ------------------------------------------------------------------------------------------ what the watch shows

    def see(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        """Follow a claim that was added, changed, deleted, or replaced by another one of its name."""
        if old is not None and (new is None or claim_id(new) != claim_id(old)):
            self.lose(claim_id(old))
        if new is None:
            return
        uid = claim_id(new)
        self._gone.pop(uid, None)
        entry = self._entry(uid, new)
        entry.seen = new
        if entry.assumed is not None and not _stands(entry, new):
            entry.assumed = entry.seen_then = None
        if entry.doubt is not None and _number(new) > entry.doubt.version:
            entry.doubt = None
        self._ids[entry.key] = uid
        self._settle(uid, entry)

    def lose(self, uid: str) -> None:
        """Forget a claim that does not exist any more; what is decided for it counts until it is released."""
        self._gone[uid] = None
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]
        entry = self._entries.get(uid)
        if entry is not None:
            entry.seen = entry.assumed = entry.seen_then = entry.doubt = None
            self._settle(uid, entry)

    # ------------------------------------------------------------------------------------ what we decide and write

    def start(self, claim: ResourceClaim, allocation: Allocation, pod: Pod) -> None:
        """Note the devices that were chosen for a claim; another pod may have chosen them before."""
        uid = claim_id(claim)
        entry = self._entry(uid, claim)
        if entry.flight is None:
            entry.flight = Flight(claim, allocation)
        entry.flight.holders[pod.uid] = gang_of(pod)
        self._settle(uid, entry)

    def release(self, uid: str, pod_uid: str) -> bool:
        """Give up a pod's part in a decision; True if the devices are free now."""
        entry = self._entries.get(uid)
        if entry is None or entry.flight is None or entry.flight.holders.pop(pod_uid, "") == "":
            return False
        if entry.flight.holders:
            return False
        entry.flight = None
        self._settle(uid, entry)
        return entry.effective is None

    def finish(self, uid: str) -> None:
        """Note that a decision is written, for all pods that share it."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.flight = None
            self._settle(uid, entry)

    def assume(self, claim: ResourceClaim) -> bool:
        """Take over a state that the API server has confirmed; False if a newer one is known, or the same."""
        uid = claim_id(claim)
        if uid in self._gone:
            return False
        entry = self._entry(uid, claim)
        if entry.latest is not None and not _is_newer(claim, entry.latest):
            return False
        entry.assumed, entry.seen_then = claim, entry.seen
        if entry.doubt is not None and _number(claim) > entry.doubt.version:
            entry.doubt = None
        self._ids[entry.key] = uid
        self._settle(uid, entry)
        return True

    def doubt(self, claim: ResourceClaim, allocation: Allocation) -> None:
        """Note a write that may have taken effect or not, based on this state of the claim."""
        uid, version = claim_id(claim), _number(claim)
        entry = self._entry(uid, claim)
        if entry.latest is not None and _number(entry.latest) <= version:
            entry.doubt = Doubt(allocation, version)
        self._settle(uid, entry)

    def is_doubted(self, uid: str) -> bool:
        """Return whether the outcome of a write is unknown."""
        entry = self._entries.get(uid)
        return entry is not None and entry.doubt is not None

    def settle(self, uid: str) -> None:
        """Note that a write in doubt did not take effect."""
        entry = self._entries.get(uid)
        if entry is not None:
            entry.doubt = None
            self._settle(uid, entry)

    def rename(self, uid: str, claim: ResourceClaim) -> None:
        """Pass a decision on to the claim that was created for it."""
        entry = self._entries.get(uid)
        if entry is None or entry.flight is None:
            return
        flight, entry.flight = entry.flight, None
        created = self._entry(claim_id(claim), claim)
        created.flight = flight
        self._settle(claim_id(claim), created)
        self._settle(uid, entry)

    def forget_decisions(self) -> None:
        """Return to what the watch shows: a simulation is over."""
        for uid, entry in list(self._entries.items()):
            entry.assumed = entry.seen_then = entry.flight = entry.doubt = None
            self._settle(uid, entry)

    # ------------------------------------------------------------------------------------------ accounting

    def _entry(self, uid: str, claim: ResourceClaim) -> _Entry:
        entry = self._entries.get(uid)
        if entry is None:
            key = (claim.metadata.namespace, claim.metadata.name)
            entry = self._entries[uid] = _Entry(key)
        return entry

    def _settle(self, uid: str, entry: _Entry) -> None:
        """Tell the usage what counts now."""
        now, before = entry.effective, entry.counted
        if now is not None and (before is None or before.devices.results != now.devices.results):
            self._usage.take(uid, now)
        elif now is None and before is not None:
            self._usage.release(uid)
        entry.counted = now
        if entry.is_idle:
            self._entries.pop(uid, None)
            if self._ids.get(entry.key) == uid:
                del self._ids[entry.key]


def _stands(entry: _Entry, seen: ResourceClaim) -> bool:
    """Return whether an assumed state is newer than what the watch shows."""
    assert entry.assumed is not None
    known, shown = _number(entry.assumed), _number(seen)
    if UNKNOWN in (known, shown):
        return seen is entry.seen_then  # in a simulation there are no versions, but also no other writers
    return shown < known


def _is_newer(claim: ResourceClaim, other: ResourceClaim) -> bool:
    one, two = _number(claim), _number(other)
    return UNKNOWN in (one, two) or one > two


def _number(claim: ResourceClaim) -> int:
    """Return the resource version as a number, as far as it is one."""
    version = claim.metadata.resource_version
    return int(version) if version.isdecimal() and version.isascii() else UNKNOWN
