"""What is free on each node, kept between checks so that most nodes are ruled out quickly."""

from collections.abc import Iterable

from auditor.fit import fits
from auditor.nodes import Nodes
from auditor.occupancy import Occupancy
from auditor.pod import Pod


class Room:
    """Finds nodes for pods."""

    def __init__(self, occupancy: Occupancy, nodes: Nodes) -> None:
        self._occupancy = occupancy
        self._nodes = nodes
        self._free: dict[str, dict[str, int]] = {}
        self._most: dict[str, int] = {}

    def refresh(self, touched: Iterable[str]) -> None:
        """Count again what is free on nodes that changed."""
        for name in touched:
            self._free.pop(name, None)
            if (node := self._nodes.current.get(name)) and node.usable:
                held = self._occupancy.held(name)
                free = {resource: offer - held.total[resource] for resource, offer in node.allocatable.items()}
                self._free[name] = free | {"pods": node.allocatable.get("pods", 0) - len(held.pods)}
        self._most = {}
        for free in self._free.values():
            for resource, amount in free.items():
                if amount > self._most.get(resource, 0):
                    self._most[resource] = amount

    def node_for(self, pod: Pod, among: set[str] | None = None) -> str | None:
        """Return a node that the pod fits, among some or all, or None."""
        wanted = (*pod.demand, ("pods", 1))
        if any(self._most.get(resource, 0) < amount for resource, amount in wanted):
            return None
        for name in self._free if among is None else among & self._free.keys():
            free = self._free[name]
            for resource, amount in wanted:
                if free.get(resource, 0) < amount:
                    break
            else:
                if fits(pod, self._nodes.current[name], self._occupancy):
                    return name
        return None
