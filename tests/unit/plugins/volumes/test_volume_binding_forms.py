from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.objects import Kind
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

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES = [f"n{i}" for i in range(6)]
SIZES = st.sampled_from(["1Gi", "2Gi", "3Gi", "1500Mi", "8Ei", "4611686018427387905", "92233720368547759"])
CLASSES = ["none", "made", "zoned"]


def expression(key: str, operator: str, values: list[str]) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": values if operator in ("In", "NotIn") else []}


EXPRESSIONS = st.one_of(
    st.builds(expression, st.just(HOST), st.just("In"), st.lists(st.sampled_from(NODES), min_size=1, max_size=2)),
    st.builds(
        expression,
        st.just(ZONE),
        st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
        st.lists(st.sampled_from("abx"), min_size=1, max_size=2),
    ),
)
TERMS = st.none() | st.lists(
    st.builds(lambda found: {"matchExpressions": found}, st.lists(EXPRESSIONS, max_size=2)), max_size=2
)


@st.composite
def volumes(draw: st.DrawFn) -> list[Kind]:
    found: list[Kind] = []
    for i in range(draw(st.integers(0, 8))):
        kept = draw(st.sampled_from([None, None, None, "c0", "other"]))
        old = draw(st.booleans()) and {"awsElasticBlockStore": {"volumeID": f"vol-{i}"}}
        reference = {"claimRef": {"namespace": "default", "name": kept}} if kept else {}
        labels = draw(st.dictionaries(st.just(ZONE), st.sampled_from(["a", "b"])))
        storage_class, size, terms = draw(st.sampled_from(CLASSES)), draw(SIZES), draw(TERMS)
        extra: dict[str, Any] = {**(old or {}), **reference}
        found.append(make_volume(f"v{i}", size=size, storage_class=storage_class, terms=terms, labels=labels, **extra))
    return found


@st.composite
def claims(draw: st.DrawFn) -> list[Kind]:
    found: list[Kind] = []
    for i in range(draw(st.integers(1, 4))):
        bound = draw(st.sampled_from([None, None, "v0", "v1", "gone"]))
        selected = draw(st.sampled_from([None, None, None, "n0", "gone"]))
        storage_class, size = draw(st.sampled_from(CLASSES)), draw(SIZES)
        if bound:
            found.append(make_claim(f"c{i}", volume=bound))
        else:
            found.append(make_claim(f"c{i}", size=size, storage_class=storage_class, selected_node=selected))
    return found


@st.composite
def capacities(draw: st.DrawFn) -> list[Kind]:
    on = st.one_of(
        st.none(),
        st.just({}),
        st.builds(lambda zone: {ZONE: zone}, st.sampled_from("ab")),
        st.builds(lambda node: {HOST: node}, st.sampled_from(NODES)),
    )
    amount = st.none() | st.sampled_from(["1Gi", "2Gi", "10Gi", "8Ei", "9223372036854775806", "92233720368547759"])
    return [
        make_capacity(f"k{i}", draw(st.sampled_from(CLASSES)), capacity=draw(amount), largest=draw(amount), on=draw(on))
        for i in range(draw(st.integers(0, 6)))
    ]


STORAGE: list[Kind] = [
    make_storage_class("none"),
    make_storage_class("made", provisioner="csi.example.com"),
    make_storage_class("zoned", provisioner="other.example.com", allowed=[{ZONE: ["a"]}, {HOST: ["n4", "n5"]}]),
    make_csi_driver("csi.example.com", storage_capacity=True),
]
ZONES = st.lists(st.sampled_from(["a", "b", None]), min_size=len(NODES), max_size=len(NODES))


SHAPES = st.sampled_from(
    [
        [],
        [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        [{"utilization": 0, "score": 10}, {"utilization": 30, "score": 2}, {"utilization": 100, "score": 0}],
    ]
)


@given(
    found=volumes(),
    wanted=claims(),
    left=capacities(),
    zones=ZONES,
    migrated=st.sets(st.sampled_from(NODES)),
    shape=SHAPES,
)
def test_both_forms_agree(
    found: list[Kind],
    wanted: list[Kind],
    left: list[Kind],
    zones: list[str | None],
    migrated: set[str],
    shape: list[dict[str, int]],
) -> None:
    nodes = [
        make_node(name, labels={ZONE: zone, "topology.ebs.csi.aws.com/zone": zone} if zone else None)
        for name, zone in zip(NODES, zones, strict=True)
    ]
    csi_nodes = [make_csi_node(name, migrated=["kubernetes.io/aws-ebs"]) for name in migrated]
    cluster = FakeCluster(nodes, objects=[*STORAGE, *found, *wanted, *left, *csi_nodes])
    pod = make_pod(spec=claim_volumes(*(claim.metadata.name for claim in wanted)))
    plugin = VolumeBinding.of({"shape": shape})
    filter_all(plugin, cluster, pod)
    raw_scores(plugin, cluster, pod)
