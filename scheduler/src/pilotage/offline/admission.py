"""The defaulting of an API server for new objects; objects from a cluster have it already."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from pilotage.kinds.storage import BETA_STORAGE_CLASS, StorageClass
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.metadata import Metadata
from pilotage.model.pod import DEFAULT_SCHEDULER
from pilotage.model.pod_spec import Container, PodSpec
from pilotage.model.requests import container_totals, is_pod_level

Manifest: TypeAlias = dict[str, Any]

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
PREEMPT = "PreemptLowerPriority"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
DEFAULT_CLASS_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
# By default, every pod stays on a lost node for five minutes.
LOST_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
NO_EXECUTE = "NoExecute"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Refused(Exception):
    """An object that an API server would reject; the message says where, why, and how to fix it."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


def is_stored(manifest: Manifest) -> bool:
    """Return whether an object comes from an API server, which assigns every object a UID."""
    return bool(manifest.get("metadata", {}).get("uid"))


def complete_node(node: Manifest) -> None:
    """Default a node's allocatable amounts to its capacity."""
    status = node.get("status", {})
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = status["capacity"]


def complete_namespace(namespace: Manifest) -> None:
    """Set a namespace's name label."""
    metadata = namespace["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), NAMESPACE_LABEL: metadata["name"]}


class Admission:
    """Completes new pods and claims, given the existing classes."""

    def __init__(self, priorities: Iterable[PriorityClass], storage: Iterable[StorageClass]) -> None:
        given = [*(PriorityClass(Metadata(name), value) for name, value in SYSTEM_CLASSES.items()), *priorities]
        self._priorities = {each.metadata.name: each for each in given}
        defaults = sorted((each for each in given if each.global_default), key=lambda each: each.value)
        self._default_priority = defaults[0] if defaults else None
        self._default_storage = _default_class(storage)

    def complete_claim(self, claim: Manifest) -> None:
        """Set the default storage class of a claim without one."""
        annotations = claim.get("metadata", {}).get("annotations", {})
        spec = claim.setdefault("spec", {})
        if self._default_storage and BETA_STORAGE_CLASS not in annotations:
            spec.setdefault("storageClassName", self._default_storage)

    def complete_pod(self, pod: Manifest) -> None:
        """Set the defaults of a pod; Refused if it is invalid."""
        spec = pod.setdefault("spec", {})
        spec.setdefault("schedulerName", DEFAULT_SCHEDULER)
        for container in (*spec.get("containers", ()), *spec.get("initContainers", ())):
            _request_limits(container)
            _take_host_ports(container, host_network=spec.get("hostNetwork", False))
        _complete_pod_resources(spec)
        self._set_priority(spec)
        _tolerate_lost_nodes(spec)
        _merge_label_keys(spec.get("affinity", {}), pod["metadata"].get("labels", {}))

    def _set_priority(self, spec: Manifest) -> None:
        name, written = spec.get("priorityClassName"), spec.get("priority")
        found = self._priorities.get(name) if name else self._default_priority
        if name and found is None and written is None:
            known = ", ".join(self._priorities)
            problem = f"no PriorityClass with name {name} was found; add it to the files (there are: {known})"
            raise Refused("spec.priorityClassName", problem)
        if found is None:
            spec.setdefault("priority", 0)
            spec.setdefault("preemptionPolicy", PREEMPT)
            return
        if name and written not in (None, found.value):
            problem = f"the PriorityClass {name} has the value {found.value}, not {written}; leave spec.priority out"
            raise Refused("spec.priority", problem)
        spec.setdefault("priority", found.value)
        spec.setdefault("preemptionPolicy", found.preemption_policy or PREEMPT)


def _default_class(classes: Iterable[StorageClass]) -> str:
    """Return the name of the default storage class; the newest, if there are several."""
    marked = [
        each
        for each in classes
        if any(each.metadata.annotations.get(annotation) == "true" for annotation in DEFAULT_CLASS_ANNOTATIONS)
    ]
    marked.sort(key=lambda each: each.metadata.name)
    marked.sort(key=lambda each: each.metadata.creation_timestamp or "", reverse=True)
    return marked[0].metadata.name if marked else ""


def _request_limits(container: Manifest) -> None:
    """Default a container's requests to its limits."""
    resources = container.get("resources", {})
    if resources.get("limits"):
        resources["requests"] = resources["limits"] | resources.get("requests", {})


def _take_host_ports(container: Manifest, *, host_network: bool) -> None:
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if host_network and not port.get("hostPort"):
            port["hostPort"] = port.get("containerPort", 0)


def _complete_pod_resources(spec: Manifest) -> None:
    """Complete the pod-level resources, if there are any."""
    resources = spec.get("resources", {})
    if not resources.get("requests") and not resources.get("limits"):
        return
    requests, limits = dict(resources.get("requests", {})), dict(resources.get("limits", {}))
    decoded = msgspec.convert(spec, PodSpec)
    for name, amount in container_totals(decoded, _limits).items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, amount)
    for name, amount in container_totals(decoded, _requests).items():
        if is_pod_level(name) and not name.startswith("hugepages-"):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    spec["resources"] = {**resources, "requests": requests, "limits": limits}


def _requests(container: Container) -> dict[str, str | int | float]:
    return container.resources.requests


def _limits(container: Container) -> dict[str, str | int | float]:
    return container.resources.limits


def _tolerate_lost_nodes(spec: Manifest) -> None:
    given = spec.get("tolerations", [])
    added = [
        {"key": taint, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": 300}
        for taint in LOST_NODE_TAINTS
        if not any(each.get("key", "") in (taint, "") and each.get("effect", "") in (NO_EXECUTE, "") for each in given)
    ]
    spec["tolerations"] = [*given, *added]


def _merge_label_keys(affinity: Manifest, labels: dict[str, str]) -> None:
    """Write the label keys of pod affinity terms into their selectors, with the pod's own values."""
    for term in _affinity_terms(affinity):
        selector = term.get("labelSelector")
        if selector is None:
            continue  # it matches nothing anyway
        added = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in _keys(term, field)
            if key in labels
        ]
        if added:
            selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]


def _keys(term: Manifest, field: str) -> list[str]:
    keys = term.get(field, [])
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Refused(f"spec.affinity: {field}", f"this must be a list of label keys, not {keys!r:.40}")
    return keys


def _affinity_terms(affinity: Manifest) -> Iterator[Manifest]:
    for kind in ("podAffinity", "podAntiAffinity"):
        yield from affinity.get(kind, {}).get(REQUIRED, ())
        for weighed in affinity.get(kind, {}).get(PREFERRED, ()):
            yield weighed.get("podAffinityTerm", {})
