"""TopologicalSort: workloads of an AppGroup in the order of their dependencies."""

from datetime import UTC, datetime

from pydantic import Field

from pilotage.framework.api.plugin import QueuedPod, QueueSort
from pilotage.kinds.app_network import AppGroup
from pilotage.plugins.network._shared.app_groups import (
    DEFAULT_NAMESPACES,
    NAMESPACES_HELP,
    Namespaces,
    app_group_of,
    first_found,
    searched,
    workload_of,
)
from pilotage.plugins.network._shared.topology_order import topology_order

# Priority, age of the AppGroup, its name, the position of the workload, the time in the queue, the pod's name.
Key = tuple[int, float, str, int, float, str]

NOT_IN_ORDER = -1
MOST_GROUPS = 10_000  # remembered


class Group:
    """The sorting data of an AppGroup at the time of its lookup."""

    __slots__ = ("anchor", "described", "identity", "indices")

    def __init__(self, described: AppGroup) -> None:
        metadata = described.metadata
        self.described = described
        self.identity = f"{metadata.namespace}/{metadata.name}"
        self.anchor = _seconds(metadata.creation_timestamp)
        stated = {each.workload.selector: each.index for each in described.status.topology_order}
        # Computed here until a controller has written the order.
        self.indices = stated or topology_order(described.spec).indices


class TopologicalSort(QueueSort):
    """Keep the pods of an AppGroup together in the queue, each workload before those that it depends on."""

    namespaces: Namespaces = Field(default=DEFAULT_NAMESPACES, description=NAMESPACES_HELP)

    reads = (AppGroup,)
    retry_on = ()  # it rejects no pods

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._groups: dict[str, Group] = {}

    def less(self, one: QueuedPod, other: QueuedPod) -> bool:
        """Return whether the first pod goes before the second."""
        return self.sort_key(one) < self.sort_key(other)

    def sort_key(self, queued: QueuedPod) -> Key:
        """Return the sort key, the smallest first.

        The position of an AppGroup is its own creation time, which never changes: so its pods stay together, whenever
        they were created, and no comparison depends on other pods.
        """
        pod, waiting = queued.pod, queued.timestamp
        group = self._group(app_group_of(pod), pod.namespace) if app_group_of(pod) else None
        if group is None:
            return -pod.priority, waiting, "", NOT_IN_ORDER, waiting, pod.key
        index = group.indices.get(workload_of(pod), NOT_IN_ORDER)
        return -pod.priority, group.anchor, group.identity, index, waiting, pod.key

    def _group(self, name: str, namespace: str) -> Group | None:
        described = first_found(self.handle.objects, AppGroup, name, searched(namespace, self.namespaces))
        if described is None:
            return None
        identity = f"{described.metadata.namespace}/{name}"
        known = self._groups.get(identity)
        if known is None or known.described is not described:
            if len(self._groups) >= MOST_GROUPS:
                self._groups.clear()
            known = self._groups[identity] = Group(described)
        return known


def _seconds(text: str | None) -> float:
    """Return a time of the API in seconds; an invalid one counts as long ago."""
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return 0.0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
