"""The pods of a request: each manifest becomes as many pods as its controller would create, copy by copy."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from pilotage.config.documents import Document
from pilotage.framework.api.node_matching import required_of
from pilotage.kinds.every import KNOWN, KindTable
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.pod_groups import NativePodGroup, PodGroup
from pilotage.kinds.storage import PersistentVolumeClaim
from pilotage.model.gangs import GROUP_LABEL, NAME_LABEL, GangName, gang_of
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodObject
from pilotage.model.pod_spec import Affinity, NodeAffinity, PodSpec, SchedulingGroup
from pilotage.model.selectors import NAME_FIELD, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from pilotage.model.tolerations import first_untolerated
from pilotage.model.volumes import ClaimSource, Volume
from pilotage.offline.manifest_entries import Found, take
from pilotage.offline.manifests import BadManifests, completed
from pilotage.offline.what_if.request import WrongRequest, too_many
from pilotage.offline.what_if.workloads import Manifest, Unusable, Workload, workload_of

GROUPS = (PodGroup, NativePodGroup)
ELSEWHERE = {"Node": "addNodes", "SchedulerProfile": "useProfile"}  # what changes these


@dataclass
class Kind:
    """Identical pods of one owner, ready to be copied."""

    title: str
    pod: Pod
    workload: Workload
    claims: list[PersistentVolumeClaim] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Return how many pods one copy has, not counting pods of which each node gets one."""
        return self.workload.count


@dataclass
class NewPods:
    """What a list of manifests contains."""

    kinds: list[Kind] = field(default_factory=list)
    objects: list[KubeObject] = field(default_factory=list)  # once, however many copies
    groups: list[KubeObject] = field(default_factory=list)  # of which each copy has its own
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def per_copy(self) -> int:
        """Return how many pods one copy has, not counting pods of which each node gets one."""
        return sum(kind.count for kind in self.kinds)


@dataclass(frozen=True)
class Arrival:
    """A new pod, its owner, and the objects that come with it."""

    pod: Pod
    title: str
    objects: tuple[KubeObject, ...] = ()


def read_new_pods(manifests: Sequence[Any], there: Iterable[KubeObject], table: KindTable = KNOWN) -> NewPods:
    """Read manifests as a cluster with these objects would accept them; WrongRequest says what is wrong."""
    problems: list[str] = []
    found, workloads = Found(table), dict[tuple[str, str], Workload]()
    for number, manifest in enumerate(manifests, start=1):
        try:
            documents = _documents(manifest, workloads)
        except Unusable as error:
            problems.append(f"manifest {number} ({_called(manifest)}): {error}")
        else:
            take([Document(each, number, "manifests", b"") for each in documents], found)
    found.problems += problems
    try:
        return _sorted_out(found, workloads, there)
    except BadManifests as error:
        raise WrongRequest(*error.problems) from None


def _sorted_out(found: Found, workloads: dict[tuple[str, str], Workload], there: Iterable[KubeObject]) -> NewPods:
    if found.profiles:
        found.problems.append(f"{found.profiles[0].place}: a SchedulerProfile is not a pod; use useProfile for it")
    made, new = completed(found, there), NewPods(left_out=found.left_out)
    claims = {each.metadata.name: each for each in made.objects if isinstance(each, PersistentVolumeClaim)}
    for each in made.objects:
        if isinstance(each, Node):
            raise WrongRequest(f"Node {each.name}: nodes are added by addNodes, with like or a template")
        if isinstance(each, Pod):
            workload = workloads[each.namespace, each.name]
            own = [claims[_template_name(workload, claim)] for claim in workload.claims]
            new.kinds.append(Kind(workload.title, each, workload, own))
        elif isinstance(each, GROUPS):
            new.groups.append(each)
        elif not (isinstance(each, PersistentVolumeClaim) and each.metadata.name.startswith(TEMPLATE)):
            new.objects.append(each)
    if not new.kinds:
        raise WrongRequest("the manifests contain no pods; give a Pod, a Deployment, a Job or the like")
    return new


TEMPLATE = "what-if-claim."


def _template_name(workload: Workload, claim: Manifest) -> str:
    return f"{TEMPLATE}{workload.pod['metadata']['name']}.{(claim.get('metadata') or {}).get('name', 'claim')}"


def _documents(manifest: Any, workloads: dict[tuple[str, str], Workload]) -> list[Any]:
    workload = workload_of(deepcopy(manifest)) if isinstance(manifest, dict) else None
    if workload is None:
        return [manifest]
    metadata = workload.pod["metadata"]
    namespace, name = str(metadata.get("namespace") or "default"), str(metadata.get("name") or "")
    while (namespace, name) in workloads:
        name = f"{name}-x"  # a Deployment and a Job may have one name, and each makes pods of its own
    metadata["name"] = name
    workloads[namespace, name] = workload
    claims = [_claim(workload, claim, namespace) for claim in workload.claims]
    return [workload.pod, *workload.others, *claims]


def _claim(workload: Workload, claim: Manifest, namespace: str) -> Manifest:
    metadata = {"name": _template_name(workload, claim), "namespace": namespace}
    spec = deepcopy(claim.get("spec") or {})
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def _called(manifest: Any) -> str:
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"{manifest.get('kind')} {name or 'without a name'}"


