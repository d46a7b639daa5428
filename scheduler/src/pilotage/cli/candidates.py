"""What could come next on a command line: verbs and flags at once, names of objects within a second."""

import json
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, ShellComplete

from pilotage.cluster.kubectl.names import PROFILES
from pilotage.cluster.kubectl.refusals import NotReached, Refused
from pilotage.cluster.kubectl.requests import namespaced
from pilotage.cluster.kubectl.way import Way

PATIENCE = 1.0  # seconds; who presses <TAB> does not wait longer
MOST = 500
NO_FILES = ":4"  # kubectl's word for: these are all, do not offer files
MAY_BE_FILES = ":0"


def print_for_kubectl(program: click.Command, words: Sequence[str] | None = None) -> None:
    """Print candidates for the last word as kubectl reads them: one in each line, and what else may be offered."""
    *before, incomplete = [*(sys.argv[1:] if words is None else words)] or [""]
    found = candidates(program, before, incomplete)
    files = any(each.type in ("file", "dir") for each in found)
    for each in found:
        if each.type == "plain":
            click.echo(f"{each.value}\t{each.help}" if each.help else each.value)
    click.echo(MAY_BE_FILES if files else NO_FILES)


def candidates(program: click.Command, before: list[str], incomplete: str) -> list[CompletionItem]:
    """Return what could come next."""
    return ShellComplete(program, {}, "pilotage", "_PILOTAGE_COMPLETE").get_completions(before, incomplete)


def namespaces(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of namespaces that begin so."""
    return _names(context, namespaced("namespaces", ""), incomplete)


def pods(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of pods that begin so, in the namespace that was given."""
    place = context.params.get("namespace") or ""
    return _names(context, "pods", incomplete) if not place else _names(context, namespaced("pods", place), incomplete)


def nodes(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of nodes that begin so."""
    return _names(context, namespaced("nodes", ""), incomplete)


def profiles(context: click.Context, incomplete: str) -> list[str]:
    """Return the names of SchedulerProfiles that begin so."""
    return _names(context, PROFILES, incomplete)


def contexts(context: click.Context, incomplete: str) -> list[str]:
    """Return the contexts of the kubeconfig that begin so."""
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
    import asyncio  # verbs and flags are there without it, and at once

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
        return []  # a shell shows no errors here
