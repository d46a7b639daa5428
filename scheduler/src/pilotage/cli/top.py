"""`pilotage top`: how full nodes are, how many more pods of each shape fit, and what plugins cost."""

from dataclasses import replace
from typing import Any

import click

from pilotage.cli.asking import Here, opened, run
from pilotage.cli.cluster_flags import AUTO, LIVE, LOCAL, Asked, asks_a_cluster, output_option
from pilotage.cli.command import BadInput, PlainCommand, note, verbose_option
from pilotage.cli.printing import amount, print_table, printed, share
from pilotage.views.objects.fullness import CPU, MEMORY, SORTS, fullness, ranked

MILLION = 1_000_000
EPILOG = """\b
Examples:
  pilotage top
  pilotage top nodes --sort stranded --limit 10
  pilotage top shapes -A
  pilotage top plugins

\b
STRANDED is what is free on a node but unusable, because its cpu, memory or number of pods is exhausted.
Exit code: 0; 2 if there is no answer.
"""


@click.command("top", cls=PlainCommand, epilog=EPILOG)
@click.argument("what", type=click.Choice(["nodes", "shapes", "plugins"]), default="nodes")
@click.option("--sort", type=click.Choice(SORTS), default=CPU, show_default=True, help="Which nodes come first.")
@click.option("--limit", type=click.IntRange(1), help="The maximum number of lines. Default: 50; 10 for shapes.")
@asks_a_cluster()
@output_option("wide", "name")
@verbose_option
def command(asked: Asked, what: str, sort: str, limit: int | None, output: str, no_headers: bool) -> None:
    """Show how full nodes are, how many more pods fit, or what plugins cost.

    Unlike kubectl top, this counts the requests of pods, which decide where the next one fits, not their usage.
    `top shapes` groups the pods of the namespace by what they request, and shows for the most frequent groups how many
    more of them fit now. Only the scheduler knows `top plugins`.
    """
    if what == "plugins":
        _tell_plugins(run(_plugins(asked)), limit or 50, output, headers=not no_headers)
    elif what == "shapes":
        from pilotage.cli.top_shapes import top_shapes  # the engine takes a third of a second to import

        _tell_shapes(top_shapes(asked, limit or 10), output, headers=not no_headers)
    else:
        found = run(_nodes(asked))
        found["items"] = ranked(found["items"], sort)
        _tell_nodes(found, limit or 50, output, headers=not no_headers)


async def _nodes(asked: Asked) -> dict[str, Any]:
    if asked.is_file:
        from pilotage.app.node_reading import nodes_of_file  # needs the engine

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
    if asked.source == LOCAL or asked.is_file:
        raise BadInput("only a running scheduler knows what its plugins cost; use --source live")
    async with opened(replace(asked, source=LIVE) if asked.source == AUTO else asked) as here:
        assert here.scheduler is not None
        return await here.scheduler.get("/plugins")


def _tell_nodes(found: dict[str, Any], limit: int, output: str, *, headers: bool) -> None:
    if printed({**found, "items": found["items"][:limit]}, output):
        return
    if output == "name":
        click.echo("\n".join(f"node/{each['name']}" for each in found["items"][:limit]))
        return
    wide, units, items = output == "wide", found["units"], found["items"]
    others = [each for each in units if each not in (CPU, MEMORY)] if wide else []
    header = ["NODE", "ZONE", "TYPE", "CPU", "CPU%", "MEMORY", "MEM%", "PODS", "STRANDED", "FLAGS"]
    rows = [_row(each, units, others, wide=wide) for each in [*items[:limit], {**found["total"], "name": "ALL"}]]
    print_table([*header, *(each.upper() for each in others)], rows, headers=headers, right=(3, 4, 5, 6, 7))
    if len(items) > limit:
        note(f"{len(items) - limit} more nodes are not shown; see --limit")


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


def _tell_shapes(found: dict[str, Any], output: str, *, headers: bool) -> None:
    if printed(found, output):
        return
    items = found["items"]
    if output == "name":
        click.echo("\n".join(each["example"] for each in items))
        return
    if not items:
        note("there are no pods in the namespace; -A shows those of all namespaces")
    rows = [
        [
            str(each["pods"]),
            str(each["waiting"] or ""),
            _asks_for(each["requests"], found["units"]),
            ", ".join(each["constraints"]) if output == "wide" else "",
            each["example"],
            "?" if each["copies"] is None else str(each["copies"]),
            each["stoppedBy"],
            each["where"],
        ]
        for each in items
    ]
    header = ["PODS", "WAITING", "ASKS FOR", "LIMITED BY", "EXAMPLE", "MORE FIT", "STOPPED BY", "WHERE"]
    print_table(header, rows, headers=headers, right=(0, 1, 5))


def _asks_for(requests: dict[str, int], units: dict[str, str]) -> str:
    told = (f"{name} {amount(number, units[name])}" for name, number in sorted(requests.items()) if number)
    return ", ".join(told) or "nothing"


def _length(seconds: float) -> str:
    """Return a length of time with three digits or so, since the plugins of a small cluster take less than 1 ms."""
    if seconds >= 1:
        return f"{seconds:.1f}s"
    return f"{seconds * 1000:.1f}ms" if seconds >= 0.001 else f"{seconds * MILLION:.0f}µs"


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
            _length(each.get("seconds", 0.0)),
            f"{each.get('p50', 0.0) * MILLION:.0f}µs",
            f"{each.get('p99', 0.0) * MILLION:.0f}µs",
            str(each.get("failures", 0)),
        ]
        for each in items
    ]
    header = ["PROFILE", "PLUGIN", "POINT", "CALLS", "TOTAL", "P50", "P99", "FAILURES"]
    print_table(header, rows, headers=headers, right=range(3, 8))
