"""One attempt to place one pod: the state that plugins can read, and their notes."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from pilotage.framework.api.node_memory import NodeMemory
from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.pods import PlacedPods
from pilotage.framework.api.remit import EVERYTHING, Remit
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.model.pod import Pod


class Trial(Protocol):
    """A what-if on one node: removes pods, there or elsewhere, or adds them back, and runs the filters again."""

    info: NodeInfo

    @property
    def has_rules(self) -> bool:
        """Return whether any plugin restricts evictions."""

    def may_evict(self, pod: Pod) -> bool:
        """Return whether the profile and all its plugins allow the eviction of a pod in this what-if."""

    @property
    def spares_foreign(self) -> bool:
        """Return whether there are schedulers whose pods are never evicted for this one."""

    def is_foreign(self, pod: Pod) -> bool:
        """Return whether a pod belongs to another scheduler and is never evicted for this one."""

    def remove(self, pod: Pod) -> None:
        """Pretend that a pod is not on the node, or not on the node that it names."""

    def add(self, pod: Pod) -> None:
        """Pretend that a pod is on the node."""

    def verdict(self) -> Rejection | None:
        """Return why the pod of the cycle would still not fit, or None; nominated pods count as placed."""


class Cycle:
    """The pod, the current cluster, and the notes of plugins, which end with the cycle."""

    __slots__ = (
        "_nominated",
        "_nominated_nodes",
        "_trial",
        "again_at",
        "memory",
        "nodes",
        "nominated_for_others",
        "notes",
        "objects",
        "own_nomination",
        "placed",
        "pod",
        "remit",
    )

    def __init__(
        self,
        pod: Pod,
        nodes: Nodes,
        placed: PlacedPods,
        objects: Objects,
        *,
        nominated: Callable[[str], Sequence[Pod]] = lambda _: (),
        nominated_nodes: Callable[[], Collection[str]] | None = None,
        trial: Callable[["Cycle", NodeInfo], Trial] | None = None,
        remit: Remit = EVERYTHING,
    ) -> None:
        self.pod = pod
        self.remit = remit  # the objects that the profile may change
        self.nodes = nodes  # all of them
        self.placed = placed
        self.objects = objects
        # Cached results about nodes for pods like this one; None if results depend on more than the node, its pods
        # and the pods for which it is nominated.
        self.memory: NodeMemory | None = None
        self.own_nomination = -1  # the slot of the node nominated for this pod; for other pods it is taken
        self.nominated_for_others: Bools | None = None  # by slot: a mask of nodes nominated for others
        self.notes: dict[str, Any] = {}  # by plugin name: state that pre_filter and pre_score keep
        self.again_at: float | None = None  # when the pod is retried, should this attempt fail
        self._nominated = nominated
        self._nominated_nodes = nominated_nodes
        self._trial = trial

    @property
    def node_count(self) -> int:
        """Return how many of the nodes belong to the profile."""
        return self.remit.count(self.nodes)

    def try_again_at(self, moment: float) -> None:
        """Request a retry at a time, in wall-clock seconds, even without an event; the earliest one counts."""
        self.again_at = moment if self.again_at is None else min(self.again_at, moment)

    def nominated(self, node: str) -> Sequence[Pod]:
        """Return the pending pods for which a node is nominated."""
        return self._nominated(node)

    def nominated_at_or_above(self, node: str) -> list[Pod]:
        """Return the pending pods of at least the same priority for which a node is nominated."""
        pod = self.pod
        return [other for other in self._nominated(node) if other.priority >= pod.priority and other.uid != pod.uid]

    def recall(self, what: str, slot: int) -> Any:
        """Return what was remembered about a node for a pod like this one, or None."""
        if self.memory is None or slot == self.own_nomination:
            return None
        return self.memory.recall(what, slot, self.pod.priority)

    def remember(self, what: str, slot: int, found: Any) -> None:
        """Remember a result about a node for pods like this one, if possible."""
        if self.memory is not None and slot != self.own_nomination:
            self.memory.remember(what, slot, self.pod.priority, found)

    def nominated_nodes(self) -> Collection[str]:
        """Return the names of the nodes that are nominated for any pending pod."""
        if self._nominated_nodes is not None:
            return self._nominated_nodes()
        return [node.name for node in self.nodes if self._nominated(node.name)]

    def try_on(self, info: NodeInfo) -> Trial:
        """Start a what-if on a node; nothing outside of it changes."""
        if self._trial is None:
            raise RuntimeError("this cycle was created without filters")
        return self._trial(self, info)

    def what_if(self) -> "Cycle":
        """Return a copy with notes of its own; a note with a `clone` method is cloned, any other is shared."""
        copy = Cycle(
            self.pod,
            self.nodes,
            self.placed,
            self.objects,
            nominated=self._nominated,
            nominated_nodes=self._nominated_nodes,
            trial=self._trial,
            remit=self.remit,
        )
        copy.notes = {plugin: _copied(plugin, note) for plugin, note in self.notes.items()}
        return copy


def _copied(plugin: str, note: Any) -> Any:
    if not hasattr(note, "clone"):
        return note
    try:
        return note.clone()
    except Exception as error:
        raise PluginFailed(f'copying the notes of plugin "{plugin}": {type(error).__name__}: {error}') from error
