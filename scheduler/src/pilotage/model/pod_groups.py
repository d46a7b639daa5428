"""Groups of pods that start together or not at all, in both of the APIs that have them."""

from msgspec import Struct

from pilotage.model.metadata import Metadata
from pilotage.model.pod_spec import Amounts
from pilotage.model.pod_status import Condition


class PodGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """How many pods of the group must have a place before any of them starts."""

    min_member: int = 0
    min_resources: Amounts | None = None
    schedule_timeout_seconds: int | None = None


class PodGroup(Struct, gc=False, rename="camel"):
    """A group of scheduling.x-k8s.io, which pods join by a label."""

    metadata: Metadata
    spec: PodGroupSpec = PodGroupSpec()


class GangPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """All or nothing, from so many pods on."""

    min_count: int = 1


class SchedulingPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """How the pods of a group belong together; without a gang each is for itself."""

    gang: GangPolicy | None = None


class NativePodGroupSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What Kubernetes' own group asks for."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    priority: int | None = None


class NativePodGroupStatus(Struct, frozen=True, gc=False, rename="camel"):
    """What has happened to Kubernetes' own group."""

    conditions: tuple[Condition, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of this type."""
        return next((condition for condition in self.conditions if condition.type == kind), None)


class NativePodGroup(Struct, gc=False, rename="camel"):
    """A group of scheduling.k8s.io, which pods name in their spec."""

    metadata: Metadata
    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: NativePodGroupStatus = NativePodGroupStatus()
