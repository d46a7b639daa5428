"""What else a tenant may create: namespaces' labels, budgets, services, sets, quotas, and resources of plugins."""

from random import Random

from hostile.gang_shapes import full_nodes
from hostile.pod_shapes import HOSTILE
from hostile.shapes import Shape
from pilotage.testing import Manifest, pod_manifest


def _meta(name: str, **fields: object) -> Manifest:
    return {"name": name, "namespace": HOSTILE, **fields}


def _namespace(size: int, _random: Random) -> list[Manifest]:
    labels = {f"label-{i}": "v" for i in range(size)}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOSTILE, "labels": labels}}]


def _namespaces(size: int, _random: Random) -> list[Manifest]:
    spaces: list[Manifest] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"space-{i}", "labels": {"n": str(i)}}}
        for i in range(size)
    ]
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {},
        "labelSelector": {"matchLabels": {"a": "b"}},
    }
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    pods = [pod_manifest(f"apart-{i}", namespace=HOSTILE, cpu="10m", affinity=affinity) for i in range(50)]
    return [*spaces, *pods]


def _preemptors(count: int) -> list[Manifest]:
    wants = {"priority": 1000, "nodeSelector": {"pool": "full"}}
    return [pod_manifest(f"high-{i}", namespace=HOSTILE, cpu="8", spec=wants) for i in range(count)]


def _budget(name: str, requirements: int) -> Manifest:
    selector = {"matchExpressions": [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(requirements)]}
    spec = {"selector": selector, "minAvailable": 1}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _meta(name),
        "spec": spec,
        "status": {"disruptionsAllowed": 1, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
    }


def _budgets(size: int, _random: Random) -> list[Manifest]:
    return [*(_budget(f"b{i}", 50) for i in range(size)), *_preemptors(5)]


def _long_budget(size: int, _random: Random) -> list[Manifest]:
    return [_budget("long", size), *_preemptors(5)]


def _preempt(size: int, _random: Random) -> list[Manifest]:
    return _preemptors(size)


def _services(size: int, _random: Random) -> list[Manifest]:
    found: list[Manifest] = [
        {"apiVersion": "v1", "kind": "Service", "metadata": _meta(f"s{i}"), "spec": {"selector": {"app": "x"}}}
        for i in range(size)
    ]
    pods = [pod_manifest(f"served-{i}", namespace=HOSTILE, cpu="10m", labels={"app": "x"}) for i in range(50)]
    return [*found, *pods]


def _sets(size: int, _random: Random) -> list[Manifest]:
    selector = {"matchExpressions": [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(size)]}
    found = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": _meta("set"), "spec": {"selector": selector}}
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "set",
        "uid": f"ReplicaSet-{HOSTILE}-set",
        "controller": True,
    }
    pods = [pod_manifest(f"of-set-{i}", namespace=HOSTILE, cpu="10m", labels={"app": "x"}) for i in range(20)]
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    return [found, *pods]


def _quota(namespace: str, amounts: Manifest) -> Manifest:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": namespace},
        "spec": {"min": amounts, "max": amounts},
    }


def _long_quota(size: int, _random: Random) -> list[Manifest]:
    amounts = {"cpu": "8E", **{f"example.com/r{i}": "1" for i in range(size // 2)}}
    pods = [pod_manifest(f"counted-{i}", namespace=HOSTILE, cpu="10m") for i in range(20)]
    return [_quota(HOSTILE, amounts), *pods]


def _quotas(size: int, _random: Random) -> list[Manifest]:
    quotas = [_quota(f"space-{i}", {"cpu": "8E", "memory": "8Ei"}) for i in range(size)]
    pods = [pod_manifest(f"counted-{i}", namespace=f"space-{i % size}", cpu="10m") for i in range(50)]
    return [*quotas, *pods]


def _application(size: int, _random: Random) -> list[Manifest]:
    names = [
        {"kind": "Deployment", "apiVersion": "apps/v1", "namespace": HOSTILE, "name": f"w{i}", "selector": f"w{i}"}
        for i in range(size)
    ]
    workloads = [
        {
            "workload": names[i],
            "dependencies": [{"workload": names[(i + 1) % size], "minBandwidth": "1", "maxNetworkCost": 1}],
        }
        for i in range(size)
    ]
    group = {
        "apiVersion": "appgroup.diktyo.x-k8s.io/v1alpha1",
        "kind": "AppGroup",
        "metadata": _meta("app"),
        "spec": {"numMembers": size, "topologySortingAlgorithm": "KahnSort", "workloads": workloads},
    }
    labels = {"appgroup.diktyo.x-k8s.io": "app", "appgroup.diktyo.x-k8s.io.workload": "w0"}
    return [group, *(pod_manifest(f"of-app-{i}", namespace=HOSTILE, cpu="10m", labels=labels) for i in range(5))]


SHAPES = [
    Shape("namespace: labels", 40_000, _namespace),
    Shape("namespaces", 5_000, _namespaces),
    Shape("budgets, with preemption", 1_000, _budgets, full_nodes),
    Shape("budget: requirements, with preemption", 20_000, _long_budget, full_nodes),
    Shape("preemptors", 300, _preempt, full_nodes),
    Shape("services", 5_000, _services),
    Shape("set: requirements", 20_000, _sets),
    Shape("quota: resources", 20_000, _long_quota, plugins=("CapacityScheduling",)),
    Shape("quotas", 3_000, _quotas, plugins=("CapacityScheduling",)),
    Shape("application: workloads", 4_000, _application, plugins=("NetworkOverhead",)),
]
