"""Nodes nominated for pods that wait for their victims to terminate."""

from collections import deque
from collections.abc import Callable, KeysView
from itertools import islice

from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod, PodObject

Lookup = Callable[[str], Pod | None]  # by namespace/name

MOST_CHANGES = 4096  # kept; a reader that missed more reads all nominations


class Nominee:
    """A pod for which a node was nominated: its identity, not its requests."""

    __slots__ = ("_stub", "key", "name", "namespace", "uid")

    def __init__(self, pod: Pod) -> None:
        self.key, self.namespace, self.name, self.uid = pod.key, pod.namespace, pod.name, pod.uid
        self._stub: Pod | None = None

    @property
    def stub(self) -> Pod:
        """Return a pod with this identity, priority 0 and no requests."""
        if self._stub is None:
            self._stub = Pod(PodObject(Metadata(name=self.name, namespace=self.namespace, uid=self.uid)))
        return self._stub


class Nominator:
    """Which node is nominated for which pod; nominations by this process take precedence over the pod's status."""

    def __init__(self, queued: Lookup, known: Lookup | None = None) -> None:
        self._queued = queued
        self._known = known
        self._nominees: dict[str, dict[str, Nominee]] = {}  # by node and uid
        self._node_of: dict[str, str] = {}  # by uid
        self._changed: deque[str] = deque(maxlen=MOST_CHANGES)  # nodes, in the order of the changes
        self.version = 0  # the number of changes so far

    @property
    def nodes(self) -> KeysView[str]:
        """Return the names of the nominated nodes."""
        return self._nominees.keys()

    def changed_since(self, version: int) -> set[str] | None:
        """Return the nodes whose nominations changed since a version; None if it is too old."""
        count = self.version - version
        return None if count > len(self._changed) else set(islice(reversed(self._changed), count))

    def node_of(self, pod: Pod) -> str | None:
        """Return the node that is nominated for a pod."""
        return self._node_of.get(pod.uid)

    def add(self, pod: Pod, node: str | None = None) -> None:
        """Nominate a node for a pod: the given one ("" clears it), or the one in its status."""
        if pod.uid in self._node_of:
            self.delete(pod)
        node = pod.nominated_node if node is None else node
        if not node or self._is_gone(pod):
            return
        self._node_of[pod.uid] = node
        self._nominees.setdefault(node, {})[pod.uid] = Nominee(pod)
        self._note(node)

    def update(self, old: Pod, new: Pod) -> None:
        """Follow the pod's status, unless it never contained the nomination."""
        kept = None if old.nominated_node or new.nominated_node else self._node_of.get(old.uid)
        self.delete(old)
        self.add(new, kept)

    def delete(self, pod: Pod) -> None:
        """Clear the nomination, if there is one."""
        node = self._node_of.pop(pod.uid, None)
        if node is None:
            return
        nominees = self._nominees[node]
        del nominees[pod.uid]
        if not nominees:
            del self._nominees[node]
        self._note(node)

    def touch(self, pod: Pod) -> None:
        """Record that a pod's flight starts or ends; a pod in flight has no requests here."""
        node = self._node_of.get(pod.uid)
        if node is not None:
            self._note(node)

    def pods_for_node(self, node: str) -> list[Pod]:
        """Return the pods for which the node is nominated; those in flight have no requests, as in kube-scheduler."""
        nominees = self._nominees.get(node)
        return [] if nominees is None else [self._seen(nominee) for nominee in nominees.values()]

    def _note(self, node: str) -> None:
        self._changed.append(node)
        self.version += 1

    def _seen(self, nominee: Nominee) -> Pod:
        pod = self._queued(nominee.key)
        return nominee.stub if pod is None or pod.uid != nominee.uid else pod

    def _is_gone(self, pod: Pod) -> bool:
        if self._known is None:
            return False
        known = self._known(pod.key)
        return known is None or known.node_name != ""
