"""A burst of preemptors in memory: each evicts pods of a node, which end a little later, and takes their place."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kit.binding_api import BindingApi
from pilotage.app.core import Core, Outside, core, steady_wall_clock
from pilotage.cluster.write.evictor import Evicted
from pilotage.model.pod import Pod
from pilotage.profiles import Profile
from pilotage.testing import make_node, make_pod

VICTIMS = 4  # on each node, of which a preemptor needs the room of three
NEWS_AT_ONCE = 16  # that the watch brings between two batches of the scheduler: evictions take longer than decisions
LONGEST = 600.0  # seconds


@dataclass(frozen=True)
class Burst:
    """What came of it."""

    placed: int
    evicted: int
    tries: int
    seconds: float  # of this process's CPU


class LateApi:
    """Says yes to everything at once, and shows it some time later."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.news: deque[Callable[[], None]] = deque()
        self.bound = self.evicted = 0
        self.core: Core | None = None  # the receivers of events

    def create(self, pod: Pod) -> None:
        """Let a pod appear."""
        assert self.core is not None
        self.pods[pod.key] = pod
        self.core.pods.added(pod)

    def record(
        self, pod: Pod, severity: str, reason: str, action: str, note: str, *, controller: str, once: bool = False
    ) -> None:
        """Take an event."""

    def condition(self, pod: Pod, reason: str, message: str, nominate: str | None = None) -> None:
        """Take a condition."""
        if nominate is not None:
            self.nominate(pod, nominate)

    def nominate(self, pod: Pod, node: str) -> None:
        """Take a nomination."""
        if not self.pods[pod.key].node_name:
            self._change(self.pods[pod.key].with_nominated_node(node))

    def drop(self, uid: str) -> bool:
        """Return that nothing is in flight."""
        return False

    async def settled(self, uid: str) -> None:
        """Have nothing to wait for."""

    async def evict(self, victim: Pod, scheduler: str) -> Evicted:
        """Delete a pod."""
        self.evicted += 1
        last = self.pods.pop(victim.key)
        await asyncio.sleep(0)
        self.news.append(lambda: self._hears().pods.deleted(last))
        return Evicted()

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod."""
        self.bound += 1
        await asyncio.sleep(0)
        self._change(self.pods[pod.key].on(node))

    def _change(self, new: Pod) -> None:
        old, self.pods[new.key] = self.pods[new.key], new
        self.news.append(lambda: self._hears().pods.updated(old, new))

    def _hears(self) -> Core:
        assert self.core is not None
        return self.core


async def burst(profiles: Mapping[str, Profile], nodes: int, preemptors: int, calm: Callable[[], None]) -> Burst:
    """Fill a cluster, then let preemptors come all at once; `calm` is called in between."""
    api = LateApi()
    outside = Outside(api.pods.get, api, api, api, api=BindingApi(api.bind))
    scheduler = api.core = core(profiles, outside, clock=steady_wall_clock(), seed=0)
    for i in range(nodes):
        scheduler.nodes.added(make_node(f"node-{i}", cpu="4", memory="32Gi"))
    for i in range(VICTIMS * nodes):
        api.create(make_pod(f"low-{i}", cpu="900m", memory="500Mi", node=f"node-{i % nodes}"))
    calm()
    start, deadline = time.process_time(), time.monotonic() + LONGEST
    for i in range(preemptors):
        api.create(make_pod(f"high-{i}", cpu="3", memory="500Mi", priority=10))
    while api.bound < preemptors and time.monotonic() < deadline:
        scheduler.queue.tick()
        scheduler.loop._batch()
        await asyncio.sleep(0)
        for _ in range(min(NEWS_AT_ONCE, len(api.news))):
            api.news.popleft()()
    return Burst(api.bound, api.evicted, scheduler.queue.cycles, time.process_time() - start)
