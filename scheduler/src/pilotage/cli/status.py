"""`pilotage status`: the health of schedulers and their profiles, once, continuously, or until they are healthy."""

from time import monotonic
from typing import Any

import click

from pilotage.cli.asking import Here, no_profile, opened, profiles, run
from pilotage.cli.cluster_flags import About, Asked, asks_a_cluster, output_option
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, PlainCommand, note, verbose_option
from pilotage.cli.printing import clear, coloured, print_table, printed
from pilotage.cluster.kubectl.refusals import Refused
from pilotage.cluster.kubectl.requests import Documents
from pilotage.views.objects.health import health, is_lost

PAUSE = 1.0  # seconds between two queries
SHORT_HASH = 8
NOT_WELL = NOT_ALL_PLACED

EPILOG = """\b
Examples:
  pilotage status
  pilotage status batch --wait --timeout 120
  pilotage status -o json

\b
Exit code: 0 if everything is healthy, 3 if something is not, or not within the timeout; 2 if there is no answer.
"""


@click.command("status", cls=PlainCommand, epilog=EPILOG)
@click.argument("names", nargs=-1, metavar="[PROFILE]...")
@click.option("-w", "--watch", is_flag=True, help="Print the answer again after every change.")
@click.option(
    "--wait", is_flag=True, help="Wait until everything is healthy, or until a profile is rejected or rolled back."
)
@click.option("--timeout", default=90.0, show_default=True, metavar="SECONDS", help="The timeout of --wait.")
@asks_a_cluster(About.CLUSTER)
@output_option("wide", "name")
@verbose_option
def command(
    asked: Asked, names: tuple[str, ...], watch: bool, wait: bool, timeout: float, output: str, no_headers: bool
) -> None:
    """Show releases with their replicas, profiles, and their problems.

    Reads SchedulerProfiles and pods from the API server, and the number of waiting pods from the scheduler, if you have
    access to it.
    """
    if asked.source == "auto" and wait:
        asked = Asked(asked.way, source="local", release=asked.release)  # profiles and pods are enough
    found = run(_status(asked, names, watch=watch, wait=wait, seconds=timeout, show=_Show(output, no_headers)))
    if not found["well"]:
        raise SystemExit(NOT_WELL)


class NotThere(BadInput):
    """A named profile does not exist, or not yet."""


class _Show:
    """Prints one answer after another."""

    def __init__(self, output: str, no_headers: bool) -> None:
        self._output, self._headers = output, not no_headers

    def __call__(self, data: dict[str, Any], *, again: bool = False) -> None:
        if again:
            clear()
        if self._output == "name":
            click.echo("\n".join(f"schedulerprofile.pilotage.dev/{each['name']}" for each in data["profiles"]))
        elif not printed(data, self._output):
            self._tables(data)

    def _tables(self, data: dict[str, Any]) -> None:
        releases = [
            [
                f"{each['namespace']}/{each['name']}",
                each["leader"] or "-",
                f"{sum(one['ready'] for one in each['replicas'])}/{len(each['replicas'])}",
                ",".join(sorted({one["configHash"][:SHORT_HASH] for one in each["replicas"]})) or "-",
            ]
            for each in data["releases"]
        ]
        print_table(["RELEASE", "LEADER", "READY", "CONFIG"], releases, headers=self._headers)
        profiles = [_profile_row(each) for each in data["profiles"]]
        if releases and profiles:
            click.echo()
        header = ["PROFILE", "SCHEDULER", "READY", "REASON", "REPLICAS", "PLUGINS", "WAITING", "BOUND/MIN", "CONFIG"]
        print_table(header, profiles, headers=self._headers)
        for alarm in data["alarms"]:
            colour = "red" if alarm["severity"] == "fault" else "yellow"
            click.echo(
                f"\n{coloured(alarm['severity'], colour)}: {alarm['about']}: {alarm['text']}\n  do: {alarm['do']}"
            )


def _profile_row(each: dict[str, Any]) -> list[str]:
    return [
        each["name"],
        each["schedulerName"],
        "yes" if each["ready"] else "no",
        each["reason"],
        each["replicas"],
        str(each["plugins"]),
        str(each.get("waiting", "")),
        str(each.get("boundPerMinute", "")),
        each["configHash"][:SHORT_HASH],
    ]


async def _status(
    asked: Asked, names: tuple[str, ...], *, watch: bool, wait: bool, seconds: float, show: _Show
) -> dict[str, Any]:
    import asyncio

    deadline, before = monotonic() + seconds, None
    async with opened(asked, by_itself="profiles and pods at the API server") as here:
        while True:
            try:
                found, is_over = await _look(here, names)
            except NotThere:
                if not wait or monotonic() >= deadline:
                    raise
                await asyncio.sleep(PAUSE)  # the profile may be created later
                continue
            if wait and not watch:
                if found["well"] or is_over or monotonic() >= deadline:
                    show(found)
                    return found
            elif found != before:
                show(found, again=before is not None)
                before = found
            if not (watch or wait):
                return found
            await asyncio.sleep(PAUSE)


async def _look(here: Here, names: tuple[str, ...]) -> tuple[dict[str, Any], bool]:
    """Return the current health, and whether waiting is pointless."""
    own = await _profiles(here.documents, names)
    try:
        replicas = await here.replicas()
    except Refused as error:
        if not error.is_forbidden:
            raise
        replicas = []
        note(f"replicas are not shown: {error.message}; name a namespace that you may read with --release NAMESPACE")
    found = health(own, replicas)
    if here.scheduler is not None:
        try:
            _add_overview(found, await here.scheduler.get("/overview"))
        except Refused as error:
            if not error.is_forbidden:
                raise
            note(f"the scheduler's own figures are not shown: {error.message}")
    if not own and not replicas:
        raise BadInput("there is no SchedulerProfile and no scheduler of Pilotage; is Pilotage installed?")
    return found, is_lost(own)


async def _profiles(documents: Documents, names: tuple[str, ...]) -> list[dict[str, Any]]:
    found = await profiles(documents)
    there = [each["metadata"]["name"] for each in found]
    for name in names:
        if name not in there:
            raise NotThere(no_profile(name, there))
    return [each for each in found if not names or each["metadata"]["name"] in names]


def _add_overview(found: dict[str, Any], overview: dict[str, Any]) -> None:
    """Add what only the scheduler knows."""
    by_name = {each["name"]: each for each in overview.get("profiles", ())}
    for each in found["profiles"]:
        known = by_name.get(each["schedulerName"])
        if known is not None:
            each["waiting"], each["boundPerMinute"] = known.get("pending", 0), known.get("boundPerMinute", 0)
    told = ({"about": "scheduler", "severity": "warning", "text": each["text"], "do": each["do"]} for each in
            overview.get("alarms", ()))  # fmt: skip
    found["alarms"] += told
