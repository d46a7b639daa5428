"""Tracks resources that evictions freed and another scheduler took; a node where this repeats is avoided.

The victim's controller recreates it at once, and the other scheduler may place it before the preemptor.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.framework.api.cycle import Cycle
from pilotage.model.pod import Pod
from pilotage.scheduling.diagnosis import Diagnosis
from pilotage.scheduling.post_filter import PostFilterResult

OFTEN = 2  # losses until a node is avoided
REST = 300.0  # seconds for which it is avoided
KEPT = 900.0  # seconds until a loss is forgotten
ROOM_TAKEN = "node(s) are avoided for a while: other schedulers took the room that evictions made there"
LOOK = 60.0  # seconds between two sweeps


@dataclass(slots=True)
class _Made:
    """A node with evictions for a pod, and the pods that were on it."""

    node: str
    since: float
    there: frozenset[str]  # by uid


@dataclass(slots=True)
class _Lost:
    """How often the freed resources of a node were lost, and until when it is avoided."""

    last: float
    times: int = 0
    until: float = 0.0


class LostNominations:
    """Tracks the evictions for each preemptor."""

    def __init__(self, cache: ClusterCache, served: Container[str], clock: Callable[[], float]) -> None:
        self._cache, self._served, self._clock = cache, served, clock
        self._next_look = 0.0
        self._made: dict[str, _Made] = {}  # by uid of the preemptor
        self._lost: dict[str, dict[str, _Lost]] = {}  # by uid of the preemptor and node

    def __len__(self) -> int:
        return len(self._made) + len(self._lost)

    def made(self, preemptor: Pod, node: str) -> None:
        """Record that pods are evicted from a node for another one."""
        self._forget()
        self._look(preemptor)
        info = self._cache.find_node(node)
        there = frozenset() if info is None else frozenset(info.pods)
        self._made[preemptor.uid] = _Made(node, self._clock(), there)

    def left_alone(self, preemptor: Pod) -> dict[str, float]:
        """Return the nodes on which nothing is evicted for a pod now, and until when."""
        if not self._made and not self._lost:  # the common case
            return {}
        self._look(preemptor)
        lost, now = self._lost.get(preemptor.uid, {}), self._clock()
        return {node: each.until for node, each in lost.items() if each.until > now}

    def _look(self, preemptor: Pod) -> None:
        """Check once whether another scheduler's pod took the resources that were freed last."""
        made = self._made.get(preemptor.uid)
        info = None if made is None else self._cache.find_node(made.node)
        if made is None or info is None:
            return
        came = (pod for uid, pod in info.pods.items() if uid not in made.there and not pod.is_finished)
        if not any(pod.scheduler_name not in self._served for pod in came):
            return
        del self._made[preemptor.uid]
        lost = self._lost.setdefault(preemptor.uid, {}).setdefault(made.node, _Lost(0.0))
        lost.last, lost.times = self._clock(), lost.times + 1
        if lost.times >= OFTEN:
            lost.until, lost.times = lost.last + REST, 0

    def _forget(self) -> None:
        now = self._clock()
        if now < self._next_look:  # there may be thousands of preemptors
            return
        self._next_look, old = now + LOOK, now - KEPT
        self._made = {uid: made for uid, made in self._made.items() if made.since > old}
        fresh = (
            (uid, {node: each for node, each in lost.items() if each.last > old}) for uid, lost in self._lost.items()
        )
        self._lost = {uid: lost for uid, lost in fresh if lost}


def without_lost_nominations(
    lost: LostNominations | None, cycle: Cycle, post_filter: PostFilterResult, diagnosis: Diagnosis
) -> Diagnosis:
    """Exclude nodes from preemption for a while where other schedulers took the freed resources."""
    left_alone = {} if lost is None else lost.left_alone(cycle.pod)
    slots = [info.slot for name in left_alone if (info := cycle.nodes.find(name)) is not None]
    if not slots:
        return diagnosis
    cycle.try_again_at(min(left_alone.values()))
    post_filter.note = f"{len(slots)} {ROOM_TAKEN}"
    return diagnosis.beyond_help(slots)
