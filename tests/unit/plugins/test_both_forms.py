"""Every plugin that there is says the same about one node and about many, on clusters that give it something to say."""

from functools import cache
from random import Random
from typing import Any

import pytest

from kit.device_scene import claim as device_claim
from kit.device_scene import device, device_class, exactly, first_of, piece
from kit.loads import node_metrics
from pilotage.framework.api.objects import Kind
from pilotage.framework.api.plugin import Filter, Plugin, Score
from pilotage.kinds.devices import ResourceClaim
from pilotage.kinds.seccomp_profile import SeccompProfile, SeccompProfileSpec, SyscallRule
from pilotage.kinds.sticky_job import StickyJob, StickyJobStatus
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import built_in
from pilotage.testing import FakeCluster, Manifest, filter_all, make_node, make_pod, raw_scores
from pilotage.testing.network import make_app_group, make_network_topology, member_labels
from pilotage.testing.storage import claim_volumes, make_claim, make_csi_node, make_volume
from pilotage.testing.topology import make_topology

SEEDS = range(60)
CATALOGUE = built_in()
ZONE, HOST, PRIORITY = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "priority.lixueduan.com"
SECCOMP = {"type": "Localhost", "localhostProfile": "operator/default/web.json"}
CORES = {"cpu": "2", "memory": "1Gi"}
DRIVER, FEATURE = "csi.example.com", "UserNamespacesHostNetworkSupport"
TAINTS = [
    {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
    {"key": "slow", "value": "yes", "effect": "PreferNoSchedule"},
]
WISHES = [
    {"weight": 7, "preference": {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}},
    {"weight": 3, "preference": {"matchExpressions": [{"key": PRIORITY, "operator": "Gt", "values": ["9"]}]}},
]
NEIGHBOURS = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
AFFINITIES: list[Manifest] = [
    {},
    {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": WISHES}},
    {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEIGHBOURS | {"topologyKey": HOST}]}},
    {
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": NEIGHBOURS}]
        }
    },
]
SPECS: list[Manifest] = [
    {},
    {"hostNetwork": True, "hostUsers": False, "containers": [{"resources": {"requests": CORES, "limits": CORES}}]},
    {"nodeName": "n1"},
    {"topologySpreadConstraints": [NEIGHBOURS | {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]},
    {"topologySpreadConstraints": [NEIGHBOURS | {"maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}]},
    claim_volumes("c0"),
    claim_volumes("c1", inline=[{"gcePersistentDisk": {"pdName": "disk"}}]),
    {"securityContext": {"seccompProfile": SECCOMP}},
    {"resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}]},
]


def make_profile(name: str, *calls: str) -> SeccompProfile:
    spec = SeccompProfileSpec((SyscallRule(calls, "SCMP_ACT_ALLOW"),))
    return SeccompProfile(Metadata(name=name, namespace="default"), spec)


def make_device_claim() -> ResourceClaim:
    large, any_device = exactly("large", 'device.attributes["a"].size > 1'), exactly("any")
    made = device_claim(first_of("one", large, any_device), name="gpu")
    made.metadata.namespace = "default"
    return made


OBJECTS: list[Kind] = [
    make_claim("c0", volume="v0"),
    make_claim("c1", volume="v1"),
    make_volume("v0", labels={ZONE: "a"}, driver=DRIVER),
    make_volume("v1", on={ZONE: ["b"]}, driver=DRIVER),
    *(make_csi_node(f"n{i}", {DRIVER: i % 2}) for i in range(10)),
    make_profile("web", "read", "write"),
    make_profile("all-syscalls", "read", "write", "reboot"),
    *(node_metrics(f"n{i}", cpu=f"{170 * i}m", memory=f"{i}Gi") for i in range(8)),
    make_app_group("shop", {"web": {"web": 3}}),
    make_network_topology(zones={("a", "b"): 5}),
    StickyJob(Metadata("job", "default", "job"), StickyJobStatus("n1")),
    device_class("c"),
    make_device_claim(),
    *(piece(f"n{i}", device("d", size=i % 3), pool=f"n{i}", nodeName=f"n{i}") for i in range(0, 10, 2)),
    *(make_topology(f"n{i}", {"cpu": i, "memory": "2Gi"}, {"cpu": 1, "memory": "4Gi"}) for i in range(8)),
]
# Of plugins that say nothing without any.
ARGUMENTS: dict[str, Manifest] = {
    "NodeMetadata": {
        "metadataKey": PRIORITY,
        "metadataSource": "Label",
        "metadataType": "Number",
        "scoringStrategy": "Highest",
    },
    "Sticky": {"mode": "Require"},
}
STICKY_JOB = {
    "apiVersion": "pilotage.dev/v1alpha1",
    "kind": "StickyJob",
    "name": "job",
    "uid": "job",
    "controller": True,
}
# What these have to say is in tests of their own.
NOTHING_TO_PREFER = {"VolumeBinding", "Peaks"}


def some(draw: Random, fields: dict[str, list[Any]]) -> dict[str, Any]:
    """Return about half of the fields, each with one of its values."""
    return {name: draw.choice(values) for name, values in fields.items() if draw.random() < 0.5}


def labels(draw: Random) -> dict[str, str]:
    return some(draw, {ZONE: ["a", "b"], PRIORITY: ["0", "7", "10", "20", "abc", ""]})


@cache
def cluster(seed: int) -> FakeCluster:
    draw = Random(seed)
    nodes, pods = [], []
    for i in range(draw.randint(2, 10)):
        fields: dict[str, list[Any]] = {
            "cpu": ["0", "500m", "3", "64"],
            "memory": ["1", "3Gi", "1Ti"],
            "pods": [0, 2],
            "taints": [[taint] for taint in TAINTS],
            "unschedulable": [True],
            "images": [[("big:1", 500 << 20)]],
            "declared_features": [[FEATURE]],
        }
        nodes.append(make_node(f"n{i}", labels=labels(draw), **some(draw, fields)))
        pods += [incoming(draw, f"p{i}-{j}", f"n{i}") for j in range(draw.randint(0, 3))]
    return FakeCluster(nodes, pods, OBJECTS)


def incoming(draw: Random, name: str = "pod", node: str | None = None) -> Pod:
    """Return a pod that waits for a node, or one that has it already."""
    fields: dict[str, list[Any]] = {
        "cpu": ["0", "100m", "2"],
        "memory": ["1Gi", "3Gi"],
        "labels": [{"app": "web"} | member_labels("shop", "web")],
        "node_selector": [{ZONE: "a"}],
        "tolerations": [[{"operator": "Exists"}], [{"key": "slow", "operator": "Exists"}]],
        "host_ports": [[80], [81]],
        "image": ["big:1"],
        "affinity": AFFINITIES,
        "spec": SPECS,
        "metadata": [{"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"ownerReferences": [STICKY_JOB]}],
    }
    chosen = some(draw, fields)
    if node is not None:
        chosen["spec"] = chosen.get("spec", {}) | {"nodeName": node}
    return make_pod(name, **chosen)


def plugins(kind: type[Plugin]) -> list[str]:
    return [entry.plugin.name for entry in CATALOGUE if issubclass(entry.plugin, kind)]


@pytest.mark.parametrize("name", plugins(Filter))
def test_filter(name: str) -> None:
    plugin, fits = CATALOGUE.construct(name, ARGUMENTS.get(name, {})), set()
    assert isinstance(plugin, Filter)
    for seed in SEEDS:
        found = filter_all(plugin, cluster(seed), incoming(Random(~seed)))
        fits |= {verdict is None for verdict in found.values()} if isinstance(found, dict) else set()
    assert fits == {True, False}


@pytest.mark.parametrize("name", plugins(Score))
def test_score(name: str) -> None:
    plugin, differs = CATALOGUE.construct(name, ARGUMENTS.get(name, {})), False
    assert isinstance(plugin, Score)
    for seed in SEEDS:
        found = raw_scores(plugin, cluster(seed), incoming(Random(~seed)))
        differs |= isinstance(found, dict) and len(set(found.values())) > 1
    assert differs is (name not in NOTHING_TO_PREFER)
