"""What views read: the parts of a running scheduler, and the moment that an answer shows."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.waiting import WaitingPods
from pilotage.model.pod import Pod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.decision_log import DecisionLog
from pilotage.scheduling.engine import Engine
from pilotage.views.node_names import NodeNames

if TYPE_CHECKING:
    from pilotage.views.tally import Tally

Answered = TypeVar("Answered")
# An answer in steps: other tasks can run at each yield.
Steps: TypeAlias = Generator[None, None, Answered]

STEP = 100  # pods, nodes or decisions that are handled in one step


@dataclass(frozen=True)
class State:
    """The scheduler as it is now."""

    cache: ClusterCache
    queue: SchedulingQueue
    engines: Mapping[str, Engine]
    waiting: WaitingPods
    log: DecisionLog
    tally: "Tally"
    pods: Callable[[], Mapping[str, Pod]]  # all that the API server has, by namespace/name
    clock: Callable[[], float]  # of the queue
    node_names: NodeNames = field(default_factory=NodeNames)


@dataclass(frozen=True)
class Stamp:
    """Which state an answer shows."""

    at: datetime
    revision: int
    source: str = "live"


def when(seconds: float) -> datetime:
    """Return a moment as a datetime."""
    return datetime.fromtimestamp(seconds, UTC)


def owner_of(pod: Pod) -> str:
    """Return Kind/name of a pod's controller; "" for none."""
    owner = pod.metadata.controller
    return "" if owner is None else f"{owner.kind}/{owner.name}"


def finish(steps: Steps[Answered]) -> Answered:
    """Run all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            answered: Answered = end.value
            return answered
