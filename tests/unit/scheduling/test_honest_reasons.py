"""Only a pod that another node could help says Unschedulable: that is the one word by which autoscalers buy nodes."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from kit.live_core import LiveCore
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.plugins.pods.scheduling_gates import SchedulingGates
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.plugins.quota.capacity_scheduling.quota_demand import QuotaDemand
from pilotage.testing import make_pod
from pilotage.testing.gangs import make_group, make_member, make_members
from pilotage.testing.quotas import make_quota

pytestmark = pytest.mark.looptime


class World(LiveCore):
    """One full node, quotas and gangs."""

    def __init__(self, quotas: CapacityScheduling | None = None) -> None:
        super().__init__(SchedulingGates(), quotas or CapacityScheduling(), Coscheduling())
        self.add_node("n1", cpu="1")

    def quota(self, most: str, least: str = "100") -> None:
        """Let the namespace have so many cores."""
        self.core.objects.added(make_quota("team", {"cpu": least}, {"cpu": most}))

    def raise_quota(self, before: str, after: str) -> None:
        """Let it have more."""
        old, new = (make_quota("team", {"cpu": "100"}, {"cpu": most}) for most in (before, after))
        self.core.objects.updated(old, new)

    def reasons(self) -> dict[str, str]:
        """Return what each pod was told last."""
        return {name: reason for name, reason, _, _ in self.api.conditions}

    async def later(self) -> None:
        """Let time pass until no pod is in back-off."""
        await asyncio.sleep(20)
        await self.settle()


def pod(name: str, cpu: str = "2", **fields: Any) -> Pod:
    return make_pod(name, uid=name, namespace="team", cpu=cpu, **fields)


async def test_a_pod_that_fits_on_no_node_calls_for_one() -> None:
    world = World()
    world.create(pod("a"))
    await world.settle()
    assert world.reasons() == {"a": "Unschedulable"}


async def test_a_pod_over_the_max_of_its_quota_is_queued_and_says_why() -> None:
    world = World()
    world.quota("1")
    world.create(pod("a"))
    await world.settle()
    ((_, reason, message, _),) = world.api.conditions
    assert reason == "Queued"
    assert "ElasticQuota team is more than Max (cpu: 2 used with this pod, 1 allowed)" in message


async def test_a_pod_is_queued_where_all_quotas_have_no_more() -> None:
    world = World()
    world.quota("100", least="1")
    world.create(pod("a"))
    await world.settle()
    assert world.reasons() == {"a": "Queued"}


async def test_a_quota_that_cannot_be_understood_is_no_reason_to_buy_nodes() -> None:
    world = World()
    world.core.cache.objects.note_trouble(type(make_quota("team")), "quota", "team", "no map")
    world.create(pod("a"))
    await world.settle()
    assert world.reasons() == {"a": "Queued"}


async def test_unschedulable_comes_back_the_moment_the_quota_allows_and_for_no_more_pods_than_it_does() -> None:
    world = World()
    world.quota("1")
    world.create(*(pod(f"p{i}") for i in range(50)))
    await world.settle()
    assert Counter(world.reasons().values()) == {"Queued": 50}
    world.raise_quota("1", "16")
    await world.later()
    assert Counter(world.reasons().values()) == {"Unschedulable": 8, "Queued": 42}
    _, _, message, _ = next(each for each in reversed(world.api.conditions) if each[1] == "Queued")
    assert message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert message.endswith(
        "No other node would help: placed pods and pods that already ask for nodes use all that "
        "ElasticQuota team allows (cpu)."
    )


async def test_nodes_for_those_that_asked_and_then_for_nobody() -> None:
    world = World()
    world.quota("4")
    pods = [pod(f"p{i}") for i in range(4)]
    world.create(*pods)
    await world.settle()
    assert Counter(world.reasons().values()) == {"Unschedulable": 2, "Queued": 2}
    world.add_node("n2", cpu="8")
    await world.later()
    assert len(world.api.binds) == 2
    waiting = [each for each in pods if each.name not in dict(world.api.binds)]
    assert {world.reasons()[each.name] for each in waiting} == {"Queued"}


async def test_another_asks_instead_of_one_that_is_deleted() -> None:
    world = World()
    world.quota("2")
    first, second = pod("first"), pod("second")
    world.create(first)
    await world.settle()
    world.create(second)
    await world.settle()
    assert world.reasons() == {"first": "Unschedulable", "second": "Queued"}
    world.delete(first)
    await world.later()
    assert world.reasons()["second"] == "Unschedulable"


async def test_a_pod_that_no_node_will_ever_do_for_stands_in_nobodys_way() -> None:
    now = [0.0]
    plugin = CapacityScheduling()
    plugin._demand = QuotaDemand(lambda: now[0])
    world = World(plugin)
    world.quota("2")
    hopeless, other = pod("hopeless"), pod("other")
    world.create(hopeless)
    await world.settle()
    world.create(other)
    await world.settle()
    assert world.reasons() == {"hopeless": "Unschedulable", "other": "Queued"}
    now[0] = 700.0
    world.core.queue.activate([other])
    await world.settle()
    assert world.reasons()["other"] == "Unschedulable"
    world.core.queue.activate([hopeless])
    await world.settle()
    assert world.reasons()["hopeless"] == "Queued"


async def test_who_is_more_important_asks_first() -> None:
    world = World()
    world.quota("2")
    world.create(pod("first"))
    await world.settle()
    world.create(pod("urgent", priority=100))
    await world.settle()
    assert world.reasons()["urgent"] == "Unschedulable"


def gang(count: int, **fields: Any) -> list[Pod]:
    return make_members(count, namespace="team", cpu="2", **fields)


async def test_a_gang_that_lacks_pods_waits_for_them_and_then_all_of_it_calls_for_nodes() -> None:
    world = World()
    world.core.objects.added(make_group(minimum=8, namespace="team"))
    *some, last = gang(8)
    world.create(*some)
    await world.settle()
    assert Counter(world.reasons().values()) == {"WaitingForGroup": 7}
    world.create(last)
    await world.later()
    assert Counter(world.reasons().values()) == {"Unschedulable": 8}


@pytest.mark.parametrize(
    ("member", "group"),
    [
        pytest.param(make_member("a", namespace="team", cpu="2"), None, id="no PodGroup"),
        pytest.param(
            make_member("a", namespace="team", cpu="2"),
            make_group(minimum=2, namespace="team", minResources={"cpu": "4"}),
            id="minResources while members are missing",
        ),
        pytest.param(
            make_member("a", namespace="team", cpu="2"),
            make_group(minimum=2, namespace="team", policy="sometimes"),
            id="a group that cannot be decoded",
        ),
    ],
)
async def test_a_pod_waits_for_its_group(member: Pod, group: Any) -> None:
    world = World()
    if group is not None:
        world.core.objects.added(group)
    world.create(member)
    await world.settle()
    assert world.reasons() == {"a": "WaitingForGroup"}


async def test_a_gang_waits_for_members_at_their_gates() -> None:
    world = World()
    world.core.objects.added(make_group(minimum=2, namespace="team"))
    world.create(make_member("a", namespace="team", cpu="2"))
    world.create(make_member("b", namespace="team", cpu="2", gates=["later"]))
    await world.settle()
    assert world.reasons() == {"a": "WaitingForGroup"}


async def test_a_whole_gang_short_of_min_resources_calls_for_nodes() -> None:
    world = World()
    world.core.objects.added(make_group(minimum=2, namespace="team", minResources={"cpu": "4"}))
    world.create(*gang(2))
    await world.settle()
    assert world.reasons() == {"gang-0": "Unschedulable", "gang-1": "Unschedulable"}


async def test_a_gang_whose_quota_takes_only_part_of_it_is_queued_as_a_whole() -> None:
    world = World()
    world.quota("8")
    world.core.objects.added(make_group(minimum=8, namespace="team"))
    world.create(*gang(8))
    await world.settle()
    assert Counter(world.reasons().values()) == {"Queued": 8}
    world.raise_quota("8", "16")
    await world.later()
    assert Counter(world.reasons().values()) == {"Unschedulable": 8}


async def test_a_gang_that_may_evict_nobody_hears_of_a_smaller_quota_too() -> None:
    world = World()
    world.quota("16")
    world.core.objects.added(make_group(minimum=8, namespace="team"))
    pods = gang(8, spec={"preemptionPolicy": "Never"})
    world.create(*pods)
    await world.settle()
    assert Counter(world.reasons().values()) == {"Unschedulable": 8}
    for each in pods:  # as the API server shows what was written
        told = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
        seen = make_member(
            each.name, namespace="team", cpu="2", spec={"preemptionPolicy": "Never"}, status={"conditions": told}
        )
        world.change(each, seen)
    world.raise_quota("16", "8")
    world.core.queue.activate(list(world.api.pods.values()))
    await world.later()
    assert Counter(world.reasons().values()) == {"Queued": 8}
