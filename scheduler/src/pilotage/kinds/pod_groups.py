"""PodGroups of both APIs: groups of pods that start together or not at all."""

from typing import Final

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.match_policies import MatchPolicy, match_policy
from pilotage.model.pod_spec import Amounts
from pilotage.model.pod_status import Condition

QUORUM_REACHED: Final = "QuorumReached"  # a condition that the operator sets on groups of scheduling.x-k8s.io
INITIALLY_SCHEDULED: Final = "PodGroupInitiallyScheduled"  # one that schedulers set on groups of scheduling.k8s.io
RUNNING, FINISHED = "Running", "Finished"


class PodGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The number of pods that must have a node before any of them starts."""

    min_member: int = 0
    min_resources: Amounts | None = None
    schedule_timeout_seconds: int | None = None


class GroupStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The conditions of a group."""

    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of this type."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


class PodGroupStatus(GroupStatus, frozen=True, gc=False, rename="camel"):
    """A controller's status of a group: the operator's, or that of scheduler-plugins, which has no conditions."""

    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class PodGroup(KubeObject, group="scheduling.x-k8s.io", version="v1alpha1", plural="podgroups"):
    """A group of scheduling.x-k8s.io, which pods join by a label."""

    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def match_policy(self) -> MatchPolicy | None:
        """Return which pods count towards the quorum; None if the group names an unknown policy."""
        return match_policy(self.metadata)

    @property
    def quorum(self) -> int:
        """Return the number of pods that must run together."""
        return max(1, self.spec.min_member)

    @property
    def was_satisfied(self) -> bool:
        """Return whether enough pods had a node at the same time, according to its status."""
        status = self.status
        if reached := status.condition(QUORUM_REACHED):
            return reached.status == "True"
        ran = status.running + status.succeeded + status.failed
        return status.phase in (RUNNING, FINISHED) or ran >= self.quorum


class GangPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """All or nothing, for at least this many pods."""

    min_count: int = 1


class SchedulingPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """The scheduling policy of a group; without a gang policy its pods are independent."""

    gang: GangPolicy | None = None


class NativePodGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of Kubernetes' own group."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    priority: int | None = None


class NativePodGroup(KubeObject, group="scheduling.k8s.io", version="v1beta1", plural="podgroups", kind="PodGroup"):
    """A group of scheduling.k8s.io, which pods name in their spec."""

    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: GroupStatus = GroupStatus()

    @property
    def match_policy(self) -> MatchPolicy | None:
        """Return which pods count towards the quorum; None if the group names an unknown policy."""
        return match_policy(self.metadata)

    @property
    def quorum(self) -> int:
        """Return the number of pods that must run together; 1 without a gang policy."""
        gang = self.spec.scheduling_policy.gang
        return 1 if gang is None else max(1, gang.min_count)

    @property
    def was_satisfied(self) -> bool:
        """Return whether enough pods had a node at the same time."""
        scheduled = self.status.condition(INITIALLY_SCHEDULED)
        return scheduled is not None and scheduled.status == "True"
