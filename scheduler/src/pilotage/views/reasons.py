"""Why pods are pending: short texts and codes to group them by."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.own_nodes import NodesOfProfile, is_left_out
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.attempt import POD_LIMITS
from pilotage.scheduling.decision_log import Made, said_by
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Counted
from pilotage.scheduling.sharing.held_nodes import GUARD
from pilotage.views.answers import Reason, ReasonGroup, Tier
from pilotage.views.state import State
from pilotage.views.viewer import Words

Code = tuple[str, Tier]

ERROR: Code = ("SchedulerError", "scheduler")
OTHER: Code = ("RejectedByPlugin", "wait")
NO_NODES: Code = ("NoNodes", "admin")
MOST_GROUPS = 50  # of one pod; a plugin that names nodes has a reason for each

# The code and the tier of each plugin's rejections.
CODES: dict[str, Code] = {
    "NodeResourcesFit": ("InsufficientResources", "wait"),
    "TaintToleration": ("UntoleratedTaint", "owner"),
    "NodeUnschedulable": ("NodeCordoned", "admin"),
    "NodeAffinity": ("NoMatchingNode", "owner"),
    "NodeName": ("NoMatchingNode", "owner"),
    "NodePorts": ("PortTaken", "wait"),
    "NodeDeclaredFeatures": ("NoMatchingNode", "owner"),
    "PodTopologySpread": ("TopologySpread", "wait"),
    "InterPodAffinity": ("PodAffinity", "wait"),
    "VolumeBinding": ("Volume", "owner"),
    "VolumeZone": ("Volume", "owner"),
    "VolumeRestrictions": ("Volume", "wait"),
    "NodeVolumeLimits": ("TooManyVolumes", "wait"),
    "DynamicResources": ("Device", "wait"),
    "NodeResourceTopologyMatch": ("Topology", "wait"),
    "CapacityScheduling": ("QuotaExceeded", "wait"),
    "Coscheduling": ("GangNotComplete", "wait"),
    "SchedulingGates": ("Gated", "owner"),
    POD_LIMITS: ("TooLarge", "owner"),
    GUARD: ("NodeHeldBack", "wait"),
    NodesOfProfile.name: ("NotOwnNode", "admin"),
}
_TIERS: tuple[Tier, ...] = ("scheduler", "wait", "owner", "admin")


def code_of(plugin: str) -> Code:
    """Return the code of a plugin's rejections."""
    return CODES.get(plugin, OTHER)


def main_code(reason: str, counted: Counted, plugins: Iterable[str] = ()) -> Code:
    """Return the code of an attempt: of the first tier that occurs (scheduler, wait, owner, admin), the most frequent.

    If no node was evaluated, the plugins that rejected the pod decide.
    """
    if reason == SCHEDULER_ERROR:
        return ERROR
    found = [(code_of(rejection.plugin), number) for rejection, number in counted if not is_left_out(rejection)]
    if not found:
        return _by_plugins(sorted(plugins)) if plugins else NO_NODES
    tier = min((tier for (_, tier), _ in found), key=_TIERS.index)
    return max((each for each in found if each[0][1] == tier), key=lambda each: each[1])[0]


def summary(message: str, counted: Counted, key: str = "") -> str:
    """Return the reasons without numbers, the most frequent first: the same for pods that wait for the same thing.

    With a pod's namespace/name, the text leaves it out.
    """
    ranked = sorted(counted, key=lambda each: -each[1])
    texts = [text for rejection, _ in ranked if not is_left_out(rejection) for text in rejection.reasons]
    return _without(key, ", ".join(dict.fromkeys(texts[:MOST_GROUPS])) or message)


def _without(key: str, text: str) -> str:
    if not key:
        return text
    for name in (key, key.partition("/")[2]):
        text = text.replace(f"od {name} ", "od ")  # of Pod and of pod
    return text


def groups_of(counted: Counted, words: Words) -> list[ReasonGroup]:
    """Return the rejections as groups, the largest first."""
    ranked = sorted(counted, key=lambda each: -each[1])[:MOST_GROUPS]
    return [group_of(rejection, number, words) for rejection, number in ranked if not is_left_out(rejection)]


def group_of(rejection: Rejection, number: int, words: Words, example: str = "") -> ReasonGroup:
    """Return one rejection as a group."""
    return ReasonGroup(
        plugin=rejection.plugin,
        reasons=words.all(rejection.reasons),
        code=code_of(rejection.plugin)[0],
        nodes=number,
        preemption_helps=rejection.preemption_helps,
        example=example,
    )


class Why(NamedTuple):
    """Why a pod is pending."""

    message: str  # of this pod
    text: str  # the same for all pods that wait for the same thing
    code: str
    tier: Tier
    condition: str = ""  # the reason of its condition


NO_REASON = Why("", "", "", "wait")  # not attempted yet


def why(queued: QueuedPod, made: Made | None) -> Why | None:
    """Return why a pod is pending, by its last attempt or its condition; None if it was never attempted."""
    if queued.is_gated:
        return Why(queued.gating_reason, queued.gating_reason, *code_of(queued.gating_plugin or ""))
    if made is not None:
        reason, message, counted = said_by(made)
        return Why(
            message, summary(message, counted, queued.key), *main_code(reason, counted, plugins_of(queued)), reason
        )
    condition = queued.pod.status.condition("PodScheduled")  # written by an earlier leader
    if condition is None or condition.status != "False":
        return None
    return Why(condition.message, condition.message, *_by_plugins(sorted(plugins_of(queued))), condition.reason)


def reason_of(state: State, queued: QueuedPod, words: Words) -> Reason | None:
    """Return the same for a viewer."""
    found = why(queued, state.log.newest(queued.pod.uid))
    if found is None:
        return None
    return Reason(text=words(found.message), code=found.code, tier=found.tier, condition=found.condition)


def plugins_of(queued: QueuedPod) -> set[str]:
    """Return the plugins that rejected a pending pod, or that gate it."""
    if queued.gating_plugin is not None:
        return {queued.gating_plugin}
    return queued.unschedulable_plugins | queued.pending_plugins


def _by_plugins(plugins: Sequence[str]) -> Code:
    return min((code_of(plugin) for plugin in plugins), key=lambda code: _TIERS.index(code[1]), default=OTHER)
