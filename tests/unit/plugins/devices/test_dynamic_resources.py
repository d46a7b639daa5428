"""The plugin at every extension point, with the allocator that is tested on its own."""

from typing import Any

import msgspec
import pytest

from kit.device_scene import claim as claim_of
from kit.device_scene import device, device_class, exactly, first_of, piece
from pilotage.config.faults import Stage
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.handle import OFFLINE_API
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, NoRoom, PluginFailed, Rejection, Verdicts
from pilotage.kinds.devices import (
    AllocatedDevice,
    AllocatedDevices,
    AllocatedDeviceStatus,
    Allocation,
    Condition,
    Consumer,
    DeviceTaintRule,
    ResourceClaim,
    ResourceClaimStatus,
)
from pilotage.model.pod import Pod
from pilotage.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from pilotage.plugins.devices.dynamic_resources import DynamicResources
from pilotage.testing import (
    FakeCluster,
    Manifest,
    filter_all,
    handle_of,
    make_node,
    make_pod,
    raw_scores,
    score_all,
    verdicts_of,
)

NOT_MADE = 'pod "ns/web": ResourceClaim not created yet'
NEITHER = 'pod "ns/web", spec.resourceClaim "gpu": none of the supported fields are set'
NO_DEVICES, INVALID = "cannot allocate all claims", "invalid resource pools were encountered"
UNAVAILABLE = "resourceclaim not available on the node"
CLAIM_MADE = Event(Resource.TARGET_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
CLAIM_CHANGED = Event(Resource.RESOURCE_CLAIM, Action.UPDATE)

BY_NAME = {"name": "gpu", "resourceClaimName": "my-gpu"}
BY_TEMPLATE = {"name": "gpu", "resourceClaimTemplateName": "gpus"}
MADE = {"name": "gpu", "resourceClaimName": "web-gpu"}
NOT_NEEDED = {"name": "gpu"}
ONE = exactly("one")


def claiming(*claims: Manifest, made: tuple[Manifest, ...] = (), name: str = "web", **fields: Any) -> Pod:
    return make_pod(
        name,
        uid=f"{name}-uid",
        namespace="ns",
        spec={"resourceClaims": list(claims)} if claims else None,
        status={"resourceClaimStatuses": list(made)},
        **fields,
    )


def using(*names: str, name: str = "web", **fields: Any) -> Pod:
    """Return a pod with these claims."""
    claims = [{"name": f"c{place}", "resourceClaimName": each} for place, each in enumerate(names)]
    return claiming(*claims, name=name, **fields)


def claim(
    name: str,
    *requests: Manifest,
    owner: str | None = None,
    going: bool = False,
    namespace: str = "ns",
    allocation: Allocation | None = None,
    reserved_for: tuple[str, ...] = (),
    devices: tuple[AllocatedDeviceStatus, ...] = (),
) -> ResourceClaim:
    made = claim_of(*requests, name=name)
    owners = [{"kind": "Pod", "name": "web", "uid": owner, "controller": True}] if owner else []
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "ownerReferences": owners}
    metadata |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if going else {}
    made.metadata = msgspec.convert(metadata, type(made.metadata))
    consumers = tuple(Consumer(resource="pods", uid=uid) for uid in reserved_for)
    made.status = ResourceClaimStatus(allocation, consumers, devices)
    return made


def on(*nodes: str) -> NodeSelector:
    """Return the selector for these nodes."""
    fields = ((NodeSelectorRequirement("metadata.name", "In", (each,)),) for each in nodes)
    return NodeSelector(tuple(NodeSelectorTerm(match_fields=each) for each in fields))


def got(name: str, selector: NodeSelector | None = None, request: str = "one", **fields: Any) -> Allocation:
    """Return the allocation of one device."""
    since = fields.pop("since", "2026-01-01T00:00:00Z")
    return Allocation(AllocatedDevices((AllocatedDevice(request, "a", "p", name, **fields),)), selector, since)


def cluster(*claims: ResourceClaim, devices: int = 1, more: tuple[Kind, ...] = ()) -> FakeCluster:
    """Return two nodes with devices of their own."""
    slices = [
        piece(node, *(device(f"{node}-{number}") for number in range(devices)), pool=node, nodeName=node)
        for node in ("n1", "n2")
    ]
    return FakeCluster([make_node("n1"), make_node("n2")], objects=[*claims, device_class("c"), *slices, *more])


