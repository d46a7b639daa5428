"""`pilotage profile`: enable or disable one plugin of a SchedulerProfile, and follow the rollout."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from pilotage.cli.command import PlainCommand, WithExamples, verbose_option

Function = TypeVar("Function", bound=Callable[..., Any])

EXAMPLES = """\b
Examples:
  pilotage profile disable batch Priority
  pilotage profile enable batch Priority --dry-run
"""
OUTCOMES = """\b
Exit code: 0 if all replicas of the scheduler run it, or if there was nothing to change; 2 if the profile could not be
changed; 3 if the operator rejected it or rolled it back, so that the previous spec keeps running; 4 after a timeout.
"""


class _Group(WithExamples, click.Group):
    """The group of the two subcommands."""


@click.group("profile", cls=_Group, epilog=EXAMPLES)
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
    _switch(profile, plugin, on=True, **options)


@command.command(cls=PlainCommand, epilog=OUTCOMES)
@_options
def disable(profile: str, plugin: str, **options: Any) -> None:
    """Disable PLUGIN in PROFILE; its weight and arguments are kept in its entry."""
    _switch(profile, plugin, on=False, **options)


def _switch(profile: str, plugin: str, *, on: bool, **options: Any) -> None:
    from pilotage.app.profile_entry import Switch  # slow to import
    from pilotage.cli.profile_switching import switch

    switch(Switch(profile, plugin, on=on), **options)
