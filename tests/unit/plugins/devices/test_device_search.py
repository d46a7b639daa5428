"""The search among generated devices: pruned and paused, it finds what a naive one finds; and it can be bounded."""

from itertools import chain

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.device_scene import Scene, claim, device, distinct, draws, exactly, match, piece, shared
from kit.drawn_devices import holders, inventories, several_claims
from kit.naive_search import NaiveSearch, TooLong
from kit.tiers import examples
from pilotage.kinds.devices import ResourceClaim, ResourceSlice
from pilotage.plugins.devices.dynamic_resources.claim_plans import Planner
from pilotage.plugins.devices.dynamic_resources.outcomes import NO_SOLUTION, Failure, Outcome, Solution
from pilotage.plugins.devices.dynamic_resources.plans import Plan
from pilotage.plugins.devices.dynamic_resources.search import Search
from pilotage.testing import make_node

NODE = make_node("n1", labels={"zone": "x"})


def found(search: Search, plan: Plan, steps: int) -> Outcome:
    """Return the outcome of a search that gets so many steps at a time."""
    for _ in range(100_000):
        plan.meter.allow(steps)
        if (outcome := search.run()) is not None:
            return outcome
    raise AssertionError("it does not end")


@given(inventories, several_claims, st.data(), st.sampled_from([1, 7, 10**9]))
@examples(300, deadline=None)
def test_pruned_and_paused_it_finds_what_a_naive_search_finds(
    slices: tuple[list[ResourceSlice], ...], asked: tuple[ResourceClaim, ...], data: st.DataObject, steps: int
) -> None:
    everything = list(chain(*slices))
    scene = Scene(everything, taken=data.draw(holders(everything)), node=NODE)
    pools = scene.inventory.view(NODE).states(scene.usage)
    plan = Plan(Planner(scene.classes.get).plan(asked))
    plan.meter.allow(10**12)
    try:
        expected = NaiveSearch(plan, pools).outcome()
    except TooLong:
        assume(False)
        return
    paused = Plan(Planner(scene.classes.get).plan(asked))
    assert told(found(Search(paused, pools), paused, steps)) == told(expected)


def told(outcome: Outcome) -> object:
    return outcome.parts if isinstance(outcome, Failure) else outcome


def searched(slices: list[ResourceSlice], asked: ResourceClaim) -> tuple[Outcome, int]:
    scene = Scene(slices)
    plan = Plan(Planner(scene.classes.get).plan([asked]))
    search = Search(plan, scene.inventory.view(scene.node).states(scene.usage))
    return found(search, plan, 10**9), search.steps


MANY = 60
SERIALS = [device(f"d{number}", serial=f"{number}", numa=number % 4) for number in range(MANY)]
QUICK = {
    "one device too few, all different": ([piece("s", *SERIALS[:31])], claim(exactly("r", count=32))),
    "no group of equals is large enough": (
        [piece("s", *SERIALS)],
        claim(exactly("r", count=16), constraints=[match("a/numa")]),
    ),
    "one value too few for all to be distinct": (
        [piece("s", *SERIALS)],
        claim(exactly("r", count=5), constraints=[distinct("a/numa")]),
    ),
    "requests for one more than there are": (
        [piece("s", *SERIALS[:20])],
        claim(*[exactly(f"r{number}") for number in range(21)]),
    ),
    "shares that fill all devices": (
        [piece("s", *[shared(f"d{number}", {"mem": "10"}, serial=f"{number}") for number in range(20)])],
        claim(*[exactly(f"r{number}", capacity={"mem": "6"}) for number in range(21)]),
    ),
    "counters for one less than wanted": (
        [
            piece("c", counters=[{"name": "cs", "counters": {"mem": {"value": "100"}}}], of=2),
            piece("s", *[device(f"d{number}", consumesCounters=draws(mem="10")) for number in range(40)], of=2),
        ],
        claim(exactly("r", count=11)),
    ),
}


@pytest.mark.parametrize(("slices", "asked"), QUICK.values(), ids=QUICK)
def test_equal_devices_are_not_tried_again(slices: list[ResourceSlice], asked: ResourceClaim) -> None:
    outcome, steps = searched(slices, asked)
    assert outcome == NO_SOLUTION
    assert steps < 4000


def test_a_search_for_all_devices_of_many_claims_needs_no_recursion() -> None:
    slices = [piece("s", *[shared(f"d{number}") for number in range(32)])]
    scene = Scene(slices)
    plan = Plan(Planner(scene.classes.get).plan([claim(exactly("r", count=32))] * 100))
    search = Search(plan, scene.inventory.view(scene.node).states(scene.usage))
    assert isinstance(found(search, plan, 10**9), Solution)
