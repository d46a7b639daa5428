"""Status conditions of Kubernetes' own PodGroups, scheduled or not, as in kube-scheduler."""

from collections.abc import Iterable

from pilotage.framework.api.gangs import FormsGangs
from pilotage.model.gangs import NATIVE, GangName
from pilotage.model.pod import Pod
from pilotage.scheduling.outcome import SCHEDULER_ERROR, UNSCHEDULABLE, Outcome, Placed, Unplaced
from pilotage.scheduling.outside import GroupStatuses


class GroupReports:
    """Turns decisions into conditions of groups; gangs of other kinds have no such status."""

    def __init__(self, statuses: GroupStatuses) -> None:
        self._statuses = statuses

    def decided(self, gang: GangName, outcomes: Iterable[Outcome]) -> None:
        """Handle a decision about a gang; if any pod is placed, enough of them are."""
        if gang.source != NATIVE:
            return
        why: Unplaced | None = None
        for outcome in outcomes:
            if isinstance(outcome, Placed):
                self._statuses.scheduled(gang)
                return
            why = outcome if why is None or outcome.note else why
        if why is not None and why.is_news:
            # Autoscalers ignore groups: the message is kube-scheduler's.
            reason = SCHEDULER_ERROR if why.reason == SCHEDULER_ERROR else UNSCHEDULABLE
            self._statuses.waits(gang, reason, why.note or why.message)

    def decided_alone(self, gang: GangName, plugin: FormsGangs, pod: Pod, outcome: Outcome) -> None:
        """Handle the decision about a single pod of a group without a minimum, above it, or with extenders."""
        if isinstance(outcome, Placed):
            is_whole = plugin.name not in outcome.waits
        else:
            missing = plugin.missing(gang, pod)
            is_whole = missing is None or missing > 0  # otherwise the group is complete, and this pod is extra
        if is_whole:
            self.decided(gang, [outcome])
