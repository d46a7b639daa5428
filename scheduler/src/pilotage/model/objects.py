"""The other objects that decisions depend on, as the API has them."""

from msgspec import Struct

from pilotage.model.metadata import Metadata
from pilotage.model.selectors import LabelSelector


class Namespace(Struct, gc=False, rename="camel"):
    """A namespace; pod affinity can select it by its labels."""

    metadata: Metadata


class ExactSelectorSpec(Struct, frozen=True, gc=False, rename="camel"):
    """A selector of exact labels; None matches nothing."""

    selector: dict[str, str] | None = None


class Service(Struct, gc=False, rename="camel"):
    """A service, whose pods are spread by default."""

    metadata: Metadata
    spec: ExactSelectorSpec = ExactSelectorSpec()


class ReplicationController(Struct, gc=False, rename="camel"):
    """A replication controller, whose pods are spread by default."""

    metadata: Metadata
    spec: ExactSelectorSpec = ExactSelectorSpec()


class LabelSelectorSpec(Struct, frozen=True, gc=False, rename="camel"):
    """A selector of labels."""

    selector: LabelSelector | None = None


class ReplicaSet(Struct, gc=False, rename="camel"):
    """A replica set, whose pods are spread by default."""

    metadata: Metadata
    spec: LabelSelectorSpec = LabelSelectorSpec()


class StatefulSet(Struct, gc=False, rename="camel"):
    """A stateful set, whose pods are spread by default."""

    metadata: Metadata
    spec: LabelSelectorSpec = LabelSelectorSpec()


class DisruptionStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How many more pods may go."""

    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(Struct, gc=False, rename="camel"):
    """How many pods of a kind must stay."""

    metadata: Metadata
    spec: LabelSelectorSpec = LabelSelectorSpec()
    status: DisruptionStatus = DisruptionStatus()


class PriorityClass(Struct, gc=False, rename="camel"):
    """A priority with a name."""

    metadata: Metadata
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""
