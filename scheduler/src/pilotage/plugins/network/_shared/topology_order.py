"""The order in which the workloads of an AppGroup are placed, and the errors in its spec."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final, NamedTuple

from pilotage.kinds.app_network import AppGroupSpec, AppWorkload

Graph = dict[str, tuple[str, ...]]  # the dependencies of each workload, by selector, as in the spec

NO_WORKLOADS: Final = "NoWorkloads"
NO_SELECTOR: Final = "MissingSelector"
DUPLICATE: Final = "DuplicateSelector"
UNKNOWN_DEPENDENCY: Final = "UnknownDependency"
SELF_DEPENDENCY: Final = "SelfDependency"
CYCLE: Final = "DependencyCycle"
UNKNOWN_ALGORITHM: Final = "UnknownAlgorithm"


class Complaint(NamedTuple):
    """A problem: a reason for programs and a message for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class TopologyOrder:
    """The workloads in the order of placement, and problems."""

    workloads: tuple[AppWorkload, ...]
    complaints: tuple[Complaint, ...]

    @property
    def indices(self) -> dict[str, int]:
        """Return the position of each workload by its selector, from 1."""
        return {workload.selector: place for place, workload in enumerate(self.workloads, 1)}


def topology_order(spec: AppGroupSpec) -> TopologyOrder:
    """Sort the workloads of an AppGroup with its algorithm; the same spec always gives the same order."""
    complaints = list(_complaints(spec))
    graph = _graph(spec)
    sort = ALGORITHMS.get(spec.topology_sorting_algorithm, _kahn)
    selectors = sort(graph)
    if len(selectors) < len(graph):
        ring = " -> ".join(_ring(graph))
        message = f"workloads depend on each other in a circle ({ring:.500}): the order is that of spec.workloads"
        complaints.append(Complaint(CYCLE, message))
        selectors = list(graph)
    by_selector: dict[str, AppWorkload] = {}
    for part in spec.workloads:
        by_selector.setdefault(part.workload.selector, part.workload)
    return TopologyOrder(tuple(by_selector[each] for each in selectors), tuple(complaints))


def _graph(spec: AppGroupSpec) -> Graph:
    """Return the graph of dependencies, without unknown workloads and self-dependencies."""
    talks: dict[str, dict[str, None]] = {part.workload.selector: {} for part in spec.workloads}
    talks.pop("", None)
    for part in spec.workloads:
        selector = part.workload.selector
        for other in (dependency.workload.selector for dependency in part.dependencies):
            if selector and other in talks and other != selector:
                talks[selector][other] = None
    return {selector: tuple(others) for selector, others in talks.items()}


def _complaints(spec: AppGroupSpec) -> Iterable[Complaint]:
    if not spec.workloads:
        yield Complaint(NO_WORKLOADS, "spec.workloads is empty: list the parts of the application")
    if spec.topology_sorting_algorithm not in ALGORITHMS:
        text = f"spec.topologySortingAlgorithm {_quoted(spec.topology_sorting_algorithm)} is unknown: KahnSort is used"
        yield Complaint(UNKNOWN_ALGORITHM, f"{text}; there are {', '.join(ALGORITHMS)}")
    known = {part.workload.selector for part in spec.workloads}
    seen: set[str] = set()
    for place, part in enumerate(spec.workloads):
        selector = part.workload.selector
        if not selector:
            text = f"spec.workloads[{place}].workload.selector is empty: give the value that the label of its pods has"
            yield Complaint(NO_SELECTOR, text)
        elif selector in seen:
            text = f"spec.workloads[{place}] has the selector {_quoted(selector)} of another: the two count as one"
            yield Complaint(DUPLICATE, text)
        seen.add(selector)
        for other in dict.fromkeys(dependency.workload.selector for dependency in part.dependencies):
            if other == selector:
                text = f"workload {_quoted(selector)} depends on itself, which is ignored"
                yield Complaint(SELF_DEPENDENCY, text)
            elif other not in known or not other:
                text = f"workload {_quoted(selector)} depends on {_quoted(other)}, which spec.workloads does not have"
                yield Complaint(UNKNOWN_DEPENDENCY, text)


def _quoted(text: str) -> str:
    return f'"{text[:63]}"'


# -------------------------------------------------------------------------------------------------------------- sorting


def _kahn(graph: Graph) -> list[str]:
    """Repeatedly take the first workload without remaining dependents; incomplete if there is a cycle."""
    places = {selector: place for place, selector in enumerate(graph)}
    callers = dict.fromkeys(graph, 0)
    for others in graph.values():
        for other in others:
            callers[other] += 1
    ready = [(places[selector], selector) for selector, count in callers.items() if not count]
    found = []
    while ready:
        _, selector = heappop(ready)
        found.append(selector)
        for other in graph[selector]:
            callers[other] -= 1
            if not callers[other]:
                heappush(ready, (places[other], other))
    return found


def _tarjan(graph: Graph) -> list[str]:
    """Sort by depth-first search from each workload; incomplete if there is a cycle."""
    found: list[str] = []
    state: dict[str, bool] = {}  # whether all dependencies of a workload were visited
    called = {other for others in graph.values() for other in others}
    for root in reversed([selector for selector in graph if selector not in called]):
        stack = [(root, False)]
        while stack:
            selector, behind = stack.pop()
            if behind:
                state[selector] = True
                found.append(selector)
            elif selector not in state:
                state[selector] = False
                stack.append((selector, True))
                ahead = [other for other in graph[selector] if not state.get(other)]
                if any(other in state for other in ahead):
                    return []
                stack += [(other, False) for other in ahead]
    return found[::-1]


def _alternating(order: list[str]) -> list[str]:
    """Return the first, the last, the second, the last but one, and so on."""
    half = (len(order) + 1) // 2
    front, back = order[:half], order[half:][::-1]
    return [each for pair in zip(front, [*back, ""], strict=False) for each in pair if each]


def _ring(graph: Graph) -> list[str]:
    """Return one cycle of a graph that has at least one, starting and ending with the same workload."""
    on_rings = set(graph) - set(_kahn(graph))
    # Workloads that a cycle depends on are left over too; those that depend on none of the rest are not on a cycle.
    while dead := {each for each in on_rings if not on_rings.intersection(graph[each])}:
        on_rings -= dead
    path = [next(each for each in graph if each in on_rings)]
    while path[-1] not in path[:-1]:
        path.append(next(other for other in graph[path[-1]] if other in on_rings))
    return path[path.index(path[-1]) :]


ALGORITHMS: Final[Mapping[str, Callable[[Graph], list[str]]]] = {
    "KahnSort": _kahn,
    "TarjanSort": _tarjan,
    "ReverseKahn": lambda graph: _kahn(graph)[::-1],
    "ReverseTarjan": lambda graph: _tarjan(graph)[::-1],
    "AlternateKahn": lambda graph: _alternating(_kahn(graph)),
    "AlternateTarjan": lambda graph: _alternating(_tarjan(graph)),
}
