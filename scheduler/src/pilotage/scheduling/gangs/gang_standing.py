"""The state of a gang, for explaining one of its pods: the table of nodes covers only that pod."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pilotage.model.gangs import GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.outcome import Outcome, Unplaced


@dataclass(frozen=True)
class GangStanding:
    """An incomplete gang: how many of its pods must be placed at once, and how many exist."""

    name: GangName
    needed: int
    waiting: int  # not gated, including this one
    gated: int
    fitting: int | None = None  # how many of the needed pods fit, if tried
    blocker: str = ""  # a pod that did not fit, if its spec differs

    @property
    def lacking(self) -> int:
        """Return how many pods do not exist."""
        return max(0, self.needed - self.waiting - self.gated)

    @property
    def held(self) -> int:
        """Return how many of the existing pods are still gated."""
        return max(0, self.needed - self.waiting - self.lacking)

    def after(self, pod: Pod, decided: Iterable[tuple[QueuedPod, Outcome]]) -> "GangStanding | None":
        """Return the state after a decision; None if the gang was placed."""
        unplaced = [(member.pod, outcome) for member, outcome in decided if isinstance(outcome, Unplaced)]
        mine = next((outcome for each, outcome in unplaced if each.uid == pod.uid), None)
        if mine is None:
            return None
        others = (each.name for each, outcome in unplaced if outcome.note and each.shape is not pod.shape)
        return replace(self, fitting=mine.gang_fits, blocker=next(others, ""))


def standing(queue: SchedulingQueue, engine: Engine, pod: Pod) -> GangStanding | None:
    """Return the state of the gang of a pod just popped; None if it has no gang."""
    name, plugin = gang_of(pod), engine.gangs
    needed = plugin.missing(name, pod) if name is not None and plugin is not None else None
    if name is None or needed is None or needed <= 0:
        return None
    siblings = queue.gang(name, pod.scheduler_name)
    gated = sum(sibling.is_gated for sibling in siblings)
    return GangStanding(name, needed, 1 + len(siblings) - gated, gated)
