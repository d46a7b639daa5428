"""The base of all preemption plugins: the gate for preemptors, and the choice of a node."""

import time
from collections.abc import Sequence
from typing import ClassVar

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.objects import Kind, Objects
from pilotage.framework.api.plugin import Permission, PostFilter, PreEnqueue
from pilotage.framework.api.verdicts import Filtered, Nominated, NoRoom, Rejection, Verdicts
from pilotage.framework.runtime.preemption.candidates import least_harmful
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.pod import Pod

NEVER = "not eligible due to preemptionPolicy=Never."
VICTIM_IS_LEAVING = "not eligible due to a terminating pod on the nominated node."
PREEMPTION_IN_PROGRESS = Rejection("waiting for the preemption for this pod to be finished", preemption_helps=False)


def is_evicted(pod: Pod) -> bool:
    """Return whether a pod is terminating because a scheduler has preempted it."""
    target = pod.status.condition("DisruptionTarget") if pod.is_terminating else None
    return target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"


class Evicting(PreEnqueue, PostFilter):
    """Preempts for a pod by evicting others, and gates it until they terminate."""

    # The plugins that rejected the pod decide when to retry it; this retry only lets events reach them.
    retry_on: ClassVar[tuple[Retry, ...]] = (Retry(Resource.ASSIGNED_POD, Action.DELETE, "never"),)
    reads: ClassVar[tuple[type[Kind], ...]] = (PodDisruptionBudget,)
    permissions = (Permission("", "pods", ("delete",)),)
    reports_opening = True  # the code that carries out the evictions calls `end`, and notifies the queue

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._in_progress: set[str] = set()
        self._budgets: tuple[Objects, int, DisruptionBudgets] | None = None

    def candidates(self, cycle: Cycle, pod: Pod, verdicts: Verdicts, now: float) -> list[Victims] | NoRoom:
        """Return at least one candidate, a node with its victims, or why there is none."""
        raise NotImplementedError

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom:
        """Return the node to nominate and its victims, or why there is none."""
        now = time.time()
        found = self.candidates(cycle, pod, verdicts, now)
        return found if isinstance(found, NoRoom) else self.nominate(found, now)

    def nominate(self, candidates: Sequence[Victims], now: float) -> Nominated:
        """Nominate the least harmful of at least one candidate."""
        best = least_harmful(candidates, now)
        message = f"found a potential placement for pod on node {best.node}, preempting {len(best.pods)} victims"
        keys = tuple(victim.key for victim in best.pods)
        return Nominated(best.node, keys, f"preemption: {message}", best.other_nodes)

    def begin(self, uid: str) -> None:
        """Gate a pod while its victims are being evicted."""
        self._in_progress.add(uid)

    def end(self, uid: str) -> None:
        """Remove the gate of a pod."""
        self._in_progress.discard(uid)

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Gate a pod whose victims are being evicted."""
        return PREEMPTION_IN_PROGRESS if pod.uid in self._in_progress else None

    def never(self, pod: Pod, event: Event, old: object, new: object) -> bool:
        """Return False: the plugins that rejected the pod decide whether an eviction helps it."""
        return False

    def disruption_budgets(self, objects: Objects) -> DisruptionBudgets:
        """Return the current budgets; the same object while none has changed."""
        version = objects.version(PodDisruptionBudget)
        if self._budgets is None or self._budgets[0] is not objects or self._budgets[1] != version:
            self._budgets = objects, version, DisruptionBudgets(objects.all(PodDisruptionBudget))
        return self._budgets[2]
