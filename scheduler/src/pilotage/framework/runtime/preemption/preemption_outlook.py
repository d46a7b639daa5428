"""Determines where preemption is worth trying, for all nodes at once."""

from collections import Counter
from collections.abc import Callable
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
    """The nodes that evictions could help, those of them worth a try, and why the others are not."""

    candidates: Bools
    potential: Bools
    reasons: Counter[str]  # why candidates were excluded
    ruled_out: int


def outlook(cycle: Cycle, pod: Pod, verdicts: Verdicts, lower: Tally) -> Outlook:
    """Exclude nodes without a pod to evict, and those that lack resources even without all such pods.

    A try on the latter would end with the same reasons: plugins that accept the pod before the resource check also
    accept it with fewer pods on the node.
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
    """Return a mask of the nodes whose verdict evictions could change."""
    by_code = [False, *(each.preemption_helps and not each.pending for each in verdicts.rejections)]
    return np.array(by_code, np.bool_)[verdicts.codes]


def with_room(nodes: Nodes, pod: Pod, serves: Callable[[str], bool]) -> Bools:
    """Return a mask of the nodes with enough free resources for a pod, apart from those that devices may serve."""
    found: Bools = nodes.pod_count < nodes.allowed_pods
    for resource, amount in pod.requests.items():
        allocatable = nodes.allocatable(resource)
        enough = allocatable - nodes.requested(resource) >= amount
        found = found & (enough | (allocatable == 0) if serves(resource) else enough)
    return found


def _shortages(verdicts: Verdicts) -> dict[str, Bools]:
    """Return the codes of the rejections by resource shortage, by reason."""
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
    """Return a mask of the nominated nodes, where nominated pods may add reasons."""
    if cycle.nominated_for_others is not None:
        return cycle.nominated_for_others
    nominated = np.zeros(len(cycle.nodes), np.bool_)
    for name in cycle.nominated_nodes():
        info = cycle.nodes.find(name)
        if info is not None:
            nominated[info.slot] = True
    return nominated
