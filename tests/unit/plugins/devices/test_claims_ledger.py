"""Any history of claims: nothing that we hold, have written or may have written is ever free; in the end all agree."""

from collections import deque
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kit.tiers import examples
from pilotage.kinds.devices import (
    AllocatedDevice,
    AllocatedDevices,
    Allocation,
    ClaimMetadata,
    Consumer,
    ResourceClaim,
    ResourceClaimStatus,
)
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.claims_ledger import ClaimsLedger
from pilotage.testing import make_pod

NAMES = st.sampled_from(["a", "b", "c"])
DEVICES = st.sampled_from(["d0", "d1", "d2", "d3"])
PODS = st.sampled_from(["p", "q"])


def allocation(device: str) -> Allocation:
    return Allocation(AllocatedDevices((AllocatedDevice("r", "gpu", "pool", device),)))


def claim(name: str, uid: str, version: int, devices: Allocation | None = None) -> ResourceClaim:
    metadata = ClaimMetadata(name=name, namespace="shop", uid=uid, resource_version=str(version))
    return ResourceClaim(metadata, status=ResourceClaimStatus(devices))


def pod(name: str, **fields: object) -> Pod:
    return make_pod(name, uid=name, **fields)  # type: ignore[arg-type]


class Usage:
    """What counts, by claim."""

    def __init__(self) -> None:
        self.held: dict[str, Allocation] = {}

    def take(self, claim_uid: str, allocation: Allocation) -> None:
        self.held[claim_uid] = allocation

    def release(self, claim_uid: str) -> None:
        del self.held[claim_uid]

    @property
    def devices(self) -> set[str]:
        return {each.device for held in self.held.values() for each in held.devices.results}


@dataclass(frozen=True)
class Stored:
    """A claim in the server."""

    uid: str
    version: int
    device: str | None = None
    is_ours: bool = False


@dataclass
class OnItsWay:
    """A write without an answer that the server may still see."""

    name: str
    based_on: Stored
    device: str


@dataclass
class Decided:
    """A decision that is not finished."""

    uid: str
    name: str
    device: str
    pods: set[str] = field(default_factory=set)


