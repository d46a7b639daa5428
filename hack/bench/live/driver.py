"""Plays one workload against one scheduler, step by step, and measures the phase that counts."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from bench.live import objects
from bench.live.allocating import allocate
from bench.live.api import Api
from bench.live.bound_pods import BoundPods
from bench.live.churn import churn
from bench.live.objects import Write
from bench.live.operations import (
    AllocateClaims,
    Barrier,
    Churn,
    Count,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    DeletePods,
    Operation,
    Sleep,
    StartMeasuring,
    StopMeasuring,
)
from bench.live.probes import PROBES, probe
from bench.live.scheduler import Scheduler
from localcluster.errors import Problem

Mode = Literal["concurrent", "drain"]
LONGEST_WAIT = 600.0  # as upstream
LOOK_SECONDS = 1.0
SERVED_SECONDS = 60.0
BEFORE_SCHEDULER = (CreateNodes, CreateNamespaces, CreateAny, AllocateClaims)
PODS_A_SECOND = 2000  # that are ready in case that a steady state takes them


@dataclass
class Phase:
    """What was seen while it was measured."""

    start: float
    namespaces: tuple[str, ...]
    created: float = 0.0
    acknowledged: dict[str, float] = field(default_factory=dict)  # NAMESPACE/NAME -> seconds
    stop: float = 0.0
    gangs: list[list[str]] = field(default_factory=list)  # of NAMESPACE/NAME
    objects: int = 0  # that were measured instead of pods


class Driver:
    """One workload on one control plane."""

    def __init__(
        self,
        api: Api,
        bound: BoundPods,
        scheduler: Scheduler,
        mode: Mode,
        rate: float | None,
        tell: Callable[[int, int, str], None],
    ) -> None:
        self._api = api
        self._bound = bound
        self._scheduler = scheduler
        self._mode = mode
        self._tell = tell  # how far it is
        self._rate = rate  # pods a second in an open loop; None: as fast as it goes
        self._expected: defaultdict[str, int] = defaultdict(int)  # namespace -> pods that were not waited for yet
        self._background: list[asyncio.Task[None]] = []
        self._namespaces: set[str] = set()
        self.phase: Phase | None = None

    async def play(self, operations: tuple[Operation, ...]) -> Phase:
        """Play all steps; gives the phase that was measured."""
        try:
            for position, step in enumerate(operations):
                if not self._scheduler.is_running and not isinstance(step, BEFORE_SCHEDULER):
                    await self._scheduler.start()
                    await self._scheduler.try_out(self._api, self._bound)
                if begins_to_count(step) and not self._background:
                    await self._scheduler.rest()
                await self._play_step(step, position)
        finally:
            for task in self._background:
                task.cancel()
            await asyncio.gather(*self._background, return_exceptions=True)
        if self.phase is None:
            raise Problem("This workload measures nothing")
        return self.phase

    async def _play_step(self, step: Operation, position: int) -> None:
        match step:
            case CreateNodes():
                await self._api.create(objects.nodes(step, position), lambda _: None)
            case CreateNamespaces():
                writes = objects.namespaces(step)
                await self._api.create([[write] for write in writes], lambda _: None)
                self._namespaces |= {f"{step.prefix}-{index}" for index in range(len(writes))}
            case CreatePods():
                await self._create_pods(step, position)
            case CreatePodSets():
                for index in range(step.count.number):
                    await self._create_pods(step.pods, position, f"{step.prefix}-{index}")
            case CreateAny():
                await self._create_any(step, position)
            case AllocateClaims():
                await allocate(self._api, step.namespace)
            case DeletePods():
                await self._now_or_behind(self._delete_pods(step), waits=step.waits)
            case Churn():
                place = await self._namespace(step.namespace or f"namespace-{position}")
                await self._now_or_behind(churn(self._api, step, place, position), waits=False)
            case Barrier():
                await self._barrier(step)
            case Sleep():
                await asyncio.sleep(step.seconds)
            case StartMeasuring():
                self._start(step.namespaces)
            case StopMeasuring():
                await self._stop()

    async def _create_pods(self, step: CreatePods, position: int, place: str = "") -> None:
        place = await self._namespace(place or step.namespace or f"namespace-{position}")
        if step.steady_seconds:
            await self._replace_pods(step, place, position)
            return
        items = objects.pods(step, place, position)
        before = self._bound.count(place)
        if step.measured and self._mode == "drain":
            await self._scheduler.stop()
        if step.measured:
            self._start((place,)).gangs = gangs(step, items)
        await self._create(items, paced=step.measured)
        if step.measured and self._mode == "drain":
            await self._start_on_backlog(place, before)
        if not step.waits:
            self._expected[place] += len(items)
            return
        await self._wait_for(place, before + len(items))
        if step.measured:
            await self._stop()

    async def _replace_pods(self, step: CreatePods, place: str, position: int) -> None:
        """Delete each pod that is bound, and create another, for a while."""
        most = step.count.number + int(step.steady_seconds * PODS_A_SECOND)
        items = iter(objects.pods(replace(step, count=Count(most)), place, position))
        if step.measured:
            self._start((place,))
        first = [next(items) for _ in range(step.count.number)]
        await self._create(first, paced=False)
        written = {write.name: write for item in first for write in item}
        replaced: set[str] = set()
        deadline = time.monotonic() + step.steady_seconds
        while time.monotonic() < deadline:
            self._scheduler.check_alive()
            bound = [name for name in self._bound.times[place] if name not in replaced]
            if not bound:
                await self._bound.news(max(0.0, min(LOOK_SECONDS, deadline - time.monotonic())))
                continue
            replaced.update(bound)
            following = [next(items) for _ in bound]
            written |= {write.name: write for item in following for write in item}
            pairs = zip(bound, following, strict=True)
            await self._create([[objects.deletion(written[name]), *item] for name, item in pairs], paced=False)
            self._tell(len(replaced), len(replaced) + step.count.number, f"pods in {place}")
        if step.measured:
            await self._stop()
            self._forget_unbound(place)

    def _forget_unbound(self, place: str) -> None:
        """The last pods of a steady state are not waited for."""
        assert self.phase
        bound = self._bound.times[place]
        acknowledged = self.phase.acknowledged
        self.phase.acknowledged = {key: at for key, at in acknowledged.items() if key.partition("/")[2] in bound}

    async def _start_on_backlog(self, place: str, before: int) -> None:
        """Start the scheduler again; what it takes to fill its caches is not what is measured."""
        await self._scheduler.start()
        await self._wait_for(place, before + 1)
        self._scheduler.mark()

    async def _create(self, items: list[list[Write]], *, paced: bool) -> None:
        acknowledged = self.phase.acknowledged if self.phase and not self.phase.stop else {}

        def done(key: str) -> None:
            acknowledged[key] = time.monotonic()

        if paced and self._rate:
            await self._api.create_paced(items, self._rate, done)
        else:
            await self._api.create(items, done)
        if self.phase and not self.phase.stop:
            self.phase.created = time.monotonic()

    async def _create_any(self, step: CreateAny, position: int) -> None:
        if step.namespace:
            await self._namespace(step.namespace)
        count = step.count.number
        if not count:
            return
        names = (f"{position}-{index}" for index in range(count))
        writes = [objects.anything(step.template, step.namespace, i, count, name) for i, name in enumerate(names)]
        await self._until_served(writes[0].path)
        await self._api.create([[write] for write in writes], lambda _: None)
        if self.phase and not self.phase.stop:
            await self._until_known(step, count)

    async def _until_known(self, step: CreateAny, count: int) -> None:
        """Wait until the scheduler can use the last of the objects that are measured themselves: slices of devices."""
        assert self.phase
        last = objects.anything(step.template, step.namespace, count - 1, count, "last")
        before = self._bound.count(PROBES)
        await self._api.ensure(objects.namespace(PROBES))
        for write in probe(last, PROBES):
            await self._api.send(write)
        await self._wait_for(PROBES, before + 1)
        self.phase.objects = count

    async def _until_served(self, path: str) -> None:
        """Wait for a kind that may have been defined just now."""
        deadline = time.monotonic() + SERVED_SECONDS
        while (await self._api.send(Write("GET", f"{path}?limit=1", b""), accepted=(200, 404))).status == 404:
            if time.monotonic() > deadline:
                raise Problem(f"{path} is not served after {SERVED_SECONDS:.0f} s")
            await asyncio.sleep(LOOK_SECONDS)

    async def _delete_pods(self, step: DeletePods) -> None:
        selector = ",".join(f"{key}={value}" for key, value in step.labels.items())
        collection = f"/api/v1/namespaces/{step.namespace}/pods"
        if not step.per_second:
            await self._api.send(Write("DELETE", f"{collection}?labelSelector={selector}", b""))
            return
        for pod in await self._list(f"{collection}?labelSelector={selector}"):
            await self._api.send(Write("DELETE", f"{collection}/{pod.metadata.name}", b""), accepted=(200, 202, 404))
            await asyncio.sleep(1 / step.per_second)

    async def _list(self, path: str) -> list[objects.Listed]:
        return objects.listed((await self._api.send(Write("GET", path, b""))).body)

    async def _barrier(self, step: Barrier) -> None:
        for place in step.namespaces or tuple(self._expected):
            if step.only_tried:
                await self._wait(partial(self._tried, place), place, self._expected[place])
            else:
                await self._wait_for(place, self._expected.pop(place))

    async def _tried(self, place: str) -> int:
        return sum(pod.is_tried for pod in await self._list(f"/api/v1/namespaces/{place}/pods?resourceVersion=0"))

    async def _wait_for(self, place: str, count: int) -> None:
        async def bound() -> int:
            return self._bound.count(place)

        await self._wait(bound, place, count)

    async def _wait(self, count: Callable[[], Awaitable[int]], place: str, wanted: int) -> None:
        deadline = time.monotonic() + LONGEST_WAIT
        while (found := await count()) < wanted:
            self._scheduler.check_alive()
            self._tell(found, wanted, f"pods in {place}")
            if time.monotonic() > deadline:
                raise Problem(f"Only {found} of {wanted} pods in {place} made progress within {LONGEST_WAIT:.0f} s")
            await self._bound.news(LOOK_SECONDS)

    async def _namespace(self, name: str) -> str:
        if name not in self._namespaces:
            await self._api.ensure(objects.namespace(name))
            self._namespaces.add(name)
        return name

    async def _now_or_behind(self, work: Coroutine[Any, Any, None], *, waits: bool) -> None:
        if waits:
            await work
        else:
            self._background.append(asyncio.create_task(work))

    def _start(self, namespaces: tuple[str, ...]) -> Phase:
        if self.phase is not None:
            raise Problem("This workload measures twice")
        self._scheduler.mark()
        self.phase = Phase(time.monotonic(), namespaces)
        return self.phase

    async def _stop(self) -> None:
        assert self.phase is not None
        self.phase.stop = time.monotonic()


def begins_to_count(step: Operation) -> bool:
    """Whether what comes before a step, events included, must be over: it is not what is measured."""
    return isinstance(step, Churn | StartMeasuring) or (isinstance(step, CreatePods) and step.measured)


def gangs(step: CreatePods, items: list[list[Write]]) -> list[list[str]]:
    """The pods of each gang of a step, in the order in which they are created."""
    keys = [item[-1].key for item in items]
    return [keys[first :: step.gangs] for first in range(step.gangs)]
