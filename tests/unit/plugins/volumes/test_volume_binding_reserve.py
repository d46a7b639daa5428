from collections.abc import Sequence
from typing import Any, cast

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kit.tiers import examples
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.handle import Handle
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection
from pilotage.kinds.storage import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
)
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_binding import VolumeBinding
from pilotage.plugins.volumes.volume_binding.volume_writer import VolumeWriter
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.objects import make_node, make_pod
from pilotage.testing.plugins import filter_all
from pilotage.testing.storage import claim_volumes, make_claim, make_storage_class, make_volume

HOST = "kubernetes.io/hostname"
FOUND = make_storage_class("found")
MADE = make_storage_class("made", provisioner="csi.example.com")
NOTHING_TO_BIND = Rejection("node(s) didn't find available persistent volumes to bind", preemption_helps=False)


def user(*claims: str, name: str = "pod") -> Pod:
    return make_pod(name, spec=claim_volumes(*claims))


def cluster(*objects: Kind, nodes: str = "ab") -> FakeCluster:
    return FakeCluster([make_node(name) for name in nodes], objects=[FOUND, MADE, *objects])


def found(name: str = "c", **fields: Any) -> PersistentVolumeClaim:
    return make_claim(name, **{"size": "1Gi", "storage_class": "found", **fields})


def made(name: str = "c", **fields: Any) -> PersistentVolumeClaim:
    return make_claim(name, **{"size": "1Gi", "storage_class": "made", **fields})


def volume(name: str, **fields: Any) -> PersistentVolume:
    return make_volume(name, **{"storage_class": "found", **fields})


def begun(plugin: VolumeBinding, nodes: FakeCluster, pod: Pod) -> Cycle:
    cycle = nodes.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    return cycle


def reserved(plugin: VolumeBinding, nodes: FakeCluster, pod: Pod, node: str) -> Cycle:
    cycle = begun(plugin, nodes, pod)
    assert plugin.reserve(cycle, pod, node) is None
    return cycle


class Writer:
    """Keeps what it is told to write."""

    def __init__(self) -> None:
        self.volumes: list[PersistentVolume] = []
        self.claims: list[PersistentVolumeClaim] = []
        self.timeout = -1
        self.complaint = ""

    async def bind(
        self,
        pod: Pod,
        node: str,
        volumes: Sequence[PersistentVolume],
        claims: Sequence[PersistentVolumeClaim],
        timeout_seconds: int,
    ) -> str:
        self.volumes, self.claims, self.timeout = list(volumes), list(claims), timeout_seconds
        return self.complaint


def test_a_volume_that_one_pod_is_about_to_take_is_not_for_another() -> None:
    plugin, nodes = VolumeBinding(), cluster(found("c"), found("d"), volume("v"))
    one, other = user("c", name="one"), user("d", name="other")
    cycle = reserved(plugin, nodes, one, "a")
    assert filter_all(plugin, nodes, other) == {"a": NOTHING_TO_BIND, "b": NOTHING_TO_BIND}
    plugin.unreserve(cycle, one, "a")
    assert filter_all(plugin, nodes, other) == {"a": None, "b": None}
    plugin.unreserve(cycle, one, "a")
    assert filter_all(plugin, nodes, other) == {"a": None, "b": None}, "a second time does nothing"


def test_a_claim_for_which_a_volume_is_about_to_be_made_pins_its_other_pods() -> None:
    plugin, nodes = VolumeBinding(), cluster(made())
    cycle = reserved(plugin, nodes, user("c", name="one"), "b")
    assert filter_all(plugin, nodes, user("c", name="other")) == {"a": NOTHING_TO_BIND, "b": None}
    plugin.unreserve(cycle, user("c", name="one"), "b")
    assert filter_all(plugin, nodes, user("c", name="other")) == {"a": None, "b": None}


def test_a_volume_that_two_pods_hold_stays_held_until_both_let_go() -> None:
    plugin, nodes = VolumeBinding(), cluster(found("c"), found("d"), volume("v"))
    one, other, third = user("c", name="one"), user("c", name="other"), user("d", name="third")
    first, second = reserved(plugin, nodes, one, "a"), reserved(plugin, nodes, other, "a")
    plugin.unreserve(second, other, "a")
    assert filter_all(plugin, nodes, third) == {"a": NOTHING_TO_BIND, "b": NOTHING_TO_BIND}
    plugin.unreserve(first, one, "a")
    assert filter_all(plugin, nodes, third) == {"a": None, "b": None}


