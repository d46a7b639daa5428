"""What a workload does, step by step: upstream's opcodes as values, each with the counts already filled in."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Count:
    """How many; a number that is part of the workload's shape stays when the workload is made smaller."""

    number: int
    fixed: bool = False

    def times(self, factor: float) -> "Count":
        """So much of it, at least one of what was there; never more, since what fitted must still fit."""
        # A hair more: 130,000 times the float nearest to 3/130 is a little less than 3,000.
        return self if self.fixed or not self.number else Count(max(1, int(self.number * factor + 1e-6)))


@dataclass(frozen=True)
class Template:
    """A file that describes an object, and the words that it may ask for besides its own number."""

    path: Path
    words: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateNodes:
    """Nodes, all of one kind except for the labels that are given to them in turn."""

    count: Count
    template: Template | None = None
    label: str = ""
    values: tuple[str, ...] = ()  # in turn; none: each node its own
    allocatable: dict[str, str] = field(default_factory=dict)
    attachable: dict[str, dict[str, int]] = field(default_factory=dict)  # CSI driver -> what a node takes of it
    migrated: tuple[str, ...] = ()


@dataclass(frozen=True)
class CreateNamespaces:
    """Namespaces PREFIX-0, PREFIX-1, ..."""

    prefix: str
    count: Count
    template: Template | None = None


@dataclass(frozen=True)
class CreatePods:
    """Pods in one namespace, as fast as thirty creators can."""

    count: Count
    template: Template | None = None
    namespace: str = ""
    measured: bool = False
    waits: bool = True
    volume: Template | None = None
    claim: Template | None = None
    alike: int = 1  # pods in a row that have the same label "signature"
    gangs: int = 0  # to which they belong in turn; 0: each for itself
    steady_seconds: float = 0.0  # each that is bound makes room for another, for so long; 0: no more than the count


@dataclass(frozen=True)
class CreatePodSets:
    """The same pods in each of several namespaces PREFIX-0, PREFIX-1, ..."""

    prefix: str
    count: Count
    pods: CreatePods


@dataclass(frozen=True)
class CreateAny:
    """Objects of any kind."""

    template: Template
    count: Count = Count(1, fixed=True)
    namespace: str = ""


@dataclass(frozen=True)
class AllocateClaims:
    """Devices for all claims of a namespace, without a scheduler."""

    namespace: str


@dataclass(frozen=True)
class DeletePods:
    """All pods of a namespace, at once or at a steady pace."""

    namespace: str
    labels: dict[str, str] = field(default_factory=dict)
    per_second: int = 0
    waits: bool = True


@dataclass(frozen=True)
class Churn:
    """Objects that come, or come and go, until the workload ends."""

    templates: tuple[Template, ...]
    recreate: bool
    number: int = 0  # 0: no end
    seconds: float = 0.5
    namespace: str = ""


@dataclass(frozen=True)
class Barrier:
    """Wait until pods that were not awaited yet are bound, or at least were tried."""

    namespaces: tuple[str, ...] = ()
    only_tried: bool = False


@dataclass(frozen=True)
class Sleep:
    """Do nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class StartMeasuring:
    """From here on pods of these namespaces count."""

    namespaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class StopMeasuring:
    """Up to here."""


Operation = (
    CreateNodes
    | CreateNamespaces
    | CreatePods
    | CreatePodSets
    | CreateAny
    | AllocateClaims
    | DeletePods
    | Churn
    | Barrier
    | Sleep
    | StartMeasuring
    | StopMeasuring
)