class Histories(RuleBasedStateMachine):
    """A server, a watch that is late, and a scheduler whose answers may be lost."""

    def __init__(self) -> None:
        super().__init__()
        self.usage = Usage()
        self.ledger = ClaimsLedger(self.usage)
        self.stored: dict[str, Stored] = {}
        self.shown: dict[str, ResourceClaim] = {}  # by the watch
        self.events: deque[tuple[str, Stored | None]] = deque()
        self.decided: dict[str, Decided] = {}  # by uid
        self.on_their_way: list[OnItsWay] = []
        self.answers: deque[ResourceClaim] = deque()  # to reads, and not looked at yet
        self.version = 0

    def _store(self, name: str, stored: Stored | None) -> None:
        self.version += 1
        if stored is None:
            del self.stored[name]
            self.events.append((name, None))
        else:
            self.stored[name] = replace(stored, version=self.version)
            self.events.append((name, self.stored[name]))

    def _as_claim(self, name: str, stored: Stored) -> ResourceClaim:
        return claim(name, stored.uid, stored.version, None if stored.device is None else allocation(stored.device))

    @rule(name=NAMES)
    def create(self, name: str) -> None:
        if name not in self.stored:
            self._store(name, Stored(f"uid-{self.version}", 0))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.stored and self.stored[name].device is None:  # the finalizer protects the others
            self._store(name, None)

    @rule(name=NAMES)
    def somebody_changes_something_else(self, name: str) -> None:
        if name in self.stored:
            self._store(name, self.stored[name])

    @rule(name=NAMES)
    def the_controller_deallocates(self, name: str) -> None:
        if name in self.stored:
            self._store(name, replace(self.stored[name], device=None, is_ours=False))

    @rule(name=NAMES, device=DEVICES)
    def another_scheduler_allocates(self, name: str, device: str) -> None:
        if name in self.stored and self.stored[name].device is None:
            self._store(name, replace(self.stored[name], device=device))

    @rule()
    @precondition(lambda self: self.events)
    def watch(self) -> None:
        name, stored = self.events.popleft()
        before = self.shown.pop(name, None)
        if stored is not None:
            self.shown[name] = self._as_claim(name, stored)
        self.ledger.see(before, self.shown.get(name))

    @rule(name=NAMES, device=DEVICES, by=PODS)
    def reserve(self, name: str, device: str, by: str) -> None:
        found = self.ledger.find("shop", name)
        if found is None or found.status.allocation is not None or device in self.usage.devices:
            return
        uid = found.metadata.uid
        if self.ledger.is_undecided(uid):
            return
        self.ledger.start(found, allocation(device), pod(by))
        self.decided[uid] = Decided(uid, name, device, {by})

    @rule(by=PODS)
    def share(self, by: str) -> None:
        for each in self.decided.values():
            if (flight := self.ledger.flight(each.uid)) is not None:
                self.ledger.start(flight.claim, flight.allocation, pod(by))
                each.pods.add(by)

    @rule(by=PODS)
    def unreserve(self, by: str) -> None:
        for uid, each in list(self.decided.items()):
            self.ledger.release(uid, by)
            each.pods.discard(by)
            if not each.pods:
                del self.decided[uid]

    @rule(name=NAMES, is_answered=st.booleans())
    def write(self, name: str, is_answered: bool) -> None:
        """Try to write a decision on the newest known state."""
        known = self.ledger.find("shop", name)
        if known is None or known.metadata.uid not in self.decided or known.status.allocation is not None:
            return
        each, stored = self.decided[known.metadata.uid], self.stored.get(name)
        if stored is None or str(stored.version) != known.metadata.resource_version:
            return  # a conflict
        if not is_answered:
            self.on_their_way.append(OnItsWay(name, stored, each.device))
            self.ledger.doubt(known, allocation(each.device))
            return
        self._store(name, replace(stored, device=each.device, is_ours=True))
        self.ledger.assume(self._as_claim(name, self.stored[name]))

    @rule()
    @precondition(lambda self: self.on_their_way)
    def arrive(self) -> None:
        late = self.on_their_way.pop(0)
        if self.stored.get(late.name) == late.based_on:
            self._store(late.name, replace(late.based_on, device=late.device, is_ours=True))

    @rule(name=NAMES)
    def read(self, name: str) -> None:
        """Read a claim to find out about a write; if nothing is on its way any more, nothing has come of it."""
        stored = self.stored.get(name)
        if stored is not None:
            self.ledger.assume(self._as_claim(name, stored))
            if not self.on_their_way:
                self.ledger.settle(stored.uid)

    @rule(name=NAMES)
    def ask(self, name: str) -> None:
        """Read a claim; the answer is looked at later, maybe after the watch has shown more."""
        if name in self.stored:
            self.answers.append(self._as_claim(name, self.stored[name]))

    @rule()
    @precondition(lambda self: self.answers)
    def answer(self) -> None:
        self.ledger.assume(self.answers.popleft())

    @rule(name=NAMES)
    def finish(self, name: str) -> None:
        stored = self.stored.get(name)
        known = self.ledger.find("shop", name)
        if stored is None or known is None or known.status.allocation is None:
            return
        self.ledger.finish(known.metadata.uid)
        self.decided.pop(known.metadata.uid, None)

    @invariant()
    def nothing_that_we_hold_is_free(self) -> None:
        known = {name: self.ledger.find("shop", name) for name in self.stored}
        for name, stored in self.stored.items():
            if stored.is_ours and stored.device is not None:
                assert stored.device in self.usage.devices or _was_replaced(known[name], stored), (name, stored)
        for each in self.decided.values():
            latest = self.ledger.latest(each.uid)
            if latest is None or latest.status.allocation is None:
                assert self.usage.held[each.uid] == allocation(each.device)
        for late in self.on_their_way:
            if self.stored.get(late.name) == late.based_on:
                assert late.device in self.usage.devices

    @invariant()
    def what_is_seen_counts(self) -> None:
        for each in self.shown.values():
            latest = self.ledger.latest(each.metadata.uid)
            assert latest is not None
            assert int(latest.metadata.resource_version) >= int(each.metadata.resource_version)

    def teardown(self) -> None:
        """In the end, what counts is what the server has."""
        while self.on_their_way:
            self.arrive()
        while self.events:
            self.watch()
        while self.answers:
            self.answer()
        for name in self.stored:
            self.read(name)
        for by in ("p", "q"):
            self.unreserve(by)
        for uid in list(self.usage.held):
            self.ledger.settle(uid)
        expected = {each.uid: allocation(each.device) for each in self.stored.values() if each.device is not None}
        assert self.usage.held == expected
        assert len(list(self.ledger)) == len(self.stored)


def _was_replaced(known: ResourceClaim | None, stored: Stored) -> bool:
    """Return whether the scheduler cannot know of a claim, because its name was another claim's when it looked."""
    return known is None or known.metadata.uid != stored.uid


TestHistories = Histories.TestCase
TestHistories.settings = examples(100, stateful_step_count=40)


def test_an_old_event_says_nothing_about_a_write_without_an_answer() -> None:
    usage = Usage()
    ledger = ClaimsLedger(usage)
    first, second, third = (claim("a", "uid", version) for version in (1, 2, 3))
    ledger.see(None, first)
    ledger.assume(second)  # with the finalizer
    ledger.doubt(second, allocation("d0"))
    ledger.see(first, second)
    assert usage.devices == {"d0"}
    ledger.see(second, third)
    assert not usage.devices


def test_the_end_of_a_simulation_leaves_what_was_there() -> None:
    usage = Usage()
    ledger = ClaimsLedger(usage)
    free, held = claim("a", "uid-a", 1), claim("b", "uid-b", 1, allocation("d1"))
    ledger.see(None, free)
    ledger.see(None, held)
    ledger.start(free, allocation("d0"), pod("p"))
    ledger.assume(claim("b", "uid-b", 2))
    assert usage.devices == {"d0"}
    ledger.forget_decisions()
    assert usage.devices == {"d1"}


def test_pods_of_a_gang_share_a_decision() -> None:
    ledger = ClaimsLedger(Usage())
    free, gang = claim("a", "uid", 1), {"pod-group.pilotage.dev/name": "train"}
    ledger.see(None, free)
    ledger.start(free, allocation("d0"), pod("p", labels=gang))
    flight = ledger.flight("uid")
    assert flight is not None
    assert flight.is_shared_with(pod("q", labels=gang))
    assert not flight.is_shared_with(pod("r"))
    assert ledger.as_decided(free).status == ResourceClaimStatus(
        allocation("d0"), (Consumer(resource="pods", uid="p"),)
    )
