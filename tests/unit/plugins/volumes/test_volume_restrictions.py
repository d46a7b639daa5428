from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import SKIP, Rejection
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_restrictions import VolumeRestrictions
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.manifests import Manifest
from pilotage.testing.objects import make_node, make_pod
from pilotage.testing.plugins import filter_all, verdicts_of
from pilotage.testing.storage import claim_volumes, make_claim

DISK = Rejection("node(s) had no available disk")
CLAIM = Rejection(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
ONCE = ("ReadWriteOncePod",)


def ebs(name: str = "vol-1", **fields: Any) -> Manifest:
    return {"awsElasticBlockStore": {"volumeID": name, **fields}}


def gce(name: str = "disk", **fields: Any) -> Manifest:
    return {"gcePersistentDisk": {"pdName": name, **fields}}


def iscsi(name: str = "iqn.1", **fields: Any) -> Manifest:
    return {"iscsi": {"iqn": name, **fields}}


def rbd(*monitors: str, pool: str = "pool", image: str = "image", **fields: Any) -> Manifest:
    return {"rbd": {"monitors": list(monitors), "pool": pool, "image": image, **fields}}


def with_disks(*disks: Manifest, name: str = "pod", **fields: Any) -> Pod:
    return make_pod(name, spec=claim_volumes(inline=disks), **fields)


def with_claims(*claims: str, name: str = "pod", **fields: Any) -> Pod:
    return make_pod(name, spec=claim_volumes(*claims), **fields)


READ: Any = {"readOnly": True}


@pytest.mark.parametrize(
    ("wanted", "present", "taken"),
    [
        pytest.param(ebs(), ebs(), True, id="a disk of Amazon is for one pod"),
        pytest.param(ebs(**READ), ebs(**READ), True, id="even for reading"),
        pytest.param(ebs("vol-1"), ebs("vol-2"), False, id="another disk of Amazon is free"),
        pytest.param(gce(**READ), gce(**READ), False, id="many may read a disk of Google"),
        pytest.param(gce(), gce(**READ), True, id="one that writes excludes readers"),
        pytest.param(gce(**READ), gce(), True, id="readers exclude one that writes"),
        pytest.param(gce("a"), gce("b"), False, id="another disk of Google is free"),
        pytest.param(iscsi(), iscsi(), True, id="an iSCSI disk is for one writer"),
        pytest.param(iscsi(**READ), iscsi(**READ), False, id="many may read an iSCSI disk"),
        pytest.param(iscsi("iqn.1"), iscsi("iqn.2"), False, id="another iSCSI disk is free"),
        pytest.param(rbd("a", "b"), rbd("b", "c"), True, id="an image of Ceph by one common monitor"),
        pytest.param(rbd("a"), rbd("b"), False, id="an image of another Ceph"),
        pytest.param(rbd("a"), rbd("a", pool="other"), False, id="an image of another pool"),
        pytest.param(rbd("a"), rbd("a", image="other"), False, id="another image"),
        pytest.param(rbd("a", **READ), rbd("a", **READ), False, id="many may read an image"),
        pytest.param(ebs("x"), gce("x"), False, id="disks of two kinds have nothing to do with each other"),
    ],
)
def test_disks_of_two_pods(wanted: Manifest, present: Manifest, taken: bool) -> None:
    cluster = FakeCluster([make_node("n1"), make_node("n2")], [with_disks(present, name="other", node="n1")])
    found = filter_all(VolumeRestrictions(), cluster, with_disks(wanted))
    assert found == {"n1": DISK if taken else None, "n2": None}


def test_one_of_several_disks_is_enough() -> None:
    cluster = FakeCluster([make_node("n1")], [with_disks(gce(), ebs(), name="other", node="n1")])
    assert filter_all(VolumeRestrictions(), cluster, with_disks(iscsi(), ebs())) == {"n1": DISK}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="no volumes"),
        pytest.param(make_pod(spec={"volumes": [{"name": "s", "secret": {"secretName": "s"}}]}), id="secrets"),
        pytest.param(with_claims("c"), id="an ordinary claim"),
        pytest.param(with_claims("once"), id="a claim for one pod that nobody uses"),
        pytest.param(make_pod("p", spec=claim_volumes(ephemeral=["e"])), id="an ephemeral claim is not looked up"),
    ],
)
def test_what_is_skipped(pod: Pod) -> None:
    cluster = FakeCluster([make_node("n1")], objects=[make_claim("c"), make_claim("once", modes=ONCE)])
    assert filter_all(VolumeRestrictions(), cluster, pod) is SKIP


def test_a_claim_for_one_pod_is_taken_everywhere() -> None:
    nodes = [make_node("n1"), make_node("n2")]
    cluster = FakeCluster(nodes, [with_claims("c", name="user", node="n2")], [make_claim("c", modes=ONCE)])
    assert filter_all(VolumeRestrictions(), cluster, with_claims("c")) == {"n1": CLAIM, "n2": CLAIM}


def test_two_claims_that_are_taken_are_one_reason() -> None:
    claims = [make_claim("a", modes=ONCE), make_claim("b", modes=ONCE)]
    cluster = FakeCluster([make_node("n1")], [with_claims("a", "b", name="user", node="n1")], claims)
    assert filter_all(VolumeRestrictions(), cluster, with_claims("a", "b")) == {"n1": CLAIM}


def test_a_disk_comes_before_a_claim() -> None:
    user = make_pod("user", node="n1", spec=claim_volumes("c", inline=[ebs()]))
    cluster = FakeCluster([make_node("n1"), make_node("n2")], [user], [make_claim("c", modes=ONCE)])
    pod = make_pod(spec=claim_volumes("c", inline=[ebs()]))
    assert filter_all(VolumeRestrictions(), cluster, pod) == {"n1": DISK, "n2": CLAIM}


