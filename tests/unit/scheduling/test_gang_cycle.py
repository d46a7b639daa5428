"""A gang is decided about as a whole: in memory, in one turn, all or nothing."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.live_core import DELETED, LiveCore
from kit.tiers import examples
from pilotage.app import simulation
from pilotage.cluster.write.status_patch import StatusChange, waiting_condition
from pilotage.config.load import load
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import Filter
from pilotage.framework.api.verdicts import Filtered
from pilotage.model.pod import Pod
from pilotage.model.pod_status import PodStatus
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.plugins.pods.scheduling_gates import SchedulingGates
from pilotage.profiles import build_profiles
from pilotage.testing import make_node, make_pod
from pilotage.testing.gangs import make_group, make_member, make_members

CATALOGUE = built_in()
TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Coscheduling}]}}
"""


def live(*plugins: Any, **options: Any) -> LiveCore:
    return LiveCore(Coscheduling(), *plugins, **options)


def bound(core: LiveCore) -> dict[str, str]:
    return dict(core.api.binds)


def why(core: LiveCore, name: str) -> str:
    return [message for pod, _, message, _ in core.api.conditions if pod == name][-1]


async def test_a_gang_that_fits_is_bound_at_once() -> None:
    core = live()
    for number in range(3):
        core.add_node(f"n{number}", cpu="1")
    core.core.objects.added(make_group(minimum=3))
    core.create(*make_members(3, cpu=1))
    await core.settle()
    assert sorted(bound(core)) == ["gang-0", "gang-1", "gang-2"]
    assert set(bound(core).values()) == {"n0", "n1", "n2"}
    assert core.api.conditions == []
    assert core.api.nominations == []  # nobody waited for a permission


async def test_a_gang_that_does_not_fit_holds_nothing() -> None:
    core = live()
    core.add_node("n1", cpu="2")
    core.core.objects.added(make_group(minimum=3))
    core.create(*make_members(3, cpu=1))
    await core.settle()
    assert bound(core) == {}
    assert core.held() == {}
    assert core.core.cache.pods() == []
    for number in range(3):
        assert why(core, f"gang-{number}") == (
            "PodGroup default/gang gets rejected due to Pod gang-2 is unschedulable even after PostFilter: "
            "the 3 pods that are needed at once do not all fit, this one does not: "
            "0/1 nodes are available: 1 Insufficient cpu."
        )
    core.create(make_pod("alone", cpu=2))
    await core.settle()
    assert bound(core) == {"alone": "n1"}


async def test_an_attempt_that_differs_only_in_how_many_fit_writes_nothing_to_the_members() -> None:
    plugin = Coscheduling()
    core = LiveCore(plugin)
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group(minimum=4))
    core.create(*make_members(4, cpu=1))
    await core.settle()
    first, core.api.conditions = core.api.conditions, []
    said = {pod: pod_status("False", reason, message) for pod, reason, message, _ in first}

    core.create(make_pod("other", cpu=2, node="n1"))
    plugin._clock = lambda: time.time() + 60  # what was told a moment ago would not be told again in any case
    await forward(core, 400)
    assert sorted(pod for pod, *_ in core.api.conditions) == [f"gang-{number}" for number in range(4)]
    for pod, reason, message, nominate in core.api.conditions:
        change = StatusChange(waiting_condition(make_member(pod), reason, message), nominate)
        assert not change.beyond(said[pod])
    counted = [note.partition("PostFilter: ")[2][:8] for pod, *_, note in core.api.events if " of the " in note]
    assert counted == ["3 of the", "1 of the"]  # one event each time


def pod_status(status: str, reason: str, message: str) -> PodStatus:
    condition = {"type": "PodScheduled", "status": status, "reason": reason, "message": message}
    return msgspec.convert({"conditions": [condition]}, PodStatus)


async def test_another_reason_is_told_to_all_members() -> None:
    plugin = Coscheduling()
    core = LiveCore(plugin)
    node = core.add_node("n1", cpu="1")
    core.core.objects.added(make_group(minimum=2))
    core.create(*make_members(2, cpu=1))
    await core.settle()
    core.core.nodes.updated(node, core.node("n1", uid=node.metadata.uid, cpu="1", taints=[TAINT]))
    plugin._clock = lambda: time.time() + 60
    await forward(core, 400)
    assert all("untolerated taint" in why(core, f"gang-{number}") for number in range(2))


