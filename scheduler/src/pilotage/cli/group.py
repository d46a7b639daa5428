"""The program `pilotage` and its commands, each of which is imported when it is asked for."""

from importlib import import_module
from typing import NamedTuple

import click


class Listed(NamedTuple):
    """A command, where it is, and the line that the help has about it."""

    module: str
    help: str


COMMANDS = {
    "check": Listed("pilotage.cli.check", "Tell whether SchedulerProfiles can run, as the operator would."),
    "check-config": Listed("pilotage.cli.check_config", "Check a KubeSchedulerConfiguration and print all of it."),
    "convert": Listed("pilotage.cli.convert", "Make SchedulerProfiles of older configurations and chart values."),
    "explain": Listed("pilotage.cli.explain", "Tell why a pod of a cluster waits, or is where it is."),
    "extender": Listed("pilotage.cli.extender", "Serve the plugins to a stock kube-scheduler."),
    "plugins": Listed("pilotage.cli.plugins", "Show all plugins, or everything about one."),
    "profile": Listed("pilotage.cli.profile", "Switch a plugin of a SchedulerProfile on or off."),
    "run": Listed("pilotage.cli.run", "Schedule the pods of a cluster."),
    "simulate": Listed("pilotage.cli.simulate", "Schedule the pods of manifests or dumps, without a cluster."),
}


class CommandsOnDemand(click.Group):
    """A group that knows its commands by name, and imports the one that runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of this name."""
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        command = import_module(listed.module).command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table above, so that help is there at once."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.help) for name, listed in COMMANDS.items()])


@click.group(
    cls=CommandsOnDemand,
    epilog="Example:  pilotage simulate -f examples/cluster.yaml -f examples/web.yaml",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="pilotage", prog_name="pilotage", message="%(prog)s %(version)s")
def main() -> None:
    """Pilotage, a second scheduler for Kubernetes whose policy is Python."""
