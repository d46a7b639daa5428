"""Queueing hints: whether an event is worth a retry of a pod, according to the plugins that rejected it."""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import IntEnum
from time import perf_counter
from typing import Any, Protocol

from pilotage.framework.api.events import NOT_UNDERSTOOD, Event, Retry
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.queue.unschedulable import Rejector

log = logging.getLogger(__name__)

Hint = Callable[[Pod, Event, Any, Any], bool]
Observer = Callable[[str, str, str, float], None]  # plugin, event, result, seconds


class Named(Protocol):
    """A plugin, or an extender in its place."""

    @property
    def name(self) -> str:
        """Return the name of the plugin."""


# By scheduler name: the events of each plugin.
Retries = Mapping[str, Sequence[tuple[Named, Retry]]]
# By scheduler name and plugin: the hint for one event, None if it always helps.
PluginHints = dict[str, dict[str, list[Hint | None]]]

Namer = Callable[[Any, Any], Any]  # of a gang or of pods


class Strategy(IntEnum):
    """How an event affects a pod."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


SKIP, AFTER_BACKOFF, IMMEDIATELY = Strategy.SKIP, Strategy.AFTER_BACKOFF, Strategy.IMMEDIATELY


class Hints:
    """The events that the plugins of all profiles wait for, and their hints."""

    def __init__(self, retries: Retries, observe: Observer | None = None) -> None:
        self.retries = retries
        self.observe = observe
        self._known: dict[Event, PluginHints] = {}
        self._ranks: dict[Event, dict[Rejector, int]] = {}
        self._rejectors: dict[Event, tuple[frozenset[Rejector], frozenset[Rejector]]] = {}
        self._namers: dict[tuple[Event, str], dict[Rejector, list[Namer]]] = {}
        self._logged: set[tuple[str, Event]] = set()

    def hints_for(self, event: Event) -> PluginHints:
        """Return the hints for the event; empty if no plugin is interested."""
        found = self._known.get(event)
        if found is None:
            found = self._known[event] = self._find(event)
        return found

    def ranks(self, event: Event) -> Mapping[Rejector, int]:
        """Return the plugins with hints for the event, each with its position."""
        found = self._ranks.get(event)
        if found is None:
            asked = ((scheduler, plugin) for scheduler, plugins in self.hints_for(event).items() for plugin in plugins)
            found = self._ranks[event] = {rejector: rank for rank, rejector in enumerate(asked)}
        return found

    def rejectors(self, event: Event) -> tuple[frozenset[Rejector], frozenset[Rejector]]:
        """Return the plugins with hints for the event, and which hints are the same for all pods of a gang."""
        found = self._rejectors.get(event)
        if found is None:
            asked = [
                (retry.for_gang, (scheduler, plugin.name))
                for scheduler, registered in self.retries.items()
                for plugin, retry in registered
                if retry.matches(event)
            ]
            every = frozenset(rejector for _, rejector in asked)
            one_by_one = {rejector for for_gang, rejector in asked if not for_gang}
            # A wildcard event concerns each pod separately.
            found = self._rejectors[event] = every, frozenset() if event.is_wildcard else every - one_by_one
        return found

    def only_pods(self, event: Event, old: Any, new: Any) -> dict[Rejector, Collection[str]]:
        """Return the plugins for which the event only concerns certain pods, with their keys."""
        if new is NOT_UNDERSTOOD or not (namers := self._namers_of(event, "only_pods")):
            return {}
        found: dict[Rejector, Collection[str]] = {}
        for rejector, asked in namers.items():
            try:
                named = [namer(old, new) for namer in asked]
            except Exception:
                log.exception(
                    "plugin %s failed to name the pods that %s concerns, so all of them are checked",
                    rejector[1],
                    event.name,
                )
                continue
            if all(keys is not None for keys in named):
                found[rejector] = named[0] if len(named) == 1 else {key for keys in named for key in keys}
        return found

    def only_gangs(self, event: Event, old: Any, new: Any) -> dict[Rejector, set[GangName]]:
        """Return the plugins for which the event only concerns pods of certain gangs, with those gangs."""
        if new is NOT_UNDERSTOOD or not (namers := self._namers_of(event, "only_gang")):
            return {}
        found: dict[Rejector, set[GangName]] = {}
        for rejector, asked in namers.items():
            try:
                found[rejector] = {gang for namer in asked if (gang := namer(old, new)) is not None}
            except Exception:
                log.exception(
                    "plugin %s failed to name the gang that %s concerns, so all of them are checked",
                    rejector[1],
                    event.name,
                )
        return found

    def _namers_of(self, event: Event, which: str) -> dict[Rejector, list[Namer]]:
        """Return the methods that narrow an event down, of plugins that do so whenever it matches."""
        found = self._namers.get((event, which))
        if found is None:
            asked = [
                ((scheduler, plugin.name), plugin, getattr(retry, which))
                for scheduler, registered in self.retries.items()
                for plugin, retry in registered
                if retry.matches(event)
            ]
            wide = {rejector for rejector, _, namer in asked if namer is None}
            found = self._namers[event, which] = {}
            for rejector, plugin, namer in asked:
                if namer is not None and rejector not in wide:
                    found.setdefault(rejector, []).append(getattr(plugin, namer))
        return found

    def evaluation(self, event: Event, old: Any, new: Any) -> "Evaluation":
        """Return the evaluation of an event, pod by pod."""
        return Evaluation(self, event, old, new)

    def best(self, queued: QueuedPod, events: Iterable[tuple[Event, Any, Any]]) -> Strategy:
        """Return the best of the strategies of several events for a pod."""
        best, enough = SKIP, IMMEDIATELY if queued.pending_plugins else AFTER_BACKOFF
        for event, old, new in events:
            best = max(best, self.evaluation(event, old, new).strategy(queued))
            if best >= enough:
                break
        return best

    def log_failure(self, plugin: str, event: Event, pod: Pod) -> None:
        """Log that a hint failed, with a traceback the first time: it may fail for every waiting pod."""
        new = (plugin, event) not in self._logged
        self._logged.add((plugin, event))
        text = "the queueing hint of plugin %s for %s failed for pod %s, which is retried"
        log.log(logging.ERROR if new else logging.DEBUG, text, plugin, event.name, pod.key, exc_info=new)

    def _find(self, event: Event) -> PluginHints:
        found: PluginHints = {}
        for scheduler, registered in self.retries.items():
            for plugin, retry in registered:
                if retry.matches(event):
                    hint = getattr(plugin, retry.hint) if retry.hint else None
                    found.setdefault(scheduler, {}).setdefault(plugin.name, []).append(hint)
        return found


class Evaluation:
    """The evaluation of one event for each pod."""

    __slots__ = (
        "_by_gang",
        "_event",
        "_for_gangs",
        "_hints",
        "_new",
        "_old",
        "_plugin_hints",
        "_rejectors",
        "_wildcard",
    )

    def __init__(self, hints: Hints, event: Event, old: Any, new: Any) -> None:
        self._hints, self._event, self._old, self._new = hints, event, old, new
        self._wildcard = event.is_wildcard
        self._plugin_hints = hints.hints_for(event)
        self._rejectors, self._for_gangs = hints.rejectors(event)
        self._by_gang: dict[tuple[GangName, Rejector, bool], Strategy] = {}

    def strategy(self, queued: QueuedPod) -> Strategy:
        """Return whether and when to retry a pod."""
        # Without sharing, each pod of a large gang would be evaluated whenever any pod comes or goes.
        if queued.gang is None or not self._for_gangs:
            return self._strategy(queued)
        scheduler, pending = queued.pod.scheduler_name, queued.pending_plugins
        asked = [
            rejector for plugin in queued.unschedulable_plugins if (rejector := (scheduler, plugin)) in self._rejectors
        ]
        if len(asked) != 1 or asked[0] not in self._for_gangs or not pending <= queued.unschedulable_plugins:
            return self._strategy(queued)
        key = queued.gang, asked[0], asked[0][1] in pending
        found = self._by_gang.get(key)
        if found is None:
            found = self._by_gang[key] = self._strategy(queued)
        return found

    def _strategy(self, queued: QueuedPod) -> Strategy:
        pod, rejectors, pending = queued.pod, queued.unschedulable_plugins, queued.pending_plugins
        if not rejectors and not pending:
            return AFTER_BACKOFF
        if self._wildcard:
            return AFTER_BACKOFF if self._is_meant(pod) else SKIP
        plugin_hints = self._plugin_hints.get(pod.scheduler_name)
        if plugin_hints is None:
            return SKIP if pod.scheduler_name in self._hints.retries else AFTER_BACKOFF
        # A plugin that left the pod pending chooses the time itself, so there is no back-off.
        for plugin in pending:
            if plugin in plugin_hints and self._helps(plugin, plugin_hints[plugin], pod):
                return IMMEDIATELY
        for plugin in rejectors:
            if plugin in plugin_hints and plugin not in pending and self._helps(plugin, plugin_hints[plugin], pod):
                return AFTER_BACKOFF
        return SKIP

    def _is_meant(self, pod: Pod) -> bool:
        return self._new is None or (isinstance(self._new, Pod) and self._new.uid == pod.uid)

    def _helps(self, plugin: str, hints: list[Hint | None], pod: Pod) -> bool:
        if self._new is NOT_UNDERSTOOD:
            return True
        ask = self._ask if self._hints.observe is None else self._ask_and_measure
        return any(hint is None or ask(plugin, hint, pod)[0] for hint in hints)

    def _ask(self, plugin: str, hint: Hint, pod: Pod) -> tuple[bool, str]:
        try:
            return (True, "Queue") if hint(pod, self._event, self._old, self._new) else (False, "QueueSkip")
        except Exception:
            self._hints.log_failure(plugin, self._event, pod)
            return True, "Error"

    def _ask_and_measure(self, plugin: str, hint: Hint, pod: Pod) -> tuple[bool, str]:
        assert self._hints.observe is not None
        start = perf_counter()
        helps, result = self._ask(plugin, hint, pod)
        self._hints.observe(plugin, self._event.name, result, perf_counter() - start)
        return helps, result
