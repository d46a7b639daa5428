"""The shapes of a cluster's pods, that is what they request and where they may go, each as one more such pod."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pilotage.kinds.decoding import Undecodable, decode, without_nulls
from pilotage.model.gangs import GROUP_LABEL, MIN_LABEL, NAME_LABEL
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod, PodObject
from pilotage.offline.what_if.owners import is_of_its_node

Manifest = dict[str, Any]

# Labels with a value of their own for each pod, and those of gangs, which would wait for more than one pod.
OF_ONE_POD = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
        GROUP_LABEL,
        MIN_LABEL,
        NAME_LABEL,
    }
)
USUAL_TOLERATIONS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")  # that the API server adds


@dataclass
class SeenShape:
    """Pods of one namespace with the same requests and constraints."""

    pod: Pod  # one more of them, without a node, a group, gates and claims of volumes
    example: str  # namespace/name
    pods: int = 0  # finished ones, too
    waiting: int = 0
    newest: str = ""  # when the last one was created

    @property
    def manifest(self) -> Manifest:
        """Return the manifest of one more such pod."""
        # By way of JSON, which knows no tuples.
        found: Manifest = msgspec.json.decode(msgspec.json.encode(PodObject(self.pod.metadata, self.pod.spec)))
        return {"apiVersion": "v1", "kind": "Pod", **without_nulls({key: found[key] for key in ("metadata", "spec")})}

    @property
    def constraints(self) -> list[str]:
        """Return in a few words what else limits the choice of nodes."""
        return list(_constraints(self.pod))


def seen_shapes(manifests: Iterable[Mapping[str, Any]], most: int) -> list[SeenShape]:
    """Return the most frequent shapes; of equally frequent ones, the newest."""
    found: dict[tuple[object, ...], SeenShape] = {}
    for manifest in manifests:
        try:
            pod = decode(manifest, PodObject)
        except Undecodable:
            continue  # schedulers cannot read it, either
        assert isinstance(pod, Pod)
        if is_of_its_node(pod):
            continue  # there is one on each node, and never another one
        more = _one_more(pod)
        shape = found.setdefault(_key(more), SeenShape(more, pod.key))
        shape.pods += 1
        shape.waiting += not (pod.node_name or pod.is_finished or pod.is_terminating)
        shape.newest = max(shape.newest, str(manifest["metadata"].get("creationTimestamp") or ""))
    ranked = sorted(found.values(), key=lambda each: each.newest, reverse=True)
    return sorted(ranked, key=lambda each: -each.pods)[:most]


def _key(pod: Pod) -> tuple[object, ...]:
    """Return what pods of one shape have in common; labels matter only with pod affinity or topology spread."""
    spec = pod.spec
    affinity = spec.affinity
    by_labels = spec.topology_spread_constraints or (affinity and (affinity.pod_affinity or affinity.pod_anti_affinity))
    labels = frozenset(pod.labels.items()) if by_labels else frozenset[tuple[str, str]]()
    return pod.namespace, pod.scheduler_name, pod.priority, pod.shape.key, labels


def _one_more(pod: Pod) -> Pod:
    volumes = tuple(
        each
        for each in pod.spec.volumes
        if each.has_known_source and each.persistent_volume_claim is None and each.ephemeral is None
    )
    spec = msgspec.structs.replace(
        pod.spec,
        node_name="",
        scheduling_gates=(),
        scheduling_group=None,
        volumes=volumes,
        ephemeral_containers=(),
        containers=_plain(pod.spec.containers),
        init_containers=_plain(pod.spec.init_containers),
    )
    labels = {key: value for key, value in pod.labels.items() if key not in OF_ONE_POD}
    return Pod(PodObject(Metadata(pod.name, pod.namespace, labels=labels), spec))


def _plain(containers: Sequence[Any]) -> tuple[Any, ...]:
    """Return containers without what does not affect the choice of nodes: names and images."""
    numbered = enumerate(containers, start=1)
    return tuple(msgspec.structs.replace(each, name=f"c{number}", image="") for number, each in numbered)


def _constraints(pod: Pod) -> Iterator[str]:
    spec, affinity = pod.spec, pod.spec.affinity
    if spec.node_selector:
        yield ", ".join(f"{key}={value}" for key, value in sorted(spec.node_selector.items()))
    if affinity is not None and affinity.node_affinity is not None and affinity.node_affinity.required is not None:
        yield "node affinity"
    if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
        yield "pod affinity"
    if any(each.key not in USUAL_TOLERATIONS for each in spec.tolerations):
        yield "tolerations"
    if spec.topology_spread_constraints:
        yield "topology spread"
    if pod.shape.host_ports:
        yield "host ports"
