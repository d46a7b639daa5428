"""Completion: verbs and flags at once, names of objects within a second."""

import json
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, ShellComplete

from pilotage.cluster.kubectl.names import PROFILES
from pilotage.cluster.kubectl.refusals import NotReached, Refused
from pilotage.cluster.kubectl.requests import namespaced
from pilotage.cluster.kubectl.way import Way

PATIENCE = 1.0  # seconds; completion must not keep a user waiting
MOST = 500
NO_FILES = ":4"  # tells kubectl not to offer files
MAY_BE_FILES = ":0"


def print_for_kubectl(program: click.Command, words: Sequence[str] | None = None) -> None:
    """Print candidates for the last word in kubectl's format: one a line, then a directive."""
    *before, incomplete = [*(sys.argv[1:] if words is None else words)] or [""]
    found = candidates(program, before, incomplete)
    files = any(each.type in ("file", "dir") for each in found)
    for each in found:
        if each.type == "plain":
            click.echo(f"{each.value}\t{each.help}" if each.help else each.value)
    click.echo(MAY_BE_FILES if files else NO_FILES)


def candidates(program: click.Command, before: list[str], incomplete: str) -> list[CompletionItem]:
    """Return the candidates for the last word."""
    return ShellComplete(program, {}, "pilotage", "_PILOTAGE_COMPLETE").get_completions(before, incomplete)


def namespaces(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of namespaces that begin so."""
    return _names(context, namespaced("namespaces", ""), incomplete)


def pods(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of pods that begin so, in the namespace that was given."""
    place = context.params.get("namespace") or ""
    return _names(context, "pods", incomplete) if not place else _names(context, namespaced("pods", place), incomplete)


def nodes(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of nodes with this prefix."""
    return _names(context, namespaced("nodes", ""), incomplete)


def profiles(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of SchedulerProfiles with this prefix."""
    return _names(context, PROFILES, incomplete)


def contexts(context: click.Context, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfig with this prefix."""
    return [each for each in _lines(context, "config", "get-contexts", "-o", "name") if each.startswith(incomplete)]


def _names(context: click.Context, path: str, incomplete: str) -> list[str]:
    if "/" not in path:  # of the context's namespace, which kubectl knows
        found = [line.partition("/")[2] for line in _lines(context, "get", path, "-o", "name", "--chunk-size=0")]
    else:
        text = "\n".join(_lines(context, "get", "--raw", f"{path}?limit={MOST}"))
        try:
            found = [each["metadata"]["name"] for each in json.loads(text or "{}").get("items") or ()]
        except ValueError:
            return []
    return sorted(name for name in found if name.startswith(incomplete))[:MOST]


def _lines(context: click.Context, *words: str) -> list[str]:
    import asyncio  # not needed for verbs and flags, and slow to import

    from pilotage.cluster.kubectl.programme import Kubectl

    given = context.params
    way = Way(
        str(given.get("kubeconfig") or ""),
        str(given.get("context") or ""),
        str(given.get("as_user") or ""),
        tuple(given.get("as_groups") or ()),
    )

    async def asked() -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await Kubectl(way).run(*words)

    try:
        return asyncio.run(asked()).decode(errors="replace").splitlines()
    except (NotReached, Refused, TimeoutError, OSError):
        return []  # completion must not print errors
