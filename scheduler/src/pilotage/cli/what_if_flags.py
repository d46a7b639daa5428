"""The flags of what-if, capacity and drain-sim, and the request that they stand for."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pilotage.cli.command import BadInput, plugin_dir_option, verbose_option
from pilotage.cli.formats import FORMATS

LOCAL = "local"
Function = Callable[..., Any]

CLUSTER = (
    click.option("-n", "--namespace", default="", metavar="NAME", help="The namespace of manifests that name none."),
    click.option("--kubeconfig", default="", metavar="FILE", help="How to reach the cluster. Default: as kubectl."),
    click.option("--context", default="", metavar="NAME", help="The context of the kubeconfig."),
    click.option("--as", "as_user", default="", metavar="USER", help="Ask the API server as somebody else."),
    click.option("--as-group", "as_groups", multiple=True, metavar="GROUP", help="A group of --as. Can be repeated."),
    click.option(
        "--source",
        default=LOCAL,
        show_default=True,
        metavar="local|live|FILE_OR_DIR|https://...",
        help="Who answers: this program, from what the API server has (local) or from a file or folder with manifests "
        "or a dump; or the running scheduler, whose port kubectl forwards (live), or at an address of its own.",
    ),
    click.option("--release", default="", metavar="NAMESPACE[/NAME]", help="Which release answers, with live."),
    click.option("--token-from", default="", metavar="NAMESPACE/ACCOUNT", help="Whose token the scheduler is shown."),
    click.option("--config", metavar="FILE", help="The KubeSchedulerConfiguration or SchedulerProfile that decides."),
    click.option("--config-map", metavar="NAMESPACE/NAME", help="The ConfigMap with it."),
    plugin_dir_option,
    click.option("-o", "--output", type=click.Choice(["table", *FORMATS]), default="table", show_default=True),
    verbose_option,
)
MANIFESTS = (
    click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        metavar="FILE_OR_DIR",
        help="New pods, or what makes them; or a whole request of kind WhatIf. - for standard input.",
    ),
)
NODE_CHANGES = (
    click.option("--add-nodes", "add_nodes", multiple=True, type=int, metavar="N", help="Add N nodes, with --like."),
    click.option("--like", multiple=True, metavar="NODE", help="The node that new ones are like."),
    click.option("--drain", "drain", multiple=True, metavar="NODE", help="Drain a node; budgets count."),
    click.option(
        "--remove-nodes", "remove_nodes", multiple=True, metavar="NODE|SELECTOR", help="Remove nodes, as pool=old."
    ),
    click.option("--cordon", multiple=True, metavar="NODE", help="Cordon a node."),
    click.option("--label", multiple=True, metavar="NODE:KEY=VALUE", help="Label a node; KEY- takes a label away."),
    click.option("--taint", multiple=True, metavar="NODE:KEY[=VALUE]:EFFECT", help="Taint a node; KEY- takes it away."),
    click.option("--evict", multiple=True, metavar="NAMESPACE/POD", help="Evict a pod; budgets count."),
    click.option(
        "--quota",
        multiple=True,
        metavar="NAMESPACE[/NAME]:RESOURCE=AMOUNT",
        help="Change the max of an elastic quota; +2 and -2 are relative.",
    ),
    click.option("--profile", metavar="NAME|FILE", help="The profile that decides about the new pods."),
)


@dataclass(frozen=True)
class Where:
    """Which cluster is asked about, and whose configuration decides."""

    namespace: str = ""
    kubeconfig: str = ""
    context: str = ""
    as_user: str = ""
    as_groups: tuple[str, ...] = ()
    source: str = LOCAL
    release: str = ""
    token_from: str = ""
    config: str | None = None
    config_map: str | None = None
    plugin_dirs: tuple[str, ...] = ()


def with_options(*groups: Sequence[Function]) -> Callable[[Function], Function]:
    """Add flags to a command, in this order."""

    def add(function: Function) -> Function:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return add


def where_of(given: dict[str, Any]) -> Where:
    """Take the flags about the cluster out of all that was given."""
    found = Where(**{name: given.pop(name) for name in Where.__dataclass_fields__})
    if found.config is not None and found.config_map is not None:
        raise BadInput("--config and --config-map name two configurations; leave one out")
    return found


def node_changes(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the changes that flags stand for."""
    yield from _new_nodes(given["add_nodes"], given["like"])
    for node in given["drain"]:
        yield {"drain": {"nodes": [node]}}
    for named in given["remove_nodes"]:
        is_selector = any(sign in named for sign in "=!, ")
        yield {"removeNodes": {"selector": named} if is_selector else {"nodes": [named]}}
    for node in given["cordon"]:
        yield {"cordon": {"nodes": [node]}}
    yield from map(_label, given["label"])
    yield from map(_taint, given["taint"])
    if given["evict"]:
        yield {"evict": {"pods": list(given["evict"])}}
    yield from map(_quota, given["quota"])