def started(there: FakeCluster, **arguments: Any) -> DynamicResources:
    plugin = DynamicResources(**arguments)
    plugin.start(handle_of(there))
    return plugin


def hopeless(text: str) -> Rejection:
    return Rejection(text, preemption_helps=False)


@pytest.mark.parametrize(
    ("pod", "gate", "reason"),
    [
        pytest.param(claiming(), None, SKIP, id="a pod without claims"),
        pytest.param(claiming(BY_NAME), None, None, id="a claim by name"),
        pytest.param(
            using("lost"),
            'could not find ResourceClaim "ns/lost"',
            'could not find ResourceClaim "ns/lost"',
            id="a claim that is not there",
        ),
        pytest.param(
            using("going"),
            'resourceclaim "going" is being deleted',
            'resourceclaim "going" is being deleted',
            id="a claim that is being deleted",
        ),
        pytest.param(
            using("odd"),
            None,
            "request one/b: device class none does not exist",
            id="a claim for a class that does not exist",
        ),
        pytest.param(
            using("strange"),
            None,
            "resource claim ns/strange, request one: unknown request type",
            id="a claim whose request has no form that is known",
        ),
        pytest.param(
            claiming(BY_TEMPLATE, made=(MADE | {"resourceClaimName": "my-gpu"},)),
            "ResourceClaim ns/my-gpu was not created for Pod ns/web (Pod is not owner)",
            "ResourceClaim ns/my-gpu was not created for Pod ns/web (Pod is not owner)",
            id="a claim that was not made for the pod",
        ),
        pytest.param(claiming(BY_TEMPLATE), NOT_MADE, NOT_MADE, id="a claim that is not made yet"),
        pytest.param(claiming(BY_TEMPLATE, made=({"name": "other"},)), NOT_MADE, NOT_MADE, id="another one is made"),
        pytest.param(claiming(BY_TEMPLATE, made=(MADE,)), None, None, id="a claim that is made"),
        pytest.param(claiming(BY_TEMPLATE, made=(NOT_NEEDED,)), None, SKIP, id="it turned out that none is needed"),
        pytest.param(claiming({"name": "gpu"}), NEITHER, NEITHER, id="neither a name nor a template"),
        pytest.param(
            claiming({"name": "a", "resourceClaimName": "lost"}, BY_TEMPLATE),
            'could not find ResourceClaim "ns/lost"',
            'could not find ResourceClaim "ns/lost"',
            id="the first problem counts",
        ),
    ],
)
def test_claims_of_a_pod(pod: Pod, gate: str | None, reason: Any) -> None:
    there = cluster(
        claim("my-gpu", ONE),
        claim("web-gpu", ONE, owner="web-uid"),
        claim("going", going=True),
        claim("odd", first_of("one", exactly("a"), exactly("b", of="none"))),
        claim("strange", {"name": "one"}),
    )
    plugin, cycle = started(there), there.cycle(pod)
    assert plugin.pre_enqueue(pod) == (gate and hopeless(gate))
    assert plugin.pre_filter(cycle, pod) == (hopeless(reason) if isinstance(reason, str) else reason)
    assert plugin.post_filter(cycle, pod, Verdicts.all_fit(2)) == NoRoom("", keeps_nomination=True)


def test_a_request_without_a_class_is_an_error() -> None:
    there = cluster(claim("my-gpu", exactly("one", of="")))
    with pytest.raises(PluginFailed, match=r"^request one: unsupported request type$"):
        started(there).pre_filter(there.cycle(claiming(BY_NAME)), claiming(BY_NAME))


MINE = "web-uid"
WITH_CONDITIONS = {"binding_conditions": ("Ready",), "binding_failure_conditions": ("Broken",)}


def reported(**conditions: str) -> tuple[AllocatedDeviceStatus, ...]:
    told = tuple(Condition(name, status, "R", "because") for name, status in conditions.items())
    return (AllocatedDeviceStatus("a", "p", "d", told),)


