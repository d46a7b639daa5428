"""`pilotage explain`: why a pod of a live cluster waits, or is where it is."""

import asyncio
from pathlib import Path

import click

from pilotage.app.explaining import Answer, CannotExplain, Question, explain_live
from pilotage.cli.command import NOT_ALL_PLACED, BadInput, PlainCommand, note, plugin_dir_option, verbose_option
from pilotage.cli.explain_pod import explained_data, explained_text
from pilotage.cli.explain_remedies import why_not_data
from pilotage.cli.formats import FORMATS
from pilotage.cluster.credentials.access import find
from pilotage.model.pod import Pod

EPILOG = """\b
Examples:
  pilotage explain web-1
  pilotage explain shop/web-1 -o json
  pilotage explain web-1 --why-not n3
  pilotage explain web-1 -n shop --config-map pilotage/pilotage-config

\b
Ends with 0 if the pod has a node or would get one now, 3 if it waits, 2 if it cannot be told.
"""


@click.command("explain", cls=PlainCommand, epilog=EPILOG)
@click.argument("pod", metavar="[NAMESPACE/]POD")
@click.option("-n", "--namespace", default="", help="The pod's namespace. Default: that of the kubeconfig's context.")
@click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the cluster. Default: as kubectl does.")
@click.option("--context", default="", metavar="NAME", help="Another context of the kubeconfig than the current one.")
@click.option(
    "--config", metavar="FILE", help="The KubeSchedulerConfiguration or SchedulerProfile of the pod's scheduler."
)
@click.option("--config-map", metavar="NAMESPACE/NAME", help="The ConfigMap with it.")
@plugin_dir_option
@click.option(
    "--why-not", "node", default="", metavar="NODE", help="Compare NODE with the pod's node, plugin by plugin."
)
@click.option("--no-remedies", is_flag=True, help="Do not look for changes that would place the pod.")
@click.option("-o", "--output", type=click.Choice(["table", *FORMATS]), default="table", show_default=True)
@verbose_option
def command(
    pod: str,
    namespace: str,
    kubeconfig: str,
    context: str,
    config: str | None,
    config_map: str | None,
    plugin_dirs: tuple[str, ...],
    node: str,
    no_remedies: bool,
    output: str,
) -> None:
    """Tell node by node and plugin by plugin why a pod waits, or what speaks for the node that it has.

    Reads the cluster as it is now and decides in memory, with the configuration of the pod's scheduler: that of
    kube-scheduler for default-scheduler, else the one that an operator of Pilotage wrote. Nothing is written.
    """
    if config is not None and config_map is not None:
        raise BadInput("--config and --config-map name two configurations; leave one out")
    place, name = _place(pod, namespace)
    access = find(kubeconfig, context=context)
    file = None if config is None else Path(config)
    question = Question(
        place or access.namespace,
        name,
        file,
        _named(config_map),
        plugin_dirs,
        with_remedies=not no_remedies,
        why_not=node,
    )
    try:
        answer = asyncio.run(explain_live(access, question))
    except CannotExplain as error:
        raise BadInput(str(error)) from None
    for text in answer.notes:
        note(text)
    if answer.pod.is_terminating:
        note("the pod is being deleted: no scheduler gives it a node any more")
    click.echo(_told(answer) if output == "table" else FORMATS[output](_data(answer)))
    if answer.result.node is None and not answer.pod.node_name:
        raise SystemExit(NOT_ALL_PLACED)


def _place(pod: str, namespace: str) -> tuple[str, str]:
    """Return the namespace, "" if none is named, and the name of a pod."""
    place, slash, name = pod.rpartition("/")
    if not name or "/" in place or (slash and not place):
        raise BadInput(f"{pod}: write POD or NAMESPACE/POD")
    if place and namespace and place != namespace:
        raise BadInput(f"{pod} is in the namespace {place}, and -n says {namespace}; leave one of them out")
    return place or namespace, name


def _named(config_map: str | None) -> tuple[str, str] | None:
    if config_map is None:
        return None
    namespace, slash, name = config_map.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise BadInput(f"--config-map {config_map}: write NAMESPACE/NAME")
    return namespace, name


def _told(answer: Answer) -> str:
    first, *others = explained_text(answer.result, answer.explanation, answer.remedies).splitlines()
    if answer.pod.node_name:
        fate = first.removeprefix(f"{answer.pod.name}  ")
        first = f"{answer.pod.name}  is on {answer.pod.node_name}; decided again now, it {fate}"
    said = _said(answer.pod)
    if said and said != answer.result.message:
        others.insert(0, f"  Its status says: {said}")
    if answer.why_not is not None:
        others.append(f"  {answer.why_not.text}")
    return "\n".join([first, *others])


def _said(pod: Pod) -> str:
    """Return why the pod waits, as its scheduler last told."""
    condition = pod.status.condition("PodScheduled")
    return condition.message if condition is not None and condition.status == "False" else ""


def _data(answer: Answer) -> dict[str, object]:
    told = {"currentNode": answer.pod.node_name, "statusMessage": _said(answer.pod)}
    return {
        **explained_data(answer.result, answer.explanation, answer.remedies),
        **told,
        **why_not_data(answer.why_not),
    }
