"""`python -m bench.viewers`: throughput with and without viewers of the read API, and its longest slice."""

import asyncio
import logging
import sys
from collections.abc import Callable
from statistics import median

import click

from bench.live import machine
from bench.viewers.alone import Cost, costs
from bench.viewers.rounds import Pair, Plan, Round, percentile, play
from bench.viewers.slices import Slices
from bench.viewers.stage import stage
from pilotage.app.memory import keep_the_heap_small

LEAST_THROUGHPUT, MOST_LATENCY, LONGEST_SLICE = 0.97, 1.1, 0.002
LINES = 25
BUSY = ": the machine is busy, do not trust these figures"
Bound = tuple[str, float, Callable[[float, float], bool], float]  # what is measured, and what it must be


@click.command()
@click.option("--nodes", default=5_000, show_default=True, help="The number of nodes.")
@click.option("--waiting", default=10_000, show_default=True, help="Pods that fit nowhere.")
@click.option("--viewers", default=20, show_default=True, help="Each follows a stream, and asks for pages in turn.")
@click.option("--every", default=1.0, show_default=True, help="Seconds from an answer to the next question.")
@click.option("--greedy", is_flag=True, help="They ask again at once, whatever the server asks for.")
@click.option("--pods", default=20_000, show_default=True, help="Pods of a round at full speed; 0: no such rounds.")
@click.option("--rates", default="300,1000", show_default=True, help="Pods a second in the other rounds.")
@click.option("--seconds", default=5.0, show_default=True, help="How long a round at a rate lasts.")
@click.option("--repeats", default=4, show_default=True, help="Pairs of rounds for each load.")
@click.option("--profile", is_flag=True, help="Show where the time goes, by callback.")
def main(
    nodes: int,
    waiting: int,
    viewers: int,
    every: float,
    greedy: bool,
    pods: int,
    rates: str,
    seconds: float,
    repeats: int,
    profile: bool,
) -> None:
    """Measure what viewers of the read API cost: the real scheduler in memory, with and without viewers in turn.

    Times are CPU time of the scheduler's thread. The exit code is 1 if a bound is not kept: throughput at least 0.97,
    the 99th percentile of decisions at most 1.1 times, no slice of an answer over 2 ms.

    \b
    Example:
      python -m bench.viewers --nodes 1000 --repeats 1 --profile
    """
    keep_the_heap_small()
    logging.disable(logging.ERROR)
    numbers = tuple(float(each) for each in rates.split(",") if each)
    plan = Plan(viewers, every, greedy, pods, numbers, seconds, repeats)
    here, watch = machine.look(), Slices()
    click.echo(f"{here.text()}, load {here.load:.1f}{BUSY if here.is_busy else ''}")
    with watch.watching(), asyncio.Runner(loop_factory=watch.new_loop) as runner:
        pairs, alone = runner.run(_played(watch, plan, nodes, waiting))
    _print_costs(alone)
    for pair in pairs:
        _print(pair, profile=profile)
    verdicts = [*(each.is_kept for each in alone), *(_verdict(pair) for pair in pairs)]
    sys.exit(0 if all(verdicts) else 1)


async def _played(watch: Slices, plan: Plan, nodes: int, waiting: int) -> tuple[list[Pair], list[Cost]]:
    loads = ([("as fast as it can", 0.0)] if plan.pods else []) + [(f"{rate:.0f} pods/s", rate) for rate in plan.rates]
    pairs = []
    click.echo(f"{nodes:,} nodes, {waiting:,} pods wait, {plan.viewers} viewers", err=True)
    async with stage(nodes, waiting, watch) as on:
        await play(on, watch, Plan(pods=2_000), with_viewers=False)  # as a warm-up
        alone = await costs(on, watch)
        for name, rate in loads:
            pair = Pair(name, rate > 0)
            for number in range(plan.repeats):
                click.echo(f"{name}: {number + 1} of {plan.repeats}", err=True)
                for with_viewers in (False, True) if number % 2 == 0 else (True, False):
                    found = await play(on, watch, plan, with_viewers=with_viewers, rate=rate)
                    (pair.viewed if with_viewers else pair.without).append(found)
            pairs.append(pair)
    return pairs, alone


def _print_costs(alone: list[Cost]) -> None:
    click.echo("answers while the scheduler is idle, not shared")
    for each in alone:
        kept = "" if each.is_kept else "  MISSED"
        longest = f"the longest slice {1e3 * each.longest:.2f} ms"
        size = f"{each.size / 1e3:,.0f} kB"
        first = f"the first {1e3 * each.first:5.2f}, then"
        click.echo(
            f"  {each.path:53} {first} p50 {each.p50:5.2f}, p99 {each.p99:5.2f} ms of CPU, {longest}, {size}{kept}"
        )