@pytest.mark.parametrize(
    ("claims", "n1", "n2"),
    [
        pytest.param([claim("a", ONE)], None, None, id="free devices on both nodes"),
        pytest.param([claim("a", ONE), claim("x", ONE, allocation=got("n1-0"))], None, None, id="of another pool"),
        pytest.param(
            [claim("a", exactly("one", count=2))], NO_DEVICES, NO_DEVICES, id="more devices than any node has"
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", on("n2")))], UNAVAILABLE, None, id="it has a device of the other node"
        ),
        pytest.param([claim("a", ONE, allocation=got("d"))], None, None, id="it has a device that all nodes can use"),
        pytest.param(
            [claim("a", ONE, allocation=got("d", on("n2"))), claim("b", exactly("one", count=2))],
            NO_DEVICES,
            NO_DEVICES,
            id="the search counts more than a claim with a device elsewhere",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", skip_node_operations=("x",)))],
            UNAVAILABLE,
            UNAVAILABLE,
            id="nodes lack a feature that the device needs",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", **WITH_CONDITIONS), devices=reported(Broken="True"))],
            UNAVAILABLE,
            UNAVAILABLE,
            id="its device could not be prepared",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", **WITH_CONDITIONS))],
            UNAVAILABLE,
            UNAVAILABLE,
            id="its device was not prepared in time",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", **WITH_CONDITIONS), devices=reported(Ready="True"))],
            None,
            None,
            id="its device is prepared",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", **WITH_CONDITIONS, since="2999-01-01T00:00:00Z"))],
            None,
            None,
            id="its device is being prepared",
        ),
    ],
)
def test_verdicts(claims: list[ResourceClaim], n1: str | None, n2: str | None) -> None:
    there = cluster(*claims)
    pod = using(*(each.metadata.name for each in claims if each.metadata.name != "x"))
    expected = {"n1": n1 and hopeless(n1), "n2": n2 and hopeless(n2)}
    assert filter_all(started(there), there, pod) == expected


def test_an_invalid_pool_is_named_as_the_reason() -> None:
    broken = piece("broken", device("x"), device("x"), nodeName="n1")
    there = FakeCluster([make_node("n1")], objects=[claim("a", ONE), device_class("c"), broken])
    assert filter_all(started(there), there, using("a")) == {"n1": hopeless(INVALID)}


def test_an_error_on_the_first_node_that_is_asked_fails_the_attempt() -> None:
    there = cluster(claim("a", exactly("one", 'device.attributes["a"].nope == 1')))
    plugin, pod = started(there), using("a")
    cycle = there.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    with pytest.raises(PluginFailed, match=r"^claim ns/a: selector #0 on device a/n1/n1-0: CEL runtime error: no such"):
        plugin.filter_nodes(cycle, pod, cycle.nodes)
    with pytest.raises(PluginFailed, match=r"a/n2/n2-0"):
        plugin.filter_nodes(cycle, pod, cycle.nodes.take([1]))  # type: ignore[arg-type]


def test_an_invalid_node_selector_of_an_allocation_is_an_error() -> None:
    bad = NodeSelector((NodeSelectorTerm((NodeSelectorRequirement("a", "Near", ()),)),))
    there = cluster(claim("a", ONE, allocation=got("d", bad)))
    with pytest.raises(PluginFailed, match="Unsupported value"):
        started(there).pre_filter(there.cycle(using("a")), using("a"))


def test_a_claim_under_two_entries_is_allocated_once() -> None:
    there = cluster(claim("a", ONE))
    plugin, pod = started(there), using("a", "a")
    assert filter_all(plugin, there, pod) == {"n1": None, "n2": None}
    cycle = there.cycle(pod)
    plugin.pre_filter(cycle, pod)
    assert plugin.reserve(cycle, pod, "n1") is None


def test_alternatives_are_preferred_in_their_order() -> None:
    first, second = exactly("big", 'device.attributes["a"].big'), exactly("any")
    slices = (
        piece("s1", device("x", big=False), pool="n1", nodeName="n1"),
        piece("s2", device("y", big=True), pool="n2", nodeName="n2"),
    )
    objects = [claim("a", first_of("one", first, second)), device_class("c"), *slices]
    there = FakeCluster([make_node("n1"), make_node("n2")], objects=objects)
    plugin = started(there)
    assert raw_scores(plugin, there, using("a")) == {"n1": 7, "n2": 8}
    assert score_all(plugin, there, using("a")) == {"n1": 87, "n2": 100}


