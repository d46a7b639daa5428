"""A profile with nodes of its own never touches another one: not to place a pod, not to evict one, not in a count."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.live_core import LiveCore
from kit.tiers import examples
from pilotage.app import simulation
from pilotage.config.load import load
from pilotage.config.sharing import OwnNodes
from pilotage.framework.api.plugin import Plugin
from pilotage.model.pod import Pod
from pilotage.offline.simulation import Simulation
from pilotage.plugins.catalogue import built_in
from pilotage.plugins.gangs.coscheduling import Coscheduling
from pilotage.plugins.preemption.cross_node_preemption import CrossNodePreemption
from pilotage.plugins.quota.capacity_scheduling import CapacityScheduling
from pilotage.plugins.topology.pod_topology_spread import PodTopologySpread
from pilotage.profiles import build_profiles
from pilotage.testing import make_node, make_pod
from pilotage.testing.gangs import make_group, make_members
from pilotage.testing.quotas import make_quota

pytestmark = pytest.mark.looptime

CATALOGUE = built_in()
OURS, ZONE = {"pool": "ours"}, "topology.kubernetes.io/zone"
OWN = OwnNodes.model_validate({"selector": {"matchLabels": OURS}})
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: ours
  percentageOfNodesToScore: {percentage}
  plugins: {{multiPoint: {{enabled: [{{name: Coscheduling}}, {{name: CapacityScheduling}}]}}}}
  pluginConfig:
  - name: pilotage.dev/nodes
    args: {{selector: {{matchExpressions: [{{key: pool, operator: In, values: [ours, spare]}}]}}}}
"""


class World(LiveCore):
    """One full node that is the profile's own, and an empty one that is not."""

    def __init__(self, *plugins: Plugin) -> None:
        super().__init__(*plugins, scheduler="ours", own_nodes=OWN)
        self.add_node("own", labels=OURS)
        self.other = self.add_node("other", cpu="8")

    async def later(self) -> None:
        """Let time pass until no pod is in back-off."""
        await asyncio.sleep(20)
        await self.settle()


def pod(name: str, **fields: Any) -> Pod:
    return make_pod(name, uid=name, scheduler="ours", **{"cpu": "1", **fields})


async def test_only_own_nodes_are_used_and_counted() -> None:
    world = World()
    world.create(pod("a"), pod("b"))
    await world.later()
    assert world.api.binds == [("a", "own")]
    _, reason, message, _ = world.api.conditions[-1]
    assert reason == "Unschedulable"
    assert message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


async def test_without_any_own_node_that_is_said() -> None:
    world = LiveCore(scheduler="ours", own_nodes=OWN)
    world.add_node("other")
    world.create(pod("a"))
    await world.settle()
    ((_, _, message, _),) = world.api.conditions
    assert message.startswith("no nodes available to schedule pods: none of the 1 in the cluster is the profile's own")


async def test_a_node_becomes_its_own_by_a_label() -> None:
    world = World()
    world.create(pod("a"), pod("b"))
    await world.later()
    world.core.nodes.updated(world.other, world.node("other", uid=world.other.metadata.uid, cpu="8", labels=OURS))
    await world.later()
    assert sorted(world.api.binds) == [("a", "own"), ("b", "other")]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param(
            {
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["other"]}]}
                            ]
                        }
                    }
                }
            },
            id="by the name of a node, as a DaemonSet asks",
        ),
        pytest.param({"status": {"nominatedNodeName": "other"}}, id="by a nomination of before"),
    ],
)
async def test_a_pod_that_names_another_node_does_not_get_there(fields: dict[str, Any]) -> None:
    world = World()
    world.create(pod("there", node="own"), pod("a", **fields))
    await world.later()
    assert world.api.binds == []


@pytest.mark.parametrize("plugin", [None, CapacityScheduling, CrossNodePreemption])
async def test_nobody_is_evicted_from_another_node(plugin: type[Plugin] | None) -> None:
    world = World(*([plugin()] if plugin else []))
    world.create(pod("important-already", node="own", priority=1000), pod("lower", node="other", cpu="8"))
    world.create(pod("a", priority=100))
    await world.settle()
    assert world.api.evictions == []


async def test_what_was_lent_is_not_taken_back_on_other_nodes() -> None:
    world = World(CapacityScheduling())
    for namespace in ("lender", "borrower"):
        world.core.objects.added(make_quota(namespace, {"cpu": "1"}))
    world.create(*(pod(f"b{i}", node="other", namespace="borrower") for i in range(2)))
    world.create(pod("owner", namespace="lender"))
    await world.settle()
    assert world.api.evictions == []


async def test_zones_without_own_nodes_are_no_zones() -> None:
    world = LiveCore(PodTopologySpread(), scheduler="ours", own_nodes=OWN)
    world.add_node("a", cpu="8", labels=OURS | {ZONE: "a"})
    world.add_node("b", cpu="8", labels=OURS | {ZONE: "b"})
    world.add_node("c", cpu="8", labels={ZONE: "c"})
    spread = [
        {
            "maxSkew": 1,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]
    world.create(*(pod(f"p{i}", labels={"app": "web"}, spec={"topologySpreadConstraints": spread}) for i in range(4)))
    await world.settle()
    assert sorted(node for _, node in world.api.binds) == ["a", "a", "b", "b"]


async def test_a_gang_has_own_nodes_alone() -> None:
    world = World(Coscheduling())
    world.core.objects.added(make_group(minimum=2, minResources={"cpu": "2"}))
    world.create(*make_members(2, cpu="1", scheduler="ours"))
    await world.settle()
    assert world.api.binds == []
    assert "resource gap: cpu: 1 (wants 2, 1 free)" in world.api.conditions[-1][2]


def simulated(percentage: int) -> Simulation:
    return simulation(build_profiles(load(CONFIGURATION.format(percentage=percentage), CATALOGUE), CATALOGUE))


@examples(30)
@given(seed=st.integers(0, 10_000), percentage=st.sampled_from([0, 50]))
def test_whatever_comes_no_other_node_is_touched(seed: int, percentage: int) -> None:
    chance, played = Random(seed), simulated(percentage)
    pools = {f"n{i}": chance.choice(["ours", "spare", "theirs", ""]) for i in range(chance.randrange(1, 150))}
    for name, pool in pools.items():
        played.add(make_node(name, cpu=4, labels={"pool": pool} if pool else {}))
    there = {f"there-{number}": chance.choice(list(pools)) for number in range(40)}
    for name, node in there.items():
        played.add(make_pod(name, uid=name, cpu="1", node=node, scheduler="ours"))
    for number in range(60):
        fields: dict[str, Any] = {"cpu": str(chance.randrange(1, 5)), "priority": chance.choice([0, 0, 100])}
        played.add(make_pod(f"p{number}", uid=f"p{number}", scheduler="ours", **fields))
    results = played.run()
    own = {name for name, pool in pools.items() if pool in ("ours", "spare")}
    assert {result.node for result in results if result.node is not None} <= own
    assert {result.nominated_node for result in results if result.nominated_node} <= own
    spared = {f"default/{name}" for name, node in there.items() if node not in own}
    assert {key for result in results for key in result.victims}.isdisjoint(spared)
    assert all("the profile's own" in result.message for result in results if result.node is None and not own)
