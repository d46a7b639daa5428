"""A what-if on one node: the same filters with other pods on it."""

from collections.abc import Iterable

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.preemption.eviction_rules import may_evict, objection
from pilotage.framework.runtime.runner import Runner
from pilotage.model.pod import Pod


class NodeTrial:
    """Implements `framework.cycle.Trial`."""

    def __init__(self, runner: Runner, cycle: Cycle, info: NodeInfo, skipped: set[str]) -> None:
        self.info = info.clone()
        self._runner = runner
        self._cycle = cycle.what_if()
        self._skipped = skipped
        self._others: dict[str, NodeInfo] = {}  # other nodes from which pods were removed, by name
        self._away: dict[str, NodeInfo] = {}  # the original node, by uid of the pod

    @property
    def has_rules(self) -> bool:
        """Return whether any plugin restricts evictions."""
        return bool(self._runner.eviction_rules)

    def may_evict(self, pod: Pod) -> bool:
        """Return whether the profile and all its plugins allow the eviction of a pod at this point."""
        cycle = self._cycle
        return cycle.remit.may_evict(pod, cycle.nodes) and may_evict(self._runner.eviction_rules, self._cycle, pod)

    @property
    def spares_foreign(self) -> bool:
        """Return whether there are schedulers whose pods are never evicted for this one."""
        return self._cycle.remit.schedulers is not None

    def is_foreign(self, pod: Pod) -> bool:
        """Return whether a pod belongs to another scheduler and is never evicted for this one."""
        return self._cycle.remit.is_foreign(pod)

    def remove(self, pod: Pod) -> None:
        """Pretend that a pod is not on the node, or not on the node that it names."""
        info = self.info
        if pod.uid not in info.pods:
            info = self._away[pod.uid] = self._other(pod.node_name)
        info.remove_pod(pod)
        self._runner.change_notes(self._cycle, pod, info, self._skipped, add=False)

    def add(self, pod: Pod) -> None:
        """Pretend that a pod is on the node, or back on the one from which it was removed."""
        info = self._away.pop(pod.uid, self.info)
        info.add_pod(pod)
        self._runner.change_notes(self._cycle, pod, info, self._skipped, add=True)

    def verdict(self) -> Rejection | None:
        """Return why the pod would not fit, both with and without the pods for which the node is nominated."""
        nominated = self._cycle.nominated_at_or_above(self.info.name)
        if nominated:
            rejection = NodeTrial(self._runner, self._cycle, self.info, self._skipped).beside(nominated)
            if rejection is not None:
                return rejection
        return self._first_rejection()

    def beside(self, others: Iterable[Pod]) -> Rejection | None:
        """Return why the pod would not fit with additional pods on the node."""
        for pod in others:
            self.add(pod)
        return self._first_rejection()

    def _other(self, name: str) -> NodeInfo:
        if name not in self._others:
            found = self._cycle.nodes.find(name)
            self._others[name] = self.info if found is None else found.clone()
        return self._others[name]

    def _first_rejection(self) -> Rejection | None:
        rejection = self._runner.first_rejection(self._cycle, self.info, self._skipped)
        return rejection or objection(self._runner.eviction_rules, self._cycle)


class Trials:
    """Creates what-ifs for an attempt; the cycle refers to this, not to the attempt, to avoid a reference cycle."""

    __slots__ = ("_runner", "skipped")

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.skipped: set[str] = set()  # plugins that skip the pod

    def __call__(self, cycle: Cycle, info: NodeInfo) -> NodeTrial:
        """Start a what-if on a node."""
        return NodeTrial(self._runner, cycle, info, self.skipped)
