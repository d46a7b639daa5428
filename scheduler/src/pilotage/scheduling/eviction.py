"""Evicts the victims of preemption, and keeps the preemptor gated until the last one is evicted.

decided ── begin: the preemptor is gated
   │
   ├── lower pods lose the nomination of the node
   ├── all victims except the last, concurrently
   ├── the last victim ── the watch shows it terminating: the gate opens, and its deletion wakes the preemptor
   └── after an error, or if no deletion will follow: the gate opens, and the preemptor is retried at once
"""

import logging
from collections.abc import Callable, Mapping, Sequence

from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.write.evictor import NotEvicted
from pilotage.framework.api.plugin import EvictionRule
from pilotage.framework.api.signal import Signal
from pilotage.framework.api.waiting import WaitingPods
from pilotage.framework.runtime.preemption.evicting import Evicting
from pilotage.framework.runtime.preemption.eviction_rules import evictions_began, evictions_cancelled
from pilotage.model.pod import Pod
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.outcome import Unplaced
from pilotage.scheduling.outside import Evicts, Recorder, Statuses
from pilotage.scheduling.sharing.lost_nominations import LostNominations
from pilotage.scheduling.tasks import LoopTasks, Tasks

log = logging.getLogger(__name__)

Holders = Callable[[str], Sequence[Evicting]]  # the plugins of a profile that hold preemptors
Rules = Callable[[], Sequence[EvictionRule]]  # the plugins of all profiles that restrict evictions
Cancel = Callable[[str, str], bool]  # stops the preparation of a bind, by uid; False if it is too late


def rules_of(engines: Mapping[str, Engine]) -> Rules:
    """Return a function that finds the plugins of the current profiles that restrict evictions."""
    return lambda: [rule for engine in engines.values() for rule in engine.runner.eviction_rules]


def holders_of(engines: Mapping[str, Engine]) -> Holders:
    """Return a function that finds the plugins of a profile that hold preemptors."""

    def holders(scheduler: str) -> list[Evicting]:
        plugins = engines[scheduler].runner.plugin_set.post_filter if scheduler in engines else ()
        return [plugin for plugin in plugins if isinstance(plugin, Evicting)]

    return holders


class EvictionFailed(Exception):
    """A victim could not be deleted."""


