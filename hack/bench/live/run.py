"""The whole run: workloads in turn, contestants in alternation, each round on a control plane of its own."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.live.contestants import Contestant
from bench.live.driver import Mode
from bench.live.report import Comparison, throughput
from bench.live.rounds import Round, play
from bench.live.sizes import Sized, with_measured
from localcluster.progress import say

SHARE = 0.5  # of what the slower one can do: there both have time to spare, and what a pod waits is comparable


@dataclass(frozen=True)
class Settings:
    """How every workload is played."""

    contestants: Sequence[Contestant]
    repeats: int
    mode: Mode
    folder: Path | None  # where etcd writes
    latency_seconds: float  # of the open loop; 0: none
    scale: float = 1.0


def compare(sized: Sized, settings: Settings, comparison: Comparison) -> None:
    """Play a workload with every contestant; what is found is in the comparison as soon as it is found."""
    for contestant in _turns(settings):
        found = play(sized, contestant, settings.folder, settings.mode)
        comparison.rounds.append(found)
        _tell(comparison, found)
    if not sized.has_latency:
        return  # its pods wait for each other, or come when others are bound
    rate = open_loop_rate(comparison, [contestant.name for contestant in settings.contestants])
    if rate is None or not settings.latency_seconds:
        return
    shorter = with_measured(sized, int(rate * settings.latency_seconds))
    for contestant in _turns(settings):
        found = play(shorter, contestant, settings.folder, "concurrent", rate)
        comparison.paced.append(found)
        _tell(comparison, found)


def new_comparison(sized: Sized, scale: float) -> Comparison:
    """What is known before anything was played."""
    workload = sized.workload
    return Comparison(
        workload.case, workload.name, sized.nodes, sized.measured, sized.derived, scale, workload.threshold
    )


def open_loop_rate(comparison: Comparison, names: Sequence[str]) -> float | None:
    """Half of what the slower contestant can do, if all could do anything."""
    rates = [comparison.figure(name, throughput) for name in names]
    known = [rate for rate in rates if rate is not None]
    return SHARE * min(known) if len(known) == len(rates) else None


def _turns(settings: Settings) -> Iterator[Contestant]:
    """Every contestant as often as the others, and none always first."""
    for repeat in range(settings.repeats):
        yield from settings.contestants if repeat % 2 == 0 else reversed(settings.contestants)


def _tell(comparison: Comparison, found: Round) -> None:
    if found.problem:
        say(f"{comparison.title}, {found.contestant}: FAILED: {found.problem}")
    elif found.rate:
        say(
            f"{comparison.title}, {found.contestant}, {found.rate:,.0f} pods/s created: "
            f"p50 {found.p50 or 0:,.1f} ms, p99 {found.p99 or 0:,.1f} ms"
        )
    else:
        cpu = ", ".join(f"{name} {milliseconds:.2f}" for name, milliseconds in found.cpu.items())
        whole = "" if found.whole is None else f"; gangs whole after {found.whole:,.0f} ms"
        say(
            f"{comparison.title}, {found.contestant}: {found.throughput or 0:,.0f} pods/s{whole}; CPU ms/pod: {cpu}; "
            f"{found.bound:,}/{found.pods:,} bound, {found.events:,} events"
        )
    sys.stderr.flush()
