"""Where preemption is worth trying, found for all nodes at once."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import Bools, Nodes
from pilotage.framework.api.verdicts import Verdicts
from pilotage.framework.runtime.preemption.lower_priority import Tally
from pilotage.framework.runtime.preemption.shortage import PODS, resource_of, short_of
from pilotage.framework.runtime.preemption.victims import ALL_FOREIGN, NO_VICTIMS, needs_neighbours
from pilotage.model.pod import Pod


@dataclass(frozen=True, slots=True)
class Outlook:
    """Which nodes could be freed by evicting pods, which of them are worth a try, and why the others are not."""

    candidates: Bools
    potential: Bools
    reasons: Counter[str]  # why candidates were ruled out
    ruled_out: int


def outlook(cycle: Cycle, pod: Pod, verdicts: Verdicts, lower: Tally) -> Outlook:
    """Rule out the candidates without a pod to evict, and those too small even if all such pods went.

    The latter would, if tried, be rejected with these very reasons: whatever let the pod pass before it was found too
    large for a node does so again when there are fewer pods.
    """
    candidates = helped(verdicts)
    potential = candidates & (lower.counts > 0)
    bare = int(np.count_nonzero(candidates) - np.count_nonzero(potential))
    foreign = int(np.count_nonzero(candidates & ~potential & (lower.foreign > 0)))
    reasons = Counter({NO_VICTIMS.message: bare - foreign, ALL_FOREIGN.message: foreign})
    shortages = _shortages(verdicts)
    if not shortages or needs_neighbours(pod):
        return Outlook(candidates, potential, reasons, bare)
    among = potential & ~_nominated(cycle)
    too_small = np.zeros(len(among), np.bool_)
    for reason, said in shortages.items():
        lacking = among & said[verdicts.codes] & _lacks(cycle.nodes, pod, resource_of(reason), lower)
        reasons[reason] += int(np.count_nonzero(lacking))
        too_small |= lacking
    return Outlook(candidates, potential & ~too_small, reasons, bare + int(np.count_nonzero(too_small)))


def helped(verdicts: Verdicts) -> Bools:
    """Mark the nodes whose verdict evictions could change."""
    by_code = [False, *(each.preemption_helps and not each.pending for each in verdicts.rejections)]
    return np.array(by_code, np.bool_)[verdicts.codes]


def with_room(nodes: Nodes, pod: Pod) -> Bools:
    """Mark the nodes that have as much left as a pod requests."""
    found: Bools = nodes.pod_count < nodes.allowed_pods
    for resource, amount in pod.requests.items():
        found = found & (nodes.allocatable(resource) - nodes.requested(resource) >= amount)
    return found


def _shortages(verdicts: Verdicts) -> dict[str, Bools]:
    """Return for each reason that is a shortage the codes of the rejections with it."""
    found: dict[str, Bools] = {}
    for code, rejection in enumerate(verdicts.rejections, 1):
        if rejection.preemption_helps and short_of(rejection):
            for reason in rejection.reasons:
                found.setdefault(reason, np.zeros(len(verdicts.rejections) + 1, np.bool_))[code] = True
    return found


def _lacks(nodes: Nodes, pod: Pod, resource: str, lower: Tally) -> Bools:
    if resource == PODS:
        return nodes.pod_count - lower.counts + 1 > nodes.allowed_pods
    free = nodes.allocatable(resource) - nodes.requested(resource) + lower.used(resource)
    return free < pod.requests.get(resource, 0)


def _nominated(cycle: Cycle) -> Bools:
    """Mark the nominated nodes, whose nominated pods may count and add to the reasons."""
    if cycle.nominated_for_others is not None:
        return cycle.nominated_for_others
    nominated = np.zeros(len(cycle.nodes), np.bool_)
    for name in cycle.nominated_nodes():
        info = cycle.nodes.find(name)
        if info is not None:
            nominated[info.slot] = True
    return nominated
