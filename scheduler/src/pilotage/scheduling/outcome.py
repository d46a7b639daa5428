"""How an attempt to place a pod ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.verdicts import PluginFailed, Rejection, Wait
from pilotage.model.pod import Pod
from pilotage.scheduling.engine import Engine

UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"

Counted = Sequence[tuple[Rejection, int]]


@dataclass(frozen=True, slots=True)
class Placed:
    """The pod has its place, which nobody else gets any more."""

    pod: Pod  # on its node
    feasible: int
    cycle: Cycle
    engine: Engine
    ties: int = 1  # nodes that were as good as this one, itself among them
    waits: Mapping[str, Wait] = field(default_factory=dict)  # plugins that hold the pod back for a while

    @property
    def node(self) -> str:
        """Return the node's name."""
        return self.pod.node_name


@dataclass(frozen=True, slots=True)
class Unplaced:
    """The pod has no place; the message is for its owner, the plugins are for the queue."""

    message: str
    reason: str = UNSCHEDULABLE
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    nominate: str | None = ""  # the node that is nominated; "" clears an earlier nomination, None lets it stand
    victims: tuple[str, ...] = ()  # pods that go for it, as namespace/name
    note: str = ""  # what events and groups are told instead of the message: it changes too often for a condition
    is_news: bool = True  # False if the owner was told the same a moment ago
    other_nodes: tuple[str, ...] = ()  # where some of them are, besides the node that is nominated
    again_at: float | None = None  # when to try again even if nothing happens
    gang_fits: int | None = None  # how many pods of its gang found a place, where that was tried
    failed_plugin: str = field(default="", compare=False)  # the one whose failure spoiled the attempt
    rest: float = field(default=0.0, compare=False)  # seconds until the next try at least, whatever happens
    cost: float = field(default=0.0, compare=False)  # seconds that everybody has lost by a plugin
    counted: Counted = field(default=(), compare=False)  # the rejections, each with its number of nodes


Outcome = Placed | Unplaced


def spoiled(error: Exception) -> Unplaced:
    """Return how an attempt ends that a failure of a plugin has spoiled, or one that is told like it."""
    plugin = getattr(error, "plugin", "")
    if not isinstance(error, PluginFailed):
        return Unplaced(str(error), SCHEDULER_ERROR, failed_plugin=plugin)
    return Unplaced(str(error), SCHEDULER_ERROR, failed_plugin=plugin, rest=error.rest, cost=error.cost)
