"""One round: a new control plane, one contestant, one workload, and what came of it."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.live.api import Api, connected
from bench.live.bound_pods import BoundPods
from bench.live.contestants import Contestant
from bench.live.driver import Driver, Mode, Phase
from bench.live.measure import Spent, average, overall, percentile, samples, stop_time, until_whole
from bench.live.objects import Write
from bench.live.programs import control_plane
from bench.live.scheduler import Scheduler
from bench.live.sizes import Sized
from bench.live.workload_files import Document, Workload, templates_of
from localcluster.errors import Problem
from localcluster.progress import Step

CLAIM_CONTROLLERS = ("resourceclaim-controller", "garbage-collector-controller")
SCHEDULED = b'"reason":"Scheduled"'


@dataclass(frozen=True)
class Round:
    """What one contestant did in one round."""

    contestant: str
    pods: int
    bound: int = 0
    events: int = 0  # "Scheduled", one for each pod if none was dropped
    samples: list[float] = field(default_factory=list)  # pods a second, as upstream takes them
    average: float | None = None  # of the samples
    overall: float | None = None  # from the first pod that was bound to the last
    cpu: dict[str, float] = field(default_factory=dict)  # program -> milliseconds per pod
    peak_memory: int = 0  # bytes, of the scheduler
    rate: float | None = None  # pods a second that were created, in an open loop
    p50: float | None = None  # milliseconds from created to seen as bound
    p99: float | None = None
    whole: float | None = None  # milliseconds from the last pod of a gang that was created to the last that was bound
    until_all: float | None = None  # seconds from the first pod that was created to the last that was bound
    left: int = 0  # pods with a node that went meanwhile: in a workload with preemptors, those that were evicted
    problem: str = ""

    @property
    def faults(self) -> list[str]:
        """What should not have happened."""
        if self.problem:
            return [self.problem]
        unbound = [f"{self.pods - self.bound:,} of {self.pods:,} pods were not bound"] if self.bound < self.pods else []
        dropped = self.bound - self.events
        return unbound + ([f"{dropped:,} of {self.bound:,} events were dropped"] if dropped > 0 else [])

    @property
    def throughput(self) -> float | None:
        """As upstream says it, or if the round was too short for that, from the first to the last pod."""
        return self.average or self.overall


def play(
    sized: Sized, contestant: Contestant, folder: Path | None, mode: Mode = "concurrent", rate: float | None = None
) -> Round:
    """Play a round; a contestant that fails has a round with a problem, the others go on."""
    problems: list[str] = []
    try:
        with Step(f"  {contestant.name}") as step:
            return asyncio.run(_play(sized, contestant, folder, mode, rate, step))
    except* (Problem, OSError) as group:
        problems += dict.fromkeys(str(error) for error in _leaves(group))
    return Round(contestant.name, sized.measured, rate=rate, problem="; ".join(problems))


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


async def _play(
    sized: Sized, contestant: Contestant, folder: Path | None, mode: Mode, rate: float | None, step: Step
) -> Round:
    workload = sized.workload
    with control_plane(folder, workload.gates, controllers_for(workload)) as plane:
        scheduler = Scheduler(contestant, plane, configuration_for(workload, contestant), workload.gates)
        bound = BoundPods(plane.door, as_protobuf=contestant.as_protobuf)
        try:
            async with connected(plane.door) as api:
                phase = await Driver(api, bound, scheduler, mode, rate, step.update).play(workload.operations)
                spent = await scheduler.rest()
                found = _round(contestant.name, phase, bound, spent, rate)
                events = await _events(api, phase)
                return replace(found, events=events, peak_memory=scheduler.peak_memory())
        finally:
            bound.close()
            await scheduler.stop()


def controllers_for(workload: Workload) -> tuple[str, ...]:
    """The controllers without which the pods of a workload could not be placed, or would not free what they had."""
    makes_claims = any("ResourceClaimTemplate" in template.path.read_text() for template in templates_of(workload))
    return CLAIM_CONTROLLERS if makes_claims else ()


def configuration_for(workload: Workload, contestant: Contestant) -> Document:
    """What a contestant is told: plugins that kube-scheduler does not have only if it knows them."""
    return workload.extended or workload.configuration if contestant.is_extended else workload.configuration


def _round(name: str, phase: Phase, bound: BoundPods, spent: Spent, rate: float | None) -> Round:
    if phase.objects:
        return _round_of_objects(name, phase, spent)
    times = {f"{place}/{pod}": at for place in phase.namespaces for pod, at in bound.times[place].items()}
    seen = list(times.values())
    taken = samples(seen, phase.start, stop_time(max(seen), phase.created)) if seen else []
    # An answer may be read after the event of what came after it.
    waits = [max(0.0, times[key] - at) * 1000 for key, at in phase.acknowledged.items() if key in times]
    whole = until_whole(phase.gangs, phase.acknowledged, times)
    return Round(
        name,
        len(phase.acknowledged),
        len(seen),
        samples=taken,
        average=average(taken),
        overall=overall(seen),
        cpu={program: seconds * 1000 / max(1, len(seen)) for program, seconds in spent.seconds.items()},
        rate=rate,
        p50=percentile(waits, 50) if rate else None,
        p99=percentile(waits, 99) if rate else None,
        whole=None if whole is None else whole * 1000,
        until_all=max(seen) - phase.start if seen else None,
        left=sum(at >= phase.start for at in bound.left),
    )


def _round_of_objects(name: str, phase: Phase, spent: Spent) -> Round:
    """What was measured is how fast objects are taken in."""
    seconds = phase.stop - phase.start
    cpu = {program: used * 1000 / phase.objects for program, used in spent.seconds.items()}
    rate = phase.objects / seconds
    return Round(name, phase.objects, phase.objects, overall=rate, cpu=cpu, until_all=seconds)


async def _events(api: Api, phase: Phase) -> int:
    count = phase.objects
    for place in phase.namespaces:
        answer = await api.send(Write("GET", f"/apis/events.k8s.io/v1/namespaces/{place}/events", b""))
        count += answer.body.count(SCHEDULED)
    return count
