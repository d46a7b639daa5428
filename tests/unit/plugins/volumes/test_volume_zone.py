import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.verdicts import SKIP, Rejection
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_zone import VolumeZone
from pilotage.testing.cluster import FakeCluster
from pilotage.testing.objects import make_node, make_pod
from pilotage.testing.plugins import filter_all
from pilotage.testing.storage import claim_volumes, make_claim, make_storage_class, make_volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ELSEWHERE = Rejection("node(s) had no available volume zone", preemption_helps=False)
CHANGED = Event(Resource.PERSISTENT_VOLUME, Action.UPDATE)


def with_claims(*claims: str) -> Pod:
    return make_pod(spec=claim_volumes(*claims))


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        pytest.param({ZONE: "a"}, {ZONE: "a"}, True, id="the same zone"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, False, id="another zone"),
        pytest.param({ZONE: "a"}, {}, True, id="a node that does not tell its zone"),
        pytest.param({ZONE: "a"}, {"rack": "b"}, True, id="other labels tell no zone"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a"}, False, id="zone and region, a node with zone only"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "r"}, True, id="zone and region on both"),
        pytest.param({ZONE: "a", REGION: "r"}, {ZONE: "a", REGION: "s"}, False, id="the zone fits, the region not"),
        pytest.param({ZONE: "a"}, {BETA_ZONE: "a"}, False, id="the new label is not looked up as the old"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "a"}, True, id="the old label is looked up as the new"),
        pytest.param({BETA_ZONE: "a"}, {ZONE: "b"}, False, id="the old label, the new one of another zone"),
        pytest.param({BETA_ZONE: "a"}, {BETA_ZONE: "b", ZONE: "a"}, False, id="the old label of the node goes first"),
        pytest.param({BETA_REGION: "r"}, {REGION: "r"}, True, id="the old label of a region"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b"}, True, id="one of several zones"),
        pytest.param({ZONE: "a__b"}, {ZONE: "c"}, False, id="none of several zones"),
        pytest.param({ZONE: " a __ b "}, {ZONE: "b"}, True, id="blanks around zones do not count"),
        pytest.param({ZONE: "a", REGION: "r__"}, {ZONE: "a"}, True, id="a label that cannot be read does not count"),
        pytest.param({ZONE: "a"}, {REGION: "r"}, False, id="a node that tells its region only"),
        pytest.param({ZONE: "a"}, {ZONE: ""}, False, id="an empty zone is one too"),
    ],
)
def test_labels_of_volume_and_node(volume: dict[str, str], node: dict[str, str], fits: bool) -> None:
    objects: list[Kind] = [make_claim("c", volume="v"), make_volume("v", labels=volume)]
    cluster = FakeCluster([make_node("n1", labels=node)], objects=objects)
    assert filter_all(VolumeZone(), cluster, with_claims("c")) == {"n1": None if fits else ELSEWHERE}


def test_all_volumes_count() -> None:
    objects: list[Kind] = [make_claim(name, volume=f"v{name}") for name in "ab"]
    volumes = [make_volume("va", labels={ZONE: "a__b"}), make_volume("vb", labels={ZONE: "b__c"})]
    nodes = [make_node(f"n-{zone}", labels={ZONE: zone}) for zone in "abc"]
    found = filter_all(VolumeZone(), FakeCluster(nodes, objects=[*objects, *volumes]), with_claims("a", "b"))
    assert found == {"n-a": ELSEWHERE, "n-b": None, "n-c": ELSEWHERE}


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        pytest.param("", "PersistentVolumeClaim had no name", id="a claim without a name"),
        pytest.param("none", 'persistentvolumeclaim "none" not found', id="a claim that does not exist"),
        pytest.param("bare", "PersistentVolumeClaim had no pv name and storageClass name", id="unbound, no class"),
        pytest.param("lost", 'storageclass.storage.k8s.io "gone" not found', id="unbound, the class is gone"),
        pytest.param("odd", 'VolumeBindingMode not set for StorageClass "odd"', id="unbound, a class without a mode"),
        pytest.param("soon", "PersistentVolume had no name", id="unbound, to be bound at once"),
        pytest.param("dead", 'persistentvolume "gone" not found', id="the volume is gone"),
    ],
)
def test_claims_that_cannot_be_used(claim: str, reason: str) -> None:
    objects: list[Kind] = [
        make_claim("bare"),
        make_claim("lost", storage_class="gone"),
        make_claim("odd", storage_class="odd"),
        make_claim("soon", storage_class="soon"),
        make_claim("dead", volume="gone"),
        make_storage_class("odd", mode=None),
        make_storage_class("soon", mode="Immediate"),
    ]
    found = filter_all(VolumeZone(), FakeCluster([make_node("n1")], objects=objects), with_claims(claim))
    assert found == Rejection(reason, preemption_helps=False)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(make_pod(), id="no volumes"),
        pytest.param(with_claims("plain"), id="a volume without zones"),
        pytest.param(with_claims("unreadable"), id="a volume whose zones cannot be read"),
        pytest.param(with_claims("later"), id="a claim that waits for its pod"),
        pytest.param(make_pod(spec=claim_volumes(ephemeral=["e"])), id="an ephemeral claim"),
    ],
)
def test_what_is_skipped(pod: Pod) -> None:
    objects: list[Kind] = [
        make_claim("plain", volume="v"),
        make_volume("v"),
        make_claim("unreadable", volume="w"),
        make_volume("w", labels={ZONE: ""}),
        make_claim("later", storage_class="later"),
        make_storage_class("later"),
    ]
    assert filter_all(VolumeZone(), FakeCluster([make_node("n1")], objects=objects), pod) is SKIP


