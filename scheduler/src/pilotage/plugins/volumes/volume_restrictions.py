"""VolumeRestrictions: separates pods that cannot use the same disk at the same time."""

from collections.abc import Iterator

import numpy as np

from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import NODE_ADDED, Action, Event, Resource, Retry
from pilotage.framework.api.node_changes import freed, movable
from pilotage.framework.api.node_facts import NodeColumn
from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PreFilter
from pilotage.framework.api.remedies import Difference, PodNames, Remedy
from pilotage.framework.api.verdicts import SKIP, SKIP_SHAPE, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.kinds.pod_claims import named_claims, no_claim
from pilotage.kinds.storage import READ_WRITE_ONCE_POD, PersistentVolumeClaim
from pilotage.model.inline_disks import clash, exclusive_disks
from pilotage.model.pod import Pod
from pilotage.plugins.volumes._shared.unusable_claims import unusable_claims

MOST_NODES = 64  # on which the pods with a disk are looked up
MOST_USERS = 4  # of a claim that are named

DISK_TAKEN = Rejection("node(s) had no available disk")
CLAIM_TAKEN = Rejection(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


class _OncePerPod:
    """The ReadWriteOncePod claims of a pod, and the number of uses by other pods."""

    def __init__(self, claims: frozenset[str], uses: int) -> None:
        self.claims = claims
        self.uses = uses

    def clone(self) -> "_OncePerPod":
        return _OncePerPod(self.claims, self.uses)

    def count(self, other: Pod, sign: int) -> None:
        # By name alone, as in kube-scheduler: a claim of that name in another namespace counts too.
        self.uses += sign * sum(claim in self.claims for claim in named_claims(other))


class VolumeRestrictions(PreFilter, Filter):
    """Keep a pod off nodes where its disk is in use, and off all nodes while its ReadWriteOncePod claim is."""

    caching = Caching(CLUSTER)
    retry_on = (
        Retry(Resource.ASSIGNED_POD, Action.DELETE, "pod_deleted"),
        NODE_ADDED,
        Retry(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, "claim_added"),
    )
    reads = (PersistentVolumeClaim,)

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._disks = NodeColumn()

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Find ReadWriteOncePod claims that other pods use; skip pods without any and without disks."""
        if not pod.spec.volumes:
            return SKIP_SHAPE
        exclusive = set()
        for name in named_claims(pod):
            claim = cycle.objects.get(PersistentVolumeClaim, name, pod.namespace)
            if claim is None:
                return Rejection(no_claim(name), preemption_helps=False)
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                exclusive.add(name)
        uses = sum(cycle.placed.claim_users(pod.namespace, name) > 0 for name in exclusive)
        if not uses and not exclusive_disks(pod):
            return SKIP
        cycle.notes[self.name] = _OncePerPod(frozenset(exclusive), uses)
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Add the uses of another pod."""
        cycle.notes[self.name].count(other, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Remove the uses of another pod."""
        cycle.notes[self.name].count(other, -1)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node with a pod that uses the disk, and every node while another pod uses the claim."""
        if exclusive_disks(pod) and any(clash(pod, other) for other in node.pods.values()):
            return DISK_TAKEN
        return CLAIM_TAKEN if cycle.notes[self.name].uses > 0 else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes; only those with such disks are checked one by one."""
        claim_taken = np.full(len(nodes), cycle.notes[self.name].uses > 0)
        if not exclusive_disks(pod):
            return Verdicts.where(claim_taken, CLAIM_TAKEN)
        return Verdicts.first_of((self._disk_taken(cycle, pod, nodes), DISK_TAKEN), (claim_taken, CLAIM_TAKEN))

    def _disk_taken(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Bools:
        taken: Bools = nodes.at(self._disks.read(cycle.nodes, _disks_on)) > 0
        for place in np.flatnonzero(taken).tolist():
            taken[place] = any(clash(pod, other) for other in nodes[place].pods.values())
        return taken

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer that the pods leave that have the claim, or the disk on the node where they are fewest."""
        if self.name not in cycle.notes:
            yield from unusable_claims(pod, cycle.objects)
            return
        users = _users(cycle, pod, cycle.notes[self.name].claims)
        if users:
            yield _without_users(pod, users, nodes[0])
            return
        infos = [nodes[place] for place in range(min(MOST_NODES, len(nodes)))]
        holders = [(info, [other for other in info.pods.values() if clash(pod, other)]) for info in infos]
        movable_ones = [(info, pods) for info, pods in holders if pods and all(each in movable(info) for each in pods)]
        if movable_ones:
            yield freed(*min(movable_ones, key=lambda each: (len(each[1]), each[0].name)))

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return who has the claim."""
        users = _users(cycle, pod, cycle.notes[self.name].claims) if self.name in cycle.notes else []
        claims = sorted({name for user in users for name in named_claims(user)} & cycle.notes[self.name].claims)
        return f"claim {', '.join(claims)} is used by pod {', '.join(user.name for user in users)}" if users else ""

    def pod_deleted(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the deleted pod used a disk or claim of the pending one, in the same namespace."""
        if not isinstance(old, Pod):
            return True
        if old.namespace != pod.namespace:
            return False
        return clash(pod, old) or not set(named_claims(pod)).isdisjoint(named_claims(old))

    def claim_added(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return whether the pod names the new claim."""
        if not isinstance(new, PersistentVolumeClaim):
            return True
        return new.metadata.namespace == pod.namespace and new.metadata.name in named_claims(pod)


def _users(cycle: Cycle, pod: Pod, claims: frozenset[str]) -> list[Pod]:
    """Return the placed pods that use claims which only one pod may use; a few of them, if there are many."""
    found: dict[str, Pod] = {}
    for claim in sorted(claims):
        for info in cycle.placed.claim_nodes(pod.namespace, claim)[:MOST_USERS]:
            users = (other for other in info.pods.values() if other.namespace == pod.namespace)
            found |= {other.uid: other for other in users if claim in named_claims(other)}
    return list(found.values())[:MOST_USERS]


def _without_users(pod: Pod, users: list[Pod], node: NodeInfo) -> Remedy:
    """Return that other pods release the claims; they are the same owner's, as they are in the same namespace."""
    return Remedy(
        code="releaseClaim",
        actor="owner",
        words="delete {pods}: only one pod at a time can use the claim {claims}",
        values={
            "pods": PodNames(user.key for user in users),
            "claims": tuple(sorted({name for user in users for name in named_claims(user)} & set(named_claims(pod)))),
            "count": len(users),
        },
        size=1.0 + len(users),
        difference=Difference(leaving=tuple(users)),
        example=node.name,
    )


def _disks_on(node: NodeInfo) -> int:
    return sum(len(exclusive_disks(pod)) for pod in node.pods.values())
