"""`pilotage completion`: what a shell, or kubectl, needs to complete words."""

import click
from click.shell_completion import get_completion_class

from pilotage.cli.command import PlainCommand, verbose_option

FOR_KUBECTL = """\
#!/bin/sh
# kubectl runs this as kubectl_complete-pilotage when <TAB> follows `kubectl pilotage`; put it on PATH, executable.
exec kubectl-pilotage __complete "$@"
"""
SHELLS = ("bash", "zsh", "fish", "kubectl")

EPILOG = """\b
Examples:
  pilotage completion bash > /etc/bash_completion.d/pilotage
  pilotage completion kubectl > ~/.local/bin/kubectl_complete-pilotage
  chmod +x ~/.local/bin/kubectl_complete-pilotage

\b
The second lets kubectl complete `kubectl pilotage` after `source <(kubectl completion bash)`; pipx and uv install that
file, and krew does not.
"""


@click.command("completion", cls=PlainCommand, epilog=EPILOG)
@click.argument("shell", type=click.Choice(SHELLS))
@verbose_option
def command(shell: str) -> None:
    """Print a script that completes the words of `pilotage` in a shell, or of `kubectl pilotage` in kubectl."""
    if shell == "kubectl":
        click.echo(FOR_KUBECTL, nl=False)
        return
    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(click.get_current_context().find_root().command, {}, "pilotage", "_PILOTAGE_COMPLETE").source())
