"""What a what-if costs the pods that are scheduled beside it: a leader in memory, with and without questions.

PYTHONPATH=hack:tests .venv/bin/python -m bench.what_if_beside [--nodes 5000] [--copies 1000] [--rate 200]

Rounds with and without what-ifs alternate on one cluster. All times are CPU of the scheduler's thread, so that other
programs do not count: how long an attempt takes, and how long a pod waits from its creation to its bind. The last line
of each kind is the 99th percentile with what-ifs as a multiple of that without.
"""

import argparse
import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic, thread_time
from typing import Any

import numpy as np

from bench.preemptors import LateApi
from kit.binding_api import BindingApi
from pilotage.app import calm_garbage_collection, configured
from pilotage.app.core import Core, Outside, core, steady_wall_clock
from pilotage.app.read_api.budget import Budget
from pilotage.app.what_if_live import WhatIfs
from pilotage.model.pod import Pod
from pilotage.offline.what_if.request import read
from pilotage.scheduling.loop import MOST_BINDS
from pilotage.testing import make_node, make_pod

TICK = 0.02  # seconds between two arrivals of pods
ROUNDS = 3
WARM_UP = 1.0  # seconds


@dataclass
class Figures:
    """What was measured in rounds of one kind."""

    attempts: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    slices: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)  # seconds on the wall


class Leader(LateApi):
    """A scheduler that leads, its API server, and those who create pods and ask questions."""

    def __init__(self, nodes: int, pods: int) -> None:
        super().__init__()
        ready = configured(None)
        outside = Outside(self.pods.get, self, self, self, api=BindingApi(self.bind))
        self.scheduler: Core = core(ready.profiles(), outside, clock=steady_wall_clock(), seed=0)
        self.core = self.scheduler
        for each in range(nodes):
            self.scheduler.nodes.added(make_node(f"node-{each}", cpu="32", labels={"zone": "abc"[each % 3]}))
        for each in range(pods):
            self.create(_pod(f"old-{each}", each, node=f"node-{each % nodes}"))
        loop, queue, bindings = self.scheduler.loop, self.scheduler.queue, self.scheduler.bindings
        self._budget = Budget(
            lambda: queue.pending().active > 0 and bindings.being_sent() < MOST_BINDS,
            is_tentative=lambda: loop.is_tentative,
        )
        self._what_ifs = WhatIfs(self.scheduler, lambda: ready)
        self._created: dict[str, float] = {}
        self._began: dict[str, float] = {}
        self._made = 0
        self._bound: deque[Pod] = deque()
        self.figures = Figures()
        schedule = loop._scheduler.schedule

        def timed(pod: Pod, *given: Any, **more: Any) -> Any:
            began = thread_time()
            try:
                return schedule(pod, *given, **more)
            finally:
                self.figures.attempts.append(thread_time() - began)

        loop._scheduler.schedule = timed  # type: ignore[method-assign]

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod, and note how long it has waited."""
        self.figures.waits.append(thread_time() - self._created.pop(pod.key))
        await super().bind(pod, node)
        self._bound.append(self.pods[pod.key])

    async def arrivals(self, rate: int) -> None:
        """Create pods, and end those that were bound a while ago."""
        due = 0.0
        while True:
            due += rate * TICK
            while due >= 1:
                due -= 1
                self._made += 1
                pod = _pod(f"new-{self._made}", self._made)
                self._created[pod.key] = thread_time()
                self.create(pod)
            while len(self._bound) > 1000:
                self.scheduler.pods.deleted(self.pods.pop(self._bound.popleft().key))
            await asyncio.sleep(TICK)

    async def watch(self) -> None:
        """Show the scheduler what it has done."""
        while True:
            while self.news:
                self.news.popleft()()
            await asyncio.sleep(0.001)

    async def questions(self, copies: int) -> None:
        """Ask one what-if after the other."""
        new = {"addPods": {"requests": {"cpu": "100m", "memory": "100Mi"}, "copies": copies}}
        while True:
            begun = monotonic()
            self._budget.begin_minute()
            self._budget.begin_minute()  # forget all slices before this question
            answer = await self._budget.run(self._what_ifs.steps(read({"changes": [new], "limits": {"seconds": 60}})))
            assert answer.verdict == "fits", answer.summary
            self.figures.answers.append(monotonic() - begun)
            self.figures.slices.append(self._budget.longest_slice)
            await asyncio.sleep(0)


def _pod(name: str, number: int, **fields: Any) -> Pod:
    cpu = f"{100 + number % 7 * 50}m"
    return make_pod(name, uid=name, cpu=cpu, memory="200Mi", labels={"app": f"web-{number % 50}"}, **fields)


async def measure(words: argparse.Namespace) -> tuple[Figures, Figures]:
    """Play rounds of both kinds in turn; returns their figures, those without what-ifs first."""
    leader = Leader(words.nodes, words.pods)
    calm_garbage_collection()
    running = [asyncio.create_task(each) for each in (leader.scheduler.loop.run(), leader.watch())]
    running.append(asyncio.create_task(leader.arrivals(words.rate)))
    await asyncio.sleep(WARM_UP)
    found = Figures(), Figures()
    for _ in range(ROUNDS):
        for figures, asks in zip(found, (False, True), strict=True):
            leader.figures = figures
            asking = asyncio.create_task(leader.questions(words.copies)) if asks else None
            await asyncio.sleep(words.seconds)
            if asking is not None:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return found


def main(given: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--copies", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=200, help="pods that are created in a second")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each round")
    words = parser.parse_args(given)
    without, with_them = asyncio.run(measure(words))
    print(f"{words.nodes} nodes, {words.pods} pods, {words.rate} new pods a second, {words.copies} copies asked about")
    for name in ("attempts", "waits"):
        before, after = (np.array(getattr(each, name)) * 1000 for each in (without, with_them))
        for title, times in (("alone", before), ("with what-ifs", after)):
            p50, p99, longest = (float(np.percentile(times, each)) for each in (50, 99, 100))
            print(f"{name:8} {title:14} {len(times):6} p50 {p50:6.3f} ms  p99 {p99:6.3f} ms  longest {longest:6.2f} ms")
        print(f"{name:8} p99 x{np.percentile(after, 99) / np.percentile(before, 99):.2f}")
    answers = with_them.answers
    if answers:
        longest = 1000 * max(with_them.slices)
        print(
            f"{len(answers)} answers in {min(answers):.1f} to {max(answers):.1f} s, the longest slice {longest:.1f} ms"
        )
    else:
        print("no answer was complete within a round; take longer rounds")


if __name__ == "__main__":
    main()
