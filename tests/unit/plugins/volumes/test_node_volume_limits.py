from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.node_volume_limits import NodeVolumeLimits
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.manifests import Manifest
from pilotage.testing.objects import make_node, make_pod
from pilotage.testing.plugins import filter_all
from pilotage.testing.storage import (
    claim_volumes,
    make_attachment,
    make_claim,
    make_csi_driver,
    make_csi_node,
    make_storage_class,
    make_volume,
)

TOO_MANY = Rejection("node(s) exceed max volume count")
DRIVER = "csi.example.com"
EBS_DRIVER = "ebs.csi.aws.com"
EBS: Manifest = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def bound(*names: str, driver: str = DRIVER) -> list[Kind]:
    volumes = [make_volume(f"pv-{name}", driver=driver) for name in names]
    return [*volumes, *(make_claim(name, volume=f"pv-{name}") for name in names)]


def user(*claims: str, name: str = "pod", **fields: Any) -> Pod:
    return make_pod(name, spec=claim_volumes(*claims), **fields)


def verdict(
    pod: Pod, *objects: Kind, placed: Sequence[Pod] = (), limits: dict[str, int | None] | None = None
) -> Rejection | None:
    csi_nodes = [make_csi_node("n1", limits)] if limits is not None else []
    found = filter_all(NodeVolumeLimits(), FakeCluster([make_node("n1")], placed, [*objects, *csi_nodes]), pod)
    assert isinstance(found, dict)
    return found["n1"]


def test_a_node_with_a_pod_of_absurdly_many_volumes_is_full() -> None:
    absurd = user(*(f"missing-{i}" for i in range(5000)), name="absurd", node="n1")
    assert verdict(user("new"), *bound("new"), placed=[absurd], limits={DRIVER: 100}) == TOO_MANY
    assert verdict(user("new"), *bound("new"), placed=[absurd], limits={"another.csi": 100}) is None
    many = user(*(f"missing-{i}" for i in range(256)), name="many", node="n1")
    assert verdict(user("new"), *bound("new"), placed=[many], limits={DRIVER: 100}) is None


@pytest.mark.parametrize(
    ("limit", "placed", "expected"),
    [
        pytest.param(2, ["a"], None, id="there is room for one more"),
        pytest.param(2, ["a", "b"], TOO_MANY, id="the limit is reached"),
        pytest.param(0, [], TOO_MANY, id="a limit of none"),
        pytest.param(None, ["a", "b"], None, id="a driver without a limit"),
        pytest.param(2, ["a", "new"], None, id="a volume that is there already takes no place"),
        pytest.param(2, ["a", "a"], None, id="a volume of two pods counts once"),
    ],
)
def test_counts_of_volumes(limit: int | None, placed: list[str], expected: Rejection | None) -> None:
    pods = [user(name, name=f"on-{i}", node="n1") for i, name in enumerate(placed)]
    assert verdict(user("new"), *bound("a", "b", "new"), placed=pods, limits={DRIVER: limit}) == expected


def test_new_volumes_of_a_pod_count_together() -> None:
    assert verdict(user("a", "b"), *bound("a", "b"), limits={DRIVER: 1}) == TOO_MANY
    assert verdict(user("a", "a"), *bound("a"), limits={DRIVER: 1}) is None


def test_drivers_are_counted_apart() -> None:
    other = bound("x", "y", driver="other.example.com")
    placed = [user("x", "y", name="on", node="n1")]
    limits: dict[str, int | None] = {DRIVER: 1, "other.example.com": 2}
    assert verdict(user("a"), *bound("a"), *other, placed=placed, limits=limits) is None


def test_a_node_without_a_csi_node_has_no_limits() -> None:
    assert verdict(user("a"), *bound("a")) is None


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="no volumes"),
        pytest.param(
            make_pod(spec={"volumes": [{"name": "s", "secret": {}}, {"name": "c", "configMap": {}}]}), id="secrets"
        ),
        pytest.param(make_pod(spec=claim_volumes(inline=[{"csi": {"driver": DRIVER}}])), id="an inline volume of CSI"),
    ],
)
def test_what_is_skipped(pod: Pod) -> None:
    assert filter_all(NodeVolumeLimits(), FakeCluster([make_node("n1")]), pod) is SKIP


# What is attached.