async def test_the_last_sibling_brings_all_of_them() -> None:
    core = live()
    core.add_node("n1", cpu="4")
    core.core.objects.added(make_group(minimum=3))
    first, second, third = make_members(3, cpu=1)
    core.create(first)
    await core.settle()
    core.create(second)
    await core.settle()
    assert bound(core) == {}
    assert "cannot find enough sibling pods, current pods number: 1, minMember of group: 3" in why(core, "gang-0")
    assert "cannot find enough sibling pods, current pods number: 2, minMember of group: 3" in why(core, "gang-1")
    core.create(third)
    await core.settle()
    assert sorted(bound(core)) == ["gang-0", "gang-1", "gang-2"]


async def test_the_group_may_come_after_its_pods() -> None:
    core = live()
    core.add_node("n1", cpu="4")
    core.create(*make_members(2, cpu=1))
    await core.settle()
    assert bound(core) == {}
    assert "PodGroup not found: default/gang" in why(core, "gang-0")
    core.core.objects.added(make_group(minimum=2))
    await asyncio.sleep(0)
    await forward(core)
    assert sorted(bound(core)) == ["gang-0", "gang-1"]


async def test_room_that_becomes_free_goes_to_the_gang_without_back_off() -> None:
    core = live()
    core.add_node("n1", cpu="2")
    runs = make_pod("runs", cpu=1, node="n1")
    core.create(runs)
    core.core.objects.added(make_group(minimum=2))
    core.create(*make_members(2, cpu=1))
    await core.settle()
    assert bound(core) == {}
    core.delete(runs)
    await core.settle()
    assert sorted(bound(core)) == ["gang-0", "gang-1"]


async def test_pods_beyond_the_minimum_are_placed_with_the_others_or_wait_alone() -> None:
    core = live()
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group(minimum=2))
    core.create(*make_members(4, cpu=1))
    await core.settle()
    assert len(bound(core)) == 3
    (left,) = {f"gang-{number}" for number in range(4)} - set(bound(core))
    assert why(core, left).startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert "PodGroup" not in why(core, left)


async def test_what_is_hard_to_place_goes_first() -> None:
    core = live()
    core.add_node("n1", cpu="3")
    core.add_node("n2", cpu="1")
    core.core.objects.added(make_group(minimum=2))
    core.create(make_member("small", cpu=1), make_member("large", cpu=3))
    await core.settle()
    assert bound(core) == {"large": "n1", "small": "n2"}


async def test_two_gangs_for_one_place_do_not_keep_each_other_from_it() -> None:
    core = live()
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group("a", 3))
    core.core.objects.added(make_group("b", 3))
    one, other = make_members(3, "a", cpu=1), make_members(3, "b", cpu=1)
    core.create(*(pod for pair in zip(one, other, strict=True) for pod in pair))
    await core.settle()
    placed = {name[0] for name in bound(core)}
    assert len(bound(core)) == 3
    assert len(placed) == 1
    waiting = ({"a", "b"} - placed).pop()
    assert {core.place(pod) for pod in (one if waiting == "a" else other)} == {"unschedulable"}
    assert {pod.name[0] for pod in core.core.cache.pods()} == placed


async def test_a_member_that_is_gated_holds_the_others_back() -> None:
    core = live(SchedulingGates())
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group(minimum=2))
    gated = make_member("gated", uid="gated", cpu=1, gates=["wait"])
    core.create(make_member("ready", cpu=1), gated)
    await core.settle()
    assert bound(core) == {}
    assert why(core, "ready") == "pre-filter pod ready cannot proceed due to gated pods in the same PodGroup"
    core.change(gated, make_member("gated", uid="gated", cpu=1))
    await core.settle()
    assert sorted(bound(core)) == ["gated", "ready"]


async def test_a_member_whose_bind_failed_is_tried_again_beside_the_others() -> None:
    core = live()
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group(minimum=2))
    core.api.answers["gang-1"] = RuntimeError("no connection")
    core.create(*make_members(2, cpu=1))
    await core.settle()
    assert core.core.cache.find_node("n1") is not None
    core.api.answers.clear()
    await forward(core)
    assert [name for name, _ in core.api.binds].count("gang-1") == 2
    assert sorted(pod.name for pod in core.core.cache.pods()) == ["gang-0", "gang-1"]


async def test_a_plugin_that_fails_on_one_member_sends_all_back() -> None:
    class FailsOnOne(Filter):
        """Does not like one of them."""

        def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
            if pod.name == "gang-1":
                raise ValueError("oops")
            return None

    core = live(FailsOnOne())
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group(minimum=2))
    core.create(*make_members(2, cpu=1))
    await core.settle()
    assert bound(core) == {}
    assert core.held() == {}
    assert core.core.cache.pods() == []
    assert 'running "FailsOnOne" filter plugin: ValueError: oops' in why(core, "gang-0")


