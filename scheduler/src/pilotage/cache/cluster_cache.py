"""The current state of the cluster: nodes, the pods on them, and assumed pods.

absent ── assume ──> assumed ── add (the API server confirms) ──> added
  ^                     │  forget (the bind failed)                 │
  └─────────────────────┴────────────── remove ─────────────────────┘

A placed pod can be hidden as if it were deleted; updates meanwhile take effect when it is shown again.
"""

import logging
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TypeVar

from pilotage.cache.node_columns import NodeColumns
from pilotage.cache.node_holds import NodeHolds
from pilotage.cache.object_store import ObjectStore
from pilotage.cache.placed_pods import PlacedPods
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import FollowsPods
from pilotage.model.excess import has_too_many_terms
from pilotage.model.node import Node
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)

Given = TypeVar("Given")


class AlreadyPlaced(Exception):
    """A pod cannot be assumed because it already has a node."""


class ClusterCache:
    """Nodes and placed pods; an assumed pod counts like any other until it is confirmed or forgotten."""

    def __init__(self, *, tells_later: bool = False) -> None:
        self.objects = ObjectStore()
        self.columns = NodeColumns()
        self.placed = PlacedPods(self.columns.columns, self.columns.infos, self.objects)
        self._pods: dict[str, Pod] = {}  # by uid, each as counted
        self._assumed: set[str] = set()
        self.holds = NodeHolds()
        # Usage on nodes that no pod in the cache explains, by node, source and resource.
        self._beliefs: dict[str, dict[Hashable, dict[str, int]]] = {}
        self._hidden: dict[str, Pod] = {}  # by uid, each as it will be counted again
        self._homeless: dict[str, dict[str, Pod]] = {}  # pods on nodes that do not exist, by node and uid
        self._all: tuple[int, Nodes] | None = None
        self._followers: list[FollowsPods] = []
        self._tells_later = tells_later  # a new follower about the pods that are placed already, in `catch_up`
        self._behind: list[FollowsPods] = []

    def follow(self, plugin: FollowsPods) -> None:
        """Notify a plugin of all placed pods, existing and future ones."""
        self._followers.append(plugin)
        self._behind.append(plugin)
        if not self._tells_later:
            for _ in self.catch_up():
                pass

    def catch_up(self) -> Iterator[None]:
        """Notify new followers of the pods that are placed already, step by step; nothing may change in between."""
        behind, self._behind = self._behind, []
        for plugin in behind:
            for pod in list(self._pods.values()):
                _told(plugin.pod_placed, pod)
                yield

    def unfollow(self, plugin: FollowsPods) -> None:
        """Stop notifying a plugin."""
        self._followers = [each for each in self._followers if each is not plugin]
        self._behind = [each for each in self._behind if each is not plugin]

    def unheard(self, change: Callable[[Given], object], given: Given) -> None:
        """Make a change without notifying any plugin: it will be taken back in the same way, in the same step."""
        followers, self._followers = self._followers, []
        try:
            change(given)
        finally:
            self._followers = followers

    def nodes(self) -> Nodes:
        """Return all nodes."""
        count = len(self.columns.infos)
        if self._all is None or self._all[0] != count:
            self._all = count, Nodes(self.columns)
        return self._all[1]

    def find_node(self, name: str) -> NodeInfo | None:
        """Return a node by its name."""
        slot = self.columns.slot(name)
        return None if slot is None else self.columns.infos[slot]

    def find_pod(self, uid: str) -> Pod | None:
        """Return a placed pod."""
        return self._pods.get(uid) or self._hidden.get(uid)

    def pods(self) -> list[Pod]:
        """Return all placed pods."""
        return [*self._pods.values(), *self._hidden.values()]

    def is_assumed(self, uid: str) -> bool:
        """Return whether a pod is assumed: the API server has not confirmed its node yet."""
        return uid in self._assumed

    def sizes(self) -> dict[str, int]:
        """Return the number of objects by kind."""
        return {
            "nodes": len(self.columns.infos),
            "pods": len(self._pods) + len(self._hidden),
            "assumed_pods": len(self._assumed),
        }

    def put_node(self, node: Node) -> Node | None:
        """Add or update a node; returns the old object."""
        info = self.find_node(node.name)
        if info is not None:
            old = info.node
            moving = _carrying_by_labels(info) if old.labels.keys() != node.labels.keys() else ()
            for pod in moving:
                self.placed.remove(info, pod)
            self.columns.update_node(info, node)
            for pod in moving:
                self.placed.add(info, pod)
            return old
        info = self.columns.add_node(node)
        for pod in self._homeless.pop(node.name, {}).values():
            self._count_in(info, pod)
        return None

    def remove_node(self, name: str) -> None:
        """Forget a node; its pods are kept in case it comes back."""
        info = self.find_node(name)
        if info is None:
            return
        for pod in list(info.pods.values()):
            self._count_out(info, pod)
            self._homeless.setdefault(name, {})[pod.uid] = pod
        self._beliefs.pop(name, None)
        self.columns.remove_node(info)

    def believed(self, name: str) -> Mapping[str, int]:
        """Return the usage on a node that no pod in the cache explains."""
        total: Counter[str] = Counter()
        for amounts in self._beliefs.get(name, {}).values():
            total.update(amounts)
        return total

    def beliefs(self) -> dict[str, Mapping[str, int]]:
        """Return the same for all nodes that have such usage."""
        return {name: self.believed(name) for name in self._beliefs}

    def believe(self, name: str, source: Hashable, amounts: Mapping[str, int]) -> None:
        """Count amounts as used on a node although no pod in the cache uses them; replaces those of its source."""
        info, known = self.find_node(name), self._beliefs.get(name, {})
        if info is None:
            return
        if before := known.pop(source, None):
            self.columns.take(info, before, -1)
        if now := {resource: amount for resource, amount in amounts.items() if amount > 0}:
            known[source] = now
            self.columns.take(info, now)
        if known:
            self._beliefs[name] = known
        else:
            self._beliefs.pop(name, None)

    def assume(self, pod: Pod) -> None:
        """Assume a pod on the node that it names: it counts from now on."""
        if pod.uid in self._pods or pod.uid in self._hidden:
            raise AlreadyPlaced(f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed")
        self._place(pod)
        self._assumed.add(pod.uid)

    def forget(self, uid: str) -> Pod | None:
        """Forget an assumed pod; other pods stay."""
        return self.remove_pod(uid) if uid in self._assumed else None

    def put_pod(self, pod: Pod) -> Pod | None:
        """Add a bound pod, confirm an assumed one, or update one; returns the old object."""
        if pod.uid in self._hidden:
            self._assumed.discard(pod.uid)
            hidden, self._hidden[pod.uid] = self._hidden[pod.uid], pod
            return hidden
        known = self._pods.get(pod.uid)
        if known is not None and _counts_the_same(known, pod):
            self._swap(pod)
            return known
        old = self._displace(pod.uid)
        self._place(pod)
        return old

    def remove_pod(self, uid: str) -> Pod | None:
        """Forget a pod, and return it as it was counted."""
        if uid in self._hidden:
            self._assumed.discard(uid)
            return self._hidden.pop(uid)
        return self._displace(uid)

    def hide(self, uid: str) -> None:
        """Hide a placed pod, as if it had been deleted."""
        is_assumed = uid in self._assumed
        pod = self._displace(uid)
        if pod is not None:
            self._hidden[uid] = pod
        if is_assumed:
            self._assumed.add(uid)

    def show(self, uid: str) -> None:
        """Show a hidden pod again in its current state, unless it was deleted meanwhile."""
        pod = self._hidden.pop(uid, None)
        if pod is not None:
            self._place(pod)

    def _swap(self, pod: Pod) -> None:
        """Update a pod without changing any counts: most pod updates are like that."""
        self._pods[pod.uid] = pod
        self._assumed.discard(pod.uid)
        info = self.find_node(pod.node_name)
        (self._homeless[pod.node_name] if info is None else info.pods)[pod.uid] = pod

    def _place(self, pod: Pod) -> None:
        self._pods[pod.uid] = pod
        for plugin in self._followers:
            _told(plugin.pod_placed, pod)
        info = self.find_node(pod.node_name)
        if info is None:
            self._homeless.setdefault(pod.node_name, {})[pod.uid] = pod
        else:
            self._count_in(info, pod)

    def _displace(self, uid: str) -> Pod | None:
        pod = self._pods.pop(uid, None)
        if pod is None:
            return None
        self._assumed.discard(uid)
        for plugin in self._followers:
            _told(plugin.pod_left, pod)
        info = self.find_node(pod.node_name)
        if info is not None:
            self._count_out(info, pod)
            return pod
        homeless = self._homeless[pod.node_name]
        del homeless[uid]
        if not homeless:
            del self._homeless[pod.node_name]
        return pod

    def _count_in(self, info: NodeInfo, pod: Pod) -> None:
        self.columns.add_pod(info, pod)
        self.placed.add(info, pod)

    def _count_out(self, info: NodeInfo, pod: Pod) -> None:
        self.placed.remove(info, pod)
        self.columns.remove_pod(info, pod)


def _carrying_by_labels(info: NodeInfo) -> list[Pod]:
    """Return the pods with so many terms that only those with a topology key of the node are considered."""
    return [pod for pod in info.pods.values() if pod.shape.spec.affinity and has_too_many_terms(pod.shape)]


def _told(tell: Callable[[Pod], None], pod: Pod) -> None:
    try:
        tell(pod)
    except Exception:  # a failing plugin must not affect other plugins or the cache
        log.exception("%s failed on pod %s", tell.__qualname__, pod.key)


def _counts_the_same(one: Pod, other: Pod) -> bool:
    """Return whether an update changes nothing that is counted on the node."""
    return (
        one.node_name == other.node_name
        and one.namespace == other.namespace
        and one.shape is other.shape
        and one.labels == other.labels
        and one.priority == other.priority
        and one.is_terminating == other.is_terminating
        and one.status.phase == other.status.phase
        and one.annotations == other.annotations
        and one.usage == other.usage
        and one.nonzero_usage == other.nonzero_usage
    )
