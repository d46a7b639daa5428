"""The live scheduler: constructs it, starts it, and shuts it down."""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from socket import gethostname
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pilotage.app import EMULATES, Configured, calm_garbage_collection
from pilotage.app.candidate import election
from pilotage.app.clients import AGENT, connect, limits
from pilotage.app.comparing import Comparing
from pilotage.app.core import Core, Outside, core, steady_wall_clock
from pilotage.app.hot_configuration import HotConfiguration
from pilotage.app.informers import KnownPods, Watching, kinds_read
from pilotage.app.kept_objects import KeptObjects
from pilotage.app.load_collecting import LoadCollecting
from pilotage.app.measuring import Measuring
from pilotage.app.memory import keep_trimming_heap, trim_heap
from pilotage.app.options import Options
from pilotage.app.plugin_watch import PluginWatch
from pilotage.app.probes import health
from pilotage.app.race_watching import RaceWatching
from pilotage.app.reloading import Reloading
from pilotage.app.start_line import Started
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.credentials.access import find
from pilotage.cluster.election.leadership_events import announce_leadership, lease_subject
from pilotage.cluster.services.extender import Extender
from pilotage.cluster.watch.resources import NODES, PODS
from pilotage.cluster.write.binder import Binder
from pilotage.cluster.write.event_objects import EventsV1
from pilotage.cluster.write.event_recorder import EventRecorder
from pilotage.cluster.write.evictor import Evictor
from pilotage.cluster.write.group_status_writer import GroupStatusWriter
from pilotage.cluster.write.status_writer import StatusWriter
from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.extenders.extenders import settings_of
from pilotage.framework.api.own_metrics import MetricStore
from pilotage.framework.runtime.call_watch import Suspicion
from pilotage.kinds.pod_groups import NativePodGroup
from pilotage.model.gangs import GangName
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import BrokenPlugin
from pilotage.scheduling.comparison import Comparison
from pilotage.scheduling.intake import ObjectIntake
from pilotage.scheduling.plugin_api import PluginApi
from pilotage.scheduling.posting import Posting
from pilotage.telemetry.health import Health, ping
from pilotage.telemetry.metrics import Build, Metrics
from pilotage.telemetry.verbosity import Verbosity

if TYPE_CHECKING:
    from pilotage.app.read_api.serving import LiveApi
    from pilotage.telemetry.server import Server
    from pilotage.telemetry.serving_certificate import ServingCertificate

log = logging.getLogger(__name__)

LAST_SECONDS = 5.0  # for requests in progress when we are stopped
STOPPED, LOST = 0, 1


class KeptSinks(NamedTuple):
    """The receivers of watch events, where whole objects are kept."""

    pods: KeptObjects[Pod]
    nodes: KeptObjects[Node]
    objects: ObjectIntake


