"""What all commands share: exit codes, notes, and errors without tracebacks."""

import logging
import re
import sys
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import click

from pilotage.cli.program import WHOLE, is_small, program_name
from pilotage.cluster.kubectl.refusals import NotReached, Refused

Function = TypeVar("Function", bound=Callable[..., Any])

# The program's own name, before a verb.
_BARE_NAME = re.compile(r"(?<!kubectl )(?<![-/.\w])pilotage(?= [a-z])")

SURPRISE, BAD_INPUT, NOT_ALL_PLACED = 1, 2, 3


class BadInput(Exception):
    """Invalid input from the user; the text says what to change."""


class WithExamples(click.Command):
    """A command whose examples name the program as it was called."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        kept = self.epilog
        self.epilog = None if kept is None else _BARE_NAME.sub(program_name(), kept)
        try:
            super().format_epilog(ctx, formatter)
        finally:
            self.epilog = kept


class PlainCommand(WithExamples):
    """A command whose errors are sentences, and tracebacks only if -v asks for them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; bad input ends it with code 2, an unexpected error with 1."""
        verbose = bool(ctx.params.pop("verbose", False))
        _stay_printable()
        _log_to_stderr(verbose=verbose)
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            if verbose:
                traceback.print_exc()
            expected = is_bad_input(error)
            text = _said(error) if expected else f"{type(error).__name__}: {error} (-v shows the traceback)"
            click.echo(f"{'' if expected else 'pilotage failed: '}{text}", err=True)
            raise SystemExit(BAD_INPUT if expected else SURPRISE) from None


def is_bad_input(error: Exception) -> bool:
    """Return whether an error is about user input; its text then says everything."""
    if isinstance(error, BadInput | NotReached | Refused) or _lacks_the_engine(error):
        return True
    if is_small():
        return False
    return _is_bad_input_of_the_engine(error)


def _lacks_the_engine(error: Exception) -> bool:
    return isinstance(error, ModuleNotFoundError) and is_small()


def _said(error: Exception) -> str:
    if isinstance(error, Refused) and error.is_forbidden:
        return f"{error}; {program_name()} doctor shows what you may do"
    if not _lacks_the_engine(error):
        return str(error)
    return f"this is the small plugin, which asks a running scheduler; for an answer without one, {WHOLE}"


def _is_bad_input_of_the_engine(error: Exception) -> bool:
    from pilotage.app.options import InvalidOptions  # imported only after an error: a start must be quick
    from pilotage.app.profile_files import UnusableProfiles
    from pilotage.cluster.transport.api_errors import NoAccess
    from pilotage.cluster.transport.service_tls import BadTLS
    from pilotage.config.faults import InvalidConfiguration
    from pilotage.offline.manifests import BadManifests
    from pilotage.plugins.catalogue import BrokenPlugin
    from pilotage.telemetry.metric_options import InvalidOption
    from pilotage.telemetry.serving_certificate import CannotServe
    from pilotage.telemetry.verbosity import InvalidRule

    at_the_door = NoAccess | CannotServe | BadTLS | InvalidOptions | InvalidOption | InvalidRule
    in_files = InvalidConfiguration | UnusableProfiles | BrokenPlugin | BadManifests
    return isinstance(error, in_files | at_the_door)


def verbose_option(command: Function) -> Function:
    """Add -v to a command."""
    return click.option("-v", "--v", "verbose", is_flag=True, help="Log more, and show tracebacks.")(command)


def plugin_dir_option(command: Function) -> Function:
    """Add --plugin-dir to a command."""
    return click.option(
        "--plugin-dir",
        "plugin_dirs",
        multiple=True,
        metavar="DIR",
        help="A folder with plugins (.py files). Can be repeated.",
    )(command)


def note(text: str) -> None:
    """Print a note that is not part of the answer."""
    click.echo(f"note: {text}", err=True)


def _stay_printable() -> None:
    # A terminal that cannot show a character must not cause a failure.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


class _Sentence(logging.Formatter):
    """Writes the error of a record as one line."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return f"  {ei[0].__name__}: {ei[1]}"


def _log_to_stderr(*, verbose: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter() if verbose else _Sentence())
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if verbose else logging.WARNING, force=True)
