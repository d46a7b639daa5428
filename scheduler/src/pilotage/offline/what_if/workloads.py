"""What controllers create from a manifest: a model pod, the number of pods, and related objects."""

import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pilotage.offline.what_if.misspelt import misspelt
from pilotage.offline.what_if.owners import HASH, TEMPLATE_HASH

Manifest = dict[str, Any]

# Tolerations that the DaemonSet controller adds to its pods.
EVERYWHERE = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
OF_NODES = "node.kubernetes.io/network-unavailable"
INDEX_LABELS = {
    "StatefulSet": ("statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"),
    "Job": ("", "batch.kubernetes.io/job-completion-index"),
}
OF_A_SERVER = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "ownerReferences")


class Unusable(Exception):
    """A manifest that cannot create pods; the text says where and why."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


@dataclass
class Workload:
    """One owner, and the pods that it creates."""

    title: str  # Deployment shop/web
    pod: Manifest  # the model of all pods
    count: int = 1
    others: list[Manifest] = field(default_factory=list)  # that plugins read
    index_labels: tuple[str, str] = ("", "")  # for the name and for the number of each pod
    claims: list[Manifest] = field(default_factory=list)  # templates, of which each pod has its own
    on_every_node: bool = False


def workload_of(manifest: Manifest) -> Workload | None:
    """Return what a manifest creates; None if it creates no pods."""
    make = _MAKERS.get((_group(manifest), str(manifest.get("kind"))))
    if make is None:
        return None
    if (found := misspelt(manifest)) is not None:
        path, meant = found
        raise Unusable(path, f"unknown field; did you mean {meant}?")
    return make(manifest)


def _pod(manifest: Manifest) -> Workload:
    """Return a pod as in a manifest, even if it was copied from a cluster."""
    pod = deepcopy(manifest)
    metadata, spec = _map(pod, "metadata"), _map(pod, "spec")
    for field_ in OF_A_SERVER:
        metadata.pop(field_, None)
    pod.pop("status", None)
    spec.pop("nodeName", None)
    prefix = metadata.pop("generateName", None)
    if prefix and not metadata.get("name"):
        metadata["name"] = str(prefix).rstrip("-")
    return Workload(f"Pod {_key(manifest)}", pod)


def _deployment(manifest: Manifest) -> Workload:
    name, spec = f"{_name(manifest)}-{HASH}", _map(manifest, "spec")
    pod = _from_template(manifest, _map(spec, "template"), ("apps/v1", "ReplicaSet", name), {TEMPLATE_HASH: HASH})
    selector = deepcopy(_map(spec, "selector"))
    selector["matchLabels"] = {**_map(selector, "matchLabels"), TEMPLATE_HASH: HASH}
    replica_set = _around(manifest, "apps/v1", "ReplicaSet", name, {"selector": selector})
    return Workload(f"Deployment {_key(manifest)}", pod, _number(manifest, "replicas"), [replica_set])


def _replicas(manifest: Manifest) -> Workload:
    kind, name, spec = str(manifest["kind"]), _name(manifest), _map(manifest, "spec")
    owner = str(manifest["apiVersion"]), kind, name
    pod = _from_template(manifest, _map(spec, "template"), owner)
    made = _around(manifest, owner[0], kind, name, {"selector": deepcopy(spec.get("selector"))})
    claims = [each for each in spec.get("volumeClaimTemplates") or () if isinstance(each, dict)]
    labels = INDEX_LABELS.get(kind, ("", ""))
    return Workload(f"{kind} {_key(manifest)}", pod, _number(manifest, "replicas"), [made], labels, claims)


def _job(manifest: Manifest) -> Workload:
    spec, name = _map(manifest, "spec"), _name(manifest)
    at_once = _number(manifest, "parallelism")
    if spec.get("completions") is not None:
        at_once = min(at_once, _number(manifest, "completions"))
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    pod = _from_template(manifest, _map(spec, "template"), ("batch/v1", "Job", name), labels)
    is_indexed = spec.get("completionMode") == "Indexed"
    index = INDEX_LABELS["Job"] if is_indexed else ("", "")
    return Workload(f"Job {_key(manifest)}", pod, at_once, index_labels=index)


def _cron_job(manifest: Manifest) -> Workload:
    template = _map(_map(manifest, "spec"), "jobTemplate")
    run = {"apiVersion": "batch/v1", "kind": "Job", "metadata": manifest["metadata"], "spec": _map(template, "spec")}
    made = _job(run)
    made.title = f"CronJob {_key(manifest)}"
    return made


def _daemon_set(manifest: Manifest) -> Workload:
    name, template = _name(manifest), _map(_map(manifest, "spec"), "template")
    pod = _from_template(manifest, template, ("apps/v1", "DaemonSet", name))
    spec = pod["spec"]
    added = [*EVERYWHERE, *([(OF_NODES, "NoSchedule")] if spec.get("hostNetwork") else [])]
    spec["tolerations"] = [
        *(spec.get("tolerations") or ()),
        *({"key": key, "operator": "Exists", "effect": effect} for key, effect in added),
    ]
    return Workload(f"DaemonSet {_key(manifest)}", pod, on_every_node=True)


def _from_template(
    manifest: Manifest, template: Manifest, owner: tuple[str, str, str], labels: Mapping[str, str] | None = None
) -> Manifest:
    if not template:
        raise Unusable("spec.template", "Required value: it says what the pods are like")
    version, kind, name = owner
    inside, namespace = _map(template, "metadata"), _namespace(manifest)
    reference = {"apiVersion": version, "kind": kind, "name": name, "controller": True}
    metadata = {
        "name": _name(manifest),
        "namespace": namespace,
        "labels": {**_map(inside, "labels"), **(labels or {})},
        "annotations": dict(_map(inside, "annotations")),
        "ownerReferences": [{**reference, "uid": f"{HASH}/{kind}/{namespace}/{name}"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": deepcopy(_map(template, "spec"))}


def _around(manifest: Manifest, version: str, kind: str, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name, "namespace": _namespace(manifest)}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _number(manifest: Manifest, name: str) -> int:
    found = _map(manifest, "spec").get(name, 1)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise Unusable(f"spec.{name}", f"this must be a whole number, not {found!r:.40}")
    return found


def _map(inside: Manifest, name: str) -> Manifest:
    found = inside.get(name)
    if found is None:
        found = inside[name] = {}
    if not isinstance(found, dict):
        raise Unusable(name, f"this must be a map, not {found!r:.40}")
    return found


def _name(manifest: Manifest) -> str:
    metadata = _map(manifest, "metadata")
    name = metadata.get("name") or str(metadata.get("generateName") or "").rstrip("-")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", name):
        raise Unusable("metadata.name", f"Required value: a name such as web-1, not {name!r:.40}")
    return name


def _namespace(manifest: Manifest) -> str:
    return str(_map(manifest, "metadata").get("namespace") or "default")


def _key(manifest: Manifest) -> str:
    return f"{_namespace(manifest)}/{_name(manifest)}"


def _group(manifest: Manifest) -> str:
    return str(manifest.get("apiVersion", "")).rpartition("/")[0]


_MAKERS: dict[tuple[str, str], Callable[[Manifest], Workload]] = {
    ("", "Pod"): _pod,
    ("", "ReplicationController"): _replicas,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _replicas,
    ("apps", "StatefulSet"): _replicas,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
}


def titles() -> Iterator[str]:
    """Yield the kinds that create pods."""
    yield from dict.fromkeys(kind for _, kind in _MAKERS)
