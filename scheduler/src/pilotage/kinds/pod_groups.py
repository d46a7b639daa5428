"""Groups of pods that start together or not at all, in both of the APIs that have them."""

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
    """How many pods of the group must have a node before any of them starts."""

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
        """Return what counts towards the quorum; None if the group names an unknown one."""
        return match_policy(self.metadata)

    @property
    def quorum(self) -> int:
        """Return how many pods must run together."""
        return max(1, self.spec.min_member)

    @property
    def was_satisfied(self) -> bool:
        """Return whether enough pods have had a node at once, as far as its status shows."""
        status = self.status
        if reached := status.condition(QUORUM_REACHED):
            return reached.status == "True"
        ran = status.running + status.succeeded + status.failed
        return status.phase in (RUNNING, FINISHED) or ran >= self.quorum


class GangPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """All or nothing, for at least this many pods."""

    min_count: int = 1


class SchedulingPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """How the pods of a group belong together; without a gang they are independent."""

    gang: GangPolicy | None = None


class NativePodGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What Kubernetes' own group asks for."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    priority: int | None = None


class NativePodGroup(KubeObject, group="scheduling.k8s.io", version="v1beta1", plural="podgroups", kind="PodGroup"):
    """A group of scheduling.k8s.io, which pods name in their spec."""

    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: GroupStatus = GroupStatus()

    @property
    def match_policy(self) -> MatchPolicy | None:
        """Return what counts towards the quorum; None if the group names an unknown one."""
        return match_policy(self.metadata)

    @property
    def quorum(self) -> int:
        """Return how many pods must run together; without a gang they are independent."""
        gang = self.spec.scheduling_policy.gang
        return 1 if gang is None else max(1, gang.min_count)

    @property
    def was_satisfied(self) -> bool:
        """Return whether enough pods have had a node at once."""
        scheduled = self.status.condition(INITIALLY_SCHEDULED)
        return scheduled is not None and scheduled.status == "True"
