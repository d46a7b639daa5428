"""`pilotage top`: how full nodes are by what is asked for, and what plugins cost."""

from typing import Any

import click

from pilotage.cli.asking import Here, opened, run
from pilotage.cli.cluster_flags import About, Asked, asks_a_cluster, output_option
from pilotage.cli.command import BadInput, PlainCommand, note, verbose_option
from pilotage.cli.printing import amount, print_table, printed, share
from pilotage.views.objects.fullness import CPU, MEMORY, SORTS, fullness, ranked

MILLION = 1_000_000
EPILOG = """\b
Examples:
  pilotage top
  pilotage top nodes --sort stranded --limit 10
  pilotage top plugins

\b
STRANDED is what is free on a node and of no use, because its cpu, memory or places for pods have run out.
Exit code: 0; 2 if it cannot be told.
"""


@click.command("top", cls=PlainCommand, epilog=EPILOG)
@click.argument("what", type=click.Choice(["nodes", "plugins"]), default="nodes")
@asks_a_cluster(About.CLUSTER)
@click.option("--sort", type=click.Choice(SORTS), default=CPU, show_default=True, help="Which nodes come first.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1), help="At most so many lines.")
@output_option("wide", "name")
@verbose_option
def command(asked: Asked, what: str, sort: str, limit: int, output: str, no_headers: bool) -> None:
    """Show how full nodes are by the requests of their pods, or what each plugin costs the scheduler.

    Unlike kubectl top, this counts what pods ask for, which is what decides about the next one, not what they use.
    """
    if what == "plugins":
        _tell_plugins(run(_plugins(asked)), limit, output, headers=not no_headers)
        return
    found = run(_nodes(asked))
    found["items"] = ranked(found["items"], sort)
    if printed({**found, "items": found["items"][:limit]}, output):
        return
    if output == "name":
        click.echo("\n".join(f"node/{each['name']}" for each in found["items"][:limit]))
        return
    _tell_nodes(found, limit, wide=output == "wide", headers=not no_headers)


async def _nodes(asked: Asked) -> dict[str, Any]:
    if asked.is_file:
        from pilotage.app.node_reading import nodes_of_file  # the engine counts, which the small plugin has not

        return fullness(nodes_of_file(asked.source))
    async with opened(asked, by_itself="nodes and pods at the API server") as here:
        return fullness(await _table(here))


async def _table(here: Here) -> dict[str, Any]:
    if here.scheduler is not None:
        return await here.scheduler.get("/nodes", {"format": "columns"})
    from pilotage.app.node_reading import nodes_of_cluster
    from pilotage.cluster.credentials.access import find

    way = here.asked.way
    return await nodes_of_cluster(find(way.kubeconfig, context=way.context, user=way.user, groups=way.groups))


async def _plugins(asked: Asked) -> dict[str, Any]:
    async with opened(asked, by_itself="nothing") as here:
        if here.scheduler is None:
            raise BadInput("only a running scheduler knows what its plugins cost; docs/kubectl.md says how to reach it")
        return await here.scheduler.get("/plugins")


def _tell_nodes(found: dict[str, Any], limit: int, *, wide: bool, headers: bool) -> None:
    units, items = found["units"], found["items"]
    others = [each for each in units if each not in (CPU, MEMORY)] if wide else []
    header = ["NODE", "ZONE", "TYPE", "CPU", "CPU%", "MEMORY", "MEM%", "PODS", "STRANDED", "FLAGS"]
    rows = [_row(each, units, others, wide=wide) for each in [*items[:limit], {**found["total"], "name": "ALL"}]]
    print_table([*header, *(each.upper() for each in others)], rows, headers=headers, right=(3, 4, 5, 6, 7))
    if len(items) > limit:
        note(f"{len(items) - limit} more nodes are left out; --limit shows more")


def _row(node: dict[str, Any], units: dict[str, str], others: list[str], *, wide: bool) -> list[str]:
    of, asked = node["allocatable"], node["requested"]

    def told(name: str) -> str:
        return f"{amount(asked.get(name, 0), units[name])}/{amount(of[name], units[name])}" if name in of else ""

    lost = [
        f"{name} {amount(node['stranded'][name], units[name])}" for name in (CPU, MEMORY) if node["stranded"].get(name)
    ]
    return [
        node["name"],
        node.get("zone", ""),
        node.get("type", "") if wide else "",
        told(CPU),
        share(asked.get(CPU, 0), of.get(CPU, 0)),
        told(MEMORY),
        share(asked.get(MEMORY, 0), of.get(MEMORY, 0)),
        f"{node['pods']}/{node['allowed']}",
        ", ".join(lost),
        ",".join(node.get("flags", ())),
        *(told(name) for name in others),
    ]


def _tell_plugins(found: dict[str, Any], limit: int, output: str, *, headers: bool) -> None:
    if printed(found, output):
        return
    items = found.get("items", [])[:limit]
    rows = [
        [
            each["profile"],
            each["plugin"],
            each["point"],
            str(each.get("calls", 0)),
            f"{each.get('seconds', 0.0):.3f}s",
            f"{each.get('p50', 0.0) * MILLION:.0f}µs",
            f"{each.get('p99', 0.0) * MILLION:.0f}µs",
            str(each.get("failures", 0)),
        ]
        for each in items
    ]
    header = ["PROFILE", "PLUGIN", "POINT", "CALLS", "TOTAL", "P50", "P99", "FAILURES"]
    print_table(header, rows, headers=headers, right=range(3, 8))
