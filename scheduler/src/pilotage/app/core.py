"""The scheduler without the cluster: everything between the news that come in and the writes that go out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from pilotage.app.handles import NO_SUBSCRIPTIONS, Handles, Subscriptions
from pilotage.app.profile_engines import engines, retries
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.services.extender import Extender
from pilotage.extenders.extended_cycle import ExtendedScheduler
from pilotage.extenders.extenders import Extenders, bind_by_extender
from pilotage.framework.api.handle import OFFLINE_API, Api
from pilotage.framework.api.own_metrics import MetricStore
from pilotage.framework.api.plugin import EvictionRule
from pilotage.framework.api.waiting import WaitingPods
from pilotage.framework.runtime.preemption.evicting import Evicting
from pilotage.model.pod import Pod
from pilotage.profiles import Profile
from pilotage.queue.hints import Observer
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.demand import WAITING_POD_GONE, Demand
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.eviction import Evictions
from pilotage.scheduling.failure import Failures
from pilotage.scheduling.gangs.gang_cycle import GangScheduler
from pilotage.scheduling.intake import NodeIntake, ObjectIntake, PodIntake
from pilotage.scheduling.loop import Loop
from pilotage.scheduling.object_changes import ObjectChanges
from pilotage.scheduling.outside import SILENT, Evicts, GroupStatuses, Lookup, Recorder, Statuses
from pilotage.scheduling.sharing.lost_nominations import LostNominations
from pilotage.scheduling.sharing.race_guard import RaceGuard


@dataclass(frozen=True)
class Core:
    """All parts, each of which knows only the ones that it needs."""

    cache: ClusterCache
    queue: SchedulingQueue
    engines: dict[str, Engine]  # by scheduler name; others take their place when the profiles change
    waiting: WaitingPods
    handles: Handles  # of the plugins
    evictions: Evictions
    bindings: Bindings
    failures: Failures
    loop: Loop
    pods: PodIntake
    nodes: NodeIntake
    objects: ObjectIntake
    guard: RaceGuard


@dataclass(frozen=True)
class Outside:
    """What the scheduler reads and writes beyond itself."""

    known: Lookup
    statuses: Statuses
    evictor: Evicts
    recorder: Recorder
    may_act: Callable[[], bool] = lambda: True
    groups: GroupStatuses = SILENT
    api: Api = OFFLINE_API  # for plugins
    load: Subscriptions = NO_SUBSCRIPTIONS
    metrics: MetricStore = field(default_factory=MetricStore)  # of plugins


def steady_wall_clock() -> Callable[[], float]:
    """Return a clock that shows the time of day and never steps: back-off ends with whole seconds, and not twice."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


