from collections.abc import Sequence
from typing import Any

import pytest

from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, PluginFailed, Rejection, Skip
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_binding import VolumeBinding
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.objects import make_node, make_pod
from pilotage.testing.plugins import filter_all, raw_scores
from pilotage.testing.storage import (
    claim_volumes,
    make_capacity,
    make_claim,
    make_csi_driver,
    make_csi_node,
    make_storage_class,
    make_volume,
)

OUT_OF_REACH = "node(s) didn't match PersistentVolume's node affinity"
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"


def rejected(*reasons: str) -> Rejection:
    return Rejection(*reasons, preemption_helps=False)


def user(*claims: str, **fields: Any) -> Pod:
    return make_pod("pod", spec=claim_volumes(*claims), **fields)


def cluster(*objects: Kind, nodes: str = "abc") -> FakeCluster:
    return FakeCluster([make_node(name, labels={"zone": name}) for name in nodes], objects=objects)


def verdicts(pod: Pod, *objects: Kind, nodes: str = "abc") -> Any:
    return filter_all(VolumeBinding(), cluster(*objects, nodes=nodes), pod)


def scores(pod: Pod, *objects: Kind, nodes: str = "abc", plugin: VolumeBinding | None = None) -> Any:
    return raw_scores(plugin or VolumeBinding(), cluster(*objects, nodes=nodes), pod)


# What can be said without looking at nodes.


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        pytest.param("none", 'persistentvolumeclaim "none" not found', id="it does not exist"),
        pytest.param("lost", 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "pv"', id="lost"),
        pytest.param("going", 'persistentvolumeclaim "going" is being deleted', id="it is being deleted"),
        pytest.param(
            "plain", "pod has unbound immediate PersistentVolumeClaims", id="no class, so to be bound at once"
        ),
        pytest.param("now", "pod has unbound immediate PersistentVolumeClaims", id="a class that binds at once"),
        pytest.param("odd", "pod has unbound immediate PersistentVolumeClaims", id="a class that is gone"),
        pytest.param("half", "pod has unbound immediate PersistentVolumeClaims", id="a volume by name only"),
    ],
)
def test_claims_that_keep_a_pod_waiting(claim: str, reason: str) -> None:
    objects: list[Kind] = [
        make_claim("lost", volume="pv", phase="Lost"),
        make_claim("going", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        make_claim("plain"),
        make_claim("now", storage_class="now"),
        make_storage_class("now", mode="Immediate"),
        make_claim("odd", storage_class="gone"),
        make_claim("half", storage_class="later", volume="pv", bound=False),
        make_storage_class("later"),
        make_volume("pv"),
    ]
    assert verdicts(user(claim), *objects) == rejected(reason)


def test_ephemeral_claims() -> None:
    pod = make_pod("p", spec=claim_volumes(ephemeral=["e"]))
    waiting = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-e"'
    assert verdicts(pod) == rejected(waiting)
    foreign = "PVC default/p-e was not created for pod default/p (pod is not owner)"
    assert verdicts(pod, make_claim("p-e", volume="pv"), make_volume("pv")) == rejected(foreign)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": pod.uid, "controller": True}
    mine = make_claim("p-e", volume="pv", metadata={"ownerReferences": [owner]})
    assert verdicts(pod, mine, make_volume("pv", on={HOST: ["b"]})) == {
        "a": rejected(OUT_OF_REACH),
        "b": None,
        "c": rejected(OUT_OF_REACH),
    }


def test_a_class_without_a_mode_is_an_error() -> None:
    with pytest.raises(PluginFailed, match=r'^VolumeBindingMode not set for StorageClass "odd"$'):
        verdicts(user("c"), make_claim("c", storage_class="odd"), make_storage_class("odd", mode=None))


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="no volumes"),
        pytest.param(make_pod(spec={"volumes": [{"name": "s", "secret": {}}]}), id="secrets"),
        pytest.param(make_pod(spec=claim_volumes(inline=[{"csi": {"driver": DRIVER}}])), id="an inline volume"),
    ],
)
def test_pods_without_claims_are_skipped_and_score_nothing(pod: Pod) -> None:
    plugin, nodes = VolumeBinding(), cluster()
    assert filter_all(plugin, nodes, pod) is SKIP
    assert raw_scores(plugin, nodes, pod) == {"a": 0, "b": 0, "c": 0}
    cycle = nodes.cycle(pod)
    plugin.pre_filter(cycle, pod)
    assert plugin.score_nodes(cycle, pod, cycle.nodes) == 0
    assert plugin.reserve(cycle, pod, "a") is None
    assert plugin.pre_bind_pre_flight(cycle, pod, "a") is SKIP
    plugin.unreserve(cycle, pod, "a")