def test_what_the_api_says_ends_an_assumption() -> None:
    old = volume("v", metadata={"resourceVersion": "1"})
    plugin, nodes = VolumeBinding(), cluster(found("c"), found("d"), old)
    one = user("c", name="one")
    cycle = reserved(plugin, nodes, one, "a")
    nodes.cache.objects.put(volume("v", metadata={"resourceVersion": "1"}))
    assert filter_all(plugin, nodes, user("d"))["a"] == NOTHING_TO_BIND  # type: ignore[index] # the same version again
    nodes.cache.objects.put(volume("v", metadata={"resourceVersion": "2"}))
    assert filter_all(plugin, nodes, user("d")) == {"a": None, "b": None}
    held = reserved(plugin, nodes, user("d"), "a")
    plugin.unreserve(cycle, one, "a")
    assert filter_all(plugin, nodes, user("c"))["a"] == NOTHING_TO_BIND  # type: ignore[index] # another holds it now
    plugin.unreserve(held, user("d"), "a")


def test_reserving_nothing_but_what_fits() -> None:
    plugin, nodes = VolumeBinding(), cluster(found(), volume("v", on={HOST: ["a"]}))
    cycle = begun(plugin, nodes, user("c"))
    assert plugin.reserve(cycle, user("c"), "b") == NOTHING_TO_BIND
    with pytest.raises(PluginFailed, match=r'^no pod volume found for node "b"$'):
        plugin.pre_bind_pre_flight(cycle, user("c"), "b")


def test_an_object_that_changed_meanwhile_is_an_error_and_nothing_is_held() -> None:
    plugin = VolumeBinding()
    nodes = cluster(found("c"), made("m", metadata={"resourceVersion": "7"}), volume("v"))
    cycle = begun(plugin, nodes, user("c", "m"))
    assert plugin.filter(cycle, user("c", "m"), nodes.nodes[0]) is None
    nodes.cache.objects.put(made("m", metadata={"resourceVersion": "8"}))
    with pytest.raises(PluginFailed, match=r'^"default/m" is out of sync \(stored: 8, assume: 7\)$'):
        plugin.reserve(cycle, user("c", "m"), "a")
    assert filter_all(plugin, nodes, user("c")) == {"a": None, "b": None}


def test_an_object_that_went_meanwhile_is_an_error() -> None:
    gone = volume("v")
    plugin, nodes = VolumeBinding(), cluster(found(), gone)
    cycle = begun(plugin, nodes, user("c"))
    assert plugin.filter(cycle, user("c"), nodes.nodes[0]) is None
    nodes.cache.objects.drop(gone)
    with pytest.raises(PluginFailed, match=r'^persistentvolumes "v" not found$'):
        plugin.reserve(cycle, user("c"), "a")


def test_claims_that_got_their_volumes_meanwhile_need_nothing() -> None:
    plugin, nodes = VolumeBinding(), cluster(found(), volume("v"))
    cycle = begun(plugin, nodes, user("c"))
    nodes.cache.objects.put(found(volume="v"))
    assert plugin.reserve(cycle, user("c"), "a") is None
    assert plugin.pre_bind_pre_flight(cycle, user("c"), "a") is SKIP


async def test_pods_whose_claims_are_bound_need_no_preparation() -> None:
    plugin, nodes = VolumeBinding(), cluster(make_claim("c", volume="v"), volume("v"))
    cycle = reserved(plugin, nodes, user("c"), "a")
    assert plugin.pre_bind_pre_flight(cycle, user("c"), "a") is SKIP
    assert await plugin.pre_bind(cycle, user("c"), "a") is None


async def test_what_is_written() -> None:
    plugin, writer = VolumeBinding(bindTimeoutSeconds=7), Writer()  # type: ignore[call-arg] # by its name outside
    plugin.start(Handle())
    plugin._writer = cast(VolumeWriter, writer)
    nodes = cluster(found("c", metadata={"resourceVersion": "3"}), made("m"), volume("v"))
    pod = user("c", "m")
    cycle = reserved(plugin, nodes, pod, "b")
    assert plugin.pre_bind_pre_flight(cycle, pod, "b") is None
    assert await plugin.pre_bind(cycle, pod, "b") is None
    (bound,), (to_make,) = writer.volumes, writer.claims
    reference = ObjectReference("v1", "PersistentVolumeClaim", "default", "c", "claim-c", "3")
    assert bound.spec.claim_ref == reference
    assert bound.metadata.annotations == {BOUND_BY_CONTROLLER: "yes"}
    assert to_make.metadata.annotations == {SELECTED_NODE: "b"}
    assert writer.timeout == 7
    assert nodes.cache.objects.get(PersistentVolume, "v") == volume("v"), "what the API has stays as it is"