def test_claims_with_devices_add_the_same_to_all_nodes_if_there_is_a_search() -> None:
    old = claim("old", first_of("one", exactly("s0"), exactly("s1")), allocation=got("d", request="one/s1"))
    there = cluster(old, claim("new", ONE))
    plugin = started(there)
    assert raw_scores(plugin, there, using("old")) == {"n1": 0, "n2": 0}
    assert raw_scores(plugin, there, using("old", "new")) == {"n1": 7, "n2": 7}


def reserved(plugin: DynamicResources, there: FakeCluster, pod: Pod, node: str) -> Any:
    """Reserve a node for a pod, and return the cycle."""
    cycle = there.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    assert plugin.reserve(cycle, pod, node) is None
    return cycle


def test_devices_that_are_reserved_are_taken_in_every_profile() -> None:
    there = cluster(claim("a", ONE), claim("b", ONE))
    one, other, pod = started(there), started(there, bindingTimeout="1m"), using("b", name="db")
    cycle = reserved(one, there, using("a"), "n1")
    assert filter_all(other, there, pod) == {"n1": hopeless(NO_DEVICES), "n2": None}
    assert filter_all(other, there, using("a", name="db")) == hopeless(
        "resource claim ns/a is in the process of being allocated"
    )
    one.unreserve(cycle, cycle.pod, "n1")
    one.unreserve(cycle, cycle.pod, "n1")
    assert filter_all(other, there, pod) == {"n1": None, "n2": None}


def test_reservations_survive_a_new_configuration() -> None:
    there = cluster(claim("a", ONE), claim("b", ONE))
    old = started(there)
    reserved(old, there, using("a"), "n1")
    old.handle.close()
    new = started(there, filterTimeout="1s")
    assert filter_all(new, there, using("b", name="db")) == {"n1": hopeless(NO_DEVICES), "n2": None}


def test_pods_of_a_gang_share_a_claim_that_is_not_written_yet() -> None:
    there, gang = cluster(claim("a", ONE)), {"pod-group.pilotage.dev/name": "train"}
    plugin = started(there)
    first = reserved(plugin, there, using("a", labels=gang), "n1")
    second = using("a", name="second", labels=gang)
    assert filter_all(plugin, there, second) == {"n1": None, "n2": hopeless(UNAVAILABLE)}
    cycle = reserved(plugin, there, second, "n1")
    plugin.unreserve(first, first.pod, "n1")
    other = using("a", name="other")
    assert isinstance(filter_all(plugin, there, other), Rejection)  # the second pod still holds it
    plugin.unreserve(cycle, second, "n1")
    assert filter_all(plugin, there, other) == {"n1": None, "n2": None}


def test_a_simulation_shares_claims_as_if_they_were_written_and_forgets_them_at_its_end() -> None:
    there = cluster(claim("a", ONE))
    plugin, handle = DynamicResources(), handle_of(there, api=OFFLINE_API)
    plugin.start(handle)
    reserved(plugin, there, using("a"), "n2")
    assert filter_all(plugin, there, using("a", name="other")) == {"n1": hopeless(UNAVAILABLE), "n2": None}
    handle.close()
    assert filter_all(plugin, there, using("a", name="other")) == {"n1": None, "n2": None}


def test_objects_that_change_without_a_word_count() -> None:
    there, taken = cluster(claim("a", ONE)), claim("x", ONE, allocation=got("n1-0"))
    plugin, objects = started(there), there.cache.objects
    assert filter_all(plugin, there, using("a")) == {"n1": None, "n2": None}
    objects.put(piece("n1", device("n1-0"), pool="p", nodeName="n1"))
    objects.put(taken)
    assert filter_all(plugin, there, using("a")) == {"n1": hopeless(NO_DEVICES), "n2": None}
    objects.drop(taken)
    assert filter_all(plugin, there, using("a")) == {"n1": None, "n2": None}


