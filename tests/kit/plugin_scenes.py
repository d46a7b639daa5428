"""For each plugin a scene in which it changes where pods go, and what is seen there with it and without it.

Where it scores there are two nodes, of which the default plugins prefer the large one and the plugin the small one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kit.commands import Manifest
from pilotage.testing import node_manifest

GONE = "gone"
WAITS = "waits: "  # and a part of what is told of a pod that has no node
NAMESPACE = "NAMESPACE"  # stands for the namespace of the scene in all that it creates
UID_OF = "UID-OF-"  # and the name of an object of the scene: stands for its uid
WATCHER = "WATCHER"  # stands for the address of the load-watcher
SCENE = "scene"  # a label of nodes: a scene has its own

Fields = Mapping[str, Any]
PAIR: Mapping[str, Fields] = {"small": {"cpu": 4, "memory": "16Gi"}, "large": {"cpu": 64, "memory": "256Gi"}}
WEB: Mapping[str, Fields] = {"web": {"cpu": "100m", "memory": "100Mi"}}
TO_SMALL, TO_LARGE = {"web": "small"}, {"web": "large"}


@dataclass(frozen=True)
class Load:
    """What a load-watcher tells of a node, in percent: the mean of cpu and memory, and how much it goes up and down."""

    average: float
    deviation: float = 0.0

    def metrics(self) -> Manifest:
        """Return it in the words of load-watcher."""
        told = {"AVG": self.average, "STD": self.deviation}
        kinds = ("CPU", "Memory")
        return {"metrics": [{"type": kind, "operator": name, "value": told[name]} for kind in kinds for name in told]}


@dataclass(frozen=True)
class Scene:
    """What there is, who comes, and what is then seen of the pods: a node, GONE, or WAITS and why."""

    plugin: str
    on: Mapping[str, str] = field(default_factory=lambda: TO_SMALL)
    off: Mapping[str, str] = field(default_factory=lambda: TO_LARGE)
    weight: int | None = None
    args: Manifest | None = None
    nodes: Mapping[str, Fields] = field(default_factory=lambda: PAIR)
    objects: Sequence[Manifest] = ()
    residents: Mapping[str, Fields] = field(default_factory=dict)  # they have their nodes, and run
    leaving: Sequence[str] = ()  # residents that are deleted before pods come
    pods: Mapping[str, Fields] = field(default_factory=lambda: WEB)  # they come in this order
    served_later: bool = False  # nobody serves the pods until all are there: none was tried before another came
    loads: Mapping[str, Load] = field(default_factory=dict)

    def entry(self, *, enabled: bool) -> Manifest:
        """Return what the profile says of the plugin: one field is the switch."""
        given = {"weight": self.weight, "args": self.args}
        return {"name": self.plugin, "enabled": enabled, **{key: each for key, each in given.items() if each}}

    def node(self, short: str) -> str:
        """Return the whole name of a node."""
        return node_of(self.plugin, short)

    def node_manifests(self) -> list[Manifest]:
        """Return the nodes, with a label by which pods stay in the scene."""
        return [
            node_manifest(
                self.node(short),
                **{**fields, "labels": {SCENE: self.plugin, **fields.get("labels", {})}},
            )
            for short, fields in self.nodes.items()
        ]


def node_of(plugin: str, short: str) -> str:
    """Return the whole name of a node of a scene."""
    return f"{plugin.lower()}-{short}"


def _object(api: str, kind: str, name: str, **fields: Any) -> Manifest:
    annotations = {"annotations": fields.pop("annotations")} if "annotations" in fields else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **annotations}, **fields}


def _score(plugin: str, **fields: Any) -> Scene:
    return Scene(plugin, weight=10_000, **fields)


def _by_load(plugin: str, small: Load, large: Load, args: Manifest | None = None, **fields: Any) -> Scene:
    source = {"watcherAddress": f"{WATCHER}/{plugin}", "refreshSeconds": 1}
    return _score(plugin, args={**source, **(args or {})}, loads={"small": small, "large": large}, **fields)


def _zone(name: str, cpu: str) -> Manifest:
    amounts = [{"name": "cpu", "capacity": cpu, "allocatable": cpu, "available": cpu}]
    return {"name": name, "type": "Node", "resources": amounts}


def _part(name: str, *needs: str) -> Manifest:
    def workload(each: str) -> Manifest:
        return {"kind": "Deployment", "name": each, "selector": each}

    return {
        "workload": workload(name),
        "dependencies": [{"workload": workload(each), "maxNetworkCost": 5} for each in needs],
    }


def _app(part: str) -> Fields:
    return {"labels": {"appgroup.diktyo.x-k8s.io": "shop", "appgroup.diktyo.x-k8s.io.workload": part}}


def _costs(key: str, **ways: tuple[str, int]) -> Manifest:
    origins = [
        {"origin": origin, "costList": [{"destination": to, "networkCost": cost}]}
        for origin, (to, cost) in ways.items()
    ]
    return {"topologyKey": key, "originList": origins}


def _confined(profile: str) -> Fields:
    seccomp = {"type": "Localhost", "localhostProfile": f"operator/{NAMESPACE}/{profile}.json"}
    return {"spec": {"securityContext": {"seccompProfile": seccomp}}}


def _calls(name: str, *calls: str) -> Manifest:
    spec = {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [{"action": "SCMP_ACT_ALLOW", "names": list(calls)}]}
    return _object("security-profiles-operator.x-k8s.io/v1beta1", "SeccompProfile", name, spec=spec)


def _class(name: str, value: int, **annotations: str) -> Manifest:
    prefix = "preemption-toleration.scheduling.x-k8s.io/"
    given = {prefix + key.replace("_", "-"): text for key, text in annotations.items()}
    return _object("scheduling.k8s.io/v1", "PriorityClass", name, value=value, annotations=given)


SHOP = _object(
    "appgroup.diktyo.x-k8s.io/v1alpha1",
    "AppGroup",
    "shop",
    spec={
        "numMembers": 2,
        "topologySortingAlgorithm": "KahnSort",
        "workloads": [_part("store"), _part("web", "store")],
    },
)
NETWORK = _object(
    "networktopology.diktyo.x-k8s.io/v1alpha1",
    "NetworkTopology",
    "nt-default",
    spec={
        "configmapName": "none",
        "weights": [
            {
                "name": "UserDefined",
                "topologyList": [_costs("topology.kubernetes.io/region", east=("west", 50), west=("east", 50))],
            }
        ],
    },
)
REGION = "topology.kubernetes.io/region"
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": f"{UID_OF}owner", "controller": True}
# A node of one place, for which two pods come into the queue at once: who has it then is a matter of its order. Without
# the plugin it is the first that came; its name is the first, too, in case the scheduler has to list the pods.
ONE_PLACE: Mapping[str, Any] = {"nodes": {"one": {"pods": 1}}, "served_later": True}
NOT_BOTH_WEBS = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}

SCENES: tuple[Scene, ...] = (
    Scene(
        "Coscheduling",
        nodes={"one": {"cpu": 2}},
        objects=[_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "three", spec={"minMember": 3})],
        pods={f"train-{n}": {"cpu": 1, "labels": {"scheduling.x-k8s.io/pod-group": "three"}} for n in range(3)},
        on={f"train-{n}": f"{WAITS}PodGroup {NAMESPACE}/three" for n in range(3)},
        off={"train-0": "one", "train-1": "one", "train-2": f"{WAITS}1 Insufficient cpu"},
    ),
    Scene(
        "CapacityScheduling",
        nodes={"one": {}},
        objects=[
            _object(
                "scheduling.x-k8s.io/v1alpha1", "ElasticQuota", "cores", spec={"min": {"cpu": 1}, "max": {"cpu": 1}}
            )
        ],
        pods={"first": {"cpu": 1}, "second": {"cpu": 1}},
        on={"first": "one", "second": f"{WAITS}Pod {NAMESPACE}/second is rejected in PreFilter because ElasticQuota"},
        off={"first": "one", "second": "one"},
    ),
    _score("NodeResourcesAllocatable", args={"mode": "Least"}),
    Scene(
        "NodeResourceTopologyMatch",
        objects=[
            _object(
                "topology.node.k8s.io/v1alpha2",
                "NodeResourceTopology",
                node_of("NodeResourceTopologyMatch", "large"),
                attributes=[
                    {"name": "topologyManagerPolicy", "value": "single-numa-node"},
                    {"name": "topologyManagerScope", "value": "container"},
                ],
                zones=[_zone("node-0", "1"), _zone("node-1", "1")],
            )
        ],
        pods={"web": {"cpu": 2, "memory": "1Gi", "limits": {"cpu": 2, "memory": "1Gi"}}},
    ),
    Scene(
        "PreemptionToleration",
        nodes={"one": {"cpu": 2}},
        objects=[
            _class("scene-spared", 10, minimum_preemptable_priority="1000", toleration_seconds="-1"),
            _class("scene-urgent", 100),
        ],
        residents={"batch": {"node": "one", "cpu": 2, "priority_class": "scene-spared"}},
        pods={"urgent": {"cpu": 2, "priority_class": "scene-urgent"}},
        on={"batch": "one", "urgent": f"{WAITS}1 Insufficient cpu"},
        off={"batch": GONE, "urgent": "one"},
    ),
    _by_load("TargetLoadPacking", Load(30), Load(80), {"targetUtilization": 40}),
    _by_load("LoadVariationRiskBalancing", Load(10), Load(80, 10)),
    _by_load(
        "LowRiskOverCommitment",
        Load(10),
        Load(10),
        residents={"greedy": {"node": "large", "cpu": "100m", "limits": {"cpu": 128}}},
        pods={"web": {"cpu": "100m", "memory": "100Mi", "limits": {"cpu": "200m", "memory": "200Mi"}}},
    ),
    _by_load(
        "Peaks",
        Load(50),
        Load(0),
        {
            "nodePowerModel": {
                node_of("Peaks", "small"): {"k0": 220.0, "k1": -91.5, "k2": -0.0719},
                node_of("Peaks", "large"): {"k0": 471.7, "k1": -191.5, "k2": -0.0719},
            }
        },
    ),
    Scene(
        "NetworkOverhead",
        nodes={
            "small": {**PAIR["small"], "labels": {REGION: "east"}},
            "large": {**PAIR["large"], "labels": {REGION: "west"}},
        },
        objects=[SHOP, NETWORK],
        residents={"store": {"node": "small", **_app("store")}},
        pods={"web": {**WEB["web"], **_app("web")}},
    ),
    Scene(
        "TopologicalSort",
        **ONE_PLACE,
        objects=[SHOP],
        pods={"store": _app("store"), "web": _app("web")},
        on={"web": "one", "store": f"{WAITS}1 Too many pods"},
        off={"store": "one", "web": f"{WAITS}1 Too many pods"},
    ),
    _score(
        "SySched",
        args={"defaultProfileNamespace": NAMESPACE, "defaultProfileName": "tools"},
        objects=[_calls("web", "read", "write"), _calls("tools", "bpf", "mount", "ptrace", "reboot", "setns")],
        residents={"proxy": {"node": "small", **_confined("web")}, "tool": {"node": "large", **_confined("tools")}},
        pods={"web": {**WEB["web"], **_confined("web")}},
    ),
    _score(
        "NodeMetadata",
        args={
            "metadataKey": "example.com/rank",
            "metadataSource": "Label",
            "metadataType": "Number",
            "scoringStrategy": "Highest",
        },
        nodes={
            "small": {**PAIR["small"], "labels": {"example.com/rank": "2"}},
            "large": {**PAIR["large"], "labels": {"example.com/rank": "1"}},
        },
    ),
    _score("PodState", residents={"old": {"node": "small", "held": True}}, leaving=["old"]),
    Scene(
        "QOSSort",
        **ONE_PLACE,
        pods={"any": {}, "bank": {"cpu": 1, "memory": "1Gi", "limits": {"cpu": 1, "memory": "1Gi"}}},
        on={"bank": "one", "any": f"{WAITS}1 Too many pods"},
        off={"any": "one", "bank": f"{WAITS}1 Too many pods"},
    ),
    Scene(
        "CrossNodePreemption",
        args={"maxSeconds": 30},
        nodes={short: {"labels": {"topology.kubernetes.io/zone": "scene-zone"}} for short in ("a", "b")},
        objects=[_class("scene-important", 100)],
        residents={f"web-{short}": {"node": short, "labels": {"app": "web"}} for short in ("a", "b")},
        pods={
            "control": {
                "priority_class": "scene-important",
                "affinity": NOT_BOTH_WEBS,
                "node_selector": {"kubernetes.io/hostname": node_of("CrossNodePreemption", "a")},
            }
        },
        on={"web-a": GONE, "web-b": GONE, "control": "a"},
        off={"web-a": "a", "web-b": "b", "control": f"{WAITS}1 node(s) didn't match pod anti-affinity rules"},
    ),
    Scene(
        "Priority",
        args={"labelKey": "example.com/priority"},
        nodes={"small": {**PAIR["small"], "labels": {"example.com/priority": "1"}}, "large": PAIR["large"]},
    ),
    # The last digits of the sums of the bytes of these names are 0 and 1.
    _score("ScoreByNameLength", nodes={"a": PAIR["large"], "b": PAIR["small"]}, on={"web": "b"}, off={"web": "a"}),
    _score(
        "Sticky",
        objects=[_object("v1", "ConfigMap", "owner")],
        residents={"before": {"node": "small", "owner": OWNER}},
        leaving=["before"],
        pods={"web": {**WEB["web"], "owner": OWNER}},
    ),
)
