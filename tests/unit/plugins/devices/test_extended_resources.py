import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from kit.claim_store import ClaimStore
from kit.device_scene import claim, device, exactly, first_of, piece
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.delegation import Devices
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.handle import OFFLINE_API, ApiFailed, NotAllowed
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, NoRoom, PluginFailed, Rejection
from pilotage.kinds.devices import DeviceClass, ResourceClaim
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources import DynamicResources
from pilotage.plugins.devices.dynamic_resources.device_world import world_of
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import FakeCluster, Manifest, filter_all, handle_of, make_node, make_pod, raw_scores

GPU, NIC = "example.com/gpu", "example.com/nic"
CLAIMS, POD_STATUS = (
    "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims",
    "/api/v1/namespaces/shop/pods/web/status",
)
SPECIAL = f"{CLAIMS}/web-extended-resources-x"
NO_DEVICES = Rejection("cannot allocate all claims", preemption_helps=False)
CANNOT_FIT = Rejection("cannot fit resource", preemption_helps=False)
LEFT = Rejection("cannot schedule extended resource claim", preemption_helps=False)
MARK = {"resource.kubernetes.io/extended-resource-claim": "true"}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "web-uid", "controller": True}
DELETION = Event(Resource.RESOURCE_CLAIM, Action.DELETE)


def serving(name: str, resource: str, *selectors: str) -> DeviceClass:
    spec = {"extendedResourceName": resource, "selectors": [{"cel": {"expression": each}} for each in selectors]}
    return msgspec.json.decode(msgspec.json.encode({"metadata": {"name": name}, "spec": spec}), type=DeviceClass)


def of_shop(found: ResourceClaim) -> ResourceClaim:
    metadata = msgspec.structs.replace(found.metadata, namespace="shop")
    return msgspec.structs.replace(found, metadata=metadata)


def leftover(**more: Any) -> Manifest:
    request = {"name": "container-0-request-0", "exactly": {"deviceClassName": "gpus", "count": 1}}
    return {
        "metadata": {
            "name": "web-extended-resources-x",
            "namespace": "shop",
            "uid": "left",
            "annotations": MARK,
            "ownerReferences": [OWNER],
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        },
        "spec": {"devices": {"requests": [request]}},
        **more,
    }


def decoded(manifest: Manifest) -> ResourceClaim:
    return msgspec.json.decode(msgspec.json.encode(manifest), type=ResourceClaim)


def cluster(*more: Kind) -> FakeCluster:
    """Return a node with two devices, one with a device plugin for one, and one without either."""
    objects: list[Kind] = [
        serving("gpus", GPU),
        piece("s", device("d0", size=1), device("d1", size=2), nodeName="devices"),
        *more,
    ]
    nodes = [make_node("devices", allocatable={GPU: 0}), make_node("plugin", allocatable={GPU: 1}), make_node("none")]
    return FakeCluster(nodes=nodes, objects=objects)


def pod_of(requests: Manifest | None = None, *claims: str, **fields: Any) -> Pod:
    spec = {"resourceClaims": [{"name": each, "resourceClaimName": each} for each in claims]} if claims else None
    return make_pod("web", uid="web-uid", namespace="shop", requests=requests or {}, spec=spec, **fields)


def verdicts(
    devices: Rejection | None, plugin: Rejection | None, none: Rejection | None
) -> dict[str, Rejection | None]:
    return {"devices": devices, "plugin": plugin, "none": none}


MINE = of_shop(claim(exactly("r", of="gpus"), name="mine"))
BOTH = of_shop(claim(exactly("r", of="gpus", count=2), name="both"))
CHOICE = of_shop(
    claim(
        first_of("r", exactly("big", "device.attributes['a'].size > 2", of="gpus"), exactly("any", of="gpus")),
        name="choice",
    )
)


