"""Whether an event is worth a retry of a pod, according to the plugins that rejected it."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from time import perf_counter
from typing import Any, Protocol

from pilotage.framework.api.events import NOT_UNDERSTOOD, Event, Retry
from pilotage.model.gangs import GangName
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod

log = logging.getLogger(__name__)

Hint = Callable[[Pod, Event, Any, Any], bool]
Observer = Callable[[str, str, str, float], None]  # plugin, event, result, seconds


class Named(Protocol):
    """A plugin, or an extender in its place."""

    @property
    def name(self) -> str:
        """Return what the plugin is called."""


# By scheduler name: the events of each plugin.
Retries = Mapping[str, Sequence[tuple[Named, Retry]]]
# By scheduler name and plugin: the hint for one event, None if it always helps.
Advisers = dict[str, dict[str, list[Hint | None]]]


Desk = tuple[str, str]  # scheduler name, plugin
Namer = Callable[[Any, Any], GangName | None]


class Strategy(IntEnum):
    """What an event means for a pod."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


SKIP, AFTER_BACKOFF, IMMEDIATELY = Strategy.SKIP, Strategy.AFTER_BACKOFF, Strategy.IMMEDIATELY


class Hints:
    """What the plugins of all profiles wait for."""

    def __init__(self, retries: Retries, observe: Observer | None = None) -> None:
        self.retries = retries
        self.observe = observe
        self._known: dict[Event, Advisers] = {}
        self._ranks: dict[Event, dict[Desk, int]] = {}
        self._desks: dict[Event, tuple[frozenset[Desk], frozenset[Desk]]] = {}
        self._namers: dict[Event, dict[Desk, list[Namer]]] = {}
        self._complaints: set[tuple[str, Event]] = set()

    def advisers(self, event: Event) -> Advisers:
        """Return the hints for the event; empty if no plugin is interested."""
        found = self._known.get(event)
        if found is None:
            found = self._known[event] = self._find(event)
        return found

    def ranks(self, event: Event) -> Mapping[Desk, int]:
        """Return the same as desks, each with its place among them."""
        found = self._ranks.get(event)
        if found is None:
            asked = ((scheduler, plugin) for scheduler, plugins in self.advisers(event).items() for plugin in plugins)
            found = self._ranks[event] = {desk: rank for rank, desk in enumerate(asked)}
        return found

    def desks(self, event: Event) -> tuple[frozenset[Desk], frozenset[Desk]]:
        """Return the plugins with hints for the event, and which hints are the same for all pods of a gang."""
        found = self._desks.get(event)
        if found is None:
            asked = [
                (retry.for_gang, (scheduler, plugin.name))
                for scheduler, registered in self.retries.items()
                for plugin, retry in registered
                if retry.matches(event)
            ]
            every = frozenset(desk for _, desk in asked)
            one_by_one = {desk for for_gang, desk in asked if not for_gang}
            # A wildcard event concerns each pod separately.
            found = self._desks[event] = every, frozenset() if event.is_wildcard else every - one_by_one
        return found

    def only_gangs(self, event: Event, old: Any, new: Any) -> dict[Desk, set[GangName]]:
        """Return the plugins for which the event concerns only the pods of some gangs, with those gangs."""
        if new is NOT_UNDERSTOOD or not (namers := self._gang_namers(event)):
            return {}
        found: dict[Desk, set[GangName]] = {}
        for desk, asked in namers.items():
            try:
                found[desk] = {gang for namer in asked if (gang := namer(old, new)) is not None}
            except Exception:
                log.exception("plugin %s cannot tell which gang %s concerns, all are asked", desk[1], event.name)
        return found

    def _gang_namers(self, event: Event) -> dict[Desk, list[Namer]]:
        found = self._namers.get(event)
        if found is None:
            asked = [
                ((scheduler, plugin.name), plugin, retry.only_gang)
                for scheduler, registered in self.retries.items()
                for plugin, retry in registered
                if retry.matches(event)
            ]
            wide = {desk for desk, _, only_gang in asked if only_gang is None}
            found = self._namers[event] = {}
            for desk, plugin, only_gang in asked:
                if only_gang is not None and desk not in wide:
                    found.setdefault(desk, []).append(getattr(plugin, only_gang))
        return found

    def occasion(self, event: Event, old: Any, new: Any) -> "Occasion":
        """Return the evaluation of an event, pod by pod."""
        return Occasion(self, event, old, new)

    def best(self, queued: QueuedPod, events: Iterable[tuple[Event, Any, Any]]) -> Strategy:
        """Return what several events mean for a pod: the best of their strategies."""
        best, enough = SKIP, IMMEDIATELY if queued.pending_plugins else AFTER_BACKOFF
        for event, old, new in events:
            best = max(best, self.occasion(event, old, new).strategy(queued))
            if best >= enough:
                break
        return best

    def complain(self, plugin: str, event: Event, pod: Pod) -> None:
        """Log that a hint failed, with a traceback the first time: it may fail for every waiting pod."""
        new = (plugin, event) not in self._complaints
        self._complaints.add((plugin, event))
        text = "plugin %s cannot tell whether %s helps pod %s, which is retried"
        log.log(logging.ERROR if new else logging.DEBUG, text, plugin, event.name, pod.key, exc_info=new)

    def _find(self, event: Event) -> Advisers:
        found: Advisers = {}
        for scheduler, registered in self.retries.items():
            for plugin, retry in registered:
                if retry.matches(event):
                    hint = getattr(plugin, retry.hint) if retry.hint else None
                    found.setdefault(scheduler, {}).setdefault(plugin.name, []).append(hint)
        return found


class Occasion:
    """One event, and what it means for each pod."""

    __slots__ = ("_advisers", "_by_gang", "_desks", "_event", "_for_gangs", "_hints", "_new", "_old", "_wildcard")

    def __init__(self, hints: Hints, event: Event, old: Any, new: Any) -> None:
        self._hints, self._event, self._old, self._new = hints, event, old, new
        self._wildcard = event.is_wildcard
        self._advisers = hints.advisers(event)
        self._desks, self._for_gangs = hints.desks(event)
        self._by_gang: dict[tuple[GangName, Desk, bool], Strategy] = {}

    def strategy(self, queued: QueuedPod) -> Strategy:
        """Return whether the pod is retried."""
        # Otherwise each pod of a large gang would be evaluated whenever any pod comes or goes.
        if queued.gang is None or not self._for_gangs:
            return self._strategy(queued)
        scheduler, pending = queued.pod.scheduler_name, queued.pending_plugins
        asked = [desk for plugin in queued.unschedulable_plugins if (desk := (scheduler, plugin)) in self._desks]
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
        advisers = self._advisers.get(pod.scheduler_name)
        if advisers is None:
            return SKIP if pod.scheduler_name in self._hints.retries else AFTER_BACKOFF
        # A plugin that left the pod pending knows the time, so there is no back-off.
        for plugin in pending:
            if plugin in advisers and self._helps(plugin, advisers[plugin], pod):
                return IMMEDIATELY
        for plugin in rejectors:
            if plugin in advisers and plugin not in pending and self._helps(plugin, advisers[plugin], pod):
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
            self._hints.complain(plugin, self._event, pod)
            return True, "Error"

    def _ask_and_measure(self, plugin: str, hint: Hint, pod: Pod) -> tuple[bool, str]:
        assert self._hints.observe is not None
        start = perf_counter()
        helps, result = self._ask(plugin, hint, pod)
        self._hints.observe(plugin, self._event.name, result, perf_counter() - start)
        return helps, result
