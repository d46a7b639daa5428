"""`pilotage queue`: which pods are waiting, and why."""

from datetime import UTC, datetime
from typing import Any

import click

from pilotage.cli.asking import Here, opened, run
from pilotage.cli.cluster_flags import Asked, asks_a_cluster, output_option
from pilotage.cli.command import PlainCommand, note, verbose_option
from pilotage.cli.named import quoted
from pilotage.cli.printing import age, clear, coloured, print_table, printed
from pilotage.cluster.kubectl.refusals import Refused
from pilotage.views.objects.waiting import GROUPINGS, queue, short

PAUSE = 2.0  # seconds between two queries
WITH_REMEDY = 5  # the largest groups, for which a remedy is requested
TIERS = {"owner": "green", "admin": "yellow"}

EPILOG = """\b
Examples:
  pilotage queue -A
  pilotage queue -n shop --by plugin
  pilotage queue -A --pods -o name | xargs -n 1 pilotage explain

\b
TIER says who can act: the owner of the pods, an administrator (admin), or no one (wait); scheduler: an internal error.
Exit code: 0; 2 if there is no answer.
"""


@click.command("queue", cls=PlainCommand, epilog=EPILOG)
@click.option("--by", type=click.Choice(GROUPINGS), default="reason", show_default=True, help="How to group the pods.")
@click.option("--pods", "one_by_one", is_flag=True, help="Show single pods instead of groups.")
@click.option("--scheduler", default="", metavar="NAME", help="Only pods with this schedulerName.")
@click.option("--plugin", default="", metavar="NAME", help="Only pods that this plugin rejected.")
@click.option(
    "--limit", default=100, show_default=True, type=click.IntRange(1, 500), help="The maximum number of lines."
)
@click.option("-w", "--watch", is_flag=True, help="Print the answer again after every change.")
@asks_a_cluster()
@output_option("wide", "name")
@verbose_option
def command(
    asked: Asked,
    by: str,
    one_by_one: bool,
    scheduler: str,
    plugin: str,
    limit: int,
    watch: bool,
    output: str,
    no_headers: bool,
) -> None:
    """Show waiting pods grouped by reason, the largest group first.

    The scheduler knows its own pods. Without it (--source local), the pods of all schedulers are shown, with the
    reasons in their status.
    """
    query = {"groupBy": "" if one_by_one or output == "name" else by, "profile": scheduler, "plugin": plugin}
    show = _Show(output, by, headers=not no_headers)
    run(_queue(asked, query, limit, show, watch=watch))


class _Show:
    """Prints one answer after another."""

    def __init__(self, output: str, by: str, *, headers: bool) -> None:
        self._output, self._by, self._headers = output, by, headers

    def __call__(self, data: dict[str, Any], namespace: str, *, again: bool = False) -> None:
        if again:
            clear()
        if printed(data, self._output):
            return
        if self._output == "name":
            for each in data.get("items", ()):
                click.echo(f"{each['namespace']}/{each['name']}")
        elif not data.get("total"):
            note(_nothing(namespace, is_live=data.get("source") == "live"))
        elif "groups" in data:
            _print_groups(data["groups"], self._by, headers=self._headers)
        else:
            _print_pods(data.get("items", ()), wide=self._output == "wide", headers=self._headers)


def _nothing(namespace: str, *, is_live: bool) -> str:
    """Return that no pod waits, and where others may wait."""
    hints = ["-A shows all namespaces"] if namespace else []
    if is_live:
        hints.append("--source local shows the pods of other schedulers")
    whose = " of this scheduler" if is_live else ""
    told = f"no pod{whose} is waiting" + (f" in {namespace}" if namespace else "")
    return f"{told}; {' and '.join(hints)}" if hints else told


def _print_groups(groups: list[dict[str, Any]], by: str, *, headers: bool) -> None:
    rows = []
    for each in groups:
        reason = each.get("reason") or {}
        tier = reason.get("tier", "")
        text = each["key"] or "none"
        help_most = (each.get("remedy") or {}).get("text", "")
        rows.append(
            [
                str(each["pods"]),
                age(each["oldest"]),
                text,
                coloured(tier, TIERS.get(tier, "white")),
                each["example"],
                help_most,
            ]
        )
    header = ["WAITING", "OLDEST", by.upper(), "TIER", "EXAMPLE", "WOULD HELP MOST"]
    print_table(header, rows, headers=headers, right=(0,))


def _print_pods(items: list[dict[str, Any]], *, wide: bool, headers: bool) -> None:
    rows = [
        [
            each["namespace"],
            each["name"],
            age(each["since"]),
            each["place"],
            str(each.get("priority", 0)) if wide else "",
            str(each.get("attempts", "")) if wide else "",
            each.get("owner", "") if wide else "",
            each["profile"] if wide else "",
            each.get("nominatedNode", ""),
            short((each.get("reason") or {}).get("text", "")),
        ]
        for each in items
    ]
    header = ["NAMESPACE", "NAME", "WAITS", "PLACE", "PRIORITY", "TRIES", "OWNER", "SCHEDULER", "NOMINATED", "REASON"]
    print_table(header, rows, headers=headers, right=(4, 5))


async def _queue(asked: Asked, query: dict[str, str], limit: int, show: _Show, *, watch: bool) -> None:
    import asyncio

    before = None
    async with opened(asked, by_itself="pods and their status at the API server") as here:
        while True:
            found = await _look(here, query, limit, watch=watch)
            what = {**found, "at": "", "revision": 0}
            if what != before:
                show(found, here.namespace, again=before is not None)
                before = what
            if not watch:
                return
            await asyncio.sleep(PAUSE)


async def _add_remedy(here: Here, group: dict[str, Any]) -> None:
    """Add what would help the example of a group, if the scheduler answers."""
    assert here.scheduler is not None
    if group.get("remedy"):
        return
    namespace, _, name = group["example"].partition("/")
    try:
        told = await here.scheduler.get(f"/pods/{quoted(namespace)}/{quoted(name)}/explain", {"limit": "1"})
    except Refused:
        return
    if told.get("remedies"):
        group["remedy"] = told["remedies"][0]


async def _look(here: Here, query: dict[str, str], limit: int, *, watch: bool) -> dict[str, Any]:
    if here.scheduler is not None:
        found = await here.scheduler.get("/queue", {**query, "namespace": here.namespace, "limit": str(limit)})
        if query["groupBy"] == "reason" and not watch:
            for group in found.get("groups", [])[:WITH_REMEDY]:
                await _add_remedy(here, group)
        return found
    found = queue(
        await here.pods(),
        query["groupBy"],
        scheduler=query["profile"],
        plugin=query["plugin"],
        at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    )
    part = "groups" if query["groupBy"] else "items"
    if len(found[part]) > limit:
        note(f"{len(found[part]) - limit} more lines are not shown; see --limit")
        found[part] = found[part][:limit]
    return found
