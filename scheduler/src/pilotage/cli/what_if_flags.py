"""The flags of what-if, capacity and drain-sim, and the changes that they mean."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from pilotage.cli.cluster_flags import About, Asked, Auto, asks_a_cluster, output_option
from pilotage.cli.command import BadInput, verbose_option
from pilotage.cli.configuration_flags import Configuration, configuration_options

Function = Callable[..., Any]
Change = dict[str, Any]

MOST = 10_000  # copies or nodes; as offline.what_if.request, which is slow to import
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_MANIFESTS = (
    click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        metavar="FILE_OR_DIR",
        help="New pods or their controllers, or a request of kind WhatIf; - for standard input.",
    ),
    click.option("--profile", metavar="NAME|FILE", help="The profile for the new pods."),
)
_CHANGES = (
    click.option("--add-nodes", multiple=True, type=int, metavar="N", help="Add N nodes; requires --like."),
    click.option("--like", multiple=True, metavar="NODE", help="The node that the new ones copy."),
    click.option("--drain", multiple=True, metavar="NODE", help="Drain a node; disruption budgets apply."),
    click.option(
        "--remove-nodes",
        multiple=True,
        metavar="NODE|SELECTOR",
        help="Remove a node, or nodes by labels, such as pool=old.",
    ),
    click.option("--cordon", multiple=True, metavar="NODE", help="Cordon a node."),
    click.option("--label", multiple=True, metavar="NODE:KEY=VALUE", help="Label a node; KEY- removes a label."),
    click.option("--taint", multiple=True, metavar="NODE:KEY[=VALUE]:EFFECT", help="Taint a node; KEY- removes it."),
    click.option("--evict", multiple=True, metavar="NAMESPACE/POD", help="Evict a pod; disruption budgets apply."),
    click.option(
        "--quota",
        multiple=True,
        metavar="NAMESPACE[/NAME]:RESOURCE=AMOUNT",
        help="Change the max of an elastic quota; +2 and -2 are relative.",
    ),
)


@dataclass(frozen=True)
class Question:
    """A question: its source, its configuration, its changes, and the output format."""

    asked: Asked
    configuration: Configuration
    output: str
    headers: bool
    files: tuple[str, ...] = ()
    profile: str | None = None
    changes: Sequence[Change] = ()


def asks_what_if(*, manifests: bool = True) -> Callable[[Function], Function]:
    """Add the flags of a what-if to a command; its function receives them as `question`.

    Without `manifests` there are no flags for new pods and changes.
    """

    def add(function: Function) -> Function:
        @wraps(function)
        def gathered(*, asked: Asked, configuration: Configuration, output: str, no_headers: bool, **given: Any) -> Any:
            about: dict[str, Any] = {}
            if manifests:
                about = {"files": given.pop("files"), "profile": given.pop("profile"), "changes": [*_changes(given)]}
            return function(question=Question(asked, configuration, output, not no_headers, **about), **given)

        decorated = output_option()(verbose_option(gathered))
        decorated = asks_a_cluster(About.MANIFESTS if manifests else About.CLUSTER, source=Auto.PROGRAM)(
            configuration_options(decorated)
        )
        for option in reversed((*_MANIFESTS, *_CHANGES) if manifests else ()):
            decorated = option(decorated)
        return decorated

    return add


def _changes(given: dict[str, Any]) -> Iterator[Change]:
    """Take the flags for changes out of the given ones, and yield the changes."""
    yield from _new_nodes(given.pop("add_nodes"), given.pop("like"))
    for node in given.pop("drain"):
        yield {"drain": {"nodes": [node]}}
    for named in given.pop("remove_nodes"):
        is_selector = any(sign in named for sign in "=!, ")
        yield {"removeNodes": {"selector": named} if is_selector else {"nodes": [named]}}
    for node in given.pop("cordon"):
        yield {"cordon": {"nodes": [node]}}
    yield from map(_label, given.pop("label"))
    yield from map(_taint, given.pop("taint"))
    if evicted := given.pop("evict"):
        yield {"evict": {"pods": list(evicted)}}
    yield from map(_quota, given.pop("quota"))


def _new_nodes(counts: Sequence[int], like: Sequence[str]) -> Iterator[Change]:
    if len(counts) != len(like):
        raise BadInput("--add-nodes N and --like NODE go together: how many nodes, and which node they copy")
    for count, node in zip(counts, like, strict=True):
        if not 1 <= count <= MOST:
            raise BadInput(f"--add-nodes {count}: use a number from 1 to {MOST}")
        yield {"addNodes": {"like": node, "count": count}}


def _label(given: str) -> Change:
    node, colon, label = given.partition(":")
    key, sign, value = label.partition("=")
    if node and colon and len(label) > 1 and label.endswith("-") and not sign:
        return {"label": {"nodes": [node], "labels": {label.removesuffix("-"): None}}}
    if not (node and colon and key and sign):
        raise BadInput(f"--label {given}: use NODE:KEY=VALUE, or NODE:KEY- to remove a label")
    return {"label": {"nodes": [node], "labels": {key: value}}}


def _taint(given: str) -> Change:
    node, colon, taint = given.partition(":")
    what, _, effect = taint.rpartition(":")
    if colon and node and len(taint) > 1 and taint.endswith("-"):
        return {"taint": {"nodes": [node], "remove": [taint.removesuffix("-").partition(":")[0]]}}
    key, _, value = what.partition("=")
    if not (node and key and effect in EFFECTS):
        raise BadInput(f"--taint {given}: use NODE:KEY=VALUE:{'|'.join(EFFECTS)}, or NODE:KEY- to remove a taint")
    return {"taint": {"nodes": [node], "taints": [{"key": key, "value": value, "effect": effect}]}}


def _quota(given: str) -> Change:
    place, colon, amounts = given.partition(":")
    namespace, _, name = place.partition("/")
    parts = [each.partition("=") for each in amounts.split(",")]
    if not (namespace and colon) or not all(resource and sign and amount for resource, sign, amount in parts):
        raise BadInput(f"--quota {given}: use NAMESPACE:cpu=+2, or NAMESPACE/NAME:cpu=10,memory=20Gi")
    return {"quota": {"namespace": namespace, "name": name, "max": {each: amount for each, _, amount in parts}}}
