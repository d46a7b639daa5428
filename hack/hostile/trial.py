"""One hostile shape, tried on a cluster with another tenant: its cost for both."""

import asyncio
import gc
import logging
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from hostile.loop_watch import LoopWatch
from hostile.scene import Prepared, Scene, ordinary_cluster, prepare, scene
from hostile.shapes import Shape
from hostile.stored_object import StoredObject
from pilotage.app.memory import keep_the_heap_small, trim_heap

PAGE = 4096  # bytes
WARM_UP = 80
NEIGHBOURS = 60
FEWEST_BESIDE = 10  # neighbours that come together with what is hostile
NOT_BOUND = "a neighbour's pod is not bound"
TICK = 0.5  # seconds of the scheduler's time between two neighbours afterwards, so that back-offs end


@dataclass(frozen=True)
class Limits:
    """How long anything may take before it is given up."""

    nodes: int = 300
    idle_seconds: float = 5.0  # of waiting for one plain pod while nothing works
    busy_seconds: float = 30.0  # of CPU while a shape settles
    most_seconds: int = 90  # of CPU for everything


@dataclass
class Measurement:
    """What one shape cost; times in milliseconds of CPU, memory in MiB."""

    shape: str
    size: int
    bytes: int = 0
    pods: int = 0  # that wait for a node
    usual_ms: float = 0.0  # a neighbour's two pods, without the shape
    after_ms: float = 0.0  # the same beside it
    wait_ms: float = 0.0  # the longest that a neighbour waited while it came in
    idle_ms: float = 0.0  # the longest that one waited while nothing worked
    standstill_ms: float = 0.0
    where: str = ""
    grown_mib: float = 0.0
    kept_mib: float = 0.0  # after it was deleted
    told: str = ""
    trouble: str = ""  # why the trial did not finish
    faults: list[str] = field(default_factory=list)

    @property
    def factor(self) -> float:
        """How many times slower a neighbour was."""
        return self.after_ms / self.usual_ms if self.usual_ms else 0.0

    def data(self) -> dict[str, Any]:
        """Return all of it for a file."""
        return asdict(self)


def try_shape(shape: Shape, size: int, seed: int, limits: Limits) -> Measurement:
    """Run one trial in this process."""
    keep_the_heap_small()
    logging.disable(logging.ERROR)
    random = Random(seed)  # noqa: S311 - no secret
    setting = prepare([*ordinary_cluster(limits.nodes), *shape.setting(size, random)])
    hostile = prepare(shape.make(size, random))
    stored, waiting = sum(len(each.json()) for _, each in hostile), sum(_waits(each) for _, each in hostile)
    found = Measurement(shape.name, size, stored, waiting)
    watch = LoopWatch()
    with watch.watching(), asyncio.Runner(loop_factory=watch.new_loop) as runner:
        runner.run(_trial(found, shape, setting, hostile, watch, limits))
    return found


def _waits(each: StoredObject) -> bool:
    return each.kind == "Pod" and not each.node


async def _trial(
    found: Measurement, shape: Shape, setting: Prepared, hostile: Prepared, watch: LoopWatch, limits: Limits
) -> None:
    async with scene(setting, shape.plugins, watch) as on:
        await _neighbours(on, WARM_UP, limits)
        found.usual_ms = median(await _neighbours(on, NEIGHBOURS, limits, tick=TICK)) * 1e3
        before = _resident()
        watch.reset()
        on.longest_idle = 0.0
        # 1. The shape comes in, and others arrive at the same time.
        with watch.own_work():
            on.server.put(hostile)
        found.wait_ms = await _beside(found, on, limits) * 1e3
        # 2. It is there to stay: others go on, and whatever waits is tried again.
        if not found.trouble:
            found.after_ms = await _afterwards(found, on, limits)
        found.standstill_ms, found.where = watch.longest * 1e3, watch.where
        found.idle_ms = on.longest_idle * 1e3
        found.grown_mib = _resident() - before
        found.told = _told(on, hostile)
        # 3. It goes.
        if not found.trouble:
            for path, each in hostile:
                on.server.remove(path, each.key)
            await _beside(found, on, limits)
            found.kept_mib = _resident() - before


async def _neighbours(on: Scene, count: int, limits: Limits, tick: float = 0.0) -> list[float]:
    """Return how long the pods of a neighbour took, two by two: one of a known kind, and one of a new kind."""
    times: list[float] = []
    for _ in range(count // 2):
        pair = [await on.neighbour(limits.idle_seconds, limits.busy_seconds) for _ in range(2)]
        if None in pair:
            return times
        times.append(sum(each for each in pair if each is not None))
        if tick:
            on.pass_time(tick)
    return times


async def _beside(found: Measurement, on: Scene, limits: Limits) -> float:
    """Let neighbours come until the shape is settled; returns the longest time that one of them took."""
    end, longest, count = on.watch.now() + limits.busy_seconds, 0.0, 0
    while count < FEWEST_BESIDE or not on.is_quiet():
        spent = await on.neighbour(limits.idle_seconds, limits.busy_seconds)
        if spent is None:
            found.trouble = NOT_BOUND
            return longest
        longest, count = max(longest, spent), count + 1
        if on.watch.now() > end:
            found.trouble = f"not settled after {limits.busy_seconds:.0f} s of CPU"
            return longest
        await asyncio.sleep(0)
    return longest


async def _afterwards(found: Measurement, on: Scene, limits: Limits) -> float:
    times = await _neighbours(on, NEIGHBOURS, limits, tick=TICK)
    if len(times) < NEIGHBOURS // 2:
        found.trouble = NOT_BOUND
    return median(times) * 1e3 if times else 0.0


def _told(on: Scene, hostile: Prepared) -> str:
    keys = [each.key for path, each in hostile if each.kind == "Pod"]
    for key in reversed(keys):
        if key in on.server.told:
            return on.server.told[key]
    if any(each.kind == "ConfigMap" for _, each in hostile):
        hot = on.live.hot
        assert hot is not None
        return f"{hot.following.swaps} swaps, {hot.following.refusals} refusals"
    return "nothing" if keys else ""


def _resident() -> float:
    gc.collect()
    trim_heap()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 2**20