def profile_of(named: str | None) -> str | dict[str, Any] | None:
    """Return the profile that decides: a name, or the spec in a file."""
    if named is None or not (Path(named).is_file() or "/" in named or named.endswith((".yaml", ".yml", ".json"))):
        return named
    found = [each for each in manifests_in([named], "") if each.get("kind") == "SchedulerProfile"]
    if len(found) != 1:
        raise BadInput(f"--profile {named}: there must be one SchedulerProfile in it, not {len(found)}")
    spec = dict(found[0].get("spec") or {})
    spec.setdefault("schedulerName", (found[0].get("metadata") or {}).get("name") or "what-if")
    return spec


def manifests_in(names: Iterable[str], namespace: str) -> list[dict[str, Any]]:
    """Read manifests; those that name no namespace are in this one."""
    from pilotage.offline.manifest_entries import documents_of, objects_in  # not before something is read
    from pilotage.offline.manifests import BadManifests

    problems: list[str] = []
    found = []
    for document in documents_of(names, problems):
        for manifest, place in objects_in(document):
            if isinstance(manifest, dict) and manifest.get("kind"):
                found.append(_in_namespace(manifest, namespace))
            else:
                problems.append(f"{place}: an object is a map with apiVersion, kind and metadata")
    if problems:
        raise BadManifests(problems)
    return found


def _in_namespace(manifest: dict[str, Any], namespace: str) -> dict[str, Any]:
    metadata = manifest.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return manifest
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _new_nodes(counts: Sequence[int], like: Sequence[str]) -> Iterator[dict[str, Any]]:
    if len(counts) != len(like):
        raise BadInput("--add-nodes N and --like NODE go together: how many nodes, and which one they are like")
    for count, node in zip(counts, like, strict=True):
        yield {"addNodes": {"like": node, "count": count}}


def _label(given: str) -> dict[str, Any]:
    node, colon, label = given.partition(":")
    key, sign, value = label.partition("=")
    if colon and label.endswith("-") and not sign:
        return {"label": {"nodes": [node], "labels": {label.removesuffix("-"): None}}}
    if not (node and colon and key and sign):
        raise BadInput(f"--label {given}: write NODE:KEY=VALUE, or NODE:KEY- to take a label away")
    return {"label": {"nodes": [node], "labels": {key: value}}}


def _taint(given: str) -> dict[str, Any]:
    node, colon, taint = given.partition(":")
    what, _, effect = taint.rpartition(":")
    if colon and node and taint.endswith("-"):
        return {"taint": {"nodes": [node], "remove": [taint.removesuffix("-").partition(":")[0]]}}
    key, _, value = what.partition("=")
    if not (node and key and effect):
        raise BadInput(f"--taint {given}: write NODE:KEY=VALUE:NoSchedule, or NODE:KEY- to take a taint away")
    return {"taint": {"nodes": [node], "taints": [{"key": key, "value": value, "effect": effect}]}}


def _quota(given: str) -> dict[str, Any]:
    place, colon, amounts = given.partition(":")
    namespace, _, name = place.partition("/")
    parts = [each.partition("=") for each in amounts.split(",")]
    if not (namespace and colon) or not all(resource and sign and amount for resource, sign, amount in parts):
        raise BadInput(f"--quota {given}: write NAMESPACE:cpu=+2, or NAMESPACE/NAME:cpu=10,memory=20Gi")
    return {"quota": {"namespace": namespace, "name": name, "max": {each: amount for each, _, amount in parts}}}