@pytest.mark.parametrize(
    ("attached", "expected"),
    [
        pytest.param(["a", "b"], TOO_MANY, id="attached volumes count, also without pods"),
        pytest.param(["a"], None, id="one fewer"),
    ],
)
def test_attachments_count(attached: list[str], expected: Rejection | None) -> None:
    attachments = [make_attachment(n, node="n1", volume=f"pv-{n}", attacher=DRIVER) for n in attached]
    assert verdict(user("new"), *bound("a", "b", "new"), *attachments, limits={DRIVER: 2}) == expected


def test_a_volume_that_is_attached_but_not_used_counts_twice() -> None:
    attachment = make_attachment("x", node="n1", volume="pv-a", attacher=DRIVER)
    assert verdict(user("a"), *bound("a"), attachment, limits={DRIVER: 1}) == TOO_MANY
    placed = [user("a", name="on", node="n1")]
    assert verdict(user("a"), *bound("a"), attachment, placed=placed, limits={DRIVER: 1}) is None


@pytest.mark.parametrize(
    "attachment",
    [
        pytest.param(make_attachment("x", node="n2", volume="pv-a", attacher=DRIVER), id="to another node"),
        pytest.param(make_attachment("x", node="n1", volume="pv-a", attacher=""), id="by nobody"),
        pytest.param(make_attachment("x", node="n1", volume=None, attacher=DRIVER), id="of an inline volume"),
        pytest.param(make_attachment("x", node="n1", volume="gone", attacher=DRIVER), id="of a volume that is gone"),
        pytest.param(make_attachment("x", node="n1", volume="old", attacher=DRIVER), id="of no CSI volume"),
    ],
)
def test_attachments_that_do_not_count(attachment: Kind) -> None:
    assert verdict(user("new"), *bound("a", "new"), make_volume("old"), attachment, limits={DRIVER: 1}) is None


# Drivers that must be there.


@pytest.mark.parametrize(
    ("driver", "limits", "rejected"),
    [
        pytest.param(make_csi_driver(DRIVER, must_be_installed=True), {"other": None}, True, id="it is missing"),
        pytest.param(make_csi_driver(DRIVER, must_be_installed=True), None, True, id="nobody told about the node"),
        pytest.param(make_csi_driver(DRIVER, must_be_installed=True), {DRIVER: None}, False, id="it is there"),
        pytest.param(make_csi_driver(DRIVER), {"other": None}, False, id="it does not ask for it"),
        pytest.param(make_csi_driver(DRIVER, must_be_installed=False), {"other": None}, False, id="it declines it"),
        pytest.param(make_csi_driver("other"), {"other": None}, False, id="nobody knows the driver"),
    ],
)
def test_drivers_that_must_be_installed(driver: Kind, limits: dict[str, int | None] | None, rejected: bool) -> None:
    expected = Rejection(f"{DRIVER} CSI driver is not installed on the node") if rejected else None
    assert verdict(user("a"), *bound("a"), driver, limits=limits) == expected


# Which volumes count, and under which name.


def makes(driver: str, name: str = "fast") -> Kind:
    return make_storage_class(name, provisioner=driver)


@pytest.mark.parametrize(
    ("claim", "objects", "counts"),
    [
        pytest.param(make_claim("c", storage_class="fast"), [makes(DRIVER)], True, id="a volume to be made"),
        pytest.param(
            make_claim("c", storage_class="fast", volume="gone"), [makes(DRIVER)], True, id="a volume that is gone"
        ),
        pytest.param(
            make_claim("c", metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "fast"}}),
            [makes(DRIVER)],
            True,
            id="the class by the old annotation",
        ),
        pytest.param(make_claim("c", storage_class="gone"), [], False, id="the class is gone"),
        pytest.param(make_claim("c"), [], False, id="no class"),
        pytest.param(make_claim("c", volume="v"), [make_volume("v")], False, id="a volume that is not of CSI"),
    ],
)
def test_which_claims_count(claim: Kind, objects: list[Kind], counts: bool) -> None:
    assert verdict(user("c"), claim, *objects, limits={DRIVER: 0}) == (TOO_MANY if counts else None)


def test_volumes_to_be_made_differ_by_claim() -> None:
    claims = [make_claim(name, storage_class="fast") for name in "ab"]
    placed = [user("a", name="on", node="n1")]
    assert verdict(user("b"), *claims, makes(DRIVER), placed=placed, limits={DRIVER: 1}) == TOO_MANY
    assert verdict(user("a"), *claims, makes(DRIVER), placed=placed, limits={DRIVER: 1}) is None


