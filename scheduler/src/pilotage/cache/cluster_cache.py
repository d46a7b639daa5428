"""What the cluster looks like now: nodes, the pods on them, and the places that were just given away.

absent ── assume ──> assumed ── add (the API server confirms) ──> added
  ^                     │  forget (the bind failed)                 │
  └─────────────────────┴────────────── remove ─────────────────────┘
"""

import logging
from collections.abc import Callable

from pilotage.cache.node_columns import NodeColumns
from pilotage.cache.object_store import ObjectStore
from pilotage.cache.placed_pods import PlacedPods
from pilotage.framework.nodes import NodeInfo, Nodes
from pilotage.framework.plugin import FollowsPods
from pilotage.model.node import Node
from pilotage.model.pod import Pod

log = logging.getLogger(__name__)


class AlreadyPlaced(Exception):
    """A pod cannot be given a place because it has one."""


class ClusterCache:
    """Nodes and placed pods; an assumed pod counts like any other until it is confirmed or forgotten."""

    def __init__(self) -> None:
        self.objects = ObjectStore()
        self.columns = NodeColumns()
        self.placed = PlacedPods(self.columns.columns, self.columns.infos, self.objects)
        self._pods: dict[str, Pod] = {}  # by uid, each as it was counted
        self._assumed: set[str] = set()
        self._homeless: dict[str, dict[str, Pod]] = {}  # pods on nodes that are not there, by node and uid
        self._all: tuple[int, Nodes] | None = None
        self._followers: list[FollowsPods] = []

    def follow(self, plugin: FollowsPods) -> None:
        """Tell a plugin of all pods that are placed, now and from now on."""
        self._followers.append(plugin)
        for pod in self._pods.values():
            _told(plugin.pod_placed, pod)

    def unfollow(self, plugin: FollowsPods) -> None:
        """Tell a plugin no more."""
        self._followers = [each for each in self._followers if each is not plugin]

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
        return self._pods.get(uid)

    def pods(self) -> list[Pod]:
        """Return all placed pods."""
        return list(self._pods.values())

    def is_assumed(self, uid: str) -> bool:
        """Tell whether a pod has a place that the API server has not confirmed yet."""
        return uid in self._assumed

    def sizes(self) -> dict[str, int]:
        """Return how much there is, by kind."""
        return {"nodes": len(self.columns.infos), "pods": len(self._pods), "assumed_pods": len(self._assumed)}

    def put_node(self, node: Node) -> Node | None:
        """Add a node or take over its new object; returns the old one."""
        info = self.find_node(node.name)
        if info is not None:
            old = info.node
            self.columns.update_node(info, node)
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
        self.columns.remove_node(info)

    def assume(self, pod: Pod) -> None:
        """Give a place away: the pod, which names its node, counts from now on."""
        if pod.uid in self._pods:
            raise AlreadyPlaced(f"pod {pod.uid}({pod.key}) is in the cache, so can't be assumed")
        self._place(pod)
        self._assumed.add(pod.uid)

    def forget(self, uid: str) -> Pod | None:
        """Take an assumed pod's place back; a pod that is not assumed stays."""
        return self._displace(uid) if uid in self._assumed else None

    def put_pod(self, pod: Pod) -> Pod | None:
        """Add a bound pod, confirm an assumed one, or take over a new object; returns the old one."""
        known = self._pods.get(pod.uid)
        if known is not None and _counts_the_same(known, pod):
            self._swap(pod)
            return known
        old = self._displace(pod.uid)
        self._place(pod)
        return old

    def remove_pod(self, uid: str) -> Pod | None:
        """Forget a pod; returns it as it was counted."""
        return self._displace(uid)

    def _swap(self, pod: Pod) -> None:
        """Take over a new object of a pod that leaves all counts as they are: most news about pods are like that."""
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


def _told(tell: Callable[[Pod], None], pod: Pod) -> None:
    try:
        tell(pod)
    except Exception:  # one plugin must not keep the others, or the cache, from what is true
        log.exception("%s failed on pod %s", tell.__qualname__, pod.key)


def _counts_the_same(one: Pod, other: Pod) -> bool:
    """Tell whether nobody who asks about the pods on a node would get another answer."""
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
