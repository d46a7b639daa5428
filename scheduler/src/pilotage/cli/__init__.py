"""The command line of the scheduler."""

from pilotage.cli.group import main

__all__ = ["main"]
