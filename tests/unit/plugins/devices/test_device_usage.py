"""What claims hold: any sequence of claims leaves the sums that a count of those that are left has."""

from collections import Counter, defaultdict

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kit.tiers import examples
from pilotage.kinds.devices import AllocatedDevice, AllocatedDevices, Allocation
from pilotage.model.quantity import NANOS
from pilotage.plugins.devices.dynamic_resources.usage import Usage

POOLS = [("a", "p"), ("a", "q"), ("b", "p")]
UIDS = ["one", "two", "three"]

results = st.builds(
    lambda pool, name, share, amount, admin: AllocatedDevice(
        request="r",
        driver=pool[0],
        pool=pool[1],
        device=name,
        admin_access=admin,
        share_id="id" if share else None,
        consumed_capacity={"mem": str(amount)} if share and amount else {},
    ),
    st.sampled_from(POOLS),
    st.sampled_from(["d0", "d1"]),
    st.booleans(),
    st.integers(0, 3),
    st.sampled_from([None, None, True]),
)
allocations = st.builds(lambda found: Allocation(AllocatedDevices(tuple(found))), st.lists(results, max_size=3))


class Claims(RuleBasedStateMachine):
    """Claims that get devices and lose them."""

    def __init__(self) -> None:
        super().__init__()
        self.usage = Usage()
        self.held: dict[str, Allocation] = {}
        self.seen = self.usage.changed.position
        self.versions = {pool: self.usage.of(pool).version for pool in POOLS}

    @rule(uid=st.sampled_from(UIDS), allocation=allocations)
    def take(self, uid: str, allocation: Allocation) -> None:
        self.held[uid] = allocation
        self.usage.take(uid, allocation)

    @rule(uid=st.sampled_from(UIDS))
    def release(self, uid: str) -> None:
        self.held.pop(uid, None)
        self.usage.release(uid)

    @invariant()
    def the_sums_are_those_of_a_recount(self) -> None:
        alone: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        shares: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        memory: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for allocation in self.held.values():
            for each in allocation.devices.results:
                if each.admin_access:
                    continue
                pool = (each.driver, each.pool)
                (alone if each.share_id is None else shares)[pool][each.device] += 1
                memory[pool][each.device] += NANOS * int(each.consumed_capacity.get("mem", 0))
        for pool in POOLS:
            use = self.usage.of(pool)
            assert use.alone == alone[pool]
            assert use.shares == shares[pool]
            assert {name: sums["mem"] for name, sums in use.consumed.items()} == +memory[pool]

    @invariant()
    def whoever_follows_hears_of_every_change(self) -> None:
        changed = self.usage.changed.since(self.seen)
        assert changed is not None
        self.seen = self.usage.changed.position
        versions = {pool: self.usage.of(pool).version for pool in POOLS}
        assert {pool for pool in POOLS if versions[pool] != self.versions[pool]} <= set(changed)
        self.versions = versions


TestClaims = Claims.TestCase
TestClaims.settings = examples(60, deadline=None)