def test_a_new_class_helps_if_its_claims_wait() -> None:
    event, hint = Event(Resource.STORAGE_CLASS, Action.ADD), VolumeZone().class_added
    assert hint(make_pod(), event, None, make_storage_class("s"))
    assert not hint(make_pod(), event, None, make_storage_class("s", mode="Immediate"))
    assert not hint(make_pod(), event, None, make_storage_class("s", mode=None))


@pytest.mark.parametrize(
    ("name", "namespace", "helps"),
    [
        pytest.param("c", "default", True, id="the pod's"),
        pytest.param("d", "default", False, id="another"),
        pytest.param("c", "other", False, id="of another namespace"),
        pytest.param("pod-e", "default", False, id="an ephemeral one"),
    ],
)
def test_a_claim_changed(name: str, namespace: str, helps: bool) -> None:
    pod = make_pod(spec=claim_volumes("c", ephemeral=["e"]))
    event = Event(Resource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE)
    assert VolumeZone().claim_changed(pod, event, None, make_claim(name, namespace=namespace)) is helps


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, {}, True, id="a new volume"),
        pytest.param({ZONE: "a"}, {ZONE: "b"}, True, id="another zone"),
        pytest.param({ZONE: "a__b"}, {ZONE: "b__a"}, False, id="the same zones in another order"),
        pytest.param({ZONE: "a"}, {ZONE: "a", "x": "y"}, False, id="another label"),
        pytest.param({}, {ZONE: ""}, False, id="a label that cannot be read"),
    ],
)
def test_a_volume_changed(before: dict[str, str] | None, after: dict[str, str], helps: bool) -> None:
    old = None if before is None else make_volume("v", labels=before)
    assert VolumeZone().volume_changed(make_pod(), CHANGED, old, make_volume("v", labels=after)) is helps


def test_what_wakes_a_pod() -> None:
    assert [(retry.resource, retry.action, retry.hint) for retry in VolumeZone.retry_on] == [
        (Resource.STORAGE_CLASS, Action.ADD, "class_added"),
        (Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, None),
        (Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, "claim_changed"),
        (Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, "volume_changed"),
    ]


VALUES = st.sampled_from(["a", "b", "a__b", "b__c", "", "a__"])
LABELS = st.dictionaries(st.sampled_from([ZONE, REGION, BETA_ZONE, BETA_REGION]), VALUES, max_size=4)


@given(volumes=st.lists(LABELS, max_size=3), nodes=st.lists(LABELS, min_size=1, max_size=8))
def test_both_forms_agree(volumes: list[dict[str, str]], nodes: list[dict[str, str]]) -> None:
    names = [f"c{i}" for i in range(len(volumes))]
    objects: list[Kind] = [
        *(make_claim(name, volume=f"v-{name}") for name in names),
        *(make_volume(f"v-{name}", labels=labels) for name, labels in zip(names, volumes, strict=True)),
    ]
    cluster = FakeCluster([make_node(f"n{i}", labels=labels) for i, labels in enumerate(nodes)], objects=objects)
    filter_all(VolumeZone(), cluster, with_claims(*names))
