"""The command line of the operator."""

import click


@click.group(
    epilog="Example:  pilotage-operator --version",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="pilotage-operator", prog_name="pilotage-operator", message="%(prog)s %(version)s")
def main() -> None:
    """The operator of Pilotage: turns SchedulerProfile resources into a running configuration."""
