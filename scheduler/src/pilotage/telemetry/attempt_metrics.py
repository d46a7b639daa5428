"""Metrics of scheduling attempts, pushed by the code itself: each call costs well under a microsecond."""

from collections.abc import Mapping

from pilotage.telemetry.families import ALPHA, BETA, STABLE, Counts, Family, Histograms
from pilotage.telemetry.histograms import PLUGIN_BOUNDS, POINT_BOUNDS, exponential

ATTEMPT_BOUNDS = exponential(0.001, 2, 15)
SLI_BOUNDS = exponential(0.01, 2, 20)

MANY = 15  # attempts; larger numbers share one label
_attempts_texts = [(str(attempts),) for attempts in range(MANY)]
_many = (f"{MANY}+",)


class AttemptMetrics:
    """Attempts, evictions, waits and events."""

    def __init__(self) -> None:
        self._of_attempts()
        self._of_evictions()
        self._of_waits_and_events()
        self._of_plugins()
        self._of_the_loop()

    def _of_attempts(self) -> None:
        self._attempts = Counts(
            "scheduler_schedule_attempts_total",
            STABLE,
            "Scheduling attempts, by result: scheduled, unschedulable (no node), error (internal error).",
            ("result", "profile"),
        )
        self._attempt_durations = Histograms(
            "scheduler_scheduling_attempt_duration_seconds",
            STABLE,
            "Duration of a scheduling attempt, including the bind.",
            ATTEMPT_BOUNDS,
            ("result", "profile"),
        )
        self._algorithm = Histograms(
            "scheduler_scheduling_algorithm_duration_seconds",
            BETA,
            "Duration of the choice of a node.",
            ATTEMPT_BOUNDS,
        )
        self._attempts_needed = Histograms(
            "scheduler_pod_scheduling_attempts",
            STABLE,
            "Attempts until a pod was scheduled.",
            exponential(1, 2, 5),
        )
        self._sli = Histograms(
            "scheduler_pod_scheduling_sli_duration_seconds",
            BETA,
            "Time from a pod's first entry into the queue until it was scheduled, over all attempts.",
            SLI_BOUNDS,
            ("attempts",),
        )
        self._after_flush = Counts(
            "scheduler_pod_scheduled_after_flush_total",
            ALPHA,
            "Pods scheduled only after the periodic flush of unschedulable pods; an event may have been missed.",
        )

    def _of_evictions(self) -> None:
        self._preemptions = Counts("scheduler_preemption_attempts_total", STABLE, "Preemption attempts.")
        self._victims = Histograms(
            "scheduler_preemption_victims", STABLE, "Victims per preemption.", exponential(1, 2, 7)
        )
        self._evictions = Counts(
            "scheduler_preemption_goroutines_execution_total",
            ALPHA,
            "Completed preemptions, by result of the evictions: success, error.",
            ("result",),
        )

    def _of_waits_and_events(self) -> None:
        self._permit_waits = Histograms(
            "scheduler_permit_wait_duration_seconds",
            BETA,
            "Time that a pod waits at Permit, by result.",
            ATTEMPT_BOUNDS,
            ("result",),
        )
        self._events = Histograms(
            "scheduler_event_handling_duration_seconds",
            ALPHA,
            "Duration of handling one cluster event.",
            POINT_BOUNDS,
            ("event",),
        )

    def _of_plugins(self) -> None:
        self._hints = Histograms(
            "scheduler_queueing_hint_execution_duration_seconds",
            ALPHA,
            "Duration of a plugin's queueing hint.",
            PLUGIN_BOUNDS,
            ("plugin", "event", "hint"),
        )
        self._plugin_failures = Counts(
            "pilotage_plugin_failures_total",
            ALPHA,
            "Scheduling attempts that failed because of an error in a plugin.",
            ("plugin",),
        )
        self._overruns = Counts(
            "pilotage_plugin_budget_exceeded_total",
            ALPHA,
            "Plugin calls that took too long and were aborted.",
            ("plugin", "extension_point", "profile"),
        )

    def _of_the_loop(self) -> None:
        self._slices = Histograms(
            "pilotage_loop_slice_duration_seconds",
            ALPHA,
            "Duration of one slice of the scheduling loop, after which probes, watches and writes run.",
            ATTEMPT_BOUNDS,
        )
        self._slowed_down = Counts(
            "pilotage_slowed_down_attempts_total",
            ALPHA,
            "Failed attempts that took so long that the pod or gang gets an additional back-off.",
            ("profile",),
        )

    def families(self) -> list[Family]:
        """Return all metrics."""
        return [
            self._attempts,
            self._attempt_durations,
            self._algorithm,
            self._attempts_needed,
            self._sli,
            self._after_flush,
            self._preemptions,
            self._victims,
            self._evictions,
            self._permit_waits,
            self._events,
            self._hints,
            self._plugin_failures,
            self._overruns,
            self._slices,
            self._slowed_down,
        ]

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """Count a finished attempt with its duration: scheduled, unschedulable or error."""
        labels = result, profile
        self._attempts.add(labels)
        self._attempt_durations.of(labels).observe(seconds)

    def algorithm(self, seconds: float) -> None:
        """Record the duration of choosing a node."""
        self._algorithm.of(()).observe(seconds)

    def scheduled(self, attempts: int, seconds: float | None, *, after_flush: bool = False) -> None:
        """Count a bound pod: its attempts, and the time since it was first ready, if known."""
        self._attempts_needed.of(()).observe(attempts)
        if seconds is not None:
            self._sli.of(_attempts_texts[attempts] if attempts < MANY else _many).observe(seconds)
        if after_flush:
            self._after_flush.add()

    def preemption_attempt(self) -> None:
        """Count an attempted preemption, whatever its result."""
        self._preemptions.add()

    def preempted(self, victims: int) -> None:
        """Count the chosen victims."""
        self._victims.of(()).observe(victims)

    def evicted(self, result: str) -> None:
        """Count a completed preemption: all victims evicted (success), or not (error)."""
        self._evictions.add((result,))

    def permit_waited(self, result: str, seconds: float) -> None:
        """Count a finished wait on permit."""
        self._permit_waits.of((result,)).observe(seconds)

    def event_handled(self, event: str, seconds: float) -> None:
        """Count a handled event."""
        self._events.of((event,)).observe(seconds)

    def hint_asked(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """Count the result of a hint: Queue, QueueSkip or Error."""
        self._hints.of((plugin, event, hint)).observe(seconds)

    def overran(self, plugin: str, point: str, profile: str) -> None:
        """Count a call that took too long."""
        self._overruns.add((plugin, point, profile))

    def overruns(self) -> Mapping[tuple[str, ...], int]:
        """Return how many calls took too long, by plugin, point and profile."""
        return self._overruns.values

    def slice_ended(self, seconds: float) -> None:
        """Record the duration of a slice of the loop, during which no other task ran."""
        self._slices.of(()).observe(seconds)

    def slowed_down(self, profile: str) -> None:
        """Count an expensive attempt without success."""
        self._slowed_down.add((profile,))

    def plugin_failed(self, plugin: str) -> None:
        """Count an attempt that a plugin failed."""
        self._plugin_failures.add((plugin,))
