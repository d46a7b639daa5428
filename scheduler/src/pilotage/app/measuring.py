"""Connects the scheduler to its metrics."""

from collections import Counter
from collections.abc import Callable
from time import perf_counter

from pilotage.app.config_follower import Following
from pilotage.app.core import Core
from pilotage.app.informers import Watching
from pilotage.cluster.election.lease import LeaderElection
from pilotage.cluster.write.event_recorder import EventRecorder
from pilotage.framework.runtime.preemption.evicting import Evicting
from pilotage.framework.runtime.timings import ERROR, SUCCESS
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.outcome import SCHEDULER_ERROR, Outcome, Placed, Unplaced
from pilotage.telemetry.metrics import Metrics


class Measuring:
    """Counts attempts as they end, and registers the sources of metrics that are read at each scrape."""

    def __init__(self, metrics: Metrics, core: Core, clock: Callable[[], float]) -> None:
        self._metrics = metrics
        self._core = core
        self._clock = clock
        self._preemptions: Counter[str] = Counter()
        core.loop.on_decided.connect(self._decided)
        core.loop.on_slice.connect(metrics.slice_ended)
        core.failures.on_slowed_down.connect(metrics.slowed_down)
        core.bindings.on_bound.connect(self._bound)
        core.bindings.on_failed.connect(self._failed)
        core.evictions.on_ended.connect(metrics.evicted)
        core.waiting.on_ended.connect(metrics.permit_waited)
        queue, cache = core.queue, core.cache
        metrics.read_queue(
            pending=lambda: queue.pending()._asdict(),
            incoming=lambda: queue.incoming,
            in_flight=queue.in_flight_counts,
            rejections=queue.rejections,
        )
        metrics.read_cache(cache.sizes)
        metrics.read_plugins(lambda: {name: engine.runner.timings for name, engine in core.engines.items()})
        metrics.read_tasks(lambda: {"binding": len(core.bindings), "evicting": len(core.evictions)})
        metrics.read_held_up(core.loop.held_up.seconds, core.bindings.waiting_for_room)

    def watch(self, watching: Watching, recorder: EventRecorder, election: LeaderElection | None) -> None:
        """Register the sources outside of the core."""
        self._metrics.read_watches(watching.silence, watching.lists, watching.errors)
        self._metrics.read_undecodable(watching.undecodable, watching.skipped)
        self._metrics.read_events(waiting=lambda: recorder.waiting, dropped=lambda: recorder.dropped)
        if election is not None:
            self._metrics.read_leadership(election.settings.name, lambda: election.is_leader)

    def follow(self, following: Following) -> None:
        """Register the source of the configuration's metrics."""
        self._metrics.read_configuration(
            running=lambda: following.running,
            swaps=lambda: following.swaps,
            refusals=lambda: following.refusals,
        )

    def _decided(self, queued: QueuedPod, outcome: Outcome, started: float, ended: float) -> None:
        if isinstance(outcome, Placed):
            self._metrics.algorithm(ended - started)
            return
        name = queued.pod.scheduler_name
        self._metrics.attempt(_result(outcome), name, ended - started)
        if outcome.failed_plugin:
            self._metrics.plugin_failed(outcome.failed_plugin)
        tried = self._preemption_attempts(name)
        if tried > self._preemptions[name]:
            self._preemptions[name] = tried
            self._metrics.preemption_attempt()
        if outcome.victims:
            self._metrics.preempted(len(outcome.victims))

    def _preemption_attempts(self, name: str) -> int:
        engine = self._core.engines.get(name)  # the profile may be gone by now
        if engine is None:
            return 0
        of = engine.runner.timings.of
        evicting = [plugin.name for plugin in engine.runner.plugin_set.post_filter if isinstance(plugin, Evicting)]
        return sum(of(plugin, "PostFilter", status).calls for plugin in evicting for status in (SUCCESS, ERROR))

    def _bound(self, queued: QueuedPod, placed: Placed, started: float) -> None:
        self._metrics.attempt("scheduled", placed.pod.scheduler_name, perf_counter() - started)
        self._metrics.bound("bound")
        first = queued.initial_attempt_timestamp
        since = None if first is None else self._clock() - first
        self._metrics.scheduled(queued.attempts, since, after_flush=queued.was_flushed)

    def _failed(self, queued: QueuedPod, outcome: Unplaced, started: float) -> None:
        self._metrics.attempt(_result(outcome), queued.pod.scheduler_name, perf_counter() - started)
        self._metrics.bound("failed")
        if outcome.failed_plugin:
            self._metrics.plugin_failed(outcome.failed_plugin)


def _result(outcome: Unplaced) -> str:
    return "error" if outcome.reason == SCHEDULER_ERROR else "unschedulable"