class Live:
    """A running scheduler."""

    def __init__(
        self, ready: Configured, options: Options, verbosity: Verbosity, *, followed: str | None = None
    ) -> None:
        self.config, self.options = options.applied(ready.loaded.config), options
        self.began_with = ready
        self.profiles = ready.profiles()
        self.access = find(self.config.client_connection.kubeconfig, master=options.master)
        build, disabled = Build(version("pilotage"), kubernetes=EMULATES), options.disabled_metrics
        self.metrics = Metrics(build, disabled=disabled, allowed=options.allowed_labels)
        observe = self.metrics.requests_to(f"{self.access.host}:{self.access.port}")
        self.clients = connect(self.access, *limits(ready, options), observe)
        self.clock = steady_wall_clock()
        self.known = KnownPods()
        self.election = election(self.config.leader_election, self.access)
        self.recorder = EventRecorder(
            self.clients.events, EventsV1(self.own_name()), busy=lambda: self.core.bindings.being_sent() > 0
        )
        self.statuses = StatusWriter(self.clients.statuses, self.known.newest)
        self.groups = GroupStatusWriter(self.clients.statuses, self._group)
        asked = (settings_of(each, options.outside) for each in self.config.extenders)
        self.extenders = [Extender(settings, self._pod_json, self._node_json) for settings in asked]
        cache = ClusterCache()
        self.posting = self._posting(cache)
        self.load = LoadCollecting(self.clients.watches, cache.nodes, self.clock, options.outside)
        self.core = self._core(cache)
        self.core.pods.on_resolved.connect(self.posting.resolved)
        self.watching = self._watching()
        self.known.pods = self.watching.pods.objects
        self.hot = self._hot(ready, followed)
        self.is_ready = False  # all resources have been listed
        self.is_leaving = False  # asked to stop
        self.is_stopping = False  # no new work may start
        self._measure()
        annotate = (lambda _annotations: None) if self.hot is None else self.hot.annotate
        self.races = RaceWatching(self.core, self.clients.watches, self.may_act, annotate, self.clock)
        self.races.measure(self.metrics)
        health = None if self.hot is None else self.hot.policy_health
        self.plugin_watch = PluginWatch(self.profiles, self.metrics, health)
        self.verbosity = verbosity
        self._server: Server | None = None
        self._read_api: LiveApi | None = None
        self._tasks: list[asyncio.Task[Any]] = []

    def _posting(self, cache: ClusterCache) -> Posting:
        return Posting(cache, self.known, self.may_act, lambda *place: self.core.bindings.bind_check.still_fits(*place))

    def _measure(self) -> None:
        measuring = Measuring(self.metrics, self.core, self.clock)
        measuring.watch(self.watching, self.recorder, self.election)
        self.metrics.read_load(self.load.ages, self.load.healthy)
        if self.hot is not None:
            measuring.follow(self.hot.following)

    def _hot(self, ready: Configured, followed: str | None) -> HotConfiguration | None:
        """Return the follower of the ConfigMap, if there is one; `followed` is the text that we start with."""
        if self.options.config_map is None:
            return None
        parts = (self.profiles, self.core, self.watching, self.known)
        reloading = Reloading(ready, *parts, has_extenders=bool(self.extenders))
        hot = HotConfiguration(
            self.options.config_map, self.clients.watches, self.clients.statuses, reloading, followed
        )
        hot.policy_health.watch(self.core.loop, self.core.bindings)
        return hot

    def leave_out(self, broken: Iterable[BrokenPlugin]) -> None:
        """Record profiles that could not start; they are served as soon as they can."""
        for each in broken:
            if self.hot is not None:
                self.hot.leave_out(each)

    def own_name(self) -> str:
        """Return this replica's name in events: `helm test` checks which replica placed a pod."""
        place = self.options.config_map
        return place.pod_name if place is not None and place.pod_name else gethostname()

    def _watch_plugins(self, crash: Suspicion | None) -> None:
        if self.hot is not None and self.options.config_map is not None:
            following = self.hot.following
            agent = f"{AGENT} plugin-watchdog"
            self.plugin_watch.report_stalled(self.options.config_map, self.access, agent, lambda: following.running)
        if crash is not None:
            self.plugin_watch.report_crash(crash)

    def may_act(self) -> bool:
        """Return whether this replica holds the lease, so that no other one schedules."""
        return not self.is_stopping and (self.election is None or self.election.may_act())

    def _watching(self) -> Watching:
        api, kinds = self.clients.watches, kinds_read(self.profiles)
        if not self.extenders:
            return Watching(api, self.core, kinds)
        self._whole_pods = KeptObjects(PODS, self.core.pods)
        self._whole_nodes = KeptObjects(NODES, self.core.nodes)
        sinks = KeptSinks(self._whole_pods, self._whole_nodes, self.core.objects)
        return Watching(api, sinks, kinds, pods=self._whole_pods.resource, nodes=self._whole_nodes.resource)

    def _pod_json(self, pod: Pod) -> bytes | None:
        return self._whole_pods.json(pod.uid)

    def _node_json(self, name: str) -> bytes | None:
        info = self.core.cache.find_node(name)
        return None if info is None else self._whole_nodes.json(info.node.uid)

    def _core(self, cache: ClusterCache) -> Core:
        evictor = Evictor(self.clients.statuses)
        binder = Binder(self.clients.binds, self.posting.may_send)
        api = PluginApi(self.clients.binds, self.posting.may_write, partial(self.posting.post, binder))
        self.metrics.of_plugins = own_metrics = MetricStore()
        outside = Outside(
            self.known,
            self.statuses,
            evictor,
            self.recorder,
            self.may_act,
            self.groups,
            api,
            self.load,
            own_metrics,
        )
        return core(
            self.profiles,
            outside,
            clock=self.clock,
            initial_backoff=self.config.pod_initial_backoff_seconds,
            max_backoff=self.config.pod_max_backoff_seconds,
            longest_unschedulable=self.options.longest_unschedulable,
            extenders=self.extenders,
            observe_hint=self.metrics.hint_asked,
            observe_event=self.metrics.event_handled,
            cache=cache,
        )

    def _group(self, gang: GangName) -> NativePodGroup | None:
        return self.core.cache.objects.get(NativePodGroup, gang.name, gang.namespace)

    # ----------------------------------------------------------------------------------------------- start to end

    async def run(self, stopped: asyncio.Event, crash: Suspicion | None = None) -> int:
        """Run until stopped, or until the lease is lost; returns the exit code."""
        self._watch_plugins(crash)
        try:
            await self._serve()
            return await self._until(stopped)
        finally:
            await self._close()

    async def _until(self, stopped: asyncio.Event) -> int:
        jobs = [self.recorder.run(), self.statuses.run(), self.groups.run(), keep_trimming_heap(), *self.races.jobs()]
        jobs.append(self.core.loop.held_up.watch_for_standstill())
        jobs += [] if self.hot is None else self.hot.jobs()
        background = [self._begin(job) for job in jobs]
        work, stop = self._begin(self._work()), self._begin(stopped.wait())
        await asyncio.wait({work, stop, *background}, return_when=asyncio.FIRST_COMPLETED)
        if not stop.done():
            await self._log_cause(work, *background)
            return LOST
        await self._finish(work)
        return STOPPED

    def _begin(self, job: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(job)
        self._tasks.append(task)
        return task

    async def _close(self) -> None:
        self.is_stopping = True
        led = self.election is not None and self.election.is_leader
        if self.election is not None and not len(self.core.bindings):
            await self.election.stop(LAST_SECONDS)  # while a bind is in flight no other replica may start
        if led:
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._announce("stopped leading")
        self.watching.stop()
        for task in self._tasks:
            task.cancel()
        if self._read_api is not None:
            await self._read_api.close(LAST_SECONDS)
        if self._server is not None:
            await self._server.stop(LAST_SECONDS)
        await asyncio.gather(self.load.close(), *(extender.close() for extender in self.extenders))
        await self.clients.close()

    async def _log_cause(self, *tasks: "asyncio.Task[Any]") -> None:
        """Log the task that ended unexpectedly."""
        for task in tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                cause = _only_cause(error)
                log.error("the scheduler failed: %r", cause, exc_info=cause)
                return
        loss = None if self.election is None else await self.election.wait_until_lost()
        log.error("leader election lost: %s", "it was stopped" if loss is None else loss.reason)

    async def _serve(self) -> None:
        """Start the servers before anything else, for readiness probes."""
        options = self.options.serving
        if not options.secure_port and not options.api_port:
            return
        from pilotage.app.serving import certificate, guard, pages  # an HTTP server and its certificates take 20 MiB

        auth = guard(self.clients.statuses, options)
        self._begin(auth.run())
        shows = certificate(auth, options)
        if options.secure_port:
            found = pages(self, auth, shows)
            await found.start(options.bind_address, options.secure_port, share_port=options.share_port)
            self._server = found
        if options.api_port:
            await self._serve_api(shows)

    async def _serve_api(self, shows: "ServingCertificate") -> None:
        from pilotage.app.read_api.wiring import wired

        self._read_api = wired(self)
        await self._read_api.start(shows)
        for job in self._read_api.jobs():
            self._begin(job)

    def running_config(self) -> KubeSchedulerConfiguration:
        """Return the configuration that runs, with what the command line says."""
        if self.hot is None:
            return self.config
        return self.options.applied(self.hot.reloading.ready.loaded.config)

    def health(self) -> Health:
        """Return the checks behind the probes."""

        def synced() -> str | None:
            if self.hot is not None and (missing := self.hot.missing()):
                return missing
            left = ", ".join(self.watching.unsynced())
            return None if self.is_ready else f"handlers are not fully synchronized: {left or 'not begun'}"

        def watches() -> str | None:
            ended = ", ".join(self.watching.ended())
            return f"watches have ended: {ended}" if ended and not self.is_stopping else None

        return health(
            # As with kube-scheduler: a replica that waits for the lease is healthy.
            leads=None if self.election is None else ping,
            stopping=lambda: "shutting down" if self.is_leaving or self.is_stopping else None,
            synced=synced,
            watches=watches,
            loop=self.core.loop.trouble,
        )

    async def _work(self) -> None:
        """Fill the cache, wait for the lease, and schedule until it is lost."""
        await self.watching.start()
        await self.watching.synced()
        self.is_ready = True
        self.load.begin()
        calm_garbage_collection()
        trim_heap()
        log.info("%s", self._started())
        if self.election is not None:
            self.election.start()
            if not await self.election.wait_until_leading():
                return
            await self.watching.refresh()
        log.info("scheduling pods of %s", ", ".join(self.profiles))
        comparison = Comparison(self.core.cache, self.core.queue, self.profiles)
        comparing = Comparing(self.clients.watches, comparison, self.metrics.compared)
        async with asyncio.TaskGroup() as tasks:
            comparing_task = tasks.create_task(comparing.run())
            tasks.create_task(self._announce("became leader"))
            await self.core.loop.run()
            comparing_task.cancel()

    def _started(self) -> Started:
        lease = self.election.settings if self.election is not None else None
        return Started(
            version("pilotage"),
            EMULATES,
            list(self.profiles),
            self.options.config_map,
            len(self.watching.nodes.objects),
            len(self.watching.pods.objects),
            f"{lease.namespace}/{lease.name}" if lease else "",
        )

    async def _announce(self, change: Literal["became leader", "stopped leading"]) -> None:
        """Record an event on the Lease about who leads, with leader election."""
        if self.election is not None:
            settings = self.election.settings
            lease = lease_subject(settings.namespace, settings.name, controller=next(iter(self.profiles)))
            await announce_leadership(self.clients.events, lease, settings.identity, change)

    async def _finish(self, work: "asyncio.Task[Any]") -> None:
        """Stop scheduling, and let what is in flight finish."""
        log.info("requested to terminate, exiting")
        self.is_leaving = True
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)  # it may just have failed
        self.core.bindings.stop_waiting()
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                await self.core.bindings.finished()
                await self.statuses.flush()
                await self.groups.flush()
                await self.recorder.drain(LAST_SECONDS)


def _only_cause(error: BaseException) -> BaseException:
    """Return the exception in a group of one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