@pytest.mark.parametrize(
    ("volume", "limits", "counts"),
    [
        pytest.param(make_volume("v", **EBS), {EBS_DRIVER: 0}, True, id="it counts for the driver that serves it"),
        pytest.param(make_volume("v", **EBS), {DRIVER: 0}, False, id="not for others"),
        pytest.param(make_volume("v", **EBS), None, False, id="not on a node that drivers did not tell about"),
        pytest.param(
            make_volume("v", awsElasticBlockStore={"volumeID": "aws://z/x"}), {EBS_DRIVER: 0}, False, id="unreadable"
        ),
    ],
)
def test_volumes_of_plugins_of_old(volume: Kind, limits: dict[str, int | None] | None, counts: bool) -> None:
    expected = TOO_MANY if counts else None
    assert verdict(user("c"), make_claim("c", volume="v"), volume, limits=limits) == expected


@pytest.mark.parametrize(
    ("provisioner", "driver", "counts"),
    [
        pytest.param("kubernetes.io/aws-ebs", EBS_DRIVER, True, id="a plugin of old counts as its driver"),
        pytest.param("kubernetes.io/aws-ebs", "kubernetes.io/aws-ebs", False, id="not under its own name"),
        pytest.param("kubernetes.io/azure-file", "file.csi.azure.com", False, id="files of Azure do not count"),
        pytest.param("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", False, id="vSphere does not count"),
        pytest.param("example.com/own", "example.com/own", True, id="any other name is taken for a driver"),
    ],
)
def test_provisioners(provisioner: str, driver: str, counts: bool) -> None:
    found = verdict(user("c"), make_claim("c", storage_class="fast"), makes(provisioner), limits={driver: 0})
    assert found == (TOO_MANY if counts else None)


def test_inline_volumes_of_plugins_of_old() -> None:
    pod = make_pod(spec=claim_volumes(inline=[EBS]))
    assert verdict(pod, limits={EBS_DRIVER: 0}) == TOO_MANY
    assert verdict(pod) is None
    same = make_pod("same", spec=claim_volumes(inline=[EBS]), node="n1")
    assert verdict(pod, placed=[same], limits={EBS_DRIVER: 1}) is None
    uncounted = make_pod(spec=claim_volumes(inline=[{"azureFile": {"shareName": "s"}}]))
    assert verdict(uncounted, limits={"file.csi.azure.com": 0}) is None


def test_an_inline_volume_that_no_driver_can_serve_is_an_error() -> None:
    pod = make_pod(spec=claim_volumes(inline=[{"azureDisk": {"diskURI": "d", "kind": "Shared"}}]))
    message = r"converting volume\(inline-0\) from inline to csi: kind\(Shared\) is not supported in csi migration"
    with pytest.raises(PluginFailed, match=message):
        verdict(pod, limits={})
    assert verdict(pod) is None


# Claims that are missing or not the pod's.


def test_a_claim_that_does_not_exist() -> None:
    text = 'looking up PVC default/c: persistentvolumeclaim "c" not found'
    assert verdict(user("c")) == Rejection(text, preemption_helps=False)
    assert verdict(user("c"), limits={DRIVER: 1}) == Rejection(text, preemption_helps=False)


def test_claims_of_placed_pods_that_do_not_exist_do_not_count() -> None:
    placed = [user("gone", name="on", node="n1")]
    assert verdict(user("a"), *bound("a"), placed=placed, limits={DRIVER: 1}) is None


def owned(pod: Pod, name: str) -> Kind:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    return make_claim(name, storage_class="fast", metadata={"ownerReferences": [owner]})


def test_ephemeral_claims_count_if_they_are_the_pods() -> None:
    pod = make_pod("p", spec=claim_volumes(ephemeral=["e"]))
    assert verdict(pod, owned(pod, "p-e"), makes(DRIVER), limits={DRIVER: 1}) is None
    assert verdict(pod, owned(pod, "p-e"), makes(DRIVER), limits={DRIVER: 0}) == TOO_MANY


@pytest.mark.parametrize("is_placed", [False, True], ids=["of the new pod", "of a placed pod"])
def test_an_ephemeral_claim_of_another_pod_is_an_error(is_placed: bool) -> None:
    pod = make_pod("p", spec=claim_volumes(ephemeral=["e"]), node="n1")
    objects: list[Kind] = [make_claim("p-e", storage_class="fast"), makes(DRIVER), *bound("a")]
    new, placed = (user("a"), [pod]) if is_placed else (pod, [])
    with pytest.raises(PluginFailed, match=r"^PVC default/p-e was not created for pod default/p \(pod is not owner\)$"):
        verdict(new, *objects, placed=placed, limits={DRIVER: 9})