# ------------------------------------------------------------------------------------------------------- what counts


async def test_each_batch_of_pods_needs_a_quorum_where_only_those_that_wait_count() -> None:
    core = live()
    core.add_node("n1", cpu="9")
    core.core.objects.added(make_group(minimum=2, policy="OnlyWaiting"))
    core.create(*make_members(2, cpu=1))
    await core.settle()
    assert sorted(bound(core)) == ["gang-0", "gang-1"]
    core.create(make_member("third", cpu=1))
    await core.settle()
    assert sorted(bound(core)) == ["gang-0", "gang-1"]
    assert why(core, "third").endswith("enough sibling pods, current pods number: 1, minMember of group: 2")
    core.create(make_member("fourth", cpu=1))
    await core.settle()
    assert sorted(bound(core)) == ["fourth", "gang-0", "gang-1", "third"]


async def test_a_bind_that_failed_needs_no_new_quorum_where_only_those_that_wait_count() -> None:
    core = live()
    core.add_node("n1", cpu="3")
    core.core.objects.added(make_group(minimum=2, policy="OnlyWaiting"))
    core.api.answers["gang-1"] = RuntimeError("no connection")
    core.create(*make_members(2, cpu=1))
    await core.settle()
    core.api.answers.clear()
    await forward(core)
    assert [name for name, _ in core.api.binds].count("gang-1") == 2


@pytest.mark.parametrize(
    ("policy", "placed"),
    [pytest.param(None, False, id="by default"), pytest.param("OnceSatisfied", True, id="once satisfied")],
)
async def test_who_replaces_a_member_of_a_group_that_is_half_done(policy: str | None, placed: bool) -> None:
    """A scheduler that has just started sees one that runs and one that waits, and none of those that have ended."""
    core = live()
    core.add_node("n1", cpu="9")
    status = {"phase": "Scheduling", "running": 1, "succeeded": 1, "failed": 1}
    core.core.objects.added(make_group(minimum=3, policy=policy, status=status))
    core.create(make_member("old", cpu=1, node="n1"), make_member("new", cpu=1))
    await core.settle()
    assert bound(core) == ({"new": "n1"} if placed else {})


async def test_a_group_that_is_satisfied_while_a_member_waits_lets_it_go() -> None:
    core = live()
    core.add_node("n1", cpu="9")
    waits = make_group(minimum=3, policy="OnceSatisfied")
    core.core.objects.added(waits)
    core.create(make_member("new", cpu=1))
    await core.settle()
    assert bound(core) == {}
    core.core.objects.updated(waits, make_group(minimum=3, policy="OnceSatisfied", status={"phase": "Running"}))
    await forward(core)
    assert bound(core) == {"new": "n1"}


async def test_a_policy_that_there_is_not_holds_only_its_own_group() -> None:
    core = live()
    core.add_node("n1", cpu="9")
    wrong = make_group("wrong", policy="WheneverItSuits")
    core.core.objects.added(wrong)
    core.core.objects.added(make_group("right"))
    core.create(*make_members(2, "wrong", cpu=1), *make_members(2, "right", cpu=1), make_pod("alone", cpu=1))
    await core.settle()
    assert sorted(bound(core)) == ["alone", "right-0", "right-1"]
    assert "is 'WheneverItSuits'; it must be one of WaitingAndPlaced," in why(core, "wrong-0")
    core.core.objects.updated(wrong, make_group("wrong"))
    await forward(core)
    assert sorted(bound(core))[-2:] == ["wrong-0", "wrong-1"]


async def forward(core: LiveCore, seconds: float = 30) -> None:
    """Let time pass until all back-offs are over."""
    queue: Any = core.core.queue
    clock: Callable[[], float] = queue._clock
    queue._clock = queue._backing_off._clock = queue._sweep._clock = lambda: clock() + seconds
    await core.settle()


# ---------------------------------------------------------------------------------------------------------- eviction


async def test_others_are_evicted_only_for_a_whole_gang() -> None:
    core = live()
    core.add_node("n1", cpu="1")
    core.add_node("n2", cpu="1")
    core.create(make_pod("low", cpu=1, node="n1"), make_pod("high", cpu=1, node="n2", priority=100))
    core.core.objects.added(make_group(minimum=2))
    core.create(*make_members(2, cpu=1, priority=10))
    await core.settle()
    assert core.api.evictions == []
    assert bound(core) == {}
    assert core.held() == {}
    assert sorted(pod.name for pod in core.core.cache.pods()) == ["high", "low"]