class Evictions:
    """All evictions in progress."""

    def __init__(
        self,
        cache: ClusterCache,
        queue: SchedulingQueue,
        waiting: WaitingPods,
        statuses: Statuses,
        evictor: Evicts,
        recorder: Recorder,
        holders: Holders,
        rules: Rules,
        *,
        cancel_binding: Cancel = lambda _uid, _cause: False,
        may_act: Callable[[], bool] = lambda: True,
        lost_nominations: LostNominations | None = None,
        tasks: Tasks | None = None,
        leaves: Callable[[Pod], bool] = lambda pod: pod.is_terminating,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._waiting = waiting
        self._statuses = statuses
        self._evictor = evictor
        self._recorder = recorder
        self._holders = holders
        self._rules = rules
        self._awaited: dict[str, dict[str, tuple[Pod, Sequence[Evicting]]]] = {}  # by last victim and preemptor
        self._tasks: Tasks = LoopTasks() if tasks is None else tasks
        self._leaves = leaves  # whether a pod already terminates
        self._cancel_binding = cancel_binding
        self._may_act = may_act
        self.lost_nominations = lost_nominations
        self.on_ended: Signal[str] = Signal()  # the result

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, preemptor: Pod, outcome: Unplaced) -> None:
        """Start evicting the victims of a pod, unless all of them already terminate."""
        node = outcome.nominate or ""
        chosen = self._victims((node, *outcome.other_nodes), outcome.victims)
        evictions_began(self._rules(), preemptor, chosen)
        if self.lost_nominations is not None:
            self.lost_nominations.made(preemptor, node)
        victims = [pod for pod in chosen if not self._leaves(pod)]
        if not victims:
            return
        holders = self._holders(preemptor.scheduler_name)
        for plugin in holders:
            plugin.begin(preemptor.uid)
        self._awaited.setdefault(victims[-1].uid, {})[preemptor.uid] = preemptor, holders
        self._tasks.start(self._carry_out(preemptor, node, victims, holders))

    def noticed(self, pod: Pod) -> None:
        """Record that a pod is terminating or deleted; call it before the queue is updated."""
        for preemptor, holders in self._awaited.pop(pod.uid, {}).values():
            self._release(preemptor, holders)

    def _victims(self, nodes: Sequence[str], keys: Sequence[str]) -> list[Pod]:
        infos = (self._cache.find_node(node) for node in nodes)
        by_key = {pod.key: pod for info in infos if info is not None for pod in info.pods.values()}
        return [by_key[key] for key in keys if key in by_key]

    async def _carry_out(self, preemptor: Pod, node: str, victims: list[Pod], holders: Sequence[Evicting]) -> None:
        *others, last = victims
        wake = True  # nothing else does, unless the deletion of the last victim follows
        try:
            self._clear_nominations(preemptor, node)
            for result in await self._tasks.side_by_side(self._evict(preemptor, node, each) for each in others):
                if isinstance(result, BaseException):
                    raise result
            wake = not await self._evict(preemptor, node, last)
            self.on_ended("success")
        except Exception as error:
            self.on_ended("error")
            evictions_cancelled(self._rules(), victims)
            log.error("evicting pods for pod %s failed: %s", preemptor.key, error)
        finally:
            # Before the watch shows the last victim terminating, another deletion would wake the preemptor too early,
            # and it would evict another pod.
            if wake:
                self._stop_awaiting(preemptor, last)
                self._release(preemptor, holders)
                self._queue.activate([preemptor])

    def _stop_awaiting(self, preemptor: Pod, last: Pod) -> None:
        preemptors = self._awaited.get(last.uid, {})
        preemptors.pop(preemptor.uid, None)
        if not preemptors:  # others may wait for the same victim
            self._awaited.pop(last.uid, None)

    def _clear_nominations(self, preemptor: Pod, node: str) -> None:
        for pod in self._queue.nominator.pods_for_node(node):
            if pod.priority < preemptor.priority and pod.uid != preemptor.uid:
                self._statuses.nominate(pod, "")

    async def _evict(self, preemptor: Pod, node: str, victim: Pod) -> bool:
        """Evict one pod; False if it was not bound yet, so that no request is needed."""
        note = f"Preempted by pod {preemptor.uid} on node {node}"
        in_memory = self._stop(victim.uid, preemptor.scheduler_name)
        if in_memory:
            evictions_cancelled(self._rules(), [victim])
            note += " (in kube-scheduler memory)."
        else:
            if not self._may_act():
                raise EvictionFailed(f"pod {victim.key}: this scheduler is not the leader any more")
            outcome = await self._evictor.evict(victim, preemptor.scheduler_name)
            if isinstance(outcome, NotEvicted):
                raise EvictionFailed(f"pod {victim.key}: {outcome.message}")
            if outcome.was_gone:
                return True
        self._recorder.record(victim, "Normal", "Preempted", "Preempting", note, controller=preemptor.scheduler_name)
        return not in_memory

    def _stop(self, uid: str, scheduler: str) -> bool:
        """Cancel the binding cycle of a pod; False if it is bound already."""
        waiting = self._waiting.get(uid)
        if waiting is not None and waiting.preempt("preempted"):
            return True
        names = ", ".join(plugin.name for plugin in self._holders(scheduler))
        return self._cancel_binding(uid, f"preempted by {names}")

    def _release(self, preemptor: Pod, holders: Sequence[Evicting]) -> None:
        for plugin in holders:
            plugin.end(preemptor.uid)
        self._queue.gate_opens(preemptor)
