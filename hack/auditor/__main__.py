"""The command line."""

import asyncio
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

import click

from auditor.kubeconfig import BadKubeconfig, access_of
from auditor.observer import CannotWatch
from auditor.rules import RULES
from auditor.serves import BadService, serves_of
from auditor.vigil import Options, Vigil

CLEAN, VIOLATIONS, UNABLE = 0, 1, 2
HELP = """Watch a cluster and report violations of rules that every scheduler must follow.

Runs until SIGTERM or SIGINT. Exit code 0: clean. 1: violations. 2: the cluster could not be watched.

\b
Example:
  python -m auditor --kubeconfig admin.kubeconfig --audit-log audit.log --report report.json \\
      --serves system:kube-scheduler=default-scheduler \\
      --serves system:serviceaccount:kube-system:pilotage=pilotage,batch
"""
EPILOG = "\b\nRules:\n" + "\n".join(f"  {name:18} {sentence}" for name, sentence in RULES.items())
FILE = click.Path(path_type=Path, dir_okay=False)
SECONDS = click.FloatRange(min=0)
WAIT_HELP = "Seconds that a pod may wait although it fits; 0 for any time."
GRACE_HELP = "Seconds that an event may take to reach a scheduler."


@click.command(help=HELP, epilog=EPILOG)
@click.option("--kubeconfig", type=FILE, required=True, help="The kubeconfig of the API server.")
@click.option("--audit-log", type=FILE, required=True, help="The API server's audit log; it may not exist yet.")
@click.option("--report", type=FILE, required=True, help="The file for the findings, as JSON.")
@click.option("--ready-file", type=FILE, help="Written once the auditor sees everything.")
@click.option("--serves", multiple=True, metavar="USER=NAME[,NAME...]", help="Whose pods a user may bind; * for all.")
@click.option("--wait-limit", type=SECONDS, default=60, show_default=True, help=WAIT_HELP)
@click.option("--grace", type=SECONDS, default=5, show_default=True, help=GRACE_HELP)
@click.option("--namespace", "namespaces", multiple=True, help="Report only pods of this namespace; all are counted.")
def main(kubeconfig: Path, serves: tuple[str, ...], namespaces: tuple[str, ...], **rest: Any) -> None:
    """Run one audit and exit with its verdict."""
    try:
        for file in ("audit_log", "report", "ready_file"):
            check_folder(rest[file])
        for file in ("report", "ready_file"):
            forget(rest[file])
        chosen = {"serves": serves_of(serves), "namespaces": frozenset(namespaces), **rest}
        sys.exit(asyncio.run(audited(Options(access=access_of(kubeconfig), **chosen))))
    except (BadKubeconfig, BadService, CannotWatch, OSError) as error:
        fail(str(error))
    except Exception:
        # Exit code 1 would read as a violation.
        traceback.print_exc()
        fail("it stopped because of an internal error")


async def audited(options: Options) -> int:
    """Run one audit, print its verdict and return the exit code."""
    vigil = Vigil(options, say=lambda line: click.echo(line, err=True))
    try:
        await vigil.keep()
    except CannotWatch as error:
        # Findings stay, even if something else could not be observed.
        if not vigil.found:
            raise
        click.echo(f"auditor: {error}", err=True)
    click.echo(vigil.verdict)
    return VIOLATIONS if vigil.found else CLEAN


def check_folder(file: Path | None) -> None:
    """Reject a file that cannot be created."""
    if file and not file.absolute().parent.is_dir():
        raise OSError(f"the folder of {file} does not exist; create it or name another file")


def forget(file: Path | None) -> None:
    """Remove the output of an earlier run, so that it is not mistaken for this one's."""
    if file:
        file.unlink(missing_ok=True)


def fail(reason: str) -> NoReturn:
    """Say why there is no verdict, and exit."""
    click.echo(f"auditor: {reason}", err=True)
    sys.exit(UNABLE)


if __name__ == "__main__":
    main(prog_name="python -m auditor")