@pytest.mark.parametrize(
    ("pod", "objects", "expected"),
    [
        pytest.param(pod_of({GPU: 1}), (), verdicts(None, None, NO_DEVICES), id="devices, or a device plugin"),
        pytest.param(pod_of({GPU: 2}), (), verdicts(None, None, NO_DEVICES), id="NodeResourcesFit counts the plugin's"),
        pytest.param(pod_of({GPU: 3}), (), verdicts(NO_DEVICES, None, NO_DEVICES), id="more than there are devices"),
        pytest.param(
            pod_of({GPU: 1, NIC: 1}), (), verdicts(CANNOT_FIT, CANNOT_FIT, CANNOT_FIT), id="a resource that nobody has"
        ),
        pytest.param(
            pod_of({"deviceclass.resource.kubernetes.io/gpus": 2}),
            (),
            verdicts(None, NO_DEVICES, NO_DEVICES),
            id="the implicit name of a class, which no device plugin serves",
        ),
        pytest.param(
            pod_of({GPU: 1}, "mine"), (MINE,), verdicts(None, NO_DEVICES, NO_DEVICES), id="with a claim of its own"
        ),
        pytest.param(
            pod_of({GPU: 1}, "both"),
            (BOTH,),
            verdicts(NO_DEVICES, NO_DEVICES, NO_DEVICES),
            id="with a claim of its own for all devices",
        ),
        pytest.param(
            pod_of({GPU: 1}), (decoded(leftover()),), verdicts(LEFT, LEFT, LEFT), id="what an earlier attempt left"
        ),
    ],
)
def test_nodes(pod: Pod, objects: tuple[Kind, ...], expected: dict[str, Rejection | None]) -> None:
    assert filter_all(DynamicResources(), cluster(*objects), pod) == expected


def test_a_pod_without_a_served_resource_is_skipped() -> None:
    there, plugin = cluster(), DynamicResources()
    plugin.start(handle_of(there))
    for pod in (pod_of(), pod_of({NIC: 1})):
        assert plugin.pre_filter(there.cycle(pod), pod) is SKIP


def test_alternatives_of_claims_are_scored() -> None:
    scores = raw_scores(DynamicResources(), cluster(CHOICE), pod_of({GPU: 1}, "choice"), ["devices"])
    assert scores == {"devices": 7}


def test_fit_and_this_plugin_agree() -> None:
    there = cluster()
    serving_plugin, fit = (
        DynamicResources(),
        NodeResourcesFit.of({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": GPU}]}}),
    )
    serving_plugin.start(handle_of(there))
    fit.start(handle_of(there))
    pod = pod_of({GPU: 1})
    assert filter_all(fit, there, pod) == verdicts(None, None, None)
    assert raw_scores(fit, there, pod) == {"devices": 50, "plugin": 100, "none": 0}
    serving_plugin.handle.close()
    no_gpu = Rejection(f"Insufficient {GPU}", preemption_helps=False)
    assert filter_all(fit, there, pod) == verdicts(no_gpu, None, no_gpu), "nobody serves it any more"


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        pytest.param((), Devices(2, 1), id="all devices of the node"),
        pytest.param(("device.attributes['a'].size == 2",), Devices(1, 0), id="those that the class selects"),
        pytest.param(("device.attributes['a'].none == 2",), Devices(), id="an error in a selector"),
    ],
)
def test_devices_that_are_counted(selectors: tuple[str, ...], expected: Devices) -> None:
    there, plugin = cluster(serving("gpus", GPU, *selectors)), DynamicResources()
    plugin.start(handle_of(there))
    pod, world = pod_of({GPU: 1}), world_of(there.cache.objects)
    world.catch_up(there.cache.objects)
    counts = there.delegation._delegates[-1]
    assert counts.devices(GPU, there.nodes[0]).used == 0
    assert counts.devices(GPU, there.nodes[2]) == Devices()
    if expected.existing == 2:
        cycle = there.cycle(pod)
        plugin.pre_filter(cycle, pod)
        plugin.reserve(cycle, pod, "devices")
    assert counts.devices(GPU, there.nodes[0]) == expected


@dataclass
class Play:
    """A pod, its cycle, and an API server."""

    cluster: FakeCluster
    plugin: DynamicResources
    api: ClaimStore
    pod: Pod
    cycle: Cycle

    def reserve(self, node: str) -> None:
        assert self.plugin.pre_filter(self.cycle, self.pod) is None
        found = next(each for each in self.cluster.nodes if each.name == node)
        assert self.plugin.filter(self.cycle, self.pod, found) is None
        assert self.plugin.reserve(self.cycle, self.pod, node) is None

    async def bind(self, node: str) -> None:
        if self.plugin.pre_bind_pre_flight(self.cycle, self.pod, node) is None:
            await self.plugin.pre_bind(self.cycle, self.pod, node)

    async def settle(self) -> None:
        await world_of(self.cluster.cache.objects).lanes.finished()

    def taken(self) -> list[str]:
        use = world_of(self.cluster.cache.objects).usage.of(("a", "p"))
        return sorted(use.alone)


