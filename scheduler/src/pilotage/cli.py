"""The command line of the scheduler."""

import click


@click.group(
    epilog="Example:  pilotage --version",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="pilotage", prog_name="pilotage", message="%(prog)s %(version)s")
def main() -> None:
    """Pilotage, a second scheduler for Kubernetes whose policy is Python."""