def test_both_forms_fail_for_the_claim_of_another_pod() -> None:
    placed = make_pod("p", spec=claim_volumes(ephemeral=["e"]), node="n1")
    objects = [make_claim("p-e"), *bound("a"), make_csi_node("n1", {DRIVER: 9})]
    plugin, cycle = NodeVolumeLimits(), FakeCluster([make_node("n1")], [placed], objects).cycle(user("a"))
    with pytest.raises(PluginFailed):
        plugin.filter_nodes(cycle, cycle.pod, cycle.nodes)
    with pytest.raises(PluginFailed):
        plugin.filter(cycle, cycle.pod, cycle.nodes[0])


def test_pods_of_nodes_without_limits_are_not_looked_at() -> None:
    pods = [make_pod(f"p{i}", spec=claim_volumes(ephemeral=["e"]), node="n1") for i in range(3)]
    assert verdict(user("a"), *bound("a"), make_claim("p0-e"), placed=pods, limits={DRIVER: None}) is None


def test_a_claim_without_a_name_is_an_error() -> None:
    with pytest.raises(PluginFailed, match="PersistentVolumeClaim had no name"):
        verdict(user(""))


def test_changes_are_noticed() -> None:
    cluster = FakeCluster([make_node("n1"), make_node("n2")], objects=bound("a", "b", "c"))
    plugin, pod, holder = NodeVolumeLimits(), user("c"), user("a", name="holder", node="n1")
    for name in ("n1", "n2"):
        cluster.cache.objects.put(make_csi_node(name, {DRIVER: 1}))
    assert filter_all(plugin, cluster, pod) == {"n1": None, "n2": None}
    cluster.add_pod(holder)
    assert filter_all(plugin, cluster, pod) == {"n1": TOO_MANY, "n2": None}
    cluster.cache.objects.put(make_attachment("x", node="n2", volume="pv-b", attacher=DRIVER))
    assert filter_all(plugin, cluster, pod) == {"n1": TOO_MANY, "n2": TOO_MANY}
    cluster.cache.objects.put(make_csi_node("n2", {DRIVER: 2}))
    assert filter_all(plugin, cluster, pod) == {"n1": TOO_MANY, "n2": None}
    cluster.cache.objects.put(make_claim("a"))
    assert filter_all(plugin, cluster, pod) == {"n1": None, "n2": None}
    cluster.cache.remove_node("n1")
    assert filter_all(plugin, cluster, pod) == {"n2": None}
    cluster.cache.objects.put(make_claim("a", volume="pv-a"))
    cluster.cache.put_node(make_node("n1"))
    assert filter_all(plugin, cluster, pod) == {"n2": None, "n1": TOO_MANY}


# Hints.


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param({DRIVER: 1}, {DRIVER: 2}, True, id="a higher limit"),
        pytest.param({DRIVER: 2}, {DRIVER: 2}, False, id="the same limit"),
        pytest.param({DRIVER: 2}, {DRIVER: 1}, False, id="a lower limit"),
        pytest.param({DRIVER: None}, {DRIVER: 1}, True, id="no limit counts as none at all"),
        pytest.param({DRIVER: 1}, {DRIVER: None}, False, id="a limit that went"),
        pytest.param({}, {"other": 1}, True, id="another driver"),
    ],
)
def test_limits_changed(before: dict[str, int | None], after: dict[str, int | None], helps: bool) -> None:
    event = Event(Resource.CSI_NODE, Action.UPDATE)
    old, new = make_csi_node("n1", before), make_csi_node("n1", after)
    assert NodeVolumeLimits().limits_changed(make_pod(), event, old, new) is helps


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        pytest.param(user("a", node="n1"), True, id="it had a claim"),
        pytest.param(
            make_pod(node="n1", spec={**claim_volumes(ephemeral=["e"]), "nodeName": "n1"}), True, id="ephemeral"
        ),
        pytest.param(make_pod(spec={**claim_volumes(inline=[EBS]), "nodeName": "n1"}), True, id="an inline disk"),
        pytest.param(make_pod(node="n1"), False, id="it had no volumes"),
        pytest.param(user("a"), False, id="it had no node"),
        pytest.param(user("a", status={"nominatedNodeName": "n1"}), True, id="it had a node in prospect"),
    ],
)
def test_a_pod_went(gone: Pod, helps: bool) -> None:
    event = Event(Resource.ASSIGNED_POD, Action.DELETE)
    assert NodeVolumeLimits().pod_deleted(user("b"), event, gone, None) is helps


