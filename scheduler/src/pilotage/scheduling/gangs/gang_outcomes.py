"""The outcomes and messages of a gang's pods."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pilotage.framework.api.gangs import FormsGangs
from pilotage.framework.api.verdicts import Rejection
from pilotage.framework.runtime.gang_fence import GangFailure
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.outcome import UNSCHEDULABLE, Outcome, Placed, Unplaced, plugin_failure

Decision = tuple[QueuedPod, Outcome]


@dataclass(frozen=True)
class Gang:
    """A gang that is being decided."""

    name: GangName
    plugin: FormsGangs
    members: Sequence[QueuedPod]
    needed: int  # members that must be placed at once

    @property
    def pods(self) -> list[Pod]:
        """Return the pods of the members."""
        return [member.pod for member in self.members]

    @property
    def least(self) -> list[Pod]:
        """Return the smallest pods, as many as are needed."""
        return self.pods[-self.needed :]


def same_outcome(members: Sequence[QueuedPod], outcome: Unplaced, noted: Pod | None = None) -> list[Decision]:
    """Give all members the same outcome; only one carries the details."""
    briefly = replace(outcome, note="", follow_ups=())
    return [(member, outcome if member.pod is noted else briefly) for member in members]


def waiting_for_room(gang: Gang, plan: Unplaced | None) -> Unplaced:
    """Return a member's outcome while victims terminate for the gang."""
    message, name = f"PodGroup {gang.name} waits for the pods evicted for it to terminate", gang.plugin.name
    if plan is None:  # an extra member, beyond the needed number
        return Unplaced(message, rejected_by=frozenset({name}), nominate=None)
    return replace(plan, message=message, rejected_by=plan.rejected_by | {name})


def permitted(gang: Gang, outcome: Outcome) -> Outcome:
    """Permit a member that waits only for the rest of the gang."""
    if not isinstance(outcome, Placed) or gang.plugin.name not in outcome.waits:
        return outcome
    return replace(outcome, waits={name: wait for name, wait in outcome.waits.items() if name != gang.plugin.name})


def objection_outcome(plugin: FormsGangs, objection: Rejection) -> Unplaced:
    """Return the outcome for a pod whose gang is not tried."""
    if isinstance(objection, GangFailure):
        return plugin_failure(objection.error)
    # A pending rejection waits for a set time, and no event helps.
    rejected_by = frozenset() if objection.pending else frozenset({plugin.name})
    return Unplaced(objection.message, objection.held_as or UNSCHEDULABLE, rejected_by=rejected_by, nominate=None)


def named(gang: Gang, blocker: Pod) -> Pod:
    """Return the pod to name as the one that did not fit: among equal pods always the same.

    Otherwise the name would change with the number of pods that fit, and all conditions would be rewritten.
    """
    return max((pod for pod in gang.pods if pod.shape is blocker.shape), key=lambda pod: pod.name)


def gang_message(gang: Gang, blocker: Pod, how_many: str, why: str) -> str:
    """Return why a gang waits."""
    return (
        f"PodGroup {gang.name} gets rejected due to Pod {blocker.name} is unschedulable even after PostFilter: "
        f"{how_many}, this one does not: {why}"
    )