# Claims with a volume.


def term(key: str, operator: str, *values: str, fields: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {
        "matchExpressions": [{"key": key, "operator": operator, "values": list(values)}],
        "matchFields": list(fields),
    }


BY_NAME = {"key": "metadata.name", "operator": "In", "values": ["c"]}


@pytest.mark.parametrize(
    ("terms", "fitting"),
    [
        pytest.param(None, "abc", id="a volume for all nodes"),
        pytest.param([], "", id="a selector without terms reaches nothing"),
        pytest.param([{}], "", id="an empty term reaches nothing"),
        pytest.param([term("zone", "In", "a", "b")], "ab", id="one of several values"),
        pytest.param([term("zone", "In", "a"), term("zone", "In", "c")], "ac", id="one of several terms"),
        pytest.param([term("zone", "NotIn", "a")], "bc", id="all but one"),
        pytest.param([term("disk", "Exists")], "", id="a label that no node has"),
        pytest.param([term("zone", "Wrong", "a"), term("zone", "In", "b")], "b", id="a wrong term matches nothing"),
        pytest.param([term("zone", "In", "a", fields=[BY_NAME])], "a", id="fields are not held against labels"),
        pytest.param([{"matchFields": [BY_NAME]}], "abc", id="a term of fields alone reaches everything"),
    ],
)
def test_where_a_volume_can_be_reached(terms: list[dict[str, Any]] | None, fitting: str) -> None:
    found = verdicts(user("c"), make_claim("c", volume="pv"), make_volume("pv", terms=terms))
    assert found == {name: None if name in fitting else rejected(OUT_OF_REACH) for name in "abc"}


def test_a_volume_that_is_gone() -> None:
    assert verdicts(user("c"), make_claim("c", volume="gone"), nodes="a") == {"a": rejected(VOLUME_GONE)}


def test_the_first_bound_claim_that_is_wrong_counts() -> None:
    objects: list[Kind] = [
        make_claim("gone", volume="gone"),
        make_claim("far", volume="pv"),
        make_volume("pv", on={HOST: ["b"]}),
    ]
    assert verdicts(user("gone", "far"), *objects, nodes="ab") == dict.fromkeys("ab", rejected(VOLUME_GONE))
    found = verdicts(user("far", "gone"), *objects, nodes="ab")
    assert found == {"a": rejected(OUT_OF_REACH), "b": rejected(VOLUME_GONE)}


@pytest.mark.parametrize(
    ("migrated", "fitting"),
    [
        pytest.param([], "a", id="by the label that Kubernetes gives"),
        pytest.param(
            ["kubernetes.io/aws-ebs"], "b", id="by the label that the driver gives, where it serves the volume"
        ),
        pytest.param(["kubernetes.io/gce-pd"], "a", id="another plugin was replaced"),
    ],
)
def test_volumes_of_plugins_of_old(migrated: list[str], fitting: str) -> None:
    volume = make_volume("pv", on={ZONE: ["z"]}, awsElasticBlockStore={"volumeID": "vol-1"})
    nodes = [make_node("a", labels={ZONE: "z"}), make_node("b", labels={"topology.ebs.csi.aws.com/zone": "z"})]
    csi_nodes = [make_csi_node(name, migrated=migrated) for name in "ab"]
    found = filter_all(
        VolumeBinding(), FakeCluster(nodes, objects=[make_claim("c", volume="pv"), volume, *csi_nodes]), user("c")
    )
    assert found == {name: None if name in fitting else rejected(OUT_OF_REACH) for name in "ab"}


def test_a_volume_that_its_driver_cannot_serve_is_an_error() -> None:
    volume = make_volume("pv", azureDisk={"diskURI": "d", "kind": "Shared"})
    objects: list[Kind] = [make_claim("c", volume="pv"), volume]
    assert verdicts(user("c"), *objects) == {"a": None, "b": None, "c": None}
    with pytest.raises(
        PluginFailed, match=r"^could not translate pv: kind\(Shared\) is not supported in csi migration$"
    ):
        verdicts(user("c"), *objects, make_csi_node("b", migrated=["kubernetes.io/azure-disk"]))


# Claims that wait for their pod: volumes that exist.

LATER = make_storage_class("later")


def claim(name: str = "c", size: str = "1Gi", **fields: Any) -> Kind:
    return make_claim(name, **{"size": size, "storage_class": "later", **fields})


def volume(name: str, size: str = "1Gi", **fields: Any) -> Kind:
    return make_volume(name, **{"size": size, "storage_class": "later", **fields})


def kept_for(name: str, uid: str = "") -> dict[str, Any]:
    return {"claimRef": {"namespace": "default", "name": name, "uid": uid}}


def test_volumes_on_nodes() -> None:
    objects: list[Kind] = [
        LATER,
        claim(size="50Gi"),
        volume("big", "200Gi", on={HOST: ["a"]}),
        volume("small", "100Gi", on={HOST: ["b"]}),
    ]
    assert verdicts(user("c"), *objects) == {"a": None, "b": None, "c": rejected(NOTHING_TO_BIND)}
    assert scores(user("c"), *objects) == {"a": 75, "b": 50, "c": 0}


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        pytest.param(volume("v"), True, id="a volume that is free"),
        pytest.param(volume("v", "1023Mi"), False, id="too small"),
        pytest.param(volume("v", storage_class="other"), False, id="of another class"),
        pytest.param(
            volume("v", metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "other"}}),
            False,
            id="of another class by the old annotation",
        ),
        pytest.param(volume("v", phase="Released"), False, id="not available"),
        pytest.param(volume("v", modes=["ReadOnlyMany"]), False, id="of another access mode"),
        pytest.param(volume("v", modes=["ReadOnlyMany", "ReadWriteOnce"]), True, id="of more access modes"),
        pytest.param(volume("v", volumeMode="Block"), False, id="a block device"),
        pytest.param(volume("v", volumeMode="Filesystem"), True, id="a file system is what is meant by nothing"),
        pytest.param(volume("v", volumeAttributesClassName="gold"), False, id="of other attributes"),
        pytest.param(volume("v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), False, id="being deleted"),
        pytest.param(volume("v", **kept_for("other")), False, id="kept for another claim"),
        pytest.param(volume("v", **kept_for("c")), True, id="kept for this claim"),
        pytest.param(volume("v", **kept_for("c", "claim-c")), True, id="kept for this very claim"),
        pytest.param(volume("v", **kept_for("c", "older")), False, id="kept for an earlier claim of that name"),
        pytest.param(volume("v", phase="Released", **kept_for("c")), True, id="what is kept need not be available"),
        pytest.param(volume("v", "1Mi", **kept_for("c")), False, id="what is kept may be too small"),
        pytest.param(volume("v", on={HOST: ["b"]}), False, id="out of reach"),
    ],
)
def test_which_volume_suits(found: Kind, fits: bool) -> None:
    expected = None if fits else rejected(NOTHING_TO_BIND)
    assert verdicts(user("c"), LATER, claim(), found, nodes="a") == {"a": expected}