@pytest.mark.parametrize(
    ("name", "namespace", "helps"),
    [
        pytest.param("c", "default", True, id="the pod's"),
        pytest.param("pod-e", "default", True, id="the pod's ephemeral one"),
        pytest.param("d", "default", False, id="another"),
        pytest.param("c", "other", False, id="of another namespace"),
    ],
)
def test_a_claim_came(name: str, namespace: str, helps: bool) -> None:
    pod = make_pod(spec=claim_volumes("c", ephemeral=["e"]))
    event = Event(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
    assert NodeVolumeLimits().claim_added(pod, event, None, make_claim(name, namespace=namespace)) is helps


@pytest.mark.parametrize(
    ("pod", "helps"),
    [
        pytest.param(user("a"), True, id="a claim, whatever was detached"),
        pytest.param(make_pod(spec=claim_volumes(ephemeral=["e"])), False, id="an ephemeral claim is not thought of"),
        pytest.param(make_pod(spec=claim_volumes(inline=[EBS])), True, id="an inline disk of that driver"),
        pytest.param(
            make_pod(spec=claim_volumes(inline=[{"cinder": {"volumeID": "v"}}])), False, id="of another driver"
        ),
        pytest.param(make_pod(), False, id="no volumes"),
    ],
)
def test_a_volume_was_detached(pod: Pod, helps: bool) -> None:
    gone = make_attachment("x", node="n1", volume="v", attacher=EBS_DRIVER)
    event = Event(Resource.VOLUME_ATTACHMENT, Action.DELETE)
    assert NodeVolumeLimits().volume_detached(pod, event, gone, None) is helps


def test_what_wakes_a_pod() -> None:
    assert [(retry.resource, retry.action, retry.hint) for retry in NodeVolumeLimits.retry_on] == [
        (Resource.CSI_NODE, Action.ADD, None),
        (Resource.CSI_NODE, Action.UPDATE, "limits_changed"),
        (Resource.ASSIGNED_POD, Action.DELETE, "pod_deleted"),
        (Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, "claim_added"),
        (Resource.VOLUME_ATTACHMENT, Action.DELETE, "volume_detached"),
    ]


NODES = [f"n{i}" for i in range(5)]
CLAIMS = ["a1", "a2", "a3", "b1", "b2", "old", "later", "dead"]
OBJECTS: list[Kind] = [
    *bound("a1", "a2", "a3"),
    *bound("b1", "b2", driver="b"),
    make_claim("old", volume="v-old"),
    make_volume("v-old", **EBS),
    make_claim("later", storage_class="fast"),
    make_claim("dead", storage_class="fast", volume="gone"),
    makes(DRIVER),
]
LIMITS = st.dictionaries(st.sampled_from([DRIVER, "b", EBS_DRIVER]), st.none() | st.integers(0, 3), max_size=3)
USED = st.lists(st.sampled_from([*CLAIMS, "missing"]), max_size=3)


@given(
    limits=st.dictionaries(st.sampled_from(NODES), LIMITS),
    placed=st.lists(st.tuples(USED, st.sampled_from(NODES)), max_size=10),
    attached=st.lists(st.tuples(st.sampled_from(["pv-a1", "pv-a2", "pv-b1"]), st.sampled_from(NODES)), max_size=5),
    wanted=st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3),
    strict=st.booleans(),
)
def test_both_forms_agree(
    limits: dict[str, dict[str, int | None]],
    placed: list[tuple[list[str], str]],
    attached: list[tuple[str, str]],
    wanted: list[str],
    strict: bool,
) -> None:
    pods = [user(*claims, name=f"p{i}", node=node) for i, (claims, node) in enumerate(placed)]
    objects: list[Kind] = [
        *OBJECTS,
        make_csi_driver("b", must_be_installed=strict),
        *(make_csi_node(name, found) for name, found in limits.items()),
        *(
            make_attachment(f"x{i}", node=node, volume=volume, attacher=DRIVER if "a" in volume else "b")
            for i, (volume, node) in enumerate(attached)
        ),
    ]
    cluster = FakeCluster([make_node(name) for name in NODES], pods, objects)
    filter_all(NodeVolumeLimits(), cluster, user(*wanted))
