"""`pilotage explain`: why a pod of a live cluster is pending, or runs on its node."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from pilotage.cli.asking import Here, cluster, opened, opened_or_why, run
from pilotage.cli.candidates import nodes as node_names
from pilotage.cli.candidates import pods as pod_names
from pilotage.cli.cluster_flags import LIVE, LOCAL, Asked, Auto, asks_a_cluster, output_option
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, PlainCommand, note, verbose_option
from pilotage.cli.configuration_flags import Configuration, configuration_options
from pilotage.cli.explain_asked import by_scheduler, by_status, has_place, lines
from pilotage.cli.explain_words import By, Detail
from pilotage.cli.formats import FORMATS
from pilotage.cli.named import ALIASES, ONE_NAMESPACE, POD, is_kind, named
from pilotage.cli.program import is_small, program_name
from pilotage.cluster.kubectl.refusals import NotReached, Refused
from pilotage.views.objects.waiting import alike, members, waits

MOST_EXAMPLES = 5  # of pods with one owner
OWNERS = frozenset(ALIASES) - {POD, "schedulerprofile"}

EPILOG = """\b
Examples:
  pilotage explain web-1
  pilotage explain shop/web-1 -o json
  pilotage explain deploy/web -n shop
  pilotage explain web-1 --why-not n3
  pilotage explain web-1 -n shop --config-map pilotage/pilotage-config