def test_a_claim_may_select_volumes_by_labels() -> None:
    wanted = claim(selector={"matchLabels": {"tier": "fast"}})
    assert verdicts(user("c"), LATER, wanted, volume("v"), nodes="a") == {"a": rejected(NOTHING_TO_BIND)}
    assert verdicts(user("c"), LATER, wanted, volume("v", labels={"tier": "fast"}), nodes="a") == {"a": None}


def test_what_is_kept_for_a_claim_goes_before_everything() -> None:
    objects: list[Kind] = [LATER, claim(), volume("free"), volume("kept", "9Gi", on={HOST: ["b"]}, **kept_for("c"))]
    assert verdicts(user("c"), *objects, nodes="ab") == {"a": rejected(NOTHING_TO_BIND), "b": None}


def taken_on(node: str, pod: Pod, *objects: Kind, nodes: str = "abc") -> dict[str, str]:
    plugin, found = VolumeBinding(), cluster(*objects, nodes=nodes)
    cycle = found.cycle(pod)
    assert plugin.pre_filter(cycle, pod) is None
    assert plugin.reserve(cycle, pod, node) is None
    changed = [each.changed for each in cycle.notes["VolumeBinding"].held.volumes]
    return {each.metadata.name: each.spec.claim_ref.name for each in changed if each.spec.claim_ref}


def test_the_smallest_volume_is_taken() -> None:
    objects: list[Kind] = [LATER, claim(), volume("big", "5Gi"), volume("small", "2Gi"), volume("smallest", "1536Mi")]
    assert taken_on("a", user("c"), *objects) == {"smallest": "c"}


def test_the_smaller_claim_gets_the_smaller_volume() -> None:
    objects: list[Kind] = [LATER, claim("big", "2Gi"), claim("small"), volume("v5", "5Gi"), volume("v3", "3Gi")]
    assert taken_on("a", user("big", "small"), *objects) == {"v3": "small", "v5": "big"}


