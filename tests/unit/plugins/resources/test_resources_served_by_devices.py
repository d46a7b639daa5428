from random import Random
from typing import Any

import pytest

from kit.serving import Servant
from pilotage.framework.api.delegation import Devices
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.plugin import Score
from pilotage.framework.api.verdicts import Rejection
from pilotage.kinds.devices import DeviceClass, DeviceClassSpec
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.gangs.coscheduling.gang_room import FreeRoom, Wish
from pilotage.plugins.gangs.coscheduling.resource_gap import resource_gap
from pilotage.plugins.resources.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import FakeCluster, filter_all, handle_of, make_node, make_pod, raw_scores

GPU, NIC = "example.com/gpu", "example.com/nic"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
NOT_ENOUGH = Rejection(f"Insufficient {GPU}")
NEVER_ENOUGH = Rejection(f"Insufficient {GPU}", preemption_helps=False)
NO_NIC = Rejection(f"Insufficient {NIC}", preemption_helps=False)
CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE)
NEW_CLASS = Event(Resource.DEVICE_CLASS, Action.ADD)
SOME = Devices(8, 2)


def cluster(*, serving: bool = True, devices: Devices = SOME) -> FakeCluster:
    found = FakeCluster(
        [
            make_node("none", cpu=4, memory="8Gi"),
            make_node("zero", cpu=4, memory="8Gi", allocatable={GPU: 0}),
            make_node("plugin", cpu=4, memory="8Gi", allocatable={GPU: 2}),
        ],
        [make_pod(f"old-{name}", cpu=1, requests={GPU: 1}, node=name) for name in ("none", "plugin")],
    )
    if serving:
        found.delegation.begin(Servant({GPU: {"none": devices, "zero": Devices(8, 0)}, IMPLICIT: {}}))
    return found


def verdicts(none: Rejection | None, zero: Rejection | None, plugin: Rejection | None) -> dict[str, Rejection | None]:
    return {"none": none, "zero": zero, "plugin": plugin}


@pytest.mark.parametrize(
    ("there", "pod", "expected"),
    [
        pytest.param(
            cluster(), make_pod(requests={GPU: 1}), verdicts(None, None, None), id="nodes without the resource are left"
        ),
        pytest.param(
            cluster(), make_pod(requests={GPU: 2}), verdicts(None, None, NOT_ENOUGH), id="a device plugin is counted"
        ),
        pytest.param(
            cluster(), make_pod(requests={GPU: 99}), verdicts(None, None, NEVER_ENOUGH), id="devices are not counted"
        ),
        pytest.param(
            cluster(),
            make_pod(requests={GPU: 1, NIC: 1}),
            verdicts(NO_NIC, NO_NIC, NO_NIC),
            id="what nobody serves is missing as before",
        ),
        pytest.param(
            cluster(),
            make_pod(cpu=4, requests={GPU: 2}),
            verdicts(Rejection("Insufficient cpu"), None, Rejection("Insufficient cpu", f"Insufficient {GPU}")),
            id="other resources are checked",
        ),
        pytest.param(
            cluster(),
            make_pod(requests={IMPLICIT: 1}),
            verdicts(None, None, None),
            id="a resource that no node reports",
        ),
        pytest.param(
            cluster(serving=False),
            make_pod(requests={GPU: 1}),
            verdicts(NEVER_ENOUGH, NEVER_ENOUGH, None),
            id="without a plugin that serves it every node must have it",
        ),
    ],
)
def test_filter(there: FakeCluster, pod: Pod, expected: dict[str, Rejection | None]) -> None:
    assert filter_all(NodeResourcesFit(), there, pod) == expected


def fit(kind: str = "MostAllocated", **more: Any) -> NodeResourcesFit:
    strategy = {"type": kind, "resources": [{"name": "cpu"}, {"name": GPU, "weight": 3}], **more}
    return NodeResourcesFit.of({"scoringStrategy": strategy})


RATIO = {"requestedToCapacityRatio": {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}}
BALANCED = NodeResourcesBalancedAllocation.of({"resources": [{"name": "cpu"}, {"name": GPU}]})


