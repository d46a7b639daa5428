"""SchedulingGates: pods with scheduling gates."""

from collections.abc import Iterator

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Resource, Retry
from pilotage.framework.api.gate_remedies import open_gates
from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.plugin import PreEnqueue
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.verdicts import Filtered, Rejection
from pilotage.model.pod import Pod


class SchedulingGates(PreEnqueue):
    """Keep pods out of the queue until their last scheduling gate is removed."""

    retry_on = (Retry(Resource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),)

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Return the remaining gates as a rejection."""
        gates = pod.spec.scheduling_gates
        if not gates:
            return None
        names = " ".join(gate.name for gate in gates)
        return Rejection(f"waiting for scheduling gates: [{names}]", preemption_helps=False)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer the pod without its gates, and say who removes them."""
        if pod.spec.scheduling_gates:
            yield open_gates([pod])