async def test_a_volume_that_was_kept_for_the_claim_is_not_marked() -> None:
    plugin, writer = VolumeBinding(), Writer()
    plugin.start(Handle())
    plugin._writer = cast(VolumeWriter, writer)
    kept = volume("v", claimRef={"namespace": "default", "name": "c"})
    cycle = reserved(plugin, cluster(found(), kept), user("c"), "a")
    await plugin.pre_bind(cycle, user("c"), "a")
    assert writer.volumes[0].metadata.annotations == {}
    assert writer.volumes[0].spec.claim_ref == ObjectReference("v1", "PersistentVolumeClaim", "default", "c", "claim-c")


async def test_what_a_writer_complains_about_is_why_the_plugin_failed() -> None:
    plugin, writer = VolumeBinding(), Writer()
    plugin.start(Handle())
    plugin._writer = cast(VolumeWriter, writer)
    writer.complaint = "binding volumes: context deadline exceeded"
    cycle = reserved(plugin, cluster(found(), volume("v")), user("c"), "a")
    with pytest.raises(PluginFailed, match=r"^binding volumes: context deadline exceeded$"):
        await plugin.pre_bind(cycle, user("c"), "a")


async def test_without_a_writer_nothing_can_be_bound() -> None:
    plugin, nodes = VolumeBinding(), cluster(found(), volume("v"))
    cycle = reserved(plugin, nodes, user("c"), "a")
    with pytest.raises(PluginFailed, match=r"^binding volumes: this process cannot write to the API server$"):
        await plugin.pre_bind(cycle, user("c"), "a")
    with pytest.raises(PluginFailed, match=r'^no pod volume found for node "b"$'):
        await plugin.pre_bind(cycle, user("c"), "b")


NODES = "abc"


class Reserving(RuleBasedStateMachine):
    """Pods come, take volumes, and some of them let go again; nobody ever holds what another holds."""

    @initialize(places=st.lists(st.sampled_from([*NODES, ""]), min_size=1, max_size=6))
    def begin(self, places: list[str]) -> None:
        volumes = [volume(f"v{i}", on={HOST: [place]} if place else None) for i, place in enumerate(places)]
        claims = [*(found(f"c{i}") for i in range(5)), *(made(f"m{i}") for i in range(2))]
        self.plugin, self.cluster = VolumeBinding(), cluster(*volumes, *claims, nodes=NODES)
        self.held: list[tuple[Pod, str, Cycle]] = []

    @rule(
        names=st.lists(st.sampled_from(["c0", "c1", "c2", "c3", "c4", "m0", "m1"]), min_size=1, max_size=3, unique=True)
    )
    def schedule(self, names: list[str]) -> None:
        pod = user(*names)
        cycle = begun(self.plugin, self.cluster, pod)
        verdicts = self.plugin.filter_nodes(cycle, pod, cycle.nodes)
        fitting = [node.name for place, node in enumerate(cycle.nodes) if verdicts[place] is None]
        for node in fitting[:1]:
            assert self.plugin.reserve(cycle, pod, node) is None
            self.held.append((pod, node, cycle))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        pod, node, cycle = self.held.pop(data.draw(st.integers(0, len(self.held) - 1)))
        self.plugin.unreserve(cycle, pod, node)

    @invariant()
    def nobody_holds_what_another_holds(self) -> None:
        owners: dict[str, set[str]] = {}
        places: dict[str, set[str]] = {}
        for _, node, cycle in getattr(self, "held", []):
            held = cycle.notes["VolumeBinding"].held
            for each in held.volumes:
                owners.setdefault(each.changed.metadata.name, set()).add(each.changed.spec.claim_ref.name)
            for claim in held.claims:
                places.setdefault(claim.changed.metadata.name, set()).add(node)
        assert all(len(claims) == 1 for claims in owners.values())
        assert all(len(nodes) == 1 for nodes in places.values())

    @precondition(lambda self: not self.held)
    @rule()
    def everything_is_free_again(self) -> None:
        reservations = self.plugin._reservations
        assert len(reservations.volumes) == len(reservations.claims) == 0


TestReserving = Reserving.TestCase
TestReserving.settings = examples(40, stateful_step_count=15)