def _print(pair: Pair, *, profile: bool) -> None:
    click.echo(f"\n{pair.name}")
    if not pair.is_paced:
        _print_throughput(pair)
    for what, name in (("attempts", "decision, p99"), ("waits", "to bound, p99")):
        without, viewed = pair.p99(what)
        click.echo(f"  {name:16} {viewed / without:8.3f} ({1e3 * without:.2f} to {1e3 * viewed:.2f} ms)")
    shares = [each.api_seconds / each.passed for each in pair.viewed]
    click.echo(f"  share of API     {100 * median(shares):8.1f} % of the loop's time")
    slices = [each for found in pair.viewed for each in found.slices]
    longest = 1e3 * max(slices)
    nearly_all = 1e3 * percentile(slices, 0.999)
    click.echo(f"  longest slice    {longest:8.2f} ms (of {len(slices):,}; 99.9 % take up to {nearly_all:.2f} ms)")
    told = [
        f"{sum(each.collections for each in rounds)} ({1e3 * sum(each.collecting for each in rounds):.0f} ms)"
        for rounds in (pair.without, pair.viewed)
    ]
    longest = 1e3 * max(each.longest_collection for each in (*pair.without, *pair.viewed))
    click.echo(
        f"  not in it: garbage collections, {told[0]} without and {told[1]} with viewers, up to {longest:.1f} ms"
    )
    for each in pair.viewed:
        _print_seen(each)
    if profile:
        _print_names(pair)


def _print_throughput(pair: Pair) -> None:
    for rounds, name in ((pair.without, "without viewers"), (pair.viewed, "with viewers")):
        rates = ", ".join(f"{each.rate:,.0f}" for each in rounds)
        click.echo(f"  {name:16} {median(each.rate for each in rounds):>8,.0f} pods per second of CPU ({rates})")
    ratios = pair.ratios()
    click.echo(f"  throughput       {median(ratios):8.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


def _print_seen(found: Round) -> None:
    statuses = ", ".join(f"{number} x {status}" for status, number in sorted(found.seen["statuses"].items()))
    events = ", ".join(f"{number} x {name}" for name, number in sorted(found.seen["events"].items()))
    answered = [each for several in found.seen["seconds"].values() for each in several]
    half = 1e3 * median(answered) if answered else 0.0
    click.echo(
        f"  in {found.wall:.1f} s: {statuses}; {events}; {found.seen['bytes'] / 1e6:.1f} MB; an answer in {half:.0f} ms"
    )


def _print_names(pair: Pair) -> None:
    """Print what callbacks took in the last round with viewers, and in the last without."""
    viewed, without = pair.viewed[-1], pair.without[-1]
    before = {name: (seconds, calls) for name, seconds, calls, _ in without.by_name}
    for name, seconds, calls, longest in viewed.by_name[:LINES]:
        seconds_before, calls_before = before.get(name, (0.0, 0))
        click.echo(
            f"    {name:48.48} {1e3 * seconds:8.1f} ms in {calls:>7,} calls, up to {1e3 * longest:6.2f} ms "
            f"(without {1e3 * seconds_before:8.1f} ms in {calls_before:>7,})"
        )
    own, own_before = (each.seconds - sum(part[1] for part in each.by_name) for each in (viewed, without))
    click.echo(f"    {'the event loop itself':48} {1e3 * own:8.1f} ms (without {1e3 * own_before:8.1f} ms)")


def _verdict(pair: Pair) -> bool:
    """Print what is not as it should be; True if nothing is."""
    without, viewed = pair.p99("attempts")
    at_full_speed: list[Bound] = [
        ("throughput", median(pair.ratios()), float.__ge__, LEAST_THROUGHPUT),
        ("decision, p99", viewed / without, float.__le__, MOST_LATENCY),
    ]
    bounds: list[Bound] = [
        *([] if pair.is_paced else at_full_speed),
        ("longest slice", max(max(each.slices) for each in pair.viewed), float.__le__, LONGEST_SLICE),
    ]
    missed = [name for name, value, holds, bound in bounds if not holds(value, bound)]
    click.echo(f"{pair.name}: {'MISSED: ' + ', '.join(missed) if missed else 'all bounds kept'}")
    return not missed


if __name__ == "__main__":
    main()