def test_a_what_if_sees_claims_as_they_will_be() -> None:
    there, mine = cluster(claim("a", ONE)), claim("a", ONE)
    plugin = started(there)
    reserved(plugin, there, using("a"), "n1")
    seen = plugin.as_reserved(mine)
    assert isinstance(seen, ResourceClaim)
    assert seen.status.allocation is not None
    assert [each.uid for each in seen.status.reserved_for] == [MINE]
    assert seen.status.allocation.devices.results[0].device == "n1-0"
    assert plugin.as_reserved(node := device_class("c")) is node


@pytest.mark.parametrize(
    ("claims", "freed"),
    [
        pytest.param([claim("a", ONE, allocation=got("d", on("n3")))], "a", id="a claim that nobody uses"),
        pytest.param(
            [claim("a", ONE, allocation=got("d", on("n3")), reserved_for=(MINE,))], "a", id="one that only the pod uses"
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", on("n3")), reserved_for=(MINE, "x"))], None, id="others use it, too"
        ),
        pytest.param(
            [
                claim("a", ONE, allocation=got("d", on("n3")), reserved_for=("x",)),
                claim("b", ONE, allocation=got("e", on("n3"))),
            ],
            "b",
            id="the first one that nobody else uses",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d")), claim("b", ONE, allocation=got("e", on("n3")))],
            "b",
            id="not one that all nodes can use",
        ),
        pytest.param(
            [claim("a", ONE, allocation=got("d", on("n3"))), claim("b", exactly("one", count=2))],
            None,
            id="none if the search failed everywhere",
        ),
    ],
)
async def test_a_claim_that_keeps_the_pod_away_is_freed(claims: list[ResourceClaim], freed: str | None) -> None:
    there, pod = cluster(*claims), using(*(each.metadata.name for each in claims))
    plugin, cycle = started(there), there.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    verdicts = plugin.filter_nodes(cycle, pod, cycle.nodes)
    found = plugin.post_filter(cycle, pod, verdicts)
    assert found.message == ("deallocation of ResourceClaim completed" if freed else "")
    assert (found.follow_up is not None) is (freed is not None)
    assert not plugin.handle.api.writes  # type: ignore[attr-defined]
    if found.follow_up is not None:
        found.follow_up()
        await plugin._world.lanes.finished()
        (write,) = plugin.handle.api.writes  # type: ignore[attr-defined]
        path = f"/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/{freed}/status"
        assert (write.verb, write.path) == ("PATCH", path)
        assert write.body["status"] == {"allocation": None, "reservedFor": None, "devices": None}


def test_a_simulation_frees_a_claim_in_memory() -> None:
    there, told = cluster(claim("a", ONE, allocation=got("d", on("n3")))), []
    plugin, handle, pod = DynamicResources(), handle_of(there, api=OFFLINE_API), using("a")
    handle.announce = lambda old, new: told.append((old, new))
    plugin.start(handle)
    cycle = there.cycle(pod)
    plugin.pre_filter(cycle, pod)
    found = plugin.post_filter(cycle, pod, plugin.filter_nodes(cycle, pod, cycle.nodes))
    assert found.follow_up is not None
    found.follow_up()
    ((old, new),) = told
    assert plugin.claim_changed(pod, CLAIM_CHANGED, old, new)
    assert filter_all(plugin, there, pod) == {"n1": None, "n2": None}


async def test_a_pod_without_claims_is_left_alone() -> None:
    plugin, pod, some = DynamicResources(), claiming(), cluster()
    cycle = some.cycle(pod)
    assert verdicts_of(plugin, cycle, pod) == {"n1": None, "n2": None}
    assert score_all(plugin, some, pod) == {"n1": 0, "n2": 0}
    assert plugin.reserve(cycle, pod, "n1") is None
    assert plugin.pre_bind_pre_flight(cycle, pod, "n1") is SKIP
    assert await plugin.pre_bind(cycle, pod, "n1") is None


def test_making_room_fails_if_the_pod_was_never_looked_at() -> None:
    pod = claiming()
    with pytest.raises(PluginFailed, match=r"^not found$"):
        DynamicResources().post_filter(cluster().cycle(pod), pod, Verdicts.all_fit(2))


