"""The figures behind a rejection, for people: what is requested and what is available."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.plugin import EvictionRule, Plugin
from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.preemption.shortage import PODS, resource_of
from pilotage.model.amounts import amount, amount_at_most
from pilotage.model.pod import Pod
from pilotage.model.tolerations import first_untolerated

log = logging.getLogger(__name__)

MOST_SHOWN = 3  # other schedulers whose pods are spared
LONGEST = 300  # characters of a plugin's remark
FORBIDDEN = "node(s) had untolerated taint(s)"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"


def details(rejection: Rejection, pod: Pod, info: NodeInfo) -> tuple[str, ...]:
    """Return details for each reason of a rejection; "" for none."""
    return tuple(_detail(reason, pod, info) for reason in rejection.reasons)


def remarks(rejecting: Iterable[Plugin], cycle: Cycle, info: NodeInfo) -> str:
    """Return the remarks of the plugins that rejected a node."""
    said = (_said(plugin.remark, cycle, info) for plugin in rejecting)
    return "; ".join(text for text in said if text)


def spared(rules: Iterable[EvictionRule], cycle: Cycle, info: NodeInfo) -> str:
    """Return which pods are spared on a node although evicting them could help."""
    said = [f"{rule.name} {text}" for rule in rules if (text := _said(rule.spares, cycle, info))]
    foreign = [other for other in info.pods.values() if other.priority < cycle.pod.priority]
    names = Counter(other.scheduler_name for other in foreign if cycle.remit.is_foreign(other))
    said += [f"{number} of {name} not evicted" for name, number in names.most_common(MOST_SHOWN)]
    return "; ".join(said)


def _said(ask: Callable[[Cycle, Pod, NodeInfo], str], cycle: Cycle, info: NodeInfo) -> str:
    try:
        text = str(ask(cycle, cycle.pod, info))
    except Exception:  # a remark must not cause a failure
        log.exception("%s failed on node %s", ask.__qualname__, info.name)
        return ""
    return f"{text[:LONGEST]}..." if len(text) > LONGEST else text


def _detail(reason: str, pod: Pod, info: NodeInfo) -> str:
    resource = resource_of(reason)
    if resource == PODS:
        return f"{len(info.pods)} of {info.node.allowed_pods} are there"
    if resource:
        wanted, free, all_of_it = pod.requests.get(resource, 0), info.free(resource), info.allocatable.get(resource, 0)
        # Rounded down: a request for what is shown as free must fit.
        return (
            f"wants {amount(resource, wanted)}, {amount_at_most(resource, free)} of {amount(resource, all_of_it)} free"
        )
    if reason == FORBIDDEN and (taint := first_untolerated(info.taints, pod.shape.tolerated)) is not None:
        return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
    if reason == PORTS_TAKEN:
        return "wants " + ", ".join(f"{protocol} {port}" for _, protocol, port in pod.shape.host_ports)
    return ""
