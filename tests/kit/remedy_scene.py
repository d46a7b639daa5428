"""A scene: a cluster, the pod `web` that waits in it, and what helps; with the manifests that scenes are made of."""

from dataclasses import dataclass
from typing import Any

from kit.remedy_world import Manifest
from pilotage.testing import node_manifest, pod_manifest

ZONE = "topology.kubernetes.io/zone"
WITH = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{plugins}]}}{more}}}
"""
QUOTAS = WITH.format(plugins="{name: CapacityScheduling}", more="")
GANGS = WITH.format(
    plugins="{name: Coscheduling}", more=", queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}"
)
PRIORITIES = WITH.format(plugins="{name: Priority}", more="")
ZONES = WITH.format(plugins="{name: NodeResourceTopologyMatch}", more="")


@dataclass(frozen=True)
class Scene:
    """A cluster, the pod `web` that waits in it, and what helps it most."""

    about: str
    objects: list[Manifest]
    web: dict[str, Any]
    first: str
    others: tuple[str, ...] = ()  # that must be among the rest
    config: str | None = None
    applied: str = ""  # the one that is applied on a control plane, if it is not the first
    live: str = "full"  # in which run it is played on a control plane: plain, full, or none where it cannot be


def node(name: str, **fields: Any) -> Manifest:
    return node_manifest(name, **{"fake": False, "cpu": "4", "memory": "8Gi", **fields})


def pod(name: str, on: str | None = None, **fields: Any) -> Manifest:
    metadata, priority = fields.pop("metadata", {}), fields.pop("priority", None)
    found = pod_manifest(name, node=on, **fields)
    found["metadata"] |= metadata
    if priority is not None:
        found["spec"]["priority"] = priority
    return found


def an_object(kind: str, group: str, name: str, namespace: str = "", **fields: Any) -> Manifest:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": f"{group}/v1alpha1", "kind": kind, "metadata": metadata, **fields}


def priority_class(name: str, value: int) -> Manifest:
    about = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
    return {**about, "value": value}


def gates(*names: str) -> Manifest:
    return {"schedulingGates": [{"name": name} for name in names]}


def spread(key: str, skew: int = 1) -> Manifest:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }


def required(affinity: str, key: str = "kubernetes.io/hostname", **labels: str) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {affinity: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
