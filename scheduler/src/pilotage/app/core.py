"""The scheduler without the cluster: everything between watch events and writes."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
from pilotage.framework.api.waiting import WaitingPods
from pilotage.model.pod import Pod
from pilotage.profiles import Profile
from pilotage.queue.hints import Observer
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.binding import Bindings
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.demand import WAITING_POD_GONE, Demand
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.eviction import Cancel, Evictions, holders_of, rules_of
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
    """All components of a scheduler, wired together."""

    cache: ClusterCache
    queue: SchedulingQueue
    engines: dict[str, Engine]  # by scheduler name; replaced when the profiles change
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
    """The interfaces through which the scheduler reads and writes the cluster."""

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
    """Return a clock that shows the time of day and never steps: back-off ends with whole seconds, and only once."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


@dataclass(frozen=True)
class _Base:
    """The dependencies that all deciding and acting components share."""

    outside: Outside
    clock: Callable[[], float]
    cache: ClusterCache
    queue: SchedulingQueue
    waiting: WaitingPods
    handles: Handles
    engines: dict[str, Engine]
    guard: RaceGuard
    lost_nominations: LostNominations
    is_waiting: Callable[[Pod], bool]
    tie_break: Random


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
    """Construct and wire all components."""
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
    tie_break = Random(seed)  # noqa: S311 - no secret
    base = _base(profiles, outside, clock, ClusterCache() if cache is None else cache, queue, tie_break)
    made = _components(base, extenders)
    _connect(made, outside.recorder)
    made.handles.announce = made.objects.announce
    return made


def _base(
    profiles: Mapping[str, Profile],
    outside: Outside,
    clock: Callable[[], float],
    cache: ClusterCache,
    queue: SchedulingQueue,
    tie_break: Random,
) -> _Base:
    """Prepare the profiles, with the handles of their plugins."""
    waiting = WaitingPods()
    handles = Handles(
        cache,
        waiting,
        queue.nominator,
        outside.api,
        outside.load,
        clock,
        outside.recorder,
        outside.known,
        ObjectChanges(),
        outside.metrics,
    )
    ready = engines(profiles, cache, handles=handles)
    guard, lost_nominations = (
        RaceGuard(cache, queue, ready, outside.recorder, clock),
        LostNominations(cache, ready, clock),
    )
    waits = _is_waiting(cache, outside)
    return _Base(outside, clock, cache, queue, waiting, handles, ready, guard, lost_nominations, waits, tie_break)


def _components(base: _Base, extenders: Sequence[Extender]) -> Core:
    """Construct the components that decide and act; lambdas refer to the two that are constructed later."""
    outside, cache, queue, ready = base.outside, base.cache, base.queue, base.engines
    extended = _extended(base, extenders, lambda: loop.between_decisions())
    evictions = _evictions(base, lambda uid, cause: bindings.cancel(uid, cause))
    failures = Failures(queue, outside.known, outside.statuses, outside.recorder, evictions, ready)
    by_extender = None if extended is None else partial(bind_by_extender, extended.extenders)
    bindings = Bindings(cache, queue, base.waiting, failures, outside.statuses, outside.recorder, by_extender)
    loop = _loop(base, bindings, failures, extended)
    return Core(
        cache,
        queue,
        ready,
        base.waiting,
        base.handles,
        evictions,
        bindings,
        failures,
        loop,
        PodIntake(cache, queue, base.waiting, evictions, ready, loop.wake),
        NodeIntake(cache, queue, loop.wake),
        ObjectIntake(cache, queue, loop.wake, base.handles.changes),
        base.guard,
    )


def _extended(
    base: _Base, extenders: Sequence[Extender], turn: Callable[[], Awaitable[None]]
) -> ExtendedScheduler | None:
    if not extenders:
        return None
    return ExtendedScheduler(
        base.cache,
        base.engines,
        base.queue.nominator,
        base.tie_break,
        extenders,
        is_waiting=base.is_waiting,
        spread=base.guard.spread,
        lost_nominations=base.lost_nominations,
        turn=turn,
    )


def _evictions(base: _Base, cancel_binding: Cancel) -> Evictions:
    return Evictions(
        base.cache,
        base.queue,
        base.waiting,
        base.outside.statuses,
        base.outside.evictor,
        base.outside.recorder,
        holders_of(base.engines),
        rules_of(base.engines),
        cancel_binding=cancel_binding,
        may_act=base.outside.may_act,
        lost_nominations=base.lost_nominations,
    )


def _loop(base: _Base, bindings: Bindings, failures: Failures, extended: ExtendedScheduler | None) -> Loop:
    outside, cache, queue, ready = base.outside, base.cache, base.queue, base.engines
    scheduler = Scheduler(
        cache,
        ready,
        queue.nominator,
        base.tie_break,
        spread=base.guard.spread,
        lost_nominations=base.lost_nominations,
    )
    gangs = GangScheduler(cache, queue, ready, scheduler, outside.groups, base.is_waiting)
    parts = (cache, queue, scheduler, bindings, failures, gangs, outside.recorder, ready, base.clock, base.guard)
    return Loop(*parts, outside.may_act, extended)


def _connect(made: Core, recorder: Recorder) -> None:
    """Connect the components' signals."""
    bindings, pods, guard = made.bindings, made.pods, made.guard
    bindings.on_ended.connect(made.loop.wake)
    bindings.on_bound.connect(lambda _queued, placed, _started: guard.bound(placed.pod))
    pods.on_foreign_bind.connect(guard.foreign_bind)
    pods.on_started.connect(guard.started)
    pods.on_left.connect(guard.left)
    pods.on_undecodable.connect(partial(_record_undecodable, recorder))
    pods.on_pending_deleted.connect(partial(_pending_deleted, Demand(made.engines), made.queue, made.bindings))


def _record_undecodable(recorder: Recorder, pod: Pod, reason: str) -> None:
    # An event, because a status is only written for pods in the store.
    recorder.record(pod, "Warning", "FailedScheduling", "Scheduling", reason, controller=pod.scheduler_name)


def _pending_deleted(demand: Demand, queue: SchedulingQueue, bindings: Bindings, pod: Pod) -> None:
    bindings.not_placed(pod)
    if demand.gone(pod):
        queue.move_all(WAITING_POD_GONE, pod, None)  # another pod may ask for a node instead


def _is_waiting(cache: ClusterCache, outside: Outside) -> Callable[[Pod], bool]:
    def waits(pod: Pod) -> bool:
        latest = outside.known(pod.key)
        same = latest is not None and latest.uid == pod.uid and not latest.node_name and not latest.is_terminating
        return same and not cache.is_assumed(pod.uid) and outside.may_act()

    return waits
