"""`pilotage history`: what happened to a SchedulerProfile or a pod, the oldest first."""

from typing import Any

import click

from pilotage.cli.asking import Here, opened, profile, run
from pilotage.cli.cluster_flags import Asked, asks_a_cluster, output_option
from pilotage.cli.command import BadInput, PlainCommand, verbose_option
from pilotage.cli.named import ONE_NAMESPACE, POD, PROFILE, named, quoted
from pilotage.cli.printing import age, print_table, printed
from pilotage.cluster.kubectl.refusals import Refused
from pilotage.cluster.kubectl.requests import namespaced
from pilotage.views.objects.history import attempts_history, pod_history, profile_history

SHORT = 100

EPILOG = """\b
Examples:
  pilotage history batch
  pilotage history pod/web-1 -n shop

\b
Exit code: 0; 2 if there is no answer.
"""


@click.command("history", cls=PlainCommand, epilog=EPILOG)
@click.argument("what", metavar="PROFILE|pod/NAME")
@asks_a_cluster()
@output_option("wide")
@verbose_option
def command(asked: Asked, what: str, output: str, no_headers: bool) -> None:
    """Show what happened to a SchedulerProfile or a pod: when, what, by whom, and why.

    For a profile: who edited it, and what the operator did. For a pod: the attempts that its scheduler remembers,
    otherwise its events, which the API server keeps for an hour.
    """
    found = run(_found(asked, *named(what, PROFILE, {PROFILE, POD})))
    if printed(found, output):
        return
    rows = [[age(each["at"]), each["what"], each["who"], _short(each["why"], output)] for each in found["items"]]
    print_table(["AGE", "WHAT", "WHO", "WHY"], rows, headers=not no_headers)


def _short(text: str, output: str) -> str:
    return text if output == "wide" or len(text) <= SHORT else f"{text[: SHORT - 1]}…"


async def _found(asked: Asked, kind: str, name: str) -> dict[str, Any]:
    async with opened(asked, by_itself="conditions and events at the API server") as here:
        items = await (_of_pod if kind == POD else _of_profile)(here, name)
    return {"kind": "History", "of": f"{kind}/{name}", "items": items}


async def _of_pod(here: Here, name: str) -> list[dict[str, Any]]:
    if here.asked.all_namespaces:
        raise BadInput(ONE_NAMESPACE)
    place = here.namespace
    if here.scheduler is not None:
        try:
            told = await here.scheduler.get(f"/pods/{quoted(place)}/{quoted(name)}")
        except Refused as error:
            if not error.is_absent:  # else it belongs to another scheduler
                raise
            told = {}
        if told.get("attempts"):  # else it was placed long ago; see its events
            return attempts_history(told["attempts"])
    pod = await here.documents.get(f"{namespaced('pods', place)}/{quoted(name)}")
    return pod_history(pod, await _events(here, namespaced("events", place), "Pod", name))


async def _of_profile(here: Here, name: str) -> list[dict[str, Any]]:
    found = await profile(here.documents, name, f"; for a pod write pod/{name}")
    return profile_history(found, await _events(here, "/api/v1/events", "SchedulerProfile", name))


async def _events(here: Here, path: str, kind: str, name: str) -> list[dict[str, Any]]:
    try:
        found = await here.documents.items(
            path, {"fieldSelector": f"involvedObject.kind={kind},involvedObject.name={name}"}
        )
    except Refused as error:
        if not error.is_forbidden:
            raise
        return []
    return [each for each in found if (each.get("involvedObject") or {}).get("name") == name]