@pytest.mark.parametrize(("made", "helps"), [((), False), ((MADE,), True), ((NOT_NEEDED,), True)])
def test_a_claim_that_is_made_helps(made: tuple[Manifest, ...], helps: bool) -> None:
    plugin = started(cluster(claim("web-gpu", ONE, owner=MINE)))
    old, new = claiming(BY_TEMPLATE), claiming(BY_TEMPLATE, made=made)
    assert plugin.claims_are_made(old, CLAIM_MADE, old, new) is helps


HELD, FREE = claim("my-gpu", allocation=got("d")), claim("my-gpu")


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, FREE, True, id="its claim is new"),
        pytest.param(None, claim("other"), False, id="another claim is new"),
        pytest.param(None, claim("my-gpu", namespace="bank"), False, id="a claim is new elsewhere"),
        pytest.param(FREE, HELD, True, id="it got its devices"),
        pytest.param(HELD, FREE, True, id="it lost its devices"),
        pytest.param(claim("other", allocation=got("d")), claim("other"), True, id="another claim lost its devices"),
        pytest.param(claim("other"), claim("other", allocation=got("d")), False, id="another claim got devices"),
        pytest.param(FREE, claim("my-gpu", owner="somebody"), False, id="its claim has another owner"),
        pytest.param(HELD, None, True, id="a claim with devices is gone"),
        pytest.param(FREE, None, False, id="a claim without devices is gone"),
    ],
)
def test_which_claims_help(old: ResourceClaim | None, new: ResourceClaim | None, helps: bool) -> None:
    plugin = started(cluster(claim("my-gpu", ONE)))
    assert plugin.claim_changed(claiming(BY_NAME), CLAIM_CHANGED, old, new) is helps


def test_nothing_helps_a_pod_whose_claims_cannot_be_used() -> None:
    plugin, pod = started(cluster(claim("my-gpu", going=True))), claiming(BY_NAME)
    assert not plugin.claim_changed(pod, CLAIM_CHANGED, HELD, FREE)
    assert not plugin.claim_changed(pod, CLAIM_CHANGED, claim("other", allocation=got("d")), claim("other"))


def test_a_taint_rule_helps_unless_only_its_status_changes() -> None:
    read = msgspec.json.Decoder(DeviceTaintRule).decode
    one = read(b'{"metadata":{"name":"r"},"spec":{"deviceSelector":{"driver":"a"},"taint":{"key":"k"}}}')
    other = read(b'{"metadata":{"name":"r"},"spec":{"deviceSelector":{"driver":"b"},"taint":{"key":"k"}}}')
    plugin, pod, event = DynamicResources(), claiming(), Event(DeviceTaintRule, Action.UPDATE)
    assert plugin.rule_changed(pod, event, one, other)
    assert plugin.rule_changed(pod, event, one, None)
    assert not plugin.rule_changed(pod, event, one, msgspec.structs.replace(one))


@pytest.mark.parametrize(
    ("given", "dumped"),
    [
        pytest.param({}, {"filterTimeout": "10s", "bindingTimeout": "10m0s"}, id="defaults"),
        pytest.param(
            {"filterTimeout": None, "bindingTimeout": "90s"},
            {"filterTimeout": "10s", "bindingTimeout": "1m30s"},
            id="null is the default",
        ),
        pytest.param({"filterTimeout": "0s"}, {"filterTimeout": "0s", "bindingTimeout": "10m0s"}, id="no timeout"),
    ],
)
def test_arguments_as_kube_scheduler_writes_them(given: Manifest, dumped: Manifest) -> None:
    arguments = DynamicResources.read_arguments(given, ("args",))
    assert (arguments.value, arguments.faults) == (dumped, ())


def test_timeouts_that_make_no_sense_are_refused() -> None:
    faults = DynamicResources.read_arguments({"filterTimeout": "-1s", "bindingTimeout": "1ms"}, ("args",)).faults
    assert [fault.text for fault in faults] == [
        'args.filterTimeout: Invalid value: "-1s": must be zero or positive',
        'args.bindingTimeout: Invalid value: "1ms": must be at least 1 second',
    ]
    (fault,) = DynamicResources.read_arguments({"filterTimeout": 5}, ("args",)).faults
    assert fault.stage is Stage.DECODING