class Copies:
    """Creates the pods of one copy after the other."""

    def __init__(self, new: NewPods, is_taken: Callable[[str], bool], nodes: Callable[[], Collection[Node]]) -> None:
        self._new = new
        self._is_taken = is_taken  # whether a pod has this name already, as namespace/name
        self._nodes = nodes
        self._numbers: Counter[str] = Counter()  # by owner
        self._made = 0

    def next(self) -> Iterator[Arrival]:
        """Yield the pods of one more copy, with the objects that come with each."""
        self._made += 1
        first: tuple[KubeObject, ...] = (
            *(self._new.objects if self._made == 1 else ()),
            *(_copied_group(each, self._made) for each in self._new.groups),
        )
        for kind in self._new.kinds:
            pods = self._on_nodes(kind) if kind.workload.on_every_node else self._counted(kind)
            for arrival in pods:
                yield replace(arrival, objects=(*first, *arrival.objects))
                first = ()

    def _counted(self, kind: Kind) -> Iterator[Arrival]:
        for _ in range(kind.count):
            yield self._arrival(kind, kind.pod.spec)

    def _on_nodes(self, kind: Kind) -> Iterator[Arrival]:
        if self._made > 1:
            return  # one on each node, however many copies
        required, tolerated = required_of(kind.pod), kind.pod.shape.tolerated
        for node in self._nodes():
            if required.matches(node.labels, node.name) and first_untolerated(node.taints, tolerated) is None:
                yield self._arrival(kind, _only_on(kind.pod.spec, node.name))

    def _arrival(self, kind: Kind, spec: PodSpec) -> Arrival:
        number, labels = self._number(kind), dict(kind.pod.labels)
        name = self._name(kind, number)
        of_name, of_number = kind.workload.index_labels
        labels |= {of_name: name} if of_name else {}
        labels |= {of_number: str(number)} if of_number else {}
        metadata = msgspec.structs.replace(kind.pod.metadata, name=name, uid=f"{kind.pod.uid}/{number}", labels=labels)
        spec, claims = _with_claims(spec, kind.claims, name)
        pod = Pod(PodObject(metadata, spec, kind.pod.status))
        gang = gang_of(pod)
        if gang is not None and self._made > 1:
            pod = _in_group(pod, gang, self._made)
        return Arrival(pod, kind.title, claims)

    def _number(self, kind: Kind) -> int:
        """Return the next number of an owner's pods whose name is not in use."""
        starts_at_0 = any(kind.workload.index_labels)
        while True:
            number = self._numbers[kind.title] + (0 if starts_at_0 else 1)
            self._numbers[kind.title] += 1
            if not self._is_taken(f"{kind.pod.namespace}/{kind.pod.name}-{number}"):
                return number

    def _name(self, kind: Kind, number: int) -> str:
        # A pod without a controller keeps its name if there is only one of it.
        is_alone = kind.pod.metadata.controller is None and number == 1
        return kind.pod.name if is_alone and not self._is_taken(kind.pod.key) else f"{kind.pod.name}-{number}"


def _only_on(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec of a DaemonSet's pod for one node, as its controller writes it."""
    term = NodeSelectorTerm(match_fields=(NodeSelectorRequirement(NAME_FIELD, "In", (node,)),))
    affinity = spec.affinity or Affinity()
    of_nodes = msgspec.structs.replace(affinity.node_affinity or NodeAffinity(), required=NodeSelector((term,)))
    return msgspec.structs.replace(spec, affinity=msgspec.structs.replace(affinity, node_affinity=of_nodes))


def _with_claims(
    spec: PodSpec, claims: Sequence[PersistentVolumeClaim], pod: str
) -> tuple[PodSpec, tuple[KubeObject, ...]]:
    if not claims:
        return spec, ()
    made, volumes = [], list(spec.volumes)
    for claim in claims:
        template = claim.metadata.name.rpartition(".")[2]
        name = f"{template}-{pod}"
        metadata = msgspec.structs.replace(claim.metadata, name=name, uid=f"{claim.metadata.uid}/{pod}")
        made.append(msgspec.structs.replace(claim, metadata=metadata))
        volumes = [each for each in volumes if each.name != template]
        volumes.append(Volume(template, ClaimSource(name)))
    return msgspec.structs.replace(spec, volumes=tuple(volumes)), tuple(made)


def _copied_group(group: KubeObject, copy: int) -> KubeObject:
    if copy == 1:
        return group
    name = _of_copy(group.metadata.name, copy)
    metadata = msgspec.structs.replace(group.metadata, name=name, uid=f"{group.metadata.uid}/{copy}")
    return msgspec.structs.replace(group, metadata=metadata)


def _in_group(pod: Pod, gang: GangName, copy: int) -> Pod:
    """Return a pod of the same gang in another copy: each of them is a gang of its own."""
    name = _of_copy(gang.name, copy)
    if pod.spec.scheduling_group is not None and pod.spec.scheduling_group.pod_group_name:
        spec = msgspec.structs.replace(pod.spec, scheduling_group=SchedulingGroup(name))
        return Pod(PodObject(pod.metadata, spec, pod.status))
    label = GROUP_LABEL if pod.labels.get(GROUP_LABEL) else NAME_LABEL
    metadata = msgspec.structs.replace(pod.metadata, labels={**pod.labels, label: name})
    return Pod(PodObject(metadata, pod.spec, pod.status))


def _of_copy(name: str, copy: int) -> str:
    return f"{name}-copy-{copy}"


def check_number(new: NewPods, copies: int, most: int, nodes: int) -> None:
    """Refuse too many pods; WrongRequest says what to do."""
    pods = new.per_copy * copies + sum(nodes for kind in new.kinds if kind.workload.on_every_node)
    if pods > most:
        raise WrongRequest(f"{copies} copies of {new.per_copy} pods: {too_many(pods, most)}")
