"""The outcomes of an attempt to place a pod."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.verdicts import FollowUp, PluginFailed, Rejection, Wait
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
    ties: int = 1  # nodes with the same score, including this one
    waits: Mapping[str, Wait] = field(default_factory=dict)  # by plugins whose Permit asked to wait

    @property
    def node(self) -> str:
        """Return the node's name."""
        return self.pod.node_name


@dataclass(frozen=True, slots=True)
class Unplaced:
    """The pod has no node; the message is for its owner, the plugin names are for the queue."""

    message: str
    reason: str = UNSCHEDULABLE
    rejected_by: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    nominate: str | None = ""  # the nominated node; "" clears an earlier nomination, None keeps it
    victims: tuple[str, ...] = ()  # its victims, as namespace/name
    note: str = ""  # the message of events and groups: it changes too often for a condition
    is_news: bool = True  # False if the same outcome has just been reported
    other_nodes: tuple[str, ...] = ()  # nodes of victims other than the nominated node
    again_at: float | None = None  # when to retry even without an event
    gang_fits: int | None = None  # how many pods of its gang fit, if tried
    failed_plugin: str = field(default="", compare=False)  # the plugin whose failure failed the attempt
    rest: float = field(default=0.0, compare=False)  # minimum seconds until the next attempt
    cost: float = field(default=0.0, compare=False)  # seconds of scheduler time lost to a slow plugin
    counted: Counted = field(default=(), compare=False)  # the rejections, each with its number of nodes
    follow_ups: tuple[FollowUp, ...] = field(default=(), compare=False)  # called when the pod is requeued


Outcome = Placed | Unplaced


def plugin_failure(error: Exception) -> Unplaced:
    """Return the outcome of an attempt that failed because of a plugin."""
    plugin = getattr(error, "plugin", "")
    if not isinstance(error, PluginFailed):
        return Unplaced(str(error), SCHEDULER_ERROR, failed_plugin=plugin)
    return Unplaced(str(error), SCHEDULER_ERROR, failed_plugin=plugin, rest=error.rest, cost=error.cost)