def test_two_claims_never_share_a_volume() -> None:
    objects: list[Kind] = [
        LATER,
        claim("one"),
        claim("two"),
        volume("v1", on={HOST: ["a"]}),
        volume("v2", on={HOST: ["b"]}),
    ]
    assert verdicts(user("one", "two"), *objects, nodes="ab") == dict.fromkeys("ab", rejected(NOTHING_TO_BIND))
    objects.append(volume("v3", on={"zone": ["b"]}))
    assert verdicts(user("one", "two"), *objects, nodes="ab") == {"a": rejected(NOTHING_TO_BIND), "b": None}


def test_a_bound_and_a_delayed_claim_are_both_checked() -> None:
    objects: list[Kind] = [make_claim("a", volume="pv"), make_volume("pv", on={HOST: ["x"]}), claim("b"), LATER]
    assert verdicts(user("a", "b"), *objects, nodes="a") == {"a": rejected(OUT_OF_REACH, NOTHING_TO_BIND)}


def test_all_reasons_come_in_order() -> None:
    made = make_storage_class("made", provisioner=DRIVER)
    objects: list[Kind] = [make_claim("gone", volume="gone"), claim("b", storage_class="made"), made]
    full = [make_csi_driver(DRIVER, storage_capacity=True)]
    found = verdicts(user("gone", "b"), *objects, *full, nodes="a")
    assert found == {"a": rejected(NOT_ENOUGH_SPACE, VOLUME_GONE)}


# Claims that wait for their pod: volumes to be made.


def makes(**fields: Any) -> Kind:
    return make_storage_class("later", provisioner=DRIVER, **fields)


@pytest.mark.parametrize(
    ("storage", "fitting"),
    [
        pytest.param(makes(), "abc", id="everywhere"),
        pytest.param(make_storage_class("later", provisioner=""), "", id="nobody makes volumes"),
        pytest.param(makes(allowed=[{"zone": ["a", "b"]}]), "ab", id="in some zones"),
        pytest.param(makes(allowed=[{"zone": ["a"]}, {"zone": ["c"]}]), "ac", id="in one of several terms"),
        pytest.param(makes(allowed=[{"zone": ["a", "b"], HOST: ["b", "c"]}]), "b", id="all labels of a term"),
        pytest.param(makes(allowed=[{}]), "", id="an empty term allows nothing"),
        pytest.param(makes(allowed=[{"zone": []}]), "", id="a label without values allows nothing"),
    ],
)
def test_where_volumes_can_be_made(storage: Kind, fitting: str) -> None:
    found = verdicts(user("c"), storage, claim())
    assert found == {name: None if name in fitting else rejected(NOTHING_TO_BIND) for name in "abc"}


def test_where_a_volume_is_being_made_already() -> None:
    found = verdicts(user("c"), makes(), claim(selected_node="b"), volume("v"))
    assert found == {"a": rejected(NOTHING_TO_BIND), "b": None, "c": rejected(NOTHING_TO_BIND)}
    assert verdicts(user("c"), makes(), claim(selected_node="gone"), nodes="a") == {"a": rejected(NOTHING_TO_BIND)}
    # A volume is to be made, whatever volumes there are.
    assert verdicts(user("c"), LATER, claim(selected_node="a"), volume("v"), nodes="a") == {
        "a": rejected(NOTHING_TO_BIND)
    }


def test_what_is_not_found_is_made() -> None:
    objects: list[Kind] = [makes(), claim("one"), claim("two"), volume("v", on={HOST: ["a"]})]
    assert verdicts(user("one", "two"), *objects, nodes="ab") == {"a": None, "b": None}
    without = [LATER, *objects[1:]]
    assert verdicts(user("one", "two"), *without, nodes="ab") == dict.fromkeys("ab", rejected(NOTHING_TO_BIND))


COUNTS = make_csi_driver(DRIVER, storage_capacity=True)


@pytest.mark.parametrize(
    ("capacity", "fits"),
    [
        pytest.param(make_capacity("x", "later", capacity="1Gi", on={}), True, id="just enough"),
        pytest.param(make_capacity("x", "later", capacity="1023Mi", on={}), False, id="not enough"),
        pytest.param(make_capacity("x", "later", capacity="1Gi", largest="1Mi", on={}), False, id="no volume so large"),
        pytest.param(make_capacity("x", "later", on={}), False, id="nothing is said"),
        pytest.param(make_capacity("x", "later", largest="1Gi", on={}), True, id="only the largest volume is said"),
        pytest.param(make_capacity("x", "other", capacity="1Gi", on={}), False, id="for another class"),
        pytest.param(make_capacity("x", "later", capacity="1Gi"), False, id="reached by no node"),
        pytest.param(make_capacity("x", "later", capacity="1Gi", on={"zone": "a"}), True, id="reached by this node"),
        pytest.param(make_capacity("x", "later", capacity="1Gi", on={"zone": "b"}), False, id="reached by another"),
    ],
)
def test_what_is_left(capacity: Kind, fits: bool) -> None:
    expected = None if fits else rejected(NOT_ENOUGH_SPACE)
    assert verdicts(user("c"), makes(), COUNTS, claim(), capacity, nodes="a") == {"a": expected}


