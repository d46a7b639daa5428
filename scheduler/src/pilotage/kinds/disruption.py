"""Disruption budgets: which victims would violate one."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.excess import selector_size
from pilotage.model.limits import MOST_POD_CONDITIONS
from pilotage.model.pod import Pod
from pilotage.model.selectors import EVERYTHING, InvalidSelector, LabelMatcher, LabelSelector, compile_label_selector

MOST_REMEMBERED = 1_000  # different labels in one namespace


@dataclass(frozen=True, slots=True)
class Budget:
    """How many more pods of a kind may be evicted."""

    matcher: LabelMatcher
    allowed: int
    disrupted: Container[str]  # names of pods that are being deleted and already counted


class NamespaceBudgets:
    """The budgets of one namespace, indexed so that only those with a label of the pod are evaluated."""

    def __init__(self) -> None:
        self._budgets: list[Budget] = []
        self._by_label: dict[tuple[str, str | None], list[int]] = {}  # None means any value
        self._others: list[int] = []  # those that do not require any label
        self._remembered: dict[frozenset[tuple[str, str]], list[tuple[int, Budget]]] = {}

    def add(self, selector: LabelSelector, budget: Budget) -> None:
        """Add a budget, after the previous ones."""
        place = len(self._budgets)
        self._budgets.append(budget)
        labels = [] if budget.matcher is EVERYTHING else _one_of(selector)
        for label in labels:
            self._by_label.setdefault(label, []).append(place)
        if not labels:
            self._others.append(place)

    def about(self, labels: Mapping[str, str]) -> list[tuple[int, Budget]]:
        """Return the budgets that select pods with these labels, in order, each with its index."""
        key = frozenset(labels.items())
        found = self._remembered.get(key)
        if found is None:
            named = (self._by_label.get(label, ()) for each in key for label in (each, (each[0], None)))
            places = sorted({*self._others, *(place for places in named for place in places)})
            budgets = ((place, self._budgets[place]) for place in places)
            found = [(place, budget) for place, budget in budgets if budget.matcher.matches(labels)]
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[key] = found
        return found


class DisruptionBudgets:
    """All budgets of a cluster, ready to be charged."""

    def __init__(self, given: Iterable[PodDisruptionBudget] = ()) -> None:
        self._budgets: dict[str, NamespaceBudgets] = {}
        for each in given:
            budget, selector = _usable(each), each.spec.selector
            if budget is not None and selector is not None:
                self._budgets.setdefault(each.metadata.namespace or "default", NamespaceBudgets()).add(selector, budget)

    def split(self, victims: Sequence[Pod]) -> tuple[list[Pod], list[Pod]]:
        """Return the victims that violate a budget and those that do not, if evicted in this order."""
        left: dict[tuple[str, int], int] = {}
        violating: list[Pod] = []
        others: list[Pod] = []
        for pod in victims:
            budgets = self._budgets.get(pod.namespace)
            violates = budgets is not None and _charge(pod, budgets, left)
            (violating if violates else others).append(pod)
        return violating, others


def _usable(given: PodDisruptionBudget) -> Budget | None:
    """Return the budget, or None if it protects nothing: its selector is missing, empty or invalid."""
    selector, status = given.spec.selector, given.status
    if selector is None:
        return None
    try:
        # A selector that is too expensive to evaluate for every victim protects all pods of its namespace.
        absurd = selector_size(selector) > MOST_POD_CONDITIONS
        matcher = EVERYTHING if absurd else compile_label_selector(selector)
    except InvalidSelector:
        return None
    protects = absurd or not matcher.empty
    return Budget(matcher, status.disruptions_allowed, status.disrupted_pods) if protects else None


def _one_of(selector: LabelSelector) -> list[tuple[str, str | None]]:
    """Return labels of which a selected pod must have one; none if there are no such labels."""
    for requirement in selector.requirements():
        if requirement.operator == "In":
            return [(requirement.key, value) for value in dict.fromkeys(requirement.values)]
        if requirement.operator == "Exists":
            return [(requirement.key, None)]
    return []


def _charge(pod: Pod, budgets: NamespaceBudgets, left: dict[tuple[str, int], int]) -> bool:
    """Charge a pod to its budgets; True at the first that is exceeded, the rest is not charged."""
    if not pod.labels:
        return False  # even if the selector requires labels to be absent
    for place, budget in budgets.about(pod.labels):
        if pod.name not in budget.disrupted:
            key = pod.namespace, place
            left[key] = left.get(key, budget.allowed) - 1
            if left[key] < 0:
                return True
    return False
