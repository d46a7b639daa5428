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
    """The pod has a node, and its resources are reserved."""

    pod: Pod  # on its node
    feasible: int
    cycle: Cycle
    engine: Engine
    ties: int = 1  # nodes that were as good as this one, itself among them
    waits: Mapping[str, Wait] = field(default_factory=dict)  # plugins that ask to wait

    @property
    def node(self) -> str:
        """Return the node's name."""
        return self.pod.node_name


@dataclass(frozen=True, slots=True)
class Unplaced:
    """The pod has no node; the message is for its owner, the plugins are for the queue."""

    message: str
    reason: str = UNSCHEDULABLE
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    nominate: str | None = ""  # the node that is nominated; "" clears an earlier nomination, None lets it stand
    victims: tuple[str, ...] = ()  # its victims, as namespace/name
    note: str = ""  # the message of events and groups: it changes too often for a condition
    is_news: bool = True  # False if the same was reported a moment ago
    other_nodes: tuple[str, ...] = ()  # where some of them are, besides the node that is nominated
    again_at: float | None = None  # when to retry even without an event
    gang_fits: int | None = None  # how many pods of its gang were placed, if tried
    failed_plugin: str = field(default="", compare=False)  # the plugin whose failure failed the attempt
    rest: float = field(default=0.0, compare=False)  # minimum seconds until the next attempt
    cost: float = field(default=0.0, compare=False)  # seconds that the scheduler has lost by a plugin
    counted: Counted = field(default=(), compare=False)  # the rejections, each with its number of nodes


Outcome = Placed | Unplaced


def spoiled(error: Exception) -> Unplaced:
    """Return the outcome of an attempt that failed because of a plugin."""
    plugin = getattr(error, "plugin", "")
    if not isinstance(error, PluginFailed):
        return Unplaced(str(error), SCHEDULER_ERROR, failed_plugin=plugin)
    return Unplaced(str(error), SCHEDULER_ERROR, failed_plugin=plugin, rest=error.rest, cost=error.cost)
