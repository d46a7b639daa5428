"""Generated devices, claims and holders: small, so that they meet often."""

from typing import Any

from hypothesis import strategies as st

from kit.device_scene import (
    Manifest,
    claim,
    counter_set,
    device,
    distinct,
    draws,
    exactly,
    first_of,
    held,
    match,
    piece,
    selecting,
)
from pilotage.kinds.devices import Allocation, ResourceClaim, ResourceSlice

DRIVERS, NODES, ZONES = ("a", "b"), ("n1", "n2", "n3"), ("x", "y")
SELECTORS = (
    'device.attributes["a"].?size.orValue(0) >= 2',
    'device.attributes["a"].size == 1',  # an error without the attribute
    "device.allowMultipleAllocations",
    'device.driver == "a"',
)


@st.composite
def devices(draw: st.DrawFn, name: str, counters: bool) -> Manifest:
    """Return a device."""
    fields: dict[str, Any] = {}
    if draw(st.booleans()):
        fields["a/numa"] = draw(st.integers(0, 1))
    if draw(st.integers(0, 3)):
        fields["a/size"] = draw(st.integers(1, 2))
    if not draw(st.integers(0, 3)):
        fields["serial"] = name
    if not draw(st.integers(0, 4)):
        fields["taints"] = [{"key": draw(st.sampled_from("kl")), "effect": "NoSchedule"}]
    if not draw(st.integers(0, 2)):
        fields["allowMultipleAllocations"] = True
    if counters and draw(st.booleans()):
        fields["consumesCounters"] = draws(mem=str(draw(st.integers(1, 3))))
    if not draw(st.integers(0, 5)):
        fields["bindingConditions"] = ["ready"]
    capacity = {"mem": str(draw(st.integers(1, 4)))} if draw(st.booleans()) else {}
    return device(name, capacity, **fields)


@st.composite
def pools(draw: st.DrawFn, number: int) -> list[ResourceSlice]:
    """Return the slices of a pool, of one node or of several."""
    where = draw(
        st.one_of(
            st.sampled_from([{"nodeName": name} for name in NODES]),
            st.sampled_from([{"nodeName": name} for name in NODES]),
            st.just({"allNodes": True}),
            st.sampled_from([{"nodeSelector": selecting(("zone", "In", [zone]))} for zone in ZONES]),
        )
    )
    count, has_counters = draw(st.integers(0, 5)), not draw(st.integers(0, 3))
    found = [draw(devices(f"d{place}", has_counters)) for place in range(count)]
    if not draw(st.integers(0, 5)) and where.keys() != {"nodeName"}:
        reaches = [{"nodeName": "n1"}, {"allNodes": True}, {"nodeSelector": selecting(("zone", "In", ["x"]))}, {}]
        found = [each | draw(st.sampled_from(reaches)) for each in found]
        where = {"perDeviceNodeSelection": True}
    if count and not draw(st.integers(0, 9)):
        found.append(found[0])  # which makes the pool invalid
    cut = draw(st.integers(0, count)) if draw(st.booleans()) else 0
    parts = [found[:cut], found[cut:]] if cut else [found]
    size = len(parts) + has_counters + (not draw(st.integers(0, 9)))  # sometimes one is missing
    name, driver = f"pool-{draw(st.sampled_from('pq'))}{number}", draw(st.sampled_from(DRIVERS))
    fields: dict[str, Any] = {"pool": name, "driver": driver, "of": size, **where}
    made = [piece(f"s{number}-{place}", *part, **fields) for place, part in enumerate(parts)]
    if has_counters:
        made.append(piece(f"s{number}-c", counters=[counter_set(mem=str(draw(st.integers(2, 6))))], **fields))
    return made


inventories = st.integers(0, 4).flatmap(lambda count: st.tuples(*map(pools, range(count))))


@st.composite
def holders(draw: st.DrawFn, slices: list[ResourceSlice]) -> list[Allocation]:
    """Return what claims hold of some of the devices."""
    found = []
    for each in slices:
        for one in each.spec.devices:
            if draw(st.integers(0, 3)) == 0:
                amounts = dict.fromkeys(one.capacity, "1")
                is_share = bool(one.allow_multiple_allocations) and draw(st.integers(0, 3)) > 0
                place = {"pool": each.spec.pool.name, "driver": each.spec.driver}
                found.append(held(one.name, amounts if is_share else None, **place))
    return found


@st.composite
def wishes(draw: st.DrawFn, name: str, *, may_be_admin: bool) -> Manifest:
    """Return a request."""
    fields: dict[str, Any] = {"count": draw(st.integers(1, 3))}
    if not draw(st.integers(0, 4)):
        fields = {"allocationMode": "All"}
    if may_be_admin and not draw(st.integers(0, 4)):
        fields["adminAccess"] = True
    if not draw(st.integers(0, 3)):
        fields["capacity"] = {"mem": str(draw(st.integers(1, 3)))}
    if draw(st.booleans()):
        fields["tolerations"] = [{"operator": "Exists", "key": "k"}]
    chosen = draw(st.lists(st.sampled_from(SELECTORS), max_size=1))
    return exactly(name, *chosen, **fields)


@st.composite
def claims(draw: st.DrawFn, name: str) -> ResourceClaim:
    """Return a claim."""
    requests, names = [], []
    for number in range(draw(st.integers(1, 3))):
        request = f"r{number}"
        names.append(request)
        if draw(st.integers(0, 3)):
            requests.append(draw(wishes(request, may_be_admin=True)))
            continue
        ways = [draw(wishes(f"s{place}", may_be_admin=False)) for place in range(draw(st.integers(1, 3)))]
        names += [f"{request}/s{place}" for place in range(len(ways))]
        requests.append(first_of(request, *ways))
    constraints = [
        draw(st.sampled_from([match, distinct]))(attribute, *draw(st.lists(st.sampled_from(names), max_size=2)))
        for attribute in draw(st.lists(st.sampled_from(["a/numa", "a/size"]), max_size=1))
    ]
    return claim(*requests, name=name, constraints=constraints)


several_claims = st.integers(1, 2).flatmap(lambda count: st.tuples(*[claims(f"k{place}") for place in range(count)]))
