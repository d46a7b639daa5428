"""The core of a live scheduler, and an API server in memory that does everything in an order of chance.

A request takes effect some time after it was made, and is answered some time after that; the watch tells what has
changed in the order in which it happened, but late. The same seed gives the same order.
"""

import asyncio
from collections.abc import Callable
from random import Random

from kit.binding_api import BindingApi
from pilotage import app
from pilotage.app.core import Core, Outside, core
from pilotage.cluster.write.evictor import Evicted
from pilotage.config.load import load
from pilotage.model.pod import Pod
from pilotage.profiles import build_profiles
from pilotage.testing import Manifest, decode_pod, pod_manifest

MOST_STEPS = 5_000
IDLE_STEPS = 12  # in which nothing happens, before everything is at rest
DISRUPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


class DisorderedCore:
    """A scheduler, and a cluster in which only chance decides what happens next."""

    def __init__(self, seed: int, configuration: str) -> None:
        self.gone: list[str] = []  # evicted pods by namespace/name, in the order in which they went
        self._random = Random(seed)
        self._now = 1_000_000.0
        self._server: dict[str, Manifest] = {}  # pods as they are, by namespace/name
        self._known: dict[str, Pod] = {}  # pods as the watch has told
        self._news: list[tuple[str, Manifest]] = []  # that the watch has not told
        self._due: list[Callable[[], None]] = []  # what may happen next
        self._statuses: dict[str, str | None] = {}  # nominations that are not written yet, by uid
        catalogue, _ = app.plugins()
        profiles = build_profiles(load(configuration, catalogue), catalogue)
        outside = Outside(self._known.get, self, self, self, api=BindingApi(self.bind))
        self.core: Core = core(profiles, outside, clock=lambda: self._now, seed=seed, max_backoff=1.0)

    def create(self, namespace: str, *names: str, priority: int = 0, cpu: int = 1) -> None:
        """Create pods that ask for so many cores each."""
        for name in names:
            manifest = pod_manifest(name, namespace=namespace, cpu=cpu)
            manifest["metadata"]["uid"], manifest["spec"]["priority"], manifest["status"] = name, priority, {}
            self._put(f"{namespace}/{name}", manifest, "ADDED")

    def running(self, namespace: str) -> list[str]:
        """Return the pods of a namespace that have a node."""
        pods = self._server.values()
        here = (pod for pod in pods if pod["metadata"]["namespace"] == namespace and "nodeName" in pod["spec"])
        return sorted(pod["metadata"]["name"] for pod in here)

    async def until_rest(self) -> None:
        """Let things happen until nothing more does."""
        idle = 0
        for _ in range(MOST_STEPS):
            await self._step()
            idle = 0 if self._news or self._due else idle + 1
            if idle > IDLE_STEPS:
                return
            self._now += 1.1 if idle else self._random.choice([0.0, 0.0, 0.1])
        raise AssertionError("there is no rest")

    async def _step(self) -> None:
        steps = [self._schedule] + [self._tell] * 3 * bool(self._news) + [self._do] * 3 * bool(self._due)
        self._random.choice(steps)()
        for _ in range(self._random.randint(1, 12)):
            await asyncio.sleep(0)

    def _schedule(self) -> None:
        self.core.queue.tick()
        while self.core.loop._batch():
            pass

    def _do(self) -> None:
        self._due.pop(self._random.randrange(len(self._due)))()

    def _tell(self) -> None:
        for _ in range(min(len(self._news), self._random.randint(1, 4))):
            kind, manifest = self._news.pop(0)
            pod = decode_pod(manifest)
            before = self._known.pop(pod.key, pod)
            if kind == "DELETED":
                self.core.pods.deleted(pod)
                continue
            self._known[pod.key] = pod
            if kind == "ADDED":
                self.core.pods.added(pod)
            else:
                self.core.pods.updated(before, pod)

    def _put(self, key: str, manifest: Manifest, kind: str = "MODIFIED") -> None:
        self._server[key] = manifest
        self._news.append((kind, manifest))

    def _change(self, pod: Pod, part: str, **fields: object) -> None:
        found = self._server.get(pod.key)
        if found is not None:
            kept = {name: value for name, value in {**found[part], **fields}.items() if value != ""}
            self._put(pod.key, {**found, part: kept})

    async def _request(self, effect: Callable[[], None]) -> None:
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def take_effect() -> None:
            effect()
            self._due.append(lambda: answered.set_result(None))

        self._due.append(take_effect)
        await answered

    # ---------------------------------------------------------------------------------- what the scheduler writes

    def record(self, pod: Pod, *told: str, controller: str, once: bool = False) -> None:
        """Believe it."""

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Write the nomination of a node, some time later; only the newest of what waits is written."""
        if pod.uid not in self._statuses:
            self._statuses[pod.uid] = None
            self._due.append(lambda: self._write(pod))
        if nominate is not None:
            self._statuses[pod.uid] = nominate

    def nominate(self, pod: Pod, node: str) -> None:
        """Do the same."""
        self.condition(pod, "", "", node)

    def _write(self, pod: Pod) -> None:
        nomination = self._statuses.pop(pod.uid, None)
        if nomination is not None:
            self._change(pod, "status", nominatedNodeName=nomination)

    def drop(self, uid: str) -> bool:
        """Write nothing more about a pod."""
        if uid in self._statuses:
            self._statuses[uid] = None
        return False

    async def settled(self, uid: str) -> None:
        """Nothing is on its way for long."""

    async def evict(self, victim: Pod, scheduler: str) -> Evicted:
        """Mark a pod, then delete it; it goes some time later."""
        await self._request(lambda: self._change(victim, "status", conditions=[DISRUPTED]))
        await self._request(lambda: self._delete(victim))
        return Evicted()

    def _delete(self, victim: Pod) -> None:
        found = self._server.get(victim.key)
        if found is not None and "deletionTimestamp" not in found["metadata"]:
            self._change(victim, "metadata", deletionTimestamp="2026-01-01T00:00:00Z")
            self._due.append(lambda: self._end(victim.key))

    def _end(self, key: str) -> None:
        self.gone.append(key)
        self._news.append(("DELETED", self._server.pop(key)))

    async def bind(self, pod: Pod, node: str) -> None:
        """Give a pod its node."""
        await self._request(lambda: self._change(pod, "spec", nodeName=node))
