"""Flags about the services that profiles make the scheduler call: validated when given, not when used."""

import click

from pilotage.model.outside_services import wrong_directory, wrong_host


def directory(context: click.Context, parameter: click.Parameter, given: str) -> str:
    """Return a directory for credentials."""
    if why := wrong_directory(given):
        raise click.BadParameter(why, context, parameter)
    return given


def hosts(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the hosts that profiles may name."""
    for why in filter(None, map(wrong_host, given)):
        raise click.BadParameter(why, context, parameter)
    return given