def play(pod: Pod, *objects: Manifest, more: Iterable[Kind] = ()) -> Play:
    api = ClaimStore(*objects)
    there = cluster(*map(decoded, api.claims.values()), *more)
    plugin = DynamicResources()
    plugin.start(handle_of(there, api=api))
    return Play(there, plugin, api, pod, there.cycle(pod))


def own_claim(name: str = "mine") -> Manifest:
    request = {"name": "r", "exactly": {"deviceClassName": "gpus", "allocationMode": "ExactCount", "count": 1}}
    metadata = {"name": name, "namespace": "shop", "uid": f"uid of {name}"}
    return {"metadata": metadata, "spec": {"devices": {"requests": [request]}}, "status": {}}


async def test_a_claim_is_created_for_the_chosen_node() -> None:
    it = play(pod_of({GPU: 1}))
    it.reserve("devices")
    assert it.api.writes == []
    assert it.taken() == ["d0"]
    await it.bind("devices")
    assert it.api.writes == [
        ("POST", CLAIMS),
        ("PATCH", SPECIAL),
        ("PATCH", f"{SPECIAL}/status"),
        ("PATCH", POD_STATUS),
    ]
    stored = it.api.claims[SPECIAL]
    assert stored["metadata"]["annotations"] == MARK
    assert stored["metadata"]["ownerReferences"] == [OWNER]
    assert stored["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    asked = {"deviceClassName": "gpus", "allocationMode": "ExactCount", "count": 1}
    assert stored["spec"] == {"devices": {"requests": [{"name": "container-0-request-0", "exactly": asked}]}}
    written = decoded(stored).status
    assert written.allocation is not None
    assert [(each.request, each.device) for each in written.allocation.devices.results] == [
        ("container-0-request-0", "d0")
    ]
    assert written.allocation.allocation_timestamp
    assert [each.uid for each in written.reserved_for] == ["web-uid"]
    mapping = {"containerName": "main", "resourceName": GPU, "requestName": "container-0-request-0"}
    assert it.api.bodies[-1] == {
        "metadata": {"uid": "web-uid"},
        "status": {
            "extendedResourceClaimStatus": {
                "resourceClaimName": "web-extended-resources-x",
                "requestMappings": [mapping],
            }
        },
    }
    assert it.taken() == ["d0"]


async def test_nothing_is_written_where_a_device_plugin_serves() -> None:
    it = play(pod_of({GPU: 1}))
    it.reserve("plugin")
    await it.bind("plugin")
    assert it.api.writes == []
    assert it.taken() == []


async def test_a_claim_of_its_own_needs_no_special_one_beside_a_device_plugin() -> None:
    it = play(pod_of({GPU: 1}, "mine"), own_claim(), more=[piece("t", device("e0"), pool="q", nodeName="plugin")])
    it.reserve("plugin")
    await it.bind("plugin")
    assert it.api.writes == [("PATCH", f"{CLAIMS}/mine"), ("PATCH", f"{CLAIMS}/mine/status")]


async def test_claims_of_both_kinds_are_allocated_together() -> None:
    it = play(pod_of({GPU: 1}, "mine"), own_claim())
    it.reserve("devices")
    await it.bind("devices")
    results = {}
    for claim_found in map(decoded, it.api.claims.values()):
        assert claim_found.status.allocation is not None
        results[claim_found.metadata.name] = [each.device for each in claim_found.status.allocation.devices.results]
    assert results == {"mine": ["d0"], "web-extended-resources-x": ["d1"]}
    assert it.taken() == ["d0", "d1"]


@pytest.mark.parametrize(
    ("refused", "text", "left"),
    [
        pytest.param(
            f"POST {CLAIMS}",
            "create claim for extended resources shop/<extended-resources>: no",
            [("POST", CLAIMS)],
            id="the claim is not created",
        ),
        pytest.param(
            f"PATCH {SPECIAL}/status",
            "add allocation and reservation to claim shop/web-extended-resources-x: no",
            [
                ("POST", CLAIMS),
                ("PATCH", SPECIAL),
                ("PATCH", f"{SPECIAL}/status"),
                ("PATCH", SPECIAL),
                ("DELETE", SPECIAL),
            ],
            id="the devices are not written",
        ),
        pytest.param(
            f"PATCH {POD_STATUS}",
            "update pod shop/web ExtendedResourceClaimStatus: no",
            [
                ("POST", CLAIMS),
                ("PATCH", SPECIAL),
                ("PATCH", f"{SPECIAL}/status"),
                ("PATCH", POD_STATUS),
                ("PATCH", SPECIAL),
                ("DELETE", SPECIAL),
            ],
            id="the pod is not told",
        ),
    ],
)
async def test_a_write_that_fails(refused: str, text: str, left: list[tuple[str, str]]) -> None:
    it = play(pod_of({GPU: 1}))
    it.api.refused[refused] = ApiFailed("no", 403)
    it.reserve("devices")
    with pytest.raises(PluginFailed) as failed:
        await it.bind("devices")
    assert str(failed.value) == text
    it.plugin.unreserve(it.cycle, it.pod, "devices")
    it.plugin.unreserve(it.cycle, it.pod, "devices")
    await it.settle()
    assert it.api.writes == left
    assert it.api.claims == {}


async def test_a_pod_that_is_not_bound_after_all_keeps_no_claim() -> None:
    it = play(pod_of({GPU: 1}))
    it.reserve("devices")
    await it.bind("devices")
    it.plugin.unreserve(it.cycle, it.pod, "devices")
    await it.settle()
    assert it.api.claims == {}


async def test_a_scheduler_that_is_not_the_leader_any_more() -> None:
    it = play(pod_of({GPU: 1}))
    it.api.refused["POST"] = NotAllowed("not written")
    it.reserve("devices")
    with pytest.raises(PluginFailed, match="devices not allocated"):
        await it.bind("devices")


async def test_the_claim_of_an_earlier_attempt_is_deleted_first() -> None:
    it = play(pod_of({GPU: 1}), leftover(status={"reservedFor": []}))
    assert it.plugin.pre_filter(it.cycle, it.pod) is None
    found = it.plugin.filter_nodes(it.cycle, it.pod, it.cluster.nodes)
    answer = it.plugin.post_filter(it.cycle, it.pod, found)
    assert isinstance(answer, NoRoom)
    assert answer.message == "deletion of ResourceClaim completed"
    assert answer.follow_up is not None
    assert it.api.writes == [], "a dry run changes nothing"
    answer.follow_up()
    await it.settle()
    assert it.api.writes == [("PATCH", SPECIAL), ("DELETE", SPECIAL)]
    gone = decoded(leftover())
    assert it.plugin.claim_changed(it.pod, DELETION, gone, None)
    assert it.plugin.pods_of(gone, None) == ("shop/web",)
    assert it.plugin.pods_of(decoded(own_claim()), None) == ()
    assert not it.plugin.claim_changed(make_pod("other", uid="o", namespace="shop"), DELETION, gone, None)
    it.cluster.cache.objects.drop(gone)
    it.plugin.pre_filter(it.cycle, it.pod)
    assert it.plugin.filter(it.cycle, it.pod, it.cluster.nodes[0]) is None


def test_the_claim_of_an_earlier_attempt_in_a_simulation() -> None:
    there, plugin, pod = cluster(decoded(leftover())), DynamicResources(), pod_of({GPU: 1})
    handle = handle_of(there, api=OFFLINE_API)
    told: list[tuple[Kind | None, Kind]] = []
    handle.announce = lambda old, new: told.append((old, new))
    plugin.start(handle)
    cycle = there.cycle(pod)
    plugin.pre_filter(cycle, pod)
    found = plugin.filter_nodes(cycle, pod, there.nodes)
    answer = plugin.post_filter(cycle, pod, found)
    assert isinstance(answer, NoRoom)
    assert answer.follow_up is not None
    answer.follow_up()
    plugin.pre_filter(cycle, pod)
    assert plugin.filter(cycle, pod, there.nodes[0]) is None
    assert len(told) == 1


async def test_two_pods_get_different_devices() -> None:
    it = play(pod_of({GPU: 1}))
    other = make_pod("api", uid="api-uid", namespace="shop", requests={GPU: 1})
    second = Play(it.cluster, it.plugin, it.api, other, it.cluster.cycle(other))
    it.reserve("devices")
    second.reserve("devices")
    assert it.taken() == ["d0", "d1"]
    await asyncio.gather(it.bind("devices"), second.bind("devices"))
    assert len(it.api.claims) == 2
    third = pod_of({GPU: 1})
    cycle = it.cluster.cycle(third)
    it.plugin.pre_filter(cycle, third)
    assert it.plugin.filter(cycle, third, it.cluster.nodes[0]) == NO_DEVICES
