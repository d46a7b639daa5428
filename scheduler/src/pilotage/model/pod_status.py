"""The parts of a pod's status that scheduling reads, as in the API."""

from msgspec import Struct

from pilotage.model.pod_spec import Amounts, Resources


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The actual resources of a container, which a resize can change."""

    name: str = ""
    allocated_resources: Amounts | None = None
    resources: Resources | None = None


class ClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The claim created from a template."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The status of a pod."""

    phase: str = ""
    qos_class: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: Amounts | None = None
    resources: Resources | None = None
    resource_claim_statuses: tuple[ClaimStatus, ...] = ()

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of this type."""
        return next((condition for condition in self.conditions if condition.type == kind), None)
