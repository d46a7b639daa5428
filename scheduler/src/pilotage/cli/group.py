"""The program `pilotage` and its commands, each of which is imported when it is asked for."""

from importlib import import_module
from typing import NamedTuple

import click


class Listed(NamedTuple):
    """A command, where it is, and the line that the help has about it."""

    module: str
    help: str


COMMANDS = {
    "capacity": Listed("pilotage.cli.capacity", "Tell how many copies of a pod fit, and what stops the next one."),
    "check": Listed("pilotage.cli.check", "Validate SchedulerProfiles as the operator does."),
    "check-config": Listed("pilotage.cli.check_config", "Validate a KubeSchedulerConfiguration, and print all of it."),
    "convert": Listed("pilotage.cli.convert", "Convert other schedulers' configuration to SchedulerProfiles."),
    "drain-sim": Listed("pilotage.cli.drain_sim", "Tell where a node's pods would go if it were drained."),
    "explain": Listed("pilotage.cli.explain", "Explain why a pod is pending, or why it runs on its node."),
    "extender": Listed("pilotage.cli.extender", "Serve the plugins to kube-scheduler, as an HTTP extender."),
    "plugins": Listed("pilotage.cli.plugins", "List all plugins, or describe one."),
    "profile": Listed("pilotage.cli.profile", "Enable or disable a plugin of a SchedulerProfile."),
    "run": Listed("pilotage.cli.run", "Run the scheduler on a cluster."),
    "simulate": Listed("pilotage.cli.simulate", "Schedule pods from manifests or dumps, without a cluster."),
    "what-if": Listed("pilotage.cli.what_if", "Tell what would happen if pods, nodes or policy changed."),
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
    """Pilotage, a second scheduler for Kubernetes with policy in Python."""
