"""Rounds with and without viewers, in turn, on one scheduler."""

import asyncio
import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.viewers.slices import Slices
from bench.viewers.stage import ADMIN, TEAMS, Stage

STREAM = "/events?topics=queue,decisions,nodes"
PAGES = (
    "/overview",
    "/queue?groupBy=reason",
    "/queue?limit=100",
    "/decisions?limit=100",
    "/nodes?columns=cpu,memory",
    "/pods/team-0/job-0-0/explain?nodes=rejected&limit=50",
)
OF_ONE_TEAM = 4  # every so manieth viewer may see one namespace only


@dataclass(frozen=True)
class Plan:
    """What is played."""

    viewers: int = 20
    every: float = 1.0  # seconds from an answer to the next question
    greedy: bool = False  # no pause, whatever the server asks for
    pods: int = 20_000  # of a round at full speed
    rates: tuple[float, ...] = (300.0, 1000.0)
    paced_seconds: float = 5.0
    repeats: int = 4


@dataclass
class Round:
    """What one round took."""

    with_viewers: bool
    pods: int
    seconds: float  # of CPU of the scheduler's thread
    wall: float
    passed: float  # seconds of the scheduler's time: in which it worked or had nothing to do
    api_seconds: float  # of the CPU for the API
    slices: list[float]  # of the API
    collecting: float  # seconds of garbage collections
    collections: int
    longest_collection: float
    attempts: list[float] = field(default_factory=list)  # seconds of each decision
    waits: list[float] = field(default_factory=list)  # from created to bound
    seen: dict[str, Any] = field(default_factory=dict)
    by_name: list[tuple[str, float, int, float]] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Pods per second of the scheduler's CPU."""
        return self.pods / self.seconds


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of all are."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0.0


class Audience:
    """The viewers' process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def comes(cls, stage: Stage, plan: Plan) -> "Audience":
        """Start it, and wait until all streams have begun."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("audience.py")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=64 << 20,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_told(stage, plan)).encode() + b"\n")
        await process.stdin.drain()
        line = await process.stdout.readline()
        if line != b"ready\n":
            raise RuntimeError("the viewers could not begin")
        return cls(process)

    async def goes(self) -> dict[str, Any]:
        """End it, and return what was seen."""
        out, _ = await self._process.communicate(b"")
        found: dict[str, Any] = json.loads(out)
        return found


def _told(stage: Stage, plan: Plan) -> dict[str, Any]:
    viewers = []
    for number in range(plan.viewers):
        team = f"team-{number % TEAMS}"
        is_admin = number % OF_ONE_TEAM != OF_ONE_TEAM - 1
        pages = list(PAGES) if is_admin else [f"/queue?groupBy=reason&namespace={team}", f"/queue?namespace={team}"]
        first = number % len(pages)
        viewers.append(
            {
                "token": ADMIN if is_admin else team,
                "paths": pages[first:] + pages[:first],
                "stream": STREAM if is_admin else f"/events?namespace={team}",
                "begins": plan.every * number / plan.viewers,
            }
        )
    return {"url": stage.url, "every": 0.0 if plan.greedy else plan.every, "greedy": plan.greedy, "viewers": viewers}


async def play(stage: Stage, watch: Slices, plan: Plan, *, with_viewers: bool, rate: float = 0.0) -> Round:
    """Play a round."""
    gc.collect()
    audience = None
    if with_viewers:
        audience = await Audience.comes(stage, plan)
    else:
        await stage.nobody_looks()
    stage.waits.clear()
    log = stage.api.log
    first, pods = log.count, int(rate * plan.paced_seconds) if rate else plan.pods
    watch.reset()
    began, time, wall = watch.now(), watch.time(), perf_counter()
    await (stage.at_a_rate(pods, rate) if rate else stage.as_fast_as_possible(pods))
    found = Round(
        with_viewers,
        pods,
        watch.now() - began,
        perf_counter() - wall,
        watch.time() - time,
        watch.of_api(),
        list(watch.slices),
        watch.collecting,
        watch.collections,
        watch.longest_collection,
        waits=list(stage.waits),
        by_name=sorted(
            ((name, seconds, watch.calls[name], watch.longest_of[name]) for name, seconds in watch.seconds.items()),
            key=lambda each: -each[1],
        ),
    )
    with watch.own_work():
        kept = [each for number, each in log.newest_first() if number >= first]
        found.attempts = [each.ended - each.started for each in kept if each.feasible]
    if audience is not None:
        found.seen = await audience.goes()
    await stage.rest()
    return found


@dataclass
class Pair:
    """Rounds with and without viewers of one load."""

    name: str
    is_paced: bool
    without: list[Round] = field(default_factory=list)
    viewed: list[Round] = field(default_factory=list)

    def ratios(self) -> list[float]:
        """Return the throughput with viewers as a share of that without, round by round."""
        return [one.rate / other.rate for one, other in zip(self.viewed, self.without, strict=True)]

    def p99(self, what: str) -> tuple[float, float]:
        """Return the 99th percentile of a time without and with viewers: the median of all rounds."""
        without, viewed = (
            median(percentile(getattr(each, what), 0.99) for each in rounds) for rounds in (self.without, self.viewed)
        )
        return without, viewed
