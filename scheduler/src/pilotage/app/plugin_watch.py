"""Sets up the watchdog for plugin calls, and reports its findings."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from pilotage.app.crash_record import CrashRecord
from pilotage.app.options import FollowedConfigMap
from pilotage.app.policy_health import PolicyHealth
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.write.own_pod import annotate_once
from pilotage.config import handshake
from pilotage.config.handshake import STALLED, Trouble
from pilotage.framework.runtime.call_watch import NO_LIMIT, WATCH, Named, Overrun, Suspicion
from pilotage.framework.runtime.watchdog import WATCHDOG
from pilotage.profiles import Profile
from pilotage.telemetry.metrics import Metrics

log = logging.getLogger(__name__)

# The names of methods in metrics, where they differ from Python's.
POINTS = {
    "pre_enqueue": "PreEnqueue",
    "less": "QueueSort",
    "sort_key": "QueueSort",
    "pre_filter": "PreFilter",
    "filter": "Filter",
    "filter_nodes": "Filter",
    "post_filter": "PostFilter",
    "pre_score": "PreScore",
    "score": "Score",
    "score_nodes": "Score",
    "normalize": "ScoreExtensionNormalize",
    "reserve": "Reserve",
    "unreserve": "Reserve",
    "permit": "Permit",
    "pre_bind_pre_flight": "PreBind",
    "pre_bind": "PreBind",
    "bind": "Bind",
    "post_bind": "PostBind",
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
}


def remember_crashes(file: str) -> Suspicion | None:
    """Record plugin calls in a file, and return the one that crashed the previous process."""
    try:
        record = CrashRecord(Path(file))
        last, known = record.read()
    except OSError as error:
        log.error("--crash-record: cannot write %s, plugin calls are not recorded: %s", file, error.strerror)
        return None
    WATCH.record = record
    WATCH.suspicions = {(each.plugin, each.uid): each for each in known}
    if last is not None:
        log.error("%s: %s; that pod is retried later", last.plugin, last.message)
    return last


def end_at_once() -> None:
    """Exit because a plugin blocks the process: another replica takes over, and the next process calls it last."""
    log.critical("a plugin cannot be interrupted: exiting, so that other pods are served")
    os._exit(1)


def watch_calls(budget: float) -> None:
    """Abort plugin calls that take longer than this many seconds; 0: no limit."""
    loop = asyncio.get_running_loop()

    def ask_for_turn() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(WATCH.next_turn)

    WATCH.budget = budget or NO_LIMIT
    WATCHDOG.ask_for_turn = ask_for_turn
    WATCHDOG.start()


class PluginWatch:
    """Reports plugins that take too long, cannot be interrupted, or fail outside of attempts."""

    def __init__(self, profiles: Mapping[str, Profile], metrics: Metrics, policy_health: PolicyHealth | None) -> None:
        self._profiles = profiles
        self._metrics = metrics
        self._policy_health = policy_health

        WATCH.on_overrun, WATCH.on_failing = self._overran, self._failing

    def report_stalled(self, pod: FollowedConfigMap, access: Access, agent: str, running: Callable[[], str]) -> None:
        """Let the watchdog's thread report a blocked main thread on our own pod."""

        async def write(trouble: Trouble) -> None:
            client = ApiClient(access, agent=agent, connections=1, timeout=5.0)
            try:
                await annotate_once(client, pod.pod_namespace, pod.pod_name, handshake.stalled(trouble))
            finally:
                await client.close()

        def stalled(plugin: object, _point: str, message: str) -> None:
            if pod.pod_name and hasattr(plugin, "name"):
                about = {"scheduler_name": self.profile_of(plugin), "plugin": plugin.name}
                asyncio.run(write(Trouble(kind=STALLED, hash=running(), message=message, **about)))

        WATCHDOG.on_stalled, WATCHDOG.on_hopeless = stalled, end_at_once

    def report_crash(self, found: Suspicion) -> None:
        """Report a call that crashed the previous process."""
        if self._policy_health is not None:
            by_name = (name for name, each in self._profiles.items() if found.plugin in each.plugin_set.plugins())
            self._policy_health.condemn(
                found.scheduler or next(by_name, ""), found.plugin, found.message, lambda: False
            )

    def profile_of(self, plugin: object) -> str:
        """Return the profile that a plugin belongs to; "" if it is not in use any more."""
        profiles = list(self._profiles.items())  # the watchdog's thread may call this while profiles are replaced
        found = (name for name, profile in profiles for each in profile.plugin_set.plugins().values() if each is plugin)
        return next(found, "")

    def _overran(self, overrun: Overrun) -> None:
        plugin, name = overrun.plugin, self.profile_of(overrun.plugin)
        about = "" if overrun.pod is None else f" (pod {overrun.pod.key})"
        log.error("plugin %s was aborted after %.1fs: %s%s", plugin.name, overrun.seconds, overrun.message, about)
        self._metrics.overran(plugin.name, POINTS.get(overrun.point, overrun.point), name)
        if name and self._policy_health is not None:
            message = f"plugin {plugin.name}: {overrun.message}{about}"
            self._policy_health.overran(name, plugin.name, message, lambda: self.profile_of(plugin) == name)

    def _failing(self, plugin: Named, _point: str, message: str) -> None:
        name = self.profile_of(plugin)
        if name and self._policy_health is not None:
            self._policy_health.condemn(name, plugin.name, message, lambda: self.profile_of(plugin) == name)
