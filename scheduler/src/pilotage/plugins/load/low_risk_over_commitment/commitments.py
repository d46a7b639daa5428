"""Requests, limits and load risks of nodes by slot, kept until a node changes."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.plugins.load._shared.figures import LoadFigures
from pilotage.plugins.load._shared.pod_use import CPU, MEMORY, Both, limits_where_placed
from pilotage.plugins.load.low_risk_over_commitment.overcommitment import load_risks

Floats = NDArray[np.float64]


def committed(node: NodeInfo) -> tuple[Both, Both]:
    """Return the total requests and limits of the pods on a node."""
    limits = [limits_where_placed(pod) for pod in node.pods.values()]
    asked = node.requested.get(CPU, 0), node.requested.get(MEMORY, 0)
    return asked, (sum(cpu for cpu, _ in limits), sum(memory for _, memory in limits))


class Commitments:
    """Requests, limits and load risks of cpu and memory, one row each, one column for each slot."""

    def __init__(self) -> None:
        self.requested: Floats = np.zeros((2, 0))
        self.limit: Floats = np.zeros((2, 0))
        self.risk: Floats = np.zeros((2, 0))
        self._nodes: Nodes | None = None
        self._figures: LoadFigures | None = None
        self._version = 0
        self._window = 0

    def update(self, nodes: Nodes, figures: LoadFigures, window: int) -> None:
        """Update all columns; only changed nodes are evaluated, unless the figures have changed."""
        same = self._nodes is not None and self._nodes.same_cluster(nodes) and len(nodes) == self.requested.shape[1]
        changed = nodes.changed_since(self._version) if same else None
        if changed is None:
            self.requested, self.limit, self.risk = (np.zeros((2, len(nodes))) for _ in range(3))
        slots = list(range(len(nodes))) if changed is None else sorted(set(changed.tolist()))
        for slot in slots:
            self.requested[:, slot], self.limit[:, slot] = committed(nodes[slot])
        if changed is None or figures is not self._figures or window != self._window:
            slots = list(range(len(nodes)))
        self._assess(nodes, figures, slots, window)
        self._nodes, self._figures, self._version, self._window = nodes, figures, nodes.pods_version, window

    def _assess(self, nodes: Nodes, figures: LoadFigures, slots: Sequence[int], window: int) -> None:
        if not slots:
            return
        columns = figures.columns(nodes)
        measured = ((columns.cpu, columns.cpu_deviation), (columns.memory, columns.memory_deviation))
        for row, (resource, (average, deviation)) in enumerate(zip((CPU, MEMORY), measured, strict=True)):
            capacity = nodes.allocatable(resource)[slots].astype(np.float64)
            requested = np.minimum(self.requested[row, slots], capacity)
            self.risk[row, slots] = load_risks(
                average[slots], deviation[slots], requested, self.limit[row, slots], capacity, window
            )
