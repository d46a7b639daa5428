"""What would help besides the plugins' own offers: terminating pods, and a higher priority."""

from collections.abc import Iterator

import numpy as np

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_changes import CRITICAL
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.pod_changes import with_spec
from pilotage.framework.api.remedies import Change, Difference, NodeName, PodNames, Remedy
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.kinds.workloads import PriorityClass
from pilotage.model.pod import Pod
from pilotage.scheduling.remedies.objections import Objections
from pilotage.scheduling.remedies.offers import offers
from pilotage.scheduling.remedies.trying import Tries

MOST_OFFERED = 4
NEVER = "Never"


def leaving_already(tries: Tries) -> Iterator[Remedy]:
    """Offer to do nothing: terminating pods make the room."""
    objections = tries.asked().objections
    if objections is None:
        return
    leaving = objections.nodes.at(tries.cache.placed.terminating()) > 0
    places = np.flatnonzero(leaving & objections.open_if_empty() & (objections.count > 0))[:MOST_OFFERED].tolist()
    # All of them now: between two offers, nodes may come and go.
    found = [(info, _terminating(info)) for info in (objections.nodes[place] for place in places)]
    yield from (_wait_for(info, pods) for info, pods in found)


def _terminating(info: NodeInfo) -> list[Pod]:
    return [pod for pod in info.pods.values() if pod.is_terminating]


def _wait_for(info: NodeInfo, leaving: list[Pod]) -> Remedy:
    one = "{pods} is leaving {node}, and the pod fits once it is gone"
    several = "{count} pods are leaving {node}, and the pod fits once they are gone"
    return Remedy(
        code="waitOnly",
        actor="wait",
        words=f"nothing to change: {one if len(leaving) == 1 else several}",
        values={
            "node": NodeName(info.name),
            "pods": PodNames(pod.key for pod in leaving),
            "count": len(leaving),
        },
        size=0.0,
        difference=Difference(leaving=tuple(leaving)),
    )


def higher_priority(tries: Tries) -> Iterator[Remedy]:
    """Offer the lowest priority with which the pod could evict others."""
    engine, pod = tries.engine, tries.pod
    if not engine.runner.plugin_set.post_filter or pod.spec.preemption_policy == NEVER:
        return
    classes = [each for each in tries.cache.objects.all(PriorityClass) if pod.priority < each.value <= CRITICAL]
    if not classes:
        return
    asked = tries.asked()
    needed = _priorities(asked.attempt.cycle, asked.objections) if asked.objections is not None else set()
    if not needed:
        return
    classes.sort(key=lambda each: (each.value, each.metadata.name))
    found = next((each for each in classes if min(needed) <= each.value), None)
    if found is not None and (offered := _raised(tries, found)) is not None:
        yield offered


def _priorities(cycle: Cycle, objections: Objections) -> set[int]:
    """Return the priorities just above those of pods whose leaving would do."""
    found = set()
    for plugin, nodes in objections.alone():
        for offer in offers(plugin, cycle, nodes):
            highest = offer.values.get("priority")
            if offer.code == "freePods" and isinstance(highest, int) and highest >= cycle.pod.priority:
                found.add(highest + 1)
    return found


def _raised(tries: Tries, named: PriorityClass) -> Remedy | None:
    """Return what a higher priority would do, if anything: the engine plans evictions, and none is carried out."""
    pod, name, priority = tries.pod, named.metadata.name, named.value
    patch = {"priorityClassName": name, "priority": None}
    change = with_spec(pod, patch, priority=priority, priority_class_name=name)
    attempt = tries.attempt(change.difference.pod)
    try:
        if attempt.run_pre_filter().rejection is not None or len(attempt.feasible()):
            return None
        planned = attempt.post_filter()
    except PluginFailed:
        return None
    if not planned.nominate or not planned.victims:
        return None
    evicted = "{pods} would be evicted" if len(planned.victims) == 1 else "{count} pods would be evicted ({pods})"
    return Remedy(
        code="raisePriority",
        actor="owner",
        words=f"give it the priority class {{class}} ({{to}} instead of {{from}}): {evicted} from {{node}}",
        values={
            "from": pod.priority,
            "to": priority,
            "class": name,
            "pods": PodNames(planned.victims),
            "count": len(planned.victims),
            "node": NodeName(planned.nominate),
        },
        changes=(Change("spec.priorityClassName", pod.spec.priority_class_name or None, name),),
        size=float(len(planned.victims)),
        target=change.target,
        patch=change.patch,
        difference=change.difference,
        nodes=1,
        example=planned.nominate,
        verified=True,
    )
