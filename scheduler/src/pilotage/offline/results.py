"""What became of the pods of a simulation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from pilotage.model.pod import Pod
from pilotage.scheduling.explanation import PluginScore


@dataclass(frozen=True)
class Result:
    """What became of one pod."""

    namespace: str
    name: str
    scheduler_name: str
    node: str | None = None
    message: str = ""
    reason: str = ""  # of the pod's condition, while it waits
    nominated_node: str = ""
    victims: tuple[str, ...] = ()
    scores: Mapping[str, PluginScore] = field(default_factory=dict)  # of the node, by plugin


class Results:
    """What became of every pod, in the order in which they were first decided."""

    def __init__(self) -> None:
        self._results: dict[str, Result] = {}  # by pod

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results.values())

    def find(self, key: str) -> Result | None:
        """Return what became of a pod; None if it was not decided."""
        return self._results.get(key)

    def __getitem__(self, key: str) -> Result:
        return self._results[key]

    def placed(self, pod: Pod, scores: Mapping[str, PluginScore]) -> None:
        """Take note that a pod has its node; whom it has evicted before stays on record."""
        known = self._of(pod)
        self._results[pod.key] = replace(
            known, node=pod.node_name, message="", reason="", nominated_node="", scores=scores
        )

    def waits(self, pod: Pod, message: str, reason: str) -> None:
        """Take note of why a pod waits, and of the node that is nominated for it by now."""
        known = self._of(pod)
        self._results[pod.key] = replace(known, message=message, reason=reason, nominated_node=pod.nominated_node)

    def gated(self, pod: Pod, message: str) -> None:
        """Take note of what keeps a pod from being tried at all."""
        self._results[pod.key] = replace(self._of(pod), message=message)

    def evicts(self, pod: Pod, victims: tuple[str, ...]) -> None:
        """Take note of who goes for a pod."""
        self._results[pod.key] = replace(self._of(pod), victims=victims)

    def evicted(self, pod: Pod, message: str) -> None:
        """Take note that a pod has lost its node, if it got it here."""
        if pod.key in self._results:
            self._results[pod.key] = replace(self._results[pod.key], node=None, message=message, scores={})

    def _of(self, pod: Pod) -> Result:
        return self._results.get(pod.key) or Result(pod.namespace, pod.name, pod.scheduler_name)
