"""The usage of each node, by pods."""

from collections import Counter
from collections.abc import Iterator

from auditor.node import Node
from auditor.pod import Pod
from auditor.ports import HostPort, conflict
from auditor.quantity import shown


class Held:
    """The total usage of one node's pods."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.total: Counter[str] = Counter()
        self.ports: Counter[HostPort] = Counter()

    def add(self, pod: Pod) -> None:
        """Add a pod, once."""
        self.remove(pod.uid)
        self.pods[pod.uid] = pod
        self.total.update(dict(pod.demand))
        self.ports.update(pod.ports)

    def remove(self, uid: str) -> None:
        """Remove a pod, if it was added."""
        if pod := self.pods.pop(uid, None):
            self.total = +(self.total - Counter(dict(pod.demand)))
            self.ports = +(self.ports - Counter(pod.ports))

    def taken_by_others(self, pod: Pod) -> HostPort | None:
        """Return a host port of the pod that another pod here has too, or None."""
        if not pod.ports:
            return None
        return conflict(
            pod.ports, (port for other in self.pods.values() if other.uid != pod.uid for port in other.ports)
        )


NOTHING = Held()


class Occupancy:
    """What is held on every node, and what is nominated on it to pods that wait for room."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._nominated: dict[str, dict[str, Pod]] = {}

    def place(self, old: Pod | None, new: Pod | None) -> set[str]:
        """Replace one version of a pod by the next, and return the nodes whose room changed."""
        if old and new and footprint(old) == footprint(new):
            return set()
        if old:
            self._drop(old)
        if new:
            self._add(new)
        return {name for pod in (old, new) if pod for name in (pod.holds, nomination(pod)) if name}

    def held(self, node: str) -> Held:
        """Return what is held on a node."""
        return self._held.get(node, NOTHING)

    def nominated(self, node: str, priority: int, but: str) -> Iterator[Pod]:
        """Yield the pods, other than one, that such a priority must leave room for on a node."""
        for pod in self._nominated.get(node, {}).values():
            if pod.priority >= priority and pod.uid != but:
                yield pod

    def _add(self, pod: Pod) -> None:
        if pod.holds:
            self._held.setdefault(pod.holds, Held()).add(pod)
        if where := nomination(pod):
            self._nominated.setdefault(where, {})[pod.uid] = pod

    def _drop(self, pod: Pod) -> None:
        if held := self._held.get(pod.holds):
            held.remove(pod.uid)
            if not held.pods:
                del self._held[pod.holds]
        self._nominated.get(nomination(pod), {}).pop(pod.uid, None)


def nomination(pod: Pod) -> str:
    """Return the node that was nominated for a waiting pod, or nothing."""
    return pod.nominated if pod.waits else ""


def footprint(pod: Pod) -> tuple[object, ...]:
    """Return everything about a pod that occupancy depends on."""
    return pod.holds, nomination(pod), pod.priority, pod.demand, pod.ports


def shortages(node: Node, wanted: dict[str, int]) -> list[str]:
    """Return a line for each resource of which more is wanted than the node offers."""
    return [
        f"{name}: {shown(name, amount)} of {shown(name, node.allocatable.get(name, 0))}"
        for name, amount in sorted(wanted.items())
        if amount > node.allocatable.get(name, 0)
    ]