\b
Exit code: 0 if the pod has a node or would get one now, 3 if it is pending, 2 if there is no answer.
"""


@dataclass(frozen=True)
class Wish:
    """What to explain, with which configuration, and how to print it."""

    by: By
    detail: Detail
    attempts: bool
    output: str


@click.command("explain", cls=PlainCommand, epilog=EPILOG)
@click.argument(
    "pod",
    metavar="[NAMESPACE/]POD|KIND/NAME",
    shell_complete=lambda context, _parameter, word: pod_names(context, word),
)
@click.option("--attempts", is_flag=True, help="Show the last attempts, which only the scheduler knows.")
@click.option("--nodes", "one_by_one", is_flag=True, help="Show nodes one by one even if there are many.")
@click.option("--all", "everything", is_flag=True, help="Show all nodes.")
@configuration_options
@click.option(
    "--why-not",
    "node",
    default="",
    metavar="NODE",
    shell_complete=lambda context, _parameter, word: node_names(context, word),
    help="Compare NODE with the pod's node, plugin by plugin.",
)
@click.option("--no-remedies", is_flag=True, help="Do not search for changes that would place the pod.")
@asks_a_cluster(source=Auto.PROGRAM)
@output_option()
@verbose_option
def command(
    asked: Asked,
    pod: str,
    attempts: bool,
    one_by_one: bool,
    everything: bool,
    configuration: Configuration,
    node: str,
    no_remedies: bool,
    output: str,
    no_headers: bool,
) -> None:
    """Explain why a pod is pending or why it runs on its node, for each node and plugin.

    Reads the current state of the cluster and decides in memory, with the configuration of the pod's scheduler:
    kube-scheduler's defaults for default-scheduler, otherwise the one that Pilotage's operator wrote. If your rights
    do not suffice for that, the scheduler is asked, or the pod's status is shown. Nothing is written.

    KIND/NAME, such as deploy/web or job/train, explains the waiting pods of an owner, one for each distinct reason.
    """
    detail = Detail.ALL if everything else Detail.NODES if one_by_one else Detail.GROUPS
    by = By(configuration, with_remedies=not no_remedies, why_not=node)
    wish = Wish(by, detail, attempts, output)
    if "/" in pod and is_kind(pod.partition("/")[0]):
        kind, pod = named(pod, POD, {POD, *OWNERS})
        if kind != POD:
            _explain_owner(asked, kind, pod, wish)
            return
    place, name = _place(pod, asked)
    text, data, fits = run(_explained(_in(asked, place), name, wish))
    click.echo(text if output == "table" else FORMATS[output](data))
    if not fits:
        raise SystemExit(NOT_ALL_PLACED)


def _place(pod: str, asked: Asked) -> tuple[str, str]:
    """Return the namespace, "" if none is named, and the name of a pod."""
    place, slash, name = pod.rpartition("/")
    if not name or "/" in place or (slash and not place):
        raise BadInput(f"{pod}: write POD or NAMESPACE/POD")
    if place and asked.namespace and place != asked.namespace:
        raise BadInput(f"{pod} is in the namespace {place}, but -n is {asked.namespace}; remove one of the two")
    if asked.all_namespaces and not place:
        raise BadInput(ONE_NAMESPACE)
    return place or asked.namespace, name


def _in(asked: Asked, namespace: str) -> Asked:
    return replace(asked, namespace=namespace, all_namespaces=False)


async def _explained(asked: Asked, name: str, wish: Wish) -> tuple[str, dict[str, Any], bool]:
    """Return the text, the data, and whether the pod has a node or would get one.

    This program decides by itself if it may, since that works for the pods of every scheduler and shows every node.
    Otherwise it asks the scheduler.
    """
    if asked.source == LIVE or asked.is_address:
        async with opened(asked) as here:
            return await _by_scheduler(here, name, wish)
    refused: Exception | None = None
    if not is_small():
        from pilotage.cli.explain_here import NotAllowed

        try:
            return await _decided(asked, name, wish)
        except NotAllowed as error:
            if asked.source == LOCAL or wish.by.configuration.is_named:  # the scheduler has another configuration
                raise BadInput(str(error)) from None
            refused = error
    return await _without_deciding(asked, name, wish, refused)


async def _decided(asked: Asked, name: str, wish: Wish) -> tuple[str, dict[str, Any], bool]:
    from pilotage.cli import explain_here

    answer = await explain_here.ask(asked, asked.namespace, name, wish.by)
    for text in answer.notes:
        note(text)
    if answer.pod.is_terminating:
        note("the pod is being deleted and will not be scheduled")
    story = explain_here.told(answer, wish.detail)
    if wish.attempts:
        note(f"only the scheduler knows attempts; use --source live, or {program_name()} history")
    return (
        story,
        explain_here.data(answer, "file" if asked.is_file else LOCAL),
        answer.result.node is not None or bool(answer.pod.node_name),
    )


async def _without_deciding(
    asked: Asked, name: str, wish: Wish, refused: Exception | None
) -> tuple[str, dict[str, Any], bool]:
    """Take the scheduler's answer, else the pod's status; without either, report what was refused first."""
    try:
        async with opened_or_why(asked) as (here, why):
            if here.scheduler is not None:
                try:
                    told = await _by_scheduler(here, name, wish)
                    note("source: the scheduler; your rights do not suffice for a decision by this program")
                    return told
                except Refused as error:
                    if not error.is_absent:  # else the pod belongs to another scheduler
                        raise
                    why = error.message
            data = await by_status(here, name)
    except (Refused, NotReached):
        if refused is None:
            raise
        raise BadInput(str(refused)) from None
    note(f"source: the pod's status, without remedies; no scheduler was asked: {why}")
    if refused is not None:
        note(f"this program could not decide: {refused}")
    return _told(data, wish)


async def _by_scheduler(here: Here, name: str, wish: Wish) -> tuple[str, dict[str, Any], bool]:
    data = await by_scheduler(here, name, wish.detail, wish.by)
    wants_nodes = wish.detail is not Detail.GROUPS or wish.by.why_not
    if wants_nodes and data["nodesTotal"] and not data["nodes"] and "whyNot" not in data:
        note("nodes are shown only to users who may list nodes")
    return _told(data, wish)


def _told(data: dict[str, Any], wish: Wish) -> tuple[str, dict[str, Any], bool]:
    story = "\n".join(lines(data, attempts=wish.attempts))
    shown = {key: value for key, value in data.items() if key != "view"}
    if wish.attempts:
        shown["attempts"] = (data.get("view") or {}).get("attempts", [])
    return story, shown, has_place(data)


def _explain_owner(asked: Asked, kind: str, name: str, wish: Wish) -> None:
    """Explain the waiting pods of an owner, one for each distinct message."""
    place, own = run(_pods_of(asked, kind, name))
    title = f"{kind}/{name}"
    if not own:
        look = f"{title} -n {place}" if place else f"{kind} -A"
        raise BadInput(f"{title} has no pods in {place or 'any namespace'}; see kubectl get {look}")
    waiting = [pod for pod in own if waits(pod)]
    told = []
    for sort in alike(waiting)[:MOST_EXAMPLES]:
        first = sort[0]["metadata"]
        told.append((len(sort), run(_explained(_in(asked, first["namespace"]), first["name"], wish))))
    if wish.output == "table":
        click.echo(f"{title}: {len(waiting)} of {len(own)} pods wait")
        for number, (text, _, _) in told:
            click.echo(f"\n{_like(number)}{text}")
    else:
        items = [{"pods": number, **data} for number, (_, data, _) in told]
        counts = {"pods": len(own), "waiting": len(waiting)}
        click.echo(FORMATS[wish.output]({"kind": "Explanations", "of": title, **counts, "items": items}))
    if waiting:
        raise SystemExit(NOT_ALL_PLACED)


def _like(number: int) -> str:
    return f"{number} pods like this one:\n" if number > 1 else ""


async def _pods_of(asked: Asked, kind: str, name: str) -> tuple[str, Sequence[dict[str, Any]]]:
    async with cluster(asked) as documents:
        here = Here(asked, documents)
        return here.namespace, members(await here.pods(), kind, name)
