"""The scheduler with its read API, on an API server in memory that also says who may see what."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest import mock

from bench.viewers.slices import Slices
from hostile.scene import Scene, ordinary_cluster, prepare, scene
from pilotage.app.options import Serving
from pilotage.app.read_api.serving import LiveApi
from pilotage.testing import Manifest, pod_manifest

PODS = "/api/v1/pods"
TEAMS = 20  # namespaces with pods that wait
OWNERS = 100  # that they belong to
ADMIN = "admin"
BEHIND = 500  # pods that are created before the first of them is bound
LONG_AGO = 1e9  # seconds
LOOP = "pilotage.app.event_loop"
LOADED = "load"  # the namespace of pods that come and are bound


def waiting(count: int) -> list[Manifest]:
    """Return pods that fit nowhere, for five different reasons."""
    hindrances: list[Manifest] = [
        {"cpu": "65"},
        {"memory": "300Gi"},
        {"cpu": "65", "memory": "300Gi"},
        {"cpu": "100m", "node_selector": {"disk": "nvme"}},
        {"cpu": "100m", "requests": {"example.com/gpu": "1"}},
    ]
    made = []
    for number in range(count):
        place = number % OWNERS
        owner = f"job-{place}"
        reference = {"apiVersion": "batch/v1", "kind": "Job", "name": owner, "uid": owner, "controller": True}
        hindrance = hindrances[place // TEAMS % len(hindrances)]  # each team has jobs of every kind
        manifest = pod_manifest(f"{owner}-{number}", namespace=f"team-{place % TEAMS}", **hindrance)
        manifest["metadata"]["ownerReferences"] = [reference]
        made.append(manifest)
    return made


class Stage:
    """A scheduler that runs, pods that wait, and others that come."""

    def __init__(self, on: Scene, port: int, watch: Slices) -> None:
        self._on, self._watch = on, watch
        self.url = f"https://127.0.0.1:{port}/pilotage/v1"
        self._created: dict[str, float] = {}  # when, by the scheduler's time
        self.waits: list[float] = []  # seconds from created to bound
        self._news = asyncio.Event()
        self._number = 0
        on.server.on_bound = self._bound

    @property
    def scene(self) -> Scene:
        """The scene that this is built on."""
        return self._on

    @property
    def api(self) -> LiveApi:
        """The read API."""
        found = self._on.live._read_api
        assert found is not None
        return found

    def _bound(self, key: str) -> None:
        created = self._created.pop(key, None)
        if created is not None:
            self.waits.append(self._watch.time() - created)
            self._news.set()

    def _create(self, count: int) -> None:
        with self._watch.own_work():
            first = self._number
            self._number += count
            made = prepare(
                pod_manifest(f"p-{number}", namespace=LOADED, cpu="10m", memory="10Mi", labels={"app": "load"})
                for number in range(first, self._number)
            )
            now = self._watch.time()
            self._created |= dict.fromkeys((each.key for _, each in made), now)
            self._on.server.put(made)

    async def as_fast_as_possible(self, pods: int) -> None:
        """Create pods as fast as they are bound, until so many are."""
        last = self._number + pods
        while self._number < last or self._created:
            if self._number < last and (room := BEHIND - len(self._created)) >= BEHIND // 10:
                self._create(min(room, last - self._number))
            self._news.clear()
            await self._news.wait()

    async def at_a_rate(self, pods: int, a_second: float) -> None:
        """Create pods one by one at a rate of the scheduler's time."""
        begun, first = self._watch.time(), self._number
        while (done := self._number - first) < pods:
            due = min(pods, int((self._watch.time() - begun) * a_second) + 1)
            if due > done:
                self._create(due - done)
            await asyncio.sleep(1 / a_second)
        while self._created:
            self._news.clear()
            await self._news.wait()

    async def rest(self) -> None:
        """Let the scheduler come to rest; what was bound stays, and only the API server forgets it."""
        with self._watch.own_work():
            pods = self._on.server.objects_at(PODS)
            for key in self._on.server.bound:
                pods.pop(key, None)
            self._on.server.bound.clear()
        await self.quiet()

    async def nobody_looks(self) -> None:
        """Let the API forget what it keeps for a minute for viewers that come back."""
        api = self.api.api
        api.feed._idle_since = api.tally._asked_at = -LONG_AGO
        while api.tally.is_counting:  # noqa: ASYNC110 - nobody else is told
            await asyncio.sleep(0.1)

    async def quiet(self) -> None:
        """Wait until the scheduler has nothing to do."""
        still = 0
        while still < 20:
            await asyncio.sleep(0.05)
            still = still + 1 if self._on.is_quiet() else 0


@asynccontextmanager
async def stage(nodes: int, pods: int, watch: Slices) -> AsyncIterator[Stage]:
    """Run a scheduler with its API on a cluster in which pods wait."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    serving = Serving(
        bind_address="127.0.0.1", secure_port=0, api_port=port, api_port_is_wanted=True, authentication_skip_lookup=True
    )
    cluster = prepare([*ordinary_cluster(nodes), *waiting(pods)])
    # Slices of the loop and times of decisions are those of the scheduler, not of a machine that may be busy.
    patches = (
        mock.patch("pilotage.scheduling.loop.perf_counter", watch.time),
        mock.patch(f"{LOOP}.thread_time", watch.now),
    )
    with patches[0], patches[1]:
        async with scene(cluster, (), watch, serving) as on:
            on.server.allows = _allows
            found = Stage(on, port, watch)
            await found.quiet()
            yield found


def _allows(user: str, wanted: Manifest) -> bool:
    """Return whether a user may: the admin everything, others what is in the namespace of their name."""
    return user in (ADMIN, wanted.get("namespace"))
