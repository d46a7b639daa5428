"""The command line of the scheduler."""

from pilotage.cli.group import complete, main

__all__ = ["complete", "main"]
