"""Measures schedulers on a real API server, with upstream's own workloads, and compares them."""

import shlex
import sys
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import click

from bench.live import machine
from bench.live.catalogue import DEVICE_GOALS, GOALS, LARGE, LARGE_PODS, LARGE_SIZES, SIZES, catalogue
from bench.live.contestants import CONTESTANTS, named
from bench.live.driver import Mode
from bench.live.programs import kubernetes_program, memory_folder
from bench.live.report import RIVAL, Report
from bench.live.run import Settings, compare, new_comparison
from bench.live.sizes import Sized, choose, choose_whole
from bench.live.workload_files import Refusal, Workload
from localcluster.binaries import DEFAULT_KUBERNETES, TOOLS
from localcluster.build import ensure
from localcluster.errors import Problem
from localcluster.interrupts import interruptible
from localcluster.progress import say

FAULTY, UNABLE, INTERRUPTED = 1, 2, 130
LISTED_SIZES = ",".join(map(str, SIZES))


@click.command()
@click.option("--workload", "names", multiple=True, help="CASE or CASE/WORKLOAD; can be repeated. Default: the goals.")
@click.option("--nodes", "sizes", help=f"Cluster sizes. Default: {LISTED_SIZES}.")
@click.option("--scale", default=1.0, show_default=True, help="Multiplies the pod counts.")
@click.option("--pods", type=int, help="The number of measured pods; other pods are scaled alike. Replaces --scale.")
@click.option("--repeats", default=1, show_default=True, help="Rounds of each contestant.")
@click.option("--contestants", default=f"{RIVAL},pilotage", show_default=True, help=f"Of {', '.join(CONTESTANTS)}.")
@click.option(
    "--mode",
    type=click.Choice(["concurrent", "drain"]),
    default="concurrent",
    show_default=True,
    help="Pods are created while the scheduler runs, as upstream does, or before it starts.",
)
@click.option(
    "--latency-seconds", default=20.0, show_default=True, help="How long to measure pod latency; 0: not at all."
)
@click.option("--disk", is_flag=True, help="Let etcd write to the disk of the temporary folder, not to memory.")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write figures to this file."
)
@click.option("--list", "list_only", is_flag=True, help="List all workloads, and why some are not supported.")
def main(
    names: tuple[str, ...],
    sizes: str | None,
    scale: float,
    pods: int | None,
    repeats: int,
    contestants: str,
    mode: Mode,
    latency_seconds: float,
    disk: bool,
    json_file: Path | None,
    list_only: bool,
) -> None:
    """Play upstream's scheduler_perf workloads with several schedulers, one at a time, and compare them.

    \b
    Examples:
      python -m bench.live --workload SchedulingBasic --nodes 1000 --scale 0.5
      python -m bench.live --repeats 3 --json bench.json

    Without --workload and --nodes, devices come next, at upstream's sizes, and SchedulingBasic with few pods on large
    clusters comes last.
    """
    try:
        workloads, refusals = catalogue()
        if list_only:
            click.echo(_listing(workloads, refusals))
            return
        settings = Settings(
            named(contestants), repeats, mode, None if disk else memory_folder(), latency_seconds, scale
        )
        _refuse(names, workloads, refusals)
        chosen = [choose(workloads, name, nodes, scale, pods) for name in names or GOALS for nodes in _numbers(sizes)]
        if not names and not sizes:
            chosen += [choose_whole(workloads, name, scale) for name in DEVICE_GOALS]
            chosen += [choose(workloads, LARGE, nodes, scale, LARGE_PODS) for nodes in LARGE_SIZES]
        report = _empty_report(settings)
    except Problem as problem:
        say(f"ERROR: {problem}")
        sys.exit(UNABLE)
    with interruptible():
        interrupted = _play(chosen, settings, report, json_file)
    click.echo(report.text())
    sys.exit(INTERRUPTED if interrupted else FAULTY if _is_faulty(report) else 0)


def _play(chosen: list[Sized], settings: Settings, report: Report, json_file: Path | None) -> bool:
    """Play everything; returns whether it was interrupted."""
    try:
        for number, sized in enumerate(chosen, start=1):
            say(f"[{number}/{len(chosen)}] {sized.title}, {sized.measured:,} pods ({sized.workload.title})")
            comparison = new_comparison(sized, settings.scale)
            report.comparisons.append(comparison)
            compare(sized, settings, comparison)
            if json_file:
                json_file.write_bytes(report.json())
    except KeyboardInterrupt:
        say("interrupted; these are the results so far")
        return True
    return False


def _refuse(names: tuple[str, ...], workloads: list[Workload], refusals: list[Refusal]) -> None:
    """A Problem if one of these workloads is there and cannot be played."""
    refused = {refusal.title: refusal.reason for refusal in refusals}
    refused |= {title.split("/")[0]: reason for title, reason in refused.items()}
    playable = {workload.case for workload in workloads} | {workload.title for workload in workloads}
    for name in names:
        if name in refused and name not in playable:
            raise Problem(f"{name} is not supported: {refused[name]}")


def _numbers(sizes: str | None) -> list[int]:
    if sizes is None:
        return list(SIZES)
    try:
        return [int(size) for size in sizes.split(",")]
    except ValueError as error:
        raise Problem(f"--nodes takes whole numbers with commas between, not {sizes!r}") from error


def _empty_report(settings: Settings) -> Report:
    ensure(TOOLS["etcd"])
    kubernetes_program("kube-apiserver")
    versions = {"Kubernetes": f"v{DEFAULT_KUBERNETES}", "etcd": TOOLS["etcd"].version}
    versions |= {"Pilotage": version("pilotage"), "Python": sys.version.split()[0]}
    return Report(
        datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        machine.look(),
        versions,
        shlex.join(["python", "-m", "bench.live", *sys.argv[1:]]),
        settings.mode,
        [contestant.name for contestant in settings.contestants],
    )


def _is_faulty(report: Report) -> bool:
    rounds = [found for one in report.comparisons for found in one.rounds + one.paced]
    return any(found.problem or found.bound < found.pods for found in rounds)


def _listing(workloads: list[Workload], refusals: list[Refusal]) -> str:
    goals = [f"{'*' if one.case in GOALS or one.title in DEVICE_GOALS else ' '} {one.title}" for one in workloads]
    reasons = [f"  {refusal.title}: {refusal.reason}" for refusal in refusals]
    return "\n".join(["Can be played (* by default):", *goals, "", "Cannot be played:", *reasons])


if __name__ == "__main__":
    main()
