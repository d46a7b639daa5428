"""Whether schedulers are well, and how full nodes are."""

from typing import Literal

from pilotage.views.printed.parts import Part, Printed


class Replica(Part, frozen=True):
    """A pod of a scheduler."""

    name: str
    ready: bool
    leads: bool
    config_hash: str
    trouble: str


class Release(Part, frozen=True):
    """A release and its replicas."""

    namespace: str
    name: str
    leader: str | None
    replicas: list[Replica]


class ProfileHealth(Part, frozen=True):
    """A SchedulerProfile in one line."""

    name: str
    scheduler_name: str
    instance: str
    generation: int
    ready: bool
    reason: str
    replicas: str
    plugins: int
    config_hash: str
    last_good_generation: int | None
    waiting: int = 0  # these two only where the scheduler was asked
    bound_per_minute: int = 0


class Alarm(Part, frozen=True):
    """What is wrong, with what, and what to do."""

    about: str
    severity: Literal["fault", "warning"]
    text: str
    do: str


class Health(Printed, frozen=True):
    """Whether schedulers and their profiles are well."""

    well: bool
    releases: list[Release]
    profiles: list[ProfileHealth]
    alarms: list[Alarm]


class Amounts(Part, frozen=True):
    """What there is, what is asked for, and what is free and of no use."""

    allocatable: dict[str, int]
    requested: dict[str, int]
    stranded: dict[str, int]
    pods: int
    allowed: int


class TopNode(Amounts, frozen=True, kw_only=True):
    """How full a node is."""

    name: str
    zone: str
    type: str
    flags: list[str]


class TopNodes(Printed, frozen=True):
    """How full nodes are."""

    units: dict[str, str]
    total: Amounts
    items: list[TopNode]


class TopShape(Part, frozen=True):
    """Pods of a namespace that ask for the same, and how many more of them fit."""

    namespace: str
    example: str
    scheduler_name: str
    pods: int
    waiting: int
    requests: dict[str, int]
    constraints: list[str]
    copies: int | None  # null: the time was over
    stopped_by: str
    message: str
    by_node: dict[str, int]
    where: str


class TopShapes(Printed, frozen=True):
    """How many more of the most frequent pods fit."""

    source: Literal["live", "local", "file"]
    units: dict[str, str]
    items: list[TopShape]
