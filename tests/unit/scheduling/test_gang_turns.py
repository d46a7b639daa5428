"""A gang is decided about in slices: others have their turn in between, and what happens meanwhile counts."""

import asyncio
import sys
from typing import Any

import pytest

from kit.live_core import DELETED, LiveCore
from pilotage.model.gangs import MIN_LABEL, NAME_LABEL
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.scheduling import cost, loop
from pilotage.scheduling.gangs import gang_turns
from pilotage.testing import make_pod

LONG_BEFORE_ITS_END = 4  # slices


@pytest.fixture(autouse=True)
def one_step_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every slice be as short as can be, and others have theirs from the start."""
    monkeypatch.setattr(loop, "LONGEST_BATCH", 0.0)
    monkeypatch.setattr(gang_turns, "GRACE", 0.0)


def live(nodes: int, **options: Any) -> LiveCore:
    core = LiveCore(Coscheduling(), **options)
    for number in range(nodes):
        core.add_node(f"n{number}", cpu="1")
    return core


def gang(count: int, needed: int | None = None, **fields: Any) -> list[Pod]:
    labels = {NAME_LABEL: "gang", MIN_LABEL: str(needed or count)}
    return [make_pod(f"g-{i}", uid=f"g-{i}", labels=labels, **{"cpu": 1, **fields}) for i in range(count)]


def some_slices(core: LiveCore, count: int = LONG_BEFORE_ITS_END) -> None:
    for _ in range(count):
        assert core.core.loop._batch() is True


def until(core: LiveCore, moment: str) -> None:
    """Go on until so many pods are placed, or until others are pretended to have left."""
    cache: Any = core.core.cache
    for _ in range(1_000):
        core.core.loop._batch()
        if cache._hidden if moment == "pretending" else len(cache._assumed) == int(moment):
            return
    raise AssertionError("it never came to that")


def bound(core: LiveCore) -> list[str]:
    return sorted(name for name, _ in core.api.binds)


def names(pods: list[Pod]) -> list[str]:
    return sorted(pod.name for pod in pods)


async def test_the_loop_gets_its_turn_between_any_two_pods_of_a_gang() -> None:
    core = live(30)
    core.create(*gang(30))
    slices = 0
    while core.core.loop._batch():
        slices += 1
    await core.settle()
    assert len(bound(core)) == 30
    assert slices >= 30


async def test_another_pod_gets_its_place_while_a_gang_is_decided_about() -> None:
    core = live(9)
    core.create(*gang(8))
    some_slices(core)
    core.create(make_pod("neighbour", cpu=1))
    some_slices(core, 2)
    assert "default/neighbour" in {pod.key for pod in core.core.cache.pods()}
    await core.settle()
    assert bound(core) == sorted([*names(gang(8)), "neighbour"])


async def test_ordinary_gangs_keep_their_place_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gang_turns, "GRACE", 60.0)
    core = live(8)
    core.create(*gang(8))
    some_slices(core)
    core.create(make_pod("neighbour", cpu=1))
    await core.settle()
    assert bound(core) == names(gang(8))


async def test_a_pod_without_a_place_hears_nothing_before_it_is_clear_that_the_gang_keeps_its_own() -> None:
    core = live(4)
    core.create(*gang(5))
    until(core, "4")
    core.create(make_pod("neighbour", cpu=1))
    some_slices(core, 2)
    assert core.api.conditions == []
    assert core.api.events == []
    await core.settle()
    assert bound(core) == ["neighbour"]
    assert core.place(gang(5)[0]) == "unschedulable"


async def test_who_an_event_did_not_seem_to_help_is_tried_again_when_the_gang_gives_its_places_back() -> None:
    core = live(3)
    other = {NAME_LABEL: "other", MIN_LABEL: "3"}
    others = [make_pod(f"o-{i}", labels=other, cpu=1) for i in range(3)]
    guest = make_pod("guest", uid="guest", cpu=1, node="n0")
    core.create(guest, *others)
    await core.settle()
    assert bound(core) == []
    core.create(*gang(9, cpu="500m"))
    until(core, "4")
    core.delete(guest)  # there is room for the others now, but for what the gang holds
    await core.settle()
    await core.settle()
    assert bound(core) == ["o-0", "o-1", "o-2"]


async def test_a_gang_hears_of_room_that_comes_while_its_members_are_being_told_that_there_is_none() -> None:
    core = live(4)
    members = gang(6, spec={"preemptionPolicy": "Never"})
    core.create(*members)
    while not any(core.place(pod) == "unschedulable" for pod in members):
        core.core.loop._batch()
    assert any(core.core.queue.is_in_flight(pod.uid) for pod in members), "all were told at once"
    core.add_node("n4", cpu="1")
    core.add_node("n5", cpu="1")
    await core.settle()
    assert bound(core) == names(members)
    assert not any("cannot find enough sibling pods" in condition[2] for condition in core.api.conditions)


async def test_a_gang_that_stood_aside_is_not_tried_before_all_of_it_is_back_in_the_queue() -> None:
    core = live(4)
    other = {NAME_LABEL: "other", MIN_LABEL: "4"}
    others = [make_pod(f"o-{i}", uid=f"o-{i}", labels=other, cpu=1) for i in range(4)]
    core.create(*gang(5, spec={"preemptionPolicy": "Never"}))
    some_slices(core)
    core.create(*others)
    await core.settle()
    assert bound(core) == names(others)
    assert not any("cannot find enough sibling pods" in condition[2] for condition in core.api.conditions)


async def test_whoever_waits_for_the_end_of_a_decision_does_not_wait_for_the_gangs_behind_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    core = live(2)
    turns: Any = core.core.loop._turns
    # A decision takes many slices. Its pods are told in one, so that nobody stands aside.
    monkeypatch.setattr(gang_turns, "GRACE", 60.0)
    monkeypatch.setattr(gang_turns, "perf_counter", lambda: sys.float_info.max if turns.is_deciding else 0.0)
    for number in range(50):
        labels = {NAME_LABEL: f"gang-{number}", MIN_LABEL: "3"}
        core.create(*(make_pod(f"g-{number}-{i}", uid=f"g-{number}-{i}", labels=labels, cpu=1) for i in range(3)))
    some_slices(core)
    waiting = asyncio.create_task(core.core.loop.between_decisions())
    while not waiting.done():
        assert core.core.loop._batch() is True, "all gangs were decided about first"
        await asyncio.sleep(0)
    assert core.core.queue.pending().active > 100
    await core.settle()
    assert core.core.queue.pending().unschedulable == 150


# -------------------------------------------------------------------------------------------- what happens meanwhile


async def test_a_member_that_goes_meanwhile_is_not_bound_and_takes_the_others_with_it() -> None:
    core = live(5)
    members = gang(5)
    core.create(*members)
    until(core, "4")
    core.delete(next(pod for pod in members if core.core.cache.is_assumed(pod.uid)))
    await core.settle()
    assert bound(core) == []
    assert core.held() == {}
    assert core.core.cache.pods() == []
    assert "cannot find enough sibling pods" in core.api.conditions[-1][2]


async def test_a_member_that_goes_before_its_turn_is_not_tried() -> None:
    core = live(5)
    members = gang(5, 4)
    core.create(*members)
    until(core, "2")
    gone = next(pod for pod in members if not core.core.cache.is_assumed(pod.uid))
    core.delete(gone)
    await core.settle()
    assert bound(core) == names([pod for pod in members if pod is not gone])


async def test_a_member_that_goes_after_the_decision_is_not_bound() -> None:
    core = live(5)
    members = gang(5)
    core.create(*members)
    turns: Any = core.core.loop._turns
    while not turns._decided:
        core.core.loop._batch()
    last = turns._decided[-1][0].pod
    core.delete(last)
    await core.settle()
    assert bound(core) == names([pod for pod in members if pod.uid != last.uid])
    assert last.uid not in {pod.uid for pod in core.core.cache.pods()}


async def test_a_node_that_goes_after_the_decision_sends_its_pod_back_alone() -> None:
    core = live(0)
    nodes = {f"n{number}": core.add_node(f"n{number}", cpu="1") for number in range(5)}
    core.create(*gang(5))
    turns: Any = core.core.loop._turns
    while not turns._decided:
        core.core.loop._batch()
    last = turns._decided[-1][1]
    core.core.nodes.deleted(nodes[last.node])
    await core.settle()
    assert bound(core) == names([pod for pod in gang(5) if pod.uid != last.pod.uid])
    assert f'node "{last.node}" was deleted' in core.api.conditions[0][2]
    assert not core.core.cache.is_assumed(last.pod.uid)


@pytest.mark.parametrize("event", ["the node goes", "somebody else has bound a pod to it", "it is cordoned"])
async def test_a_place_that_is_lost_meanwhile_is_sought_elsewhere(event: str) -> None:
    core = live(0)
    nodes = {f"n{number}": core.add_node(f"n{number}", cpu="1") for number in range(6)}
    core.create(*gang(5))
    until(core, "5")
    taken = core.core.cache.find_pod("g-0")
    assert taken is not None
    node = nodes[taken.node_name]
    if event == "the node goes":
        core.core.nodes.deleted(node)
    elif event == "it is cordoned":
        core.core.nodes.updated(node, core.node(node.name, uid=node.uid, cpu="1", unschedulable=True))
    else:
        core.create(make_pod("foreign", cpu=1, node=node.name))
    await core.settle()
    assert bound(core) == names(gang(5))
    assert node.name not in dict(core.api.binds).values()


async def test_a_gang_that_lost_a_place_and_finds_no_other_holds_nothing() -> None:
    core = live(5)
    core.create(*gang(5))
    until(core, "5")
    core.create(make_pod("foreign", cpu=1, node="n2"))
    await core.settle()
    assert bound(core) == []
    assert core.held() == {}
    assert [pod.name for pod in core.core.cache.pods()] == ["foreign"]


@pytest.mark.parametrize("event", ["goes", "is changed", "goes with its node"])
async def test_a_victim_about_which_there_is_news_is_neither_lost_nor_left_over(event: str) -> None:
    core = live(0)
    nodes = [core.add_node(f"n{number}", cpu="1") for number in range(4)]
    victims = [make_pod(f"v-{i}", uid=f"v-{i}", cpu=1, node=f"n{i}") for i in range(4)]
    core.create(*victims)
    core.create(*gang(4, priority=10))
    until(core, "pretending")
    core.create(make_pod("neighbour", cpu=1, priority=5))
    some_slices(core, 2)
    assert "neighbour" not in bound(core)  # it would have run beside a victim
    hidden = next(iter(core.core.cache._hidden.values()))
    if event == "is changed":
        core.change(hidden, make_pod(hidden.name, uid=hidden.uid, cpu=1, node=hidden.node_name, metadata=DELETED))
    else:
        core.delete(hidden)
    if event == "goes with its node":
        core.core.nodes.deleted(next(node for node in nodes if node.name == hidden.node_name))
    await core.settle()
    left = {pod.uid: pod for pod in core.core.cache.pods() if pod.name.startswith("v-")}
    assert len(left) == (4 if event == "is changed" else 3)
    if event == "is changed":
        assert left[hidden.uid].is_terminating
    assert core.core.cache._hidden == {}
    assert hidden.name not in core.api.evictions


async def test_a_decision_that_is_broken_off_leaves_everything_as_it_was() -> None:
    core = live(4)
    victims = [make_pod(f"v-{i}", cpu=1, node=f"n{i}") for i in range(4)]
    core.create(*victims)
    core.create(*gang(4, priority=10))
    until(core, "pretending")
    core.core.loop._turns.close()
    assert names(core.core.cache.pods()) == names(victims)
    assert core.core.cache._hidden == {}
    assert core.held().keys() == {"in flight"}


# ------------------------------------------------------------------------------------------------------ what it costs


def calls_of(core: LiveCore) -> int:
    """Return how many functions are called until nothing is left to do."""
    count = 0

    def counted(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(counted)
    try:
        while core.core.loop._batch():
            pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("outcome", ["all fit", "the last one does not fit", "others are evicted", "no two are alike"])
async def test_four_times_as_many_pods_cost_about_four_times_as_much(
    outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "LONGEST_BATCH", 1.0)
    costs = []
    for size in (60, 240):
        core = live(20)
        room = 20 * 1000 // size
        for number in range(20):
            core.create(make_pod(f"low-{number}", cpu="999m", node=f"n{number}")) if "evicted" in outcome else None
        members = gang(size, cpu=f"{room}m", priority=10)
        if outcome == "no two are alike":
            members = [make_pod(m.name, uid=m.uid, labels=m.labels, cpu=f"{room - i}m") for i, m in enumerate(members)]
        core.create(*members[: -1 if outcome == "all fit" else None])
        core.create(make_pod("more", labels=members[0].labels, cpu="1m" if outcome == "all fit" else "2"))
        core.create(*members[-1:] if outcome == "all fit" else ())
        costs.append(calls_of(core))
    assert costs[1] < 6 * costs[0]


@pytest.fixture
def everything_is_expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "EXPENSIVE", 0.0)
    monkeypatch.setattr(cost, "SHARE", 10_000_000)


@pytest.mark.usefixtures("everything_is_expensive")
async def test_a_gang_that_was_expensive_in_vain_rests_and_says_so_once() -> None:
    core = live(3)
    slowed: list[str] = []
    core.core.failures.on_slowed_down.connect(slowed.append)
    core.create(*gang(4))
    await core.settle()
    notes = [(name, note) for name, _, reason, _, note in core.api.events if reason == "SlowedDown"]
    assert [name for name, _ in notes] == ["g-3"]
    assert notes[0][1].endswith("it is retried after 600 s, so that it does not delay others")
    assert slowed == ["default-scheduler"]

    core.add_node("n3", cpu="1")  # it would fit now
    core.create(make_pod("g-4", labels=gang(1, 4)[0].labels, cpu=1))  # and neither does a newcomer wake it
    await core.settle()
    assert bound(core) == []
    assert {core.place(pod) for pod in gang(4)} == {"backoff"}
    assert "PodGroup default/gang: the last scheduling attempt took" in core.api.conditions[-1][2]


@pytest.mark.usefixtures("everything_is_expensive")
async def test_a_pod_that_was_expensive_in_vain_rests_and_others_do_not_notice() -> None:
    core = live(1)
    large = make_pod("large", cpu=3)
    core.create(large)
    await core.settle()
    core.add_node("n9", cpu="4")
    core.create(make_pod("small", cpu=1))
    await core.settle()
    assert bound(core) == ["small"]
    assert core.place(large) == "backoff"


async def test_a_cheap_attempt_has_only_the_usual_back_off() -> None:
    core = live(1)
    large = make_pod("large", cpu=3)
    core.create(large)
    await core.settle()
    queued = core.core.queue.find(large.key)
    assert queued is not None
    assert queued.rest == 0
    assert [reason for _, _, reason, _, _ in core.api.events] == ["FailedScheduling"]
