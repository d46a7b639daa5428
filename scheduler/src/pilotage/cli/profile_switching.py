"""What `pilotage profile` does: changes one entry of a SchedulerProfile, and follows the rollout."""

import asyncio
import re
from difflib import unified_diff
from typing import Any

import click
import yaml

from pilotage.app.profile_entry import Fate, Switch, base_of
from pilotage.app.profile_switch import CannotSwitch, Change, Outcome, ProfileSwitch
from pilotage.cli.command import BadInput
from pilotage.cluster.credentials.access import find
from pilotage.config.suggestions import did_you_mean

NOT_RUNNING, NOT_KNOWN = 3, 4
# A valid resource name: anything else could lead to another API path.
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def switch(wish: Switch, *, dry_run: bool, wait: bool, timeout: float, kubeconfig: str, context: str) -> None:
    """Change the entry, show what changed, and wait for the replicas; the exit code says how that ended."""
    if not NAME.fullmatch(wish.profile):
        raise BadInput(f"{wish.profile!r} is not a valid name of a SchedulerProfile")
    switching = ProfileSwitch(find(kubeconfig, context=context), wish)
    try:
        change = asyncio.run(switching.change(dry_run=dry_run))
        _show(wish, change, dry_run=dry_run)
        if dry_run or not wait:
            return
        outcome = asyncio.run(switching.follow(change.generation, timeout))
    except CannotSwitch as error:
        raise BadInput(str(error)) from None
    click.echo(_told(wish, outcome))
    if outcome.fate is not Fate.RUNS:
        raise SystemExit(NOT_KNOWN if outcome.fate is Fate.UNKNOWN else NOT_RUNNING)


def _show(wish: Switch, change: Change, *, dry_run: bool) -> None:
    if change.before != change.after:
        before, after = (yaml.safe_dump({"spec": each}, sort_keys=False) for each in (change.before, change.after))
        lines = unified_diff(before.splitlines(), after.splitlines(), n=2, lineterm="")
        click.echo("\n".join(line for line in lines if not line.startswith(("---", "+++", "@@"))))
    else:
        state = "is already enabled" if wish.on else "is not enabled"
        hint = "" if wish.on else did_you_mean(wish.plugin, _named(change.before))
        click.echo(f"{wish.plugin} {state}: nothing to change" + (f"; {hint}" if hint else ""))
    if dry_run:
        click.echo("dry run: nothing was changed")


def _named(spec: dict[str, Any]) -> set[str]:
    return {*base_of(spec), *(entry["name"] for entry in spec.get("plugins") or ())}


def _told(wish: Switch, outcome: Outcome) -> str:
    who = f"{wish.profile}: "
    match outcome.fate:
        case Fate.RUNS:
            return f"{who}{outcome.replicas} replicas run it after {outcome.seconds:.1f} s"
        case Fate.REFUSED:
            return f"{who}rejected, and the previous spec keeps running: {outcome.message}"
        case Fate.TAKEN_BACK:
            return f"{who}rolled back to the last good spec: {outcome.message}"
        case Fate.UNKNOWN:
            return f"{who}unknown after {outcome.seconds:.0f} s: {outcome.message or 'no report from the operator yet'}"