@pytest.mark.parametrize(
    ("driver", "wanted"),
    [
        pytest.param(make_csi_driver(DRIVER), claim(), id="the driver does not count"),
        pytest.param(make_csi_driver("other", storage_capacity=True), claim(), id="nobody knows the driver"),
        pytest.param(COUNTS, make_claim("c", storage_class="later"), id="no size is asked for"),
    ],
)
def test_when_it_does_not_matter_what_is_left(driver: Kind, wanted: Kind) -> None:
    assert verdicts(user("c"), makes(), driver, wanted, nodes="a") == {"a": None}


def test_every_claim_is_checked_alone() -> None:
    objects: list[Kind] = [
        makes(),
        COUNTS,
        claim("x", "50Gi"),
        claim("y", "50Gi"),
        make_capacity("k", "later", capacity="100Gi", on={}),
    ]
    assert verdicts(user("x", "y"), *objects, nodes="a") == {"a": None}
    assert scores(user("x", "y"), *objects, nodes="a") == {"a": 0}


# Scores.


def test_more_room_is_better() -> None:
    left = {"a": "100Gi", "b": "50Gi", "c": "10Gi"}
    capacities = [make_capacity(name, "later", capacity=size, on={"zone": name}) for name, size in left.items()]
    assert scores(user("c"), makes(), COUNTS, claim(size="10Gi"), *capacities) == {"a": 90, "b": 80, "c": 0}


def test_the_score_is_the_mean_of_classes() -> None:
    objects: list[Kind] = [
        make_storage_class("one"),
        make_storage_class("two"),
        make_claim("x", size="30Gi", storage_class="one"),
        make_claim("y", size="60Gi", storage_class="two"),
        make_volume("v1", size="100Gi", storage_class="one"),
        make_volume("v2", size="100Gi", storage_class="two"),
    ]
    assert scores(user("x", "y"), *objects, nodes="a") == {"a": 55}


def test_volumes_of_one_class_are_added_up() -> None:
    objects: list[Kind] = [LATER, claim("x", "10Gi"), claim("y", "30Gi"), volume("v1", "40Gi"), volume("v2", "60Gi")]
    assert scores(user("x", "y"), *objects, nodes="a") == {"a": 60}


def test_half_a_point_is_rounded_up() -> None:
    objects: list[Kind] = [
        make_storage_class("one"),
        make_storage_class("two"),
        make_claim("x", size="30Gi", storage_class="one"),
        make_claim("y", size="61Gi", storage_class="two"),
        make_volume("v1", size="100Gi", storage_class="one"),
        make_volume("v2", size="100Gi", storage_class="two"),
    ]
    assert scores(user("x", "y"), *objects, nodes="a") == {"a": 55}  # (70 + 39) / 2


def test_where_something_is_taken_what_is_made_does_not_count() -> None:
    objects: list[Kind] = [
        makes(),
        COUNTS,
        claim("x", "10Gi"),
        claim("y", "10Gi"),
        volume("v", "40Gi", on={"zone": ["a"]}),
        make_capacity("k", "later", capacity="100Gi", on={}),
    ]
    assert scores(user("x", "y"), *objects, nodes="ab") == {"a": 75, "b": 80}


def test_a_capacity_that_is_not_told_counts_as_none() -> None:
    objects: list[Kind] = [makes(), COUNTS, claim(), make_capacity("k", "later", largest="5Gi", on={})]
    assert scores(user("c"), *objects, nodes="a") == {"a": 0}


def test_the_shape_decides() -> None:
    plugin = VolumeBinding.of(
        {"shape": [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 8}, {"utilization": 100, "score": 10}]}
    )
    objects: list[Kind] = [
        LATER,
        claim(size="25Gi"),
        volume("v", "100Gi", on={"zone": ["a"]}),
        volume("w", "30Gi", on={"zone": ["b"]}),
    ]
    assert scores(user("c"), *objects, nodes="ab", plugin=plugin) == {"a": 40, "b": 93}


def test_pods_whose_claims_are_bound_score_nothing() -> None:
    found = scores(user("c"), make_claim("c", volume="pv"), make_volume("pv"))
    assert found == {"a": 0, "b": 0, "c": 0}
    assert not isinstance(found, Skip)
