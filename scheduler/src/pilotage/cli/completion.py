"""`pilotage completion`: completion scripts for shells and for kubectl."""

import click
from click.shell_completion import get_completion_class

from pilotage.cli.command import PlainCommand, verbose_option

FOR_KUBECTL = """\
#!/bin/sh
# kubectl runs this as kubectl_complete-pilotage to complete `kubectl pilotage`; it must be on PATH and executable.
exec kubectl-pilotage __complete "$@"
"""
SHELLS = ("bash", "zsh", "fish", "kubectl")

EPILOG = """\b
Examples:
  pilotage completion bash > /etc/bash_completion.d/pilotage
  pilotage completion kubectl > ~/.local/bin/kubectl_complete-pilotage
  chmod +x ~/.local/bin/kubectl_complete-pilotage

\b
The second file completes `kubectl pilotage`, once completion of kubectl itself is set up. pipx and uv install it; krew
does not.
"""


@click.command("completion", cls=PlainCommand, epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
@verbose_option
def command(shell: str) -> None:
    """Print the completion script for a shell, or the one with which kubectl completes `kubectl pilotage`."""
    if shell == "kubectl":
        click.echo(FOR_KUBECTL, nl=False)
        return
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(click.get_current_context().find_root().command, {}, "pilotage", "_PILOTAGE_COMPLETE").source())
