"""What a pod's gang waits for, as text and as data."""

from typing import Any

from pilotage.kinds.pod_groups import NativePodGroup
from pilotage.model.gangs import BY_GROUP, BY_LABELS, GROUP_LABEL, NAME_LABEL, GangName
from pilotage.scheduling.gangs.gang_standing import GangStanding

LABEL = {BY_GROUP: GROUP_LABEL, BY_LABELS: NAME_LABEL}


def gang_data(gang: GangStanding | None) -> dict[str, Any] | None:
    """Return a gang as data; docs/simulate.md describes it."""
    if gang is None:
        return None
    return {
        "source": gang.name.source,
        "namespace": gang.name.namespace,
        "name": gang.name.name,
        "needed": gang.needed,
        "waiting": gang.waiting,
        "gated": gang.gated,
        "fitting": gang.fitting,
        "blocker": gang.blocker,
    }


def gang_line(gang: GangStanding, *, fits: bool) -> str:
    """Return what the pod waits for besides a node, and where to look."""
    alone = "fits alone, but" if fits else "does not fit even alone, and"
    return f"It {alone} waits for {_what(gang)}"


def _what(gang: GangStanding) -> str:
    group, at_once = _titled(gang.name), f"{gang.needed} must be placed at once"
    if gang.lacking:
        there = gang.waiting + gang.gated
        return f"{_more(gang.lacking)} of {group}: {at_once}, {there} exist; see {_look(gang.name)}"
    if gang.held:
        return f"{_more(gang.held)} of {group}, held by scheduling gates: {at_once}; see {_look(gang.name)}"
    if gang.fitting is None:  # no pod was tried: the cluster lacks something, or pods are evicted for the group
        return f"{group} as a whole: {at_once}"
    see = f"; see pilotage explain {gang.name.namespace}/{gang.blocker}" if gang.blocker else ""
    return f"the rest of {group}: {at_once}, {gang.fitting} can{see}"


def _more(pods: int) -> str:
    return f"{pods} more {'pod' if pods == 1 else 'pods'}"


def _titled(name: GangName) -> str:
    if name.source == BY_LABELS:
        return f"the group {name} (label {NAME_LABEL})"
    return f"PodGroup {name} ({name.source})"


def _look(name: GangName) -> str:
    label = LABEL.get(name.source)
    if label is None:  # no label identifies its pods
        return f"kubectl describe {NativePodGroup.api} {name.name} -n {name.namespace}"
    return f"kubectl get pods -n {name.namespace} -l {label}={name.name}"