@pytest.mark.parametrize(
    ("plugin", "there", "expected"),
    [
        pytest.param(fit(), cluster(), [(50 + 3 * 50) // 4, (25 + 3 * 25) // 4, (50 + 3 * 100) // 4], id="most"),
        pytest.param(
            fit("LeastAllocated"), cluster(), [(50 + 3 * 50) // 4, (75 + 3 * 75) // 4, (50 + 3 * 0) // 4], id="least"
        ),
        pytest.param(fit("RequestedToCapacityRatio", **RATIO), cluster(), [50, 25, 88], id="ratio"),
        pytest.param(fit(), cluster(serving=False), [50, 25, (50 + 3 * 100) // 4], id="nobody serves the resource"),
        pytest.param(fit(), cluster(devices=Devices()), [50, 25, 87], id="a node without devices"),
        pytest.param(BALANCED, cluster(), [75, 75, 69], id="balanced"),
        pytest.param(BALANCED, cluster(serving=False), [75, 75, 69], id="balanced, nobody serves the resource"),
    ],
)
def test_scores_count_devices(plugin: Score, there: FakeCluster, expected: list[int]) -> None:
    pod = make_pod(cpu=1, requests={GPU: 2 if there.delegation.serves(GPU) else 1})
    scores = raw_scores(plugin, there, pod)
    assert isinstance(scores, dict)
    assert list(scores.values()) == expected


@pytest.mark.parametrize("seed", range(20))
def test_both_forms_agree(seed: int) -> None:
    draw = Random(seed)
    names = [f"n{i}" for i in range(draw.randint(1, 8))]
    held = [{GPU: draw.choice((0, 3))} if draw.random() < 0.6 else {} for _ in names]
    there = FakeCluster(
        [make_node(name, cpu=4, allocatable=each) for name, each in zip(names, held, strict=True)],
        [make_pod(f"p-{name}", requests={GPU: draw.randint(0, 3)}, node=name) for name in names],
    )
    counts = {name: Devices(draw.randint(0, 4), draw.randint(0, 4)) for name in names}
    there.delegation.begin(Servant({GPU: counts}))
    pod = make_pod(cpu=1, requests={GPU: draw.randint(0, 4), NIC: draw.randint(0, 1)})
    kind = draw.choice(("LeastAllocated", "MostAllocated"))
    filter_all(fit(kind), there, pod)
    raw_scores(fit(kind), there, pod)
    raw_scores(BALANCED, there, pod)


@pytest.mark.parametrize(
    ("pod", "before", "after", "helps"),
    [
        pytest.param(
            make_pod(requests={GPU: 1}), make_node(), make_node(), True, id="devices of the node may have changed"
        ),
        pytest.param(
            make_pod(requests={GPU: 1}),
            make_node(allocatable={GPU: 5}),
            make_node(allocatable={GPU: 5}),
            False,
            id="a device plugin that reports the same",
        ),
        pytest.param(
            make_pod(requests={GPU: 1, NIC: 1}), make_node(), make_node(), False, id="another resource is missing"
        ),
    ],
)
def test_retry_after_a_node_changed(pod: Pod, before: Node, after: Node, helps: bool) -> None:
    plugin = NodeResourcesFit()
    plugin.start(handle_of(cluster()))
    assert plugin.after_node_change(pod, CHANGED, before, after) is helps


def device_class(resource: str | None) -> DeviceClass:
    return DeviceClass(Metadata(name="gpu"), DeviceClassSpec(extended_resource_name=resource))


@pytest.mark.parametrize(
    ("resource", "old", "new", "helps"),
    [
        pytest.param(GPU, None, GPU, True, id="a new class serves it"),
        pytest.param(GPU, None, None, False, id="a new class that names nothing"),
        pytest.param(IMPLICIT, None, NIC, True, id="a new class serves its own name"),
        pytest.param(GPU, NIC, GPU, True, id="a class serves it now"),
        pytest.param(GPU, GPU, GPU, False, id="a class serves it as before"),
        pytest.param(GPU, GPU, NIC, False, id="a class serves another one now"),
        pytest.param(IMPLICIT, None, None, True, id="a new class without a resource serves its own name"),
    ],
)
def test_retry_after_a_class_changed(resource: str, old: str | None, new: str | None, helps: bool) -> None:
    pod, was = make_pod(requests={resource: 1}), None if old is None else device_class(old)
    assert NodeResourcesFit().after_class_change(pod, NEW_CLASS, was, device_class(new)) is helps


def test_results_are_kept_until_devices_matter() -> None:
    there, plugin, balanced = cluster(serving=False), fit(), BALANCED.of({"resources": [{"name": GPU}]})
    servant = Servant({GPU: {}})
    for each in (plugin, balanced):
        each.start(handle_of(there))
    with_gpu, without = there.cycle(make_pod(requests={GPU: 1})), there.cycle(make_pod(cpu=1))
    unserved = plugin.epoch(with_gpu)
    there.delegation.begin(servant)
    served, balance, plain = plugin.epoch(with_gpu), balanced.epoch(with_gpu), plugin.epoch(without)
    assert served != unserved
    servant.devices_version += 1
    assert plugin.epoch(with_gpu) != served
    assert balanced.epoch(with_gpu) != balance
    assert plugin.epoch(without) == plain == 0
    assert NodeResourcesBalancedAllocation().epoch(with_gpu) == 0


def test_gangs_leave_served_resources_to_their_plugin() -> None:
    nodes, pods = cluster().nodes, [make_pod(f"p{i}", requests={GPU: 5}) for i in range(2)]
    serves = cluster().delegation.serves
    assert not FreeRoom(lambda: nodes).could_fit(Wish.of(pods, 2))
    assert FreeRoom(lambda: nodes, serves=serves).could_fit(Wish.of(pods, 2))
    assert resource_gap(nodes, {GPU: 10}, 2, ()) != ""
    assert resource_gap(nodes, {GPU: 10}, 2, (), serves) == ""
