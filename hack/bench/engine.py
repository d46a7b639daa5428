"""Measures the engine alone: no API server, one process, the default profile, the cluster half full."""

import asyncio
import gc
import time
from dataclasses import dataclass
from functools import partial
from random import Random

import click

from bench.preemptors import burst
from bench.workloads import WORKLOADS, Workload, cluster, identical
from pilotage.app import calm_garbage_collection
from pilotage.app.profile_engines import engines, retries
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.config.load import load
from pilotage.framework.runtime.timings import Timings
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import built_in
from pilotage.profiles import Profile, build_profiles
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.scheduling.cycle import Scheduler
from pilotage.scheduling.gangs.gang_cycle import GangScheduler
from pilotage.scheduling.outcome import Outcome, Placed

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {postFilter: {disabled: [{name: "%s"}]}, multiPoint: {enabled: [%s]}}
"""
WARM_UP = 20  # pods before the clock starts, as a warm-up


@dataclass(frozen=True)
class Measurement:
    """One workload on one cluster."""

    workload: Workload
    nodes: int
    pods: int
    placed: int
    seconds: float  # of this process's CPU
    timings: Timings

    @property
    def rate(self) -> float:
        """Pods per second."""
        return self.pods / self.seconds

    @property
    def microseconds(self) -> float:
        """Per pod."""
        return self.seconds / self.pods * 1e6


def measure(workload: Workload, nodes: int) -> Measurement:
    """Run one workload on a new cluster."""
    cache = ClusterCache()
    catalogue = built_in()
    disabled = "nothing" if workload.preemption else "*"
    enabled = "{name: Coscheduling}" if workload.is_gang else ""
    profiles = build_profiles(load(CONFIGURATION % (disabled, enabled), catalogue), catalogue)
    if workload.is_burst:
        found = asyncio.run(burst(profiles, nodes, workload.count, calm_garbage_collection))
        gc.unfreeze()
        return Measurement(workload, nodes, workload.count, found.placed, found.seconds, Timings())
    ready = engines(profiles, cache)
    queue = _queue(next(iter(profiles.values())))
    scheduler = Scheduler(cache, ready, queue.nominator, Random(0))  # noqa: S311 - no secret
    made, running = cluster(nodes)
    for node in made:
        cache.put_node(node)
    for pod in running:
        cache.put_pod(pod)
    for one in workload.objects(nodes, workload.count + WARM_UP) if workload.objects else ():
        cache.objects.put(one)
    for pod in workload.before(nodes) if workload.before else ():
        scheduler.schedule(pod)
    if workload.is_gang:
        warm_up, pods = list(identical(WARM_UP)), list(workload.pods(workload.count))
        run = partial(_in_one_decision, GangScheduler(cache, queue, ready, scheduler), queue, pods)
    else:
        first = list(workload.pods(workload.count + WARM_UP))
        warm_up, pods = first[:WARM_UP], first[WARM_UP:]
        run = partial(_one_by_one, scheduler, pods)
    for pod in warm_up:
        scheduler.schedule(pod)
    calm_garbage_collection()
    start = time.process_time()
    outcomes = run()
    seconds = time.process_time() - start
    gc.unfreeze()
    placed = sum(isinstance(outcome, Placed) for outcome in outcomes)
    return Measurement(workload, nodes, len(outcomes), placed, seconds, next(iter(ready.values())).runner.timings)


def _queue(profile: Profile) -> SchedulingQueue:
    plugin_set = profile.plugin_set
    return SchedulingQueue(
        plugin_set.queue_sort[0],
        lambda _: plugin_set.pre_enqueue,
        {profile.scheduler_name: retries(profile)},
        time.monotonic,
    )


def _one_by_one(scheduler: Scheduler, pods: list[Pod]) -> list[Outcome]:
    return [scheduler.schedule(pod) for pod in pods]


def _in_one_decision(gangs: GangScheduler, queue: SchedulingQueue, pods: list[Pod]) -> list[Outcome]:
    for pod in pods:
        queue.add(pod)
    first = queue.pop()
    decided = gangs.schedule(first) if first is not None else None
    return [outcome for _, outcome in decided or ()]


@click.command()
@click.option("--nodes", "sizes", type=int, multiple=True, default=(1_000, 5_000, 15_000), show_default=True)
@click.option("--only", default="", help="Only workloads with this text in their name.")
@click.option("--plugins", is_flag=True, help="Show the time of each plugin.")
def main(sizes: tuple[int, ...], only: str, plugins: bool) -> None:
    """Schedule pods in memory and print the throughput; targets are for 5,000 nodes.

    \b
    Example:
      python -m bench.engine --nodes 5000 --only spread --plugins
    """
    click.echo(f"{'workload':38} {'nodes':>7} {'pods':>7} {'placed':>7} {'pods/s':>8} {'us/pod':>8} {'target':>8}")
    for workload in WORKLOADS:
        if only in workload.name:
            for nodes in sizes:
                _show(measure(workload, nodes), plugins=plugins)


def _show(found: Measurement, *, plugins: bool) -> None:
    target = found.workload.target if found.nodes == 5_000 else None
    verdict = "" if target is None else f"{target:>8,} {'reached' if found.rate >= target else 'MISSED'}"
    click.echo(
        f"{found.workload.name:38} {found.nodes:>7,} {found.pods:>7,} {found.placed:>7,} "
        f"{found.rate:>8,.0f} {found.microseconds:>8,.0f} {verdict}"
    )
    if plugins:
        for plugin, point, timing in sorted(found.timings, key=lambda entry: -entry[2].seconds):
            if timing.calls:
                each = timing.seconds / timing.calls * 1e6
                click.echo(f"    {plugin:34} {point:12} {timing.calls:>8,} calls {each:>8.1f} us")


if __name__ == "__main__":
    main()
