"""The pods of an incomplete gang: how many of them need a place at once, and which of them wait."""

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pilotage.framework.api.gangs import FormsGangs
from pilotage.model.gangs import GangName, gang_of
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.engine import Engine

MOST_MEMBERS = 128  # of a gang that is tried pod by pod
SLICE = 500  # pods that are handled in one step: a gang may have a hundred thousand


@dataclass(frozen=True)
class Siblings:
    """An incomplete gang, as recorded in one step."""

    name: GangName
    plugin: FormsGangs
    needed: int
    taken: tuple[Pod, ...]  # the pod that is asked about, and others that are not in the queue now
    queued: Sequence[QueuedPod]

    @property
    def is_large(self) -> bool:
        """Return whether it needs more pods at once than are tried."""
        return self.needed > MOST_MEMBERS

    def pods(self) -> Iterator[Pod]:
        """Yield all of its pods."""
        yield from self.taken
        yield from (each.pod for each in self.queued)


@dataclass(frozen=True)
class Members:
    """The same, with its waiting and gated pods."""

    name: GangName
    plugin: FormsGangs
    needed: int
    waiting: Sequence[Pod]  # that may be tried
    gated: Sequence[Pod]

    @property
    def lacking(self) -> int:
        """Return how many pods do not exist."""
        return max(0, self.needed - len(self.waiting) - len(self.gated))


def siblings_of(queue: SchedulingQueue, engine: Engine, pod: Pod, *taken: Pod) -> Siblings | None:
    """Return the gang of a waiting pod, with pods that were just taken from the queue; None without a gang."""
    name, plugin = gang_of(pod), engine.gangs
    needed = plugin.missing(name, pod) if name is not None and plugin is not None else None
    if name is None or plugin is None or needed is None or needed <= 0:
        return None
    return Siblings(name, plugin, needed, (pod, *taken), queue.gang(name, pod.scheduler_name))


def sorted_out(gang: Siblings) -> Generator[None, None, Members]:
    """Separate the pods that may be tried from the gated ones."""
    gated: dict[str, Pod] = {}
    waiting: dict[str, Pod] = {}
    for number, each in enumerate(gang.queued):
        if number % SLICE == SLICE - 1:
            yield
        (gated if each.is_gated else waiting)[each.pod.uid] = each.pod
    waiting |= {pod.uid: pod for pod in gang.taken if pod.uid not in gated}
    return Members(gang.name, gang.plugin, gang.needed, list(waiting.values()), list(gated.values()))


def by_kind(pods: Iterable[Pod]) -> Generator[None, None, list[tuple[Pod, int]]]:
    """Return one pod of each shape, and how many there are."""
    found: dict[object, tuple[Pod, int]] = {}
    for number, pod in enumerate(pods):
        if number % SLICE == SLICE - 1:
            yield
        first, count = found.get(pod.shape, (pod, 0))
        found[pod.shape] = first, count + 1
    return list(found.values())