def core(
    profiles: Mapping[str, Profile],
    outside: Outside,
    *,
    clock: Callable[[], float],
    initial_backoff: float = 1.0,
    max_backoff: float = 10.0,
    longest_unschedulable: float = 300.0,
    extenders: Sequence[Extender] = (),
    observe_hint: Observer | None = None,
    observe_event: Callable[[str, float], None] | None = None,
    seed: int | None = None,
    cache: ClusterCache | None = None,
) -> Core:
    """Construct and wire all parts."""
    cache, waiting = ClusterCache() if cache is None else cache, WaitingPods()
    queue = SchedulingQueue(
        next(iter(profiles.values())).plugin_set.queue_sort[0],
        lambda pod: profiles[pod.scheduler_name].plugin_set.pre_enqueue,
        {name: retries(profile, *([Extenders()] if extenders else [])) for name, profile in profiles.items()},
        clock,
        initial_backoff=initial_backoff,
        max_backoff=max_backoff,
        longest_unschedulable=longest_unschedulable,
        known=outside.known,
        observe_hint=observe_hint,
        observe_event=observe_event,
    )
    statuses, recorder = outside.statuses, outside.recorder
    handles = Handles(
        cache,
        waiting,
        queue.nominator,
        outside.api,
        outside.load,
        clock,
        recorder,
        outside.known,
        ObjectChanges(),
        outside.metrics,
    )
    ready = engines(profiles, cache, handles=handles)
    guard, lost_nominations = RaceGuard(cache, queue, ready, recorder, clock), LostNominations(cache, ready, clock)
    waits = _is_waiting(cache, outside)
    parts = (cache, ready, queue.nominator, Random(seed))  # noqa: S311 - no secret
    scheduler = Scheduler(*parts, spread=guard.spread, lost_nominations=lost_nominations)
    extended = None
    if extenders:
        extended = ExtendedScheduler(
            *parts,
            extenders,
            is_waiting=waits,
            spread=guard.spread,
            lost_nominations=lost_nominations,
            turn=lambda: loop.between_decisions(),
        )
    evictions = Evictions(
        cache,
        queue,
        waiting,
        statuses,
        outside.evictor,
        recorder,
        _holders(profiles),
        _rules(ready),
        cancel_binding=lambda uid, cause: bindings.cancel(uid, cause),
        may_act=outside.may_act,
        lost_nominations=lost_nominations,
    )
    failures = Failures(queue, outside.known, statuses, recorder, evictions, ready)
    by_extender = None if extended is None else partial(bind_by_extender, extended.extenders)
    bindings = Bindings(cache, queue, waiting, failures, statuses, recorder, by_extender)
    gangs = GangScheduler(cache, queue, ready, scheduler, outside.groups, waits)
    loop = Loop(
        cache, queue, scheduler, bindings, failures, gangs, recorder, ready, clock, guard, outside.may_act, extended
    )
    made = Core(
        cache,
        queue,
        ready,
        waiting,
        handles,
        evictions,
        bindings,
        failures,
        loop,
        PodIntake(cache, queue, waiting, evictions, ready, loop.wake),
        NodeIntake(cache, queue, loop.wake),
        ObjectIntake(cache, queue, loop.wake, handles.changes),
        guard,
    )
    _connect(made, recorder)
    return made


def _connect(made: Core, recorder: Recorder) -> None:
    """Let the parts hear of each other."""
    bindings, pods, guard = made.bindings, made.pods, made.guard
    bindings.on_ended.connect(made.loop.wake)
    bindings.on_bound.connect(lambda _queued, placed, _started: guard.bound(placed.pod))
    pods.on_foreign_bind.connect(guard.foreign_bind)
    pods.on_started.connect(guard.started)
    pods.on_left.connect(guard.left)
    pods.on_not_understood.connect(partial(_tell_not_understood, recorder))
    pods.on_gave_up.connect(partial(_gave_up, Demand(made.engines), made.queue, made.bindings))


def _tell_not_understood(recorder: Recorder, pod: Pod, reason: str) -> None:
    # By an event, because the status is written only of pods that are known.
    recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", reason, controller=pod.scheduler_name)


def _gave_up(demand: Demand, queue: SchedulingQueue, bindings: Bindings, pod: Pod) -> None:
    bindings.found_no_place(pod)
    if demand.gone(pod):
        queue.move_all(WAITING_POD_GONE, pod, None)  # somebody else may call for a node instead


def _is_waiting(cache: ClusterCache, outside: Outside) -> Callable[[Pod], bool]:
    def waits(pod: Pod) -> bool:
        latest = outside.known(pod.key)
        same = latest is not None and latest.uid == pod.uid and not latest.node_name and not latest.is_terminating
        return same and not cache.is_assumed(pod.uid) and outside.may_act()

    return waits


def _rules(ready: Mapping[str, Engine]) -> Callable[[], Sequence[EvictionRule]]:
    return lambda: [rule for engine in ready.values() for rule in engine.runner.eviction_rules]


def _holders(profiles: Mapping[str, Profile]) -> Callable[[str], Sequence[Evicting]]:
    def holders(scheduler: str) -> list[Evicting]:
        plugins = profiles[scheduler].plugin_set.post_filter if scheduler in profiles else ()
        return [plugin for plugin in plugins if isinstance(plugin, Evicting)]

    return holders
