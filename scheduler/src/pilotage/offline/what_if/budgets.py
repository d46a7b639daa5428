"""Disruption budgets and their counts: which pods may be evicted now, and which once others have been replaced."""

from collections.abc import Callable

import msgspec

from pilotage.framework.api.objects import Objects
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.pod import Pod
from pilotage.model.selectors import InvalidSelector, compile_label_selector


class Budgets:
    """The budgets of a copy of the cluster; a charge changes the object there, as the controller would."""

    def __init__(self, objects: Objects, put: Callable[[PodDisruptionBudget], object]) -> None:
        self._objects = objects
        self._put = put

    def of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """Return the budgets that a pod counts for."""
        return [each for each in self._objects.all(PodDisruptionBudget, pod.namespace) if _protects(each, pod)]

    def refusing(self, pod: Pod) -> str:
        """Return the budget that forbids the eviction of a pod now, as namespace/name; "" if it may be evicted."""
        budgets = self.of(pod)
        if len(budgets) > 1:  # the API server evicts no pod that has several
            return ", ".join(map(_key, budgets))
        return next((_key(each) for each in budgets if each.status.disruptions_allowed <= 0), "")

    def charge(self, pod: Pod) -> list[str]:
        """Charge an eviction to the pod's budgets, and return them, each as namespace/name."""
        return [self._changed(each, -1) for each in self.of(pod)]

    def give_back(self, pod: Pod) -> None:
        """Record that a replacement for an evicted pod has started."""
        for each in self.of(pod):
            self._changed(each, 1)

    def _changed(self, budget: PodDisruptionBudget, by: int) -> str:
        status = budget.status
        left = msgspec.structs.replace(status, disruptions_allowed=status.disruptions_allowed + by)
        self._put(msgspec.structs.replace(budget, status=left))
        return _key(budget)


def _protects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.spec.selector is None or not pod.labels:
        return False
    try:
        matcher = compile_label_selector(budget.spec.selector)
    except InvalidSelector:
        return False
    return matcher.matches(pod.labels)


def _key(budget: PodDisruptionBudget) -> str:
    return f"{budget.metadata.namespace or 'default'}/{budget.metadata.name}"
