"""Disruption budgets: which of the pods that are to go would leave too few of their kind."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass

from pilotage.model.objects import PodDisruptionBudget
from pilotage.model.pod import Pod
from pilotage.model.selectors import InvalidSelector, LabelMatcher, compile_label_selector


@dataclass(frozen=True, slots=True)
class Budget:
    """How many more pods of a kind may go."""

    matcher: LabelMatcher
    allowed: int
    disrupted: Container[str]  # names of pods that are on their way out and charged already


class DisruptionBudgets:
    """All budgets of a cluster, ready to be charged."""

    def __init__(self, given: Iterable[PodDisruptionBudget] = ()) -> None:
        self._budgets: dict[str, list[Budget]] = {}  # by namespace
        for each in given:
            if (budget := _usable(each)) is not None:
                self._budgets.setdefault(each.metadata.namespace or "default", []).append(budget)

    def split(self, victims: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
        """Return the victims that violate a budget and those that do not, if all of them go in this order."""
        left: dict[str, list[int]] = {}
        violating: list[Pod] = []
        others: list[Pod] = []
        for pod in victims:
            budgets = self._budgets.get(pod.namespace, ())
            if budgets and pod.namespace not in left:
                left[pod.namespace] = [budget.allowed for budget in budgets]
            violates = bool(budgets) and _charge(pod, budgets, left[pod.namespace])
            (violating if violates else others).append(pod)
        return violating, others


def _usable(given: PodDisruptionBudget) -> Budget | None:
    """Return the budget, or None for one that protects nothing: without a selector, an empty or a wrong one."""
    selector = given.spec.selector
    if selector is None:
        return None
    try:
        matcher = compile_label_selector(selector)
    except InvalidSelector:
        return None
    return None if matcher.empty else Budget(matcher, given.status.disruptions_allowed, given.status.disrupted_pods)


def _charge(pod: Pod, budgets: Sequence[Budget], left: list[int]) -> bool:
    """Take a pod off the budgets that it counts for; True at the first that is overdrawn, the rest is not charged."""
    if not pod.labels:
        return False  # even for a selector that asks for labels to be absent
    for place, budget in enumerate(budgets):
        if pod.name not in budget.disrupted and budget.matcher.matches(pod.labels):
            left[place] -= 1
            if left[place] < 0:
                return True
    return False
