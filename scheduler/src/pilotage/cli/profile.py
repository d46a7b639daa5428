"""`pilotage profile`: one plugin of a SchedulerProfile, switched on or off, and what became of that."""

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
# What a resource may be called: anything else could be another path of the API.
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")

EXAMPLES = """\b
Examples:
  pilotage profile disable batch Priority
  pilotage profile enable batch Priority --dry-run
"""
OUTCOMES = """\b
Ends with 0 if every replica of the scheduler runs it, or if there was nothing to change; 3 if the operator refused it
or took it back, so that what ran before runs on; 4 if that is not known in time; 2 if the profile could not be changed.
"""


@click.group("profile", epilog=EXAMPLES)
def command() -> None:
    """Switch a plugin of a SchedulerProfile on or off.

    Only the plugin's own entry is touched: its weight and arguments stay, and so does everything that others edit at
    the same time.
    """


def _options(function: Function) -> Function:
    for option in (
        verbose_option,
        click.option("--context", default="", metavar="NAME", help="Another context than the current one."),
        click.option(
            "--kubeconfig", default="", metavar="FILE", help="How to reach the cluster. Default: as kubectl does."
        ),
        click.option("--timeout", default=90.0, show_default=True, metavar="SECONDS", help="How long to wait."),
        click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until every replica runs it."),
        click.option("--dry-run", is_flag=True, help="Show the change and let the API server check it; keep nothing."),
        click.argument("plugin"),
        click.argument("profile"),
    ):
        function = option(function)
    return function


@command.command(cls=PlainCommand, epilog=OUTCOMES)
@_options
def enable(profile: str, plugin: str, **options: Any) -> None:
    """Let PLUGIN take part in PROFILE, with the weight and the arguments that its entry has."""
    _switch(Switch(profile, plugin, on=True), **options)


@command.command(cls=PlainCommand, epilog=OUTCOMES)
@_options
def disable(profile: str, plugin: str, **options: Any) -> None:
    """Take PLUGIN out of PROFILE; its weight and arguments wait in its entry until it is enabled again."""
    _switch(Switch(profile, plugin, on=False), **options)


def _switch(wish: Switch, *, dry_run: bool, wait: bool, timeout: float, kubeconfig: str, context: str) -> None:
    if not NAME.fullmatch(wish.profile):
        raise BadInput(f"{wish.profile!r} is no name of a SchedulerProfile")
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
        state = "takes part already" if wish.on else "takes no part"
        hint = "" if wish.on else did_you_mean(wish.plugin, _named(change.before))
        click.echo(f"{wish.plugin} {state}: there is nothing to change" + (f"; {hint}" if hint else ""))
    if dry_run:
        click.echo("nothing was changed: this is a dry run")


def _named(spec: dict[str, Any]) -> set[str]:
    return {*base_of(spec), *(entry["name"] for entry in spec.get("plugins") or ())}


def _told(wish: Switch, outcome: Outcome) -> str:
    who = f"{wish.profile}: "
    match outcome.fate:
        case Fate.RUNS:
            return f"{who}{outcome.replicas} replicas run it after {outcome.seconds:.1f} s"
        case Fate.REFUSED:
            return f"{who}refused, and what ran before runs on: {outcome.message}"
        case Fate.TAKEN_BACK:
            return f"{who}taken back, and the last good spec runs: {outcome.message}"
        case Fate.UNKNOWN:
            return f"{who}not known after {outcome.seconds:.0f} s: {outcome.message or 'the operator said nothing yet'}"
