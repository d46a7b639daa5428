"""The results of a simulation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod
from pilotage.scheduling.explanation import PluginScore


@dataclass(frozen=True)
class Result:
    """The result for one pod."""

    namespace: str
    name: str
    scheduler_name: str
    node: str | None = None
    message: str = ""
    reason: str = ""  # of the pod's condition, while it waits
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    scores: Mapping[str, PluginScore] = field(default_factory=dict)  # of the node, by plugin name
    claims: tuple[ResourceClaim, ...] = ()  # with their devices


class Results:
    """The results for all pods, in the order of their first decision."""

    def __init__(self) -> None:
        self._results: dict[str, Result] = {}  # by pod

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results.values())

    def find(self, key: str) -> Result | None:
        """Return the result for a pod; None if it was not tried."""
        return self._results.get(key)

    def __getitem__(self, key: str) -> Result:
        return self._results[key]

    def placed(self, pod: Pod, scores: Mapping[str, PluginScore], claims: Iterable[ResourceClaim] = ()) -> None:
        """Record that a pod has a node; earlier victims stay recorded."""
        known = self._of(pod)
        self._results[pod.key] = replace(
            known, node=pod.node_name, message="", reason="", nominated_node="", scores=scores, claims=tuple(claims)
        )

    def waits(self, pod: Pod, message: str, reason: str) -> None:
        """Record why a pod waits, and its nominated node."""
        known = self._of(pod)
        self._results[pod.key] = replace(known, message=message, reason=reason, nominated_node=pod.nominated_node)

    def gated(self, pod: Pod, message: str) -> None:
        """Record why a pod is gated."""
        self._results[pod.key] = replace(self._of(pod), message=message)

    def evicts(self, pod: Pod, victims: tuple[str, ...]) -> None:
        """Record the victims for a pod."""
        self._results[pod.key] = replace(self._of(pod), victims=victims)

    def evicted(self, pod: Pod, message: str) -> None:
        """Record that a pod has lost its node, if it was placed in this simulation."""
        if pod.key in self._results:
            self._results[pod.key] = replace(self._results[pod.key], node=None, message=message, scores={}, claims=())

    def _of(self, pod: Pod) -> Result:
        return self._results.get(pod.key) or Result(pod.namespace, pod.name, pod.scheduler_name)
