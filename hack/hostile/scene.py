"""The real scheduler on an API server in memory: its own watches, loop, binds and statuses, and no network."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace
from unittest import mock

from hostile.loop_watch import LoopWatch
from hostile.memory_server import MemoryServer, path_of
from hostile.stored_object import StoredObject
from pilotage import app
from pilotage.app.live import Live
from pilotage.app.options import FollowedConfigMap, Options, Serving
from pilotage.config.handshake import CONFIGURATION
from pilotage.telemetry.verbosity import Verbosity
from pilotage.testing import Manifest, node_manifest, pod_manifest

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [%s]}}
"""
FOLLOWED = FollowedConfigMap("pilotage-system", "configuration")
ZONE = "topology.kubernetes.io/zone"
NEIGHBOUR = "neighbour"  # the namespace of the tenant who has a right to be left alone
START = 300.0  # seconds for the scheduler to get ready
LOOK = 0.5  # seconds between two looks at a pod that is not bound
Prepared = list[tuple[str, StoredObject]]


class Clock:
    """The scheduler's clock, which can be set forward: back-offs need no waiting."""

    def __init__(self, watch: LoopWatch) -> None:
        self.ahead = 0.0
        self._start, self._watch = time.time() - watch.time(), watch

    def __call__(self) -> float:
        """Return the time of day."""
        return self._start + self._watch.time() + self.ahead


def prepare(manifests: Iterable[Manifest]) -> Prepared:
    """Encode objects before the measurement starts."""
    return [(path_of(manifest), StoredObject(_identified(manifest))) for manifest in manifests]


def _identified(manifest: Manifest) -> Manifest:
    metadata = manifest["metadata"]
    identity = {"uid": f"{manifest['kind']}-{metadata.get('namespace', '')}-{metadata['name']}"}
    return {**manifest, "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", **identity, **metadata}}


def ordinary_cluster(nodes: int) -> list[Manifest]:
    """Return nodes in three zones, two small pods on each, and the namespaces."""
    spaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"tenant": name}}}
        for name in (NEIGHBOUR, "hostile", "default")
    ]
    made = [
        node_manifest(f"node-{i}", fake=False, cpu="64", memory="256Gi", pods=500, labels={ZONE: f"zone-{i % 3}"})
        for i in range(nodes)
    ]
    placed = [
        pod_manifest(
            f"old-{i}", namespace=NEIGHBOUR, cpu="500m", memory="1Gi", labels={"app": "old"}, node=f"node-{i // 2}"
        )
        for i in range(2 * nodes)
    ]
    return [*spaces, *made, *placed]


class Scene:
    """A scheduler that runs, and the cluster that it sees."""

    def __init__(self, watch: LoopWatch, server: MemoryServer, live: Live, clock: Clock) -> None:
        self.watch, self.server, self.live, self.clock = watch, server, live, clock
        self._bound: dict[str, asyncio.Event] = {}
        self._neighbours = 0
        self.longest_idle = 0.0  # seconds
        server.on_bound = self._note_bound

    def _note_bound(self, key: str) -> None:
        if key in self._bound:
            self._bound[key].set()

    async def neighbour(self, idle_seconds: float, busy_seconds: float) -> float | None:
        """Create a plain pod of another tenant; returns the CPU seconds until its bind, None if it is given up.

        The time in which it waited and nothing ran is in `longest_idle`.
        """
        with self.watch.own_work():
            number = self._neighbours
            self._neighbours += 1
            # Every other one is of a kind that was not there before, as in a cluster of many teams.
            cpu = f"{10 + number}m" if number % 2 else "10m"
            manifest = pod_manifest(
                f"plain-{number}", namespace=NEIGHBOUR, cpu=cpu, memory="10Mi", labels={"app": "plain"}
            )
            prepared = prepare([manifest])
            key = prepared[0][1].key
            bound = self._bound[key] = asyncio.Event()
        began, idle = self.watch.now(), self.watch.idle
        with self.watch.own_work():
            self.server.put(prepared)
        while not bound.is_set():
            # In what the scheduler does or does not do, and not in seconds of a machine that may be busy.
            if self.watch.idle - idle > idle_seconds or self.watch.now() - began > busy_seconds:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await bound.wait()
        del self._bound[key]
        self.longest_idle = max(self.longest_idle, self.watch.idle - idle)
        return self.watch.now() - began if bound.is_set() else None

    def pass_time(self, seconds: float) -> None:
        """Set the clock forward."""
        self.clock.ahead += seconds
        self.live.core.loop.wake()

    def is_quiet(self) -> bool:
        """Return whether nothing is left to read, to decide or to build."""
        hot = self.live.hot
        building = hot is not None and hot.following._news.is_set()
        return not self.server.backlog() and not self.live.core.queue.pending().active and not building


def _configuration(plugins: Sequence[str]) -> str:
    return CONFIG % ", ".join(f"{{name: {name}}}" for name in plugins)


def config_map(configuration: str) -> Manifest:
    """Return the ConfigMap that the scheduler follows."""
    metadata = {"name": FOLLOWED.name, "namespace": FOLLOWED.namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {CONFIGURATION: configuration}}


@asynccontextmanager
async def scene(
    cluster: Prepared,
    plugins: Sequence[str],
    watch: LoopWatch,
    serving: Serving = Serving(secure_port=0),  # noqa: B008 - it is frozen
) -> AsyncIterator[Scene]:
    """Run the scheduler on a cluster."""
    server, clock = MemoryServer(watch), Clock(watch)
    server.put(cluster)
    clients = SimpleNamespace(watches=server, binds=server, statuses=server, events=server, close=server.close)
    ready = app.configured(_configuration(plugins))
    options = Options(config_map=FOLLOWED, serving=serving, leader_election={"leader_elect": False})
    with (
        mock.patch("pilotage.app.live.find", return_value=SimpleNamespace(host="memory", port=0)),
        mock.patch("pilotage.app.live.connect", return_value=clients),
        mock.patch("pilotage.app.live.steady_wall_clock", return_value=clock),
    ):
        live = Live(ready, options, mock.create_autospec(Verbosity), followed="first")
    stopped = asyncio.Event()
    # The read API has a connection of its own, by which it asks about users.
    with mock.patch("pilotage.app.read_api.serving.ApiClient", return_value=server):
        running = asyncio.create_task(live.run(stopped))
        try:
            await _until_ready(live, running)
            yield Scene(watch, server, live, clock)
        finally:
            stopped.set()
            await asyncio.wait([running], timeout=10.0)
            running.cancel()


async def _until_ready(live: Live, running: "asyncio.Task[int]") -> None:
    async with asyncio.timeout(START):
        while not live.is_ready:
            if running.done():
                running.result()
                raise RuntimeError("the scheduler has ended")
            await asyncio.sleep(0.01)