def test_a_claim_of_that_name_elsewhere_is_another() -> None:
    user = with_claims("c", name="user", namespace="other", node="n1")
    claims = [make_claim("c", modes=ONCE), make_claim("c", namespace="other", modes=ONCE)]
    assert filter_all(VolumeRestrictions(), FakeCluster([make_node("n1")], [user], claims), with_claims("c")) is SKIP


def test_a_claim_that_does_not_exist() -> None:
    expected = Rejection('persistentvolumeclaim "c" not found', preemption_helps=False)
    assert filter_all(VolumeRestrictions(), FakeCluster([make_node("n1")]), with_claims("c")) == expected


def test_evicting_the_user_of_a_claim_helps() -> None:
    user = with_claims("c", name="user", node="n1")
    cluster = FakeCluster([make_node("n1")], [user], [make_claim("c", modes=ONCE)])
    plugin, pod = VolumeRestrictions(), with_claims("c")
    cycle = cluster.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    what_if = cycle.what_if()
    plugin.remove_pod(what_if, pod, user, cluster.nodes[0])
    assert verdicts_of(plugin, what_if, pod) == {"n1": None}
    assert verdicts_of(plugin, cycle, pod) == {"n1": CLAIM}
    namesake = with_claims("c", name="namesake", namespace="other", node="n1")
    plugin.add_pod(what_if, pod, namesake, cluster.nodes[0])
    assert verdicts_of(plugin, what_if, pod) == {"n1": CLAIM}, "only names are compared there"


def test_disks_that_come_and_go_are_noticed() -> None:
    cluster = FakeCluster([make_node("n1"), make_node("n2")])
    plugin, holder = VolumeRestrictions(), with_disks(ebs(), name="holder", node="n2")
    assert filter_all(plugin, cluster, with_disks(ebs())) == {"n1": None, "n2": None}
    cluster.add_pod(holder)
    assert filter_all(plugin, cluster, with_disks(ebs())) == {"n1": None, "n2": DISK}
    cluster.remove_pod(holder)
    assert filter_all(plugin, cluster, with_disks(ebs())) == {"n1": None, "n2": None}


DELETED = Event(Resource.ASSIGNED_POD, Action.DELETE)


@pytest.mark.parametrize(
    ("gone", "helps"),
    [
        pytest.param(with_disks(ebs(), node="n1"), True, id="it had the disk"),
        pytest.param(with_disks(ebs("vol-9"), node="n1"), False, id="it had another disk"),
        pytest.param(with_claims("c", node="n1"), True, id="it had the claim"),
        pytest.param(with_claims("d", node="n1"), False, id="it had another claim"),
        pytest.param(with_disks(ebs(), node="n1", namespace="other"), False, id="in another namespace nothing counts"),
        pytest.param(make_pod(node="n1"), False, id="it had nothing"),
    ],
)
def test_a_pod_went(gone: Pod, helps: bool) -> None:
    pod = make_pod(spec=claim_volumes("c", inline=[ebs()]))
    assert VolumeRestrictions().pod_deleted(pod, DELETED, gone, None) is helps


@pytest.mark.parametrize(
    ("name", "namespace", "helps"),
    [
        pytest.param("c", "default", True, id="the claim of the pod"),
        pytest.param("d", "default", False, id="another claim"),
        pytest.param("c", "other", False, id="a claim of another namespace"),
        pytest.param("pod-e", "default", False, id="an ephemeral claim is not looked up"),
    ],
)
def test_a_claim_came(name: str, namespace: str, helps: bool) -> None:
    pod = make_pod(spec=claim_volumes("c", ephemeral=["e"]))
    event = Event(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD)
    assert VolumeRestrictions().claim_added(pod, event, None, make_claim(name, namespace=namespace)) is helps


def test_something_unexpected_helps() -> None:
    assert VolumeRestrictions().pod_deleted(make_pod(), DELETED, None, None)
    assert VolumeRestrictions().claim_added(make_pod(), DELETED, None, None)


def test_what_wakes_a_pod() -> None:
    assert [(retry.resource, retry.action, retry.hint) for retry in VolumeRestrictions.retry_on] == [
        (Resource.ASSIGNED_POD, Action.DELETE, "pod_deleted"),
        (Resource.NODE, Action.ADD, None),
        (Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, "claim_added"),
    ]


DISKS = [
    ebs("a"),
    ebs("b"),
    gce("a"),
    gce("a", **READ),
    iscsi("a"),
    iscsi("a", **READ),
    rbd("a"),
    rbd("a", "b", **READ),
]
SPECS = st.builds(
    lambda disks, claims: claim_volumes(*claims, inline=disks),
    st.lists(st.sampled_from(DISKS), max_size=3),
    st.lists(st.sampled_from(["a", "once"]), max_size=2),
)


@given(placed=st.lists(st.tuples(SPECS, st.integers(0, 5)), max_size=12), wanted=SPECS)
def test_both_forms_agree(placed: list[tuple[Manifest, int]], wanted: Manifest) -> None:
    pods = [make_pod(f"p{i}", spec=spec, node=f"n{node}") for i, (spec, node) in enumerate(placed)]
    claims = [make_claim("a"), make_claim("once", modes=ONCE)]
    cluster = FakeCluster([make_node(f"n{i}") for i in range(6)], pods, claims)
    filter_all(VolumeRestrictions(), cluster, make_pod(spec=wanted))