async def test_a_gang_evicts_whom_it_must_and_lands_when_they_are_gone() -> None:
    core = live()
    nodes = ("n1", "n2", "n3")
    for name in nodes:
        core.add_node(name, cpu="1")
    victims = [make_pod(f"low-{name}", uid=f"low-{name}", cpu=1, node=name) for name in nodes[:2]]
    core.create(*victims)
    core.core.objects.added(make_group(minimum=3))
    core.create(*make_members(3, cpu=1, priority=10))
    await core.settle()
    assert sorted(core.api.evictions) == ["low-n1", "low-n2"]
    assert bound(core) == {}
    assert why(core, "gang-0") == "PodGroup default/gang waits for the pods evicted for it to terminate"
    nominated = {node for pod, _, _, node in core.api.conditions if pod.startswith("gang") and node}
    assert nominated == set(nodes)

    intruder = make_pod("intruder", cpu=1)
    core.create(intruder)
    await core.settle()
    assert bound(core) == {}  # the place that is free already is nominated for the gang

    for victim in victims:
        leaving = make_pod(victim.name, uid=victim.uid, cpu=1, node=victim.node_name, metadata=DELETED)
        core.change(victim, leaving)
        await core.settle()
    assert bound(core) == {}
    for victim in victims:
        core.delete(victim)
        await core.settle()
    await forward(core)
    assert {name: node for name, node in bound(core).items() if name != "intruder"}.keys() == {
        "gang-0",
        "gang-1",
        "gang-2",
    }
    assert sorted(core.api.evictions) == ["low-n1", "low-n2"]


# -------------------------------------------------------------------------------------------------------- simulation


def results(*objects: Any) -> dict[str, str | None]:
    simulated = simulation(build_profiles(load(CONFIGURATION, CATALOGUE), CATALOGUE))
    for found in objects:
        simulated.add(found)
    return {result.name: result.node for result in simulated.run()}


@pytest.mark.parametrize(
    ("groups", "memory", "placed"),
    [
        pytest.param({"a": (3, 3, 50), "b": (4, 4, 100)}, 300, {"a": 3, "b": 0}, id="the older of two that fit alone"),
        pytest.param({"a": (3, 4, 50), "": (2, 0, 100)}, 300, {"a": 0, "": 2}, id="one that is never complete"),
        pytest.param({"a": (5, 6, 10)}, 300, {"a": 0}, id="finished pods do not count"),
        pytest.param({"a": (6, 6, 400), "b": (1, 1, 20)}, 300, {"a": 0, "b": 1}, id="one that can never fit"),
    ],
)
def test_vectors(groups: dict[str, tuple[int, int, int]], memory: int, placed: dict[str, int]) -> None:
    objects: list[Any] = [make_node("n1", memory=memory, cpu=64)]
    for name, (count, minimum, each) in groups.items():
        if name:
            objects += [make_group(name, minimum), *make_members(count, name, memory=each)]
        else:
            objects += [make_pod(f"-{number}", memory=each) for number in range(count)]
    found = results(*objects)
    for name, expected in placed.items():
        assert sum(node is not None for pod, node in found.items() if pod.rpartition("-")[0] == name) == expected


Shape = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 3), st.sampled_from([0, 0, 10]))


@examples(200)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.lists(Shape, min_size=1, max_size=5), st.integers(0, 4))
def test_no_gang_ever_runs_partly(nodes: list[int], gangs: list[tuple[int, int, int, int]], singles: int) -> None:
    objects: list[Any] = [make_node(f"n{number}", cpu=cpu) for number, cpu in enumerate(nodes)]
    for number, (count, minimum, cpu, priority) in enumerate(gangs):
        objects.append(make_group(f"g{number}", minimum))
        objects += make_members(count, f"g{number}", cpu=cpu, priority=priority)
    objects += [make_pod(f"single-{number}", cpu=1, priority=5) for number in range(singles)]
    found = results(*objects)
    for number, (_, minimum, _, priority) in enumerate(gangs):
        running = sum(node is not None for pod, node in found.items() if pod.startswith(f"g{number}-"))
        # Who is evicted for others is not counted here: only the most important are surely whole.
        assert running == 0 or running >= minimum or priority < 10


def test_a_thousand_pods_on_a_thousand_nodes_are_one_decision() -> None:
    objects: list[Any] = [make_node(f"n{number}", cpu=1) for number in range(1000)]
    found = results(*objects, make_group(minimum=1000), *make_members(1000, cpu=1))
    assert len(set(found.values())) == 1000
