"""The program `pilotage` and its commands, each of which is imported when it runs."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from pilotage.cli.program import WHOLE, is_small, program_name


class Listed(NamedTuple):
    """The module of a command, its line in the help, and whether the small plugin has it."""

    module: str
    help: str
    small: bool = False


COMPLETE = "__complete"  # as kubectl's own hidden verb
COMMANDS = {
    "capacity": Listed("pilotage.cli.capacity", "Show how many copies of a pod fit, and what stops the next one."),
    "check": Listed("pilotage.cli.check", "Validate SchedulerProfiles as the operator does."),
    "check-config": Listed("pilotage.cli.check_config", "Validate a KubeSchedulerConfiguration, and print all of it."),
    "completion": Listed("pilotage.cli.completion", "Print a completion script for a shell or for kubectl.", True),
    "convert": Listed("pilotage.cli.convert", "Convert other schedulers' configuration to SchedulerProfiles."),
    "diff": Listed("pilotage.cli.diff", "Compare a SchedulerProfile with a file, or with what runs."),
    "doctor": Listed("pilotage.cli.doctor", "Check an installation and your rights, with fixes.", True),
    "drain-sim": Listed("pilotage.cli.drain_sim", "Show where the pods of a node would go if it were drained."),
    "explain": Listed("pilotage.cli.explain", "Explain why a pod is pending, or why it runs on its node.", True),
    "extender": Listed("pilotage.cli.extender", "Serve the plugins to kube-scheduler, as an HTTP extender."),
    "history": Listed("pilotage.cli.history", "Show the history of a SchedulerProfile or of a pod.", True),
    "plugins": Listed("pilotage.cli.plugins", "List all plugins, or describe one."),
    "profile": Listed("pilotage.cli.profile", "Enable or disable a plugin of a SchedulerProfile."),
    "queue": Listed("pilotage.cli.queue", "Show which pods are waiting, and why.", True),
    "run": Listed("pilotage.cli.run", "Run the scheduler on a cluster."),
    "simulate": Listed("pilotage.cli.simulate", "Schedule pods from manifests or dumps, without a cluster."),
    "status": Listed("pilotage.cli.status", "Show the health of schedulers and their profiles.", True),
    "top": Listed("pilotage.cli.top", "Show how full nodes are, what still fits, and plugin costs.", True),
    "what-if": Listed("pilotage.cli.what_if", "Show what would happen if pods, nodes or policies changed."),
}


class CommandsOnDemand(click.Group):
    """A group that lists its commands by name, and imports only the one that runs."""

    def main(self, *given: Any, **named: Any) -> Any:
        """Run under the name that the program was called by."""
        args = given[0] if given else named.get("args")
        words = list(sys.argv[1:] if args is None else args)
        if words[:1] == [COMPLETE]:
            complete(words[1:])
            return None
        if len(given) < 2:
            named.setdefault("prog_name", program_name())
        return super().main(*given, **named)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands that this program has."""
        return list(_offered())

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command; the error for a mistyped one names a similar one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = get_close_matches(args[0], _offered(), n=1)
            if not near or args[0] in COMMANDS or "Did you mean" in error.message:
                raise
            raise click.UsageError(f"{error.message} Did you mean {near[0]!r}?", ctx) from None

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command; None if there is none of this name."""
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        if is_small() and not listed.small:
            raise click.UsageError(f"{cmd_name} is not in the small plugin; {WHOLE}")
        command = import_module(listed.module).command
        assert isinstance(command, click.Command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands with this prefix, without importing any."""
        found = [
            CompletionItem(name, help=listed.help) for name, listed in _offered().items() if name.startswith(incomplete)
        ]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table above, which makes help fast."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, listed.help) for name, listed in _offered().items()])


def _offered() -> dict[str, Listed]:
    return {name: listed for name, listed in COMMANDS.items() if listed.small or not is_small()}


@click.group(
    cls=CommandsOnDemand,
    epilog=f"Example:  {program_name()} explain web-1",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="pilotage", prog_name="pilotage", message="%(prog)s %(version)s")
def main() -> None:
    """Pilotage, a second scheduler for Kubernetes with policy in Python."""


def complete(words: Sequence[str] | None = None) -> None:
    """Print candidates for kubectl, which calls this program with the words so far."""
    from pilotage.cli.candidates import print_for_kubectl  # only a shell that completes asks for it

    print_for_kubectl(main, sys.argv[1:] if words is None else words)
