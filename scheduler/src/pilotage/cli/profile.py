"""`pilotage profile`: enable or disable one plugin of a SchedulerProfile, and follow the rollout."""

import asyncio
import re
from collections.abc import Callable
from difflib import unified_diff
from typing import Any, TypeVar

import click
import yaml

from pilotage.app.profile_entry import Fate, Switch, base_of
from pilotage.app.profile_switch import CannotSwitch, Change, Outcome, ProfileSwitch
from pilotage.cli.command import BadInput, PlainCommand, verbose_option
from pilotage.cluster.credentials.access import find
from pilotage.config.suggestions import did_you_mean

Function = TypeVar("Function", bound=Callable[..., Any])

NOT_RUNNING, NOT_KNOWN = 3, 4
# A valid resource name: anything else could lead to another API path.
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

EXAMPLES = """\b
Examples:
  pilotage profile disable batch Priority
  pilotage profile enable batch Priority --dry-run
"""
OUTCOMES = """\b
Exit code: 0 if all replicas of the scheduler run it, or if there was nothing to change; 2 if the profile could not be
changed; 3 if the operator rejected it or rolled it back, so that the previous spec keeps running; 4 after a timeout.
"""


@click.group("profile", epilog=EXAMPLES)
def command() -> None:
    """Enable or disable a plugin of a SchedulerProfile.

    Only the plugin's entry is changed: its weight and arguments are kept, and so are concurrent edits by others.
    """


def _options(function: Function) -> Function:
    for option in (
        verbose_option,
        click.option(
            "--context", default="", metavar="NAME", help="The context of the kubeconfig. Default: the current one."
        ),
        click.option("--kubeconfig", default="", metavar="FILE", help="The kubeconfig. Default: that of kubectl."),
        click.option("--timeout", default=90.0, show_default=True, metavar="SECONDS", help="How long to wait."),
        click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until all replicas run it."),
        click.option(
            "--dry-run", is_flag=True, help="Show the change and let the API server validate it, without applying it."
        ),
        click.argument("plugin"),
        click.argument("profile"),
    ):
        function = option(function)
    return function


@command.command(cls=PlainCommand, epilog=OUTCOMES)
@_options
def enable(profile: str, plugin: str, **options: Any) -> None:
    """Enable PLUGIN in PROFILE, with the weight and the arguments of its entry."""
    _switch(Switch(profile, plugin, on=True), **options)


@command.command(cls=PlainCommand, epilog=OUTCOMES)
@_options
def disable(profile: str, plugin: str, **options: Any) -> None:
    """Disable PLUGIN in PROFILE; its weight and arguments are kept in its entry."""
    _switch(Switch(profile, plugin, on=False), **options)


def _switch(wish: Switch, *, dry_run: bool, wait: bool, timeout: float, kubeconfig: str, context: str) -> None:
    if not NAME.fullmatch(wish.profile):
        raise BadInput(f"{wish.profile!r} is not a valid name of a SchedulerProfile")
    switch = ProfileSwitch(find(kubeconfig, context=context), wish)
    try:
        change = asyncio.run(switch.change(dry_run=dry_run))
        _show(wish, change, dry_run=dry_run)
        if dry_run or not wait:
            return
        outcome = asyncio.run(switch.follow(change.generation, timeout))
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
