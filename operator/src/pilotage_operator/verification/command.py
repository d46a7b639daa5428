"""`pilotage-operator verify`: what `helm test` runs."""

import asyncio
import sys
from pathlib import Path

import click

from pilotage_operator.settings import settings_for
from pilotage_operator.verification.findings import Finding

EPILOG = """\b
Example:  pilotage-operator verify --namespace=pilotage --release=pilotage --kubeconfig=$HOME/.kube/config
"""


@click.command(epilog=EPILOG)
@click.option("--namespace", required=True, help="The namespace of the release.")
@click.option("--release", required=True, help="The name of the release.")
@click.option("--fullname", help="The prefix of its objects' names [default: the release].")
@click.option("--scheduler-selector", help="The labels of the scheduler's pods [default: as in run].")
@click.option(
    "--values-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The expected profiles of the release: a list of {name, spec}.",
)
@click.option(
    "--test-selector", default="", help="The labels of test pods, one per scheduler name, that the release must place."
)
@click.option("--timeout", "seconds", type=click.FloatRange(0), default=90.0, show_default=True, help="In seconds.")
@click.option("--kubeconfig", default="", help="The kubeconfig [default: the pod's service account].")
def verify(
    namespace: str,
    release: str,
    fullname: str | None,
    scheduler_selector: str | None,
    values_file: Path | None,
    test_selector: str,
    seconds: float,
    kubeconfig: str,
) -> None:
    """Check that the profiles of a release are Ready and that its replicas place pods; the exit code is 1 if not."""
    from pilotage_operator.cluster import NoClusterAccess, connect
    from pilotage_operator.verification import watching

    settings = settings_for(
        namespace,
        release,
        fullname=fullname,
        scheduler_selector=scheduler_selector,
        values_file=values_file,
        kubeconfig=kubeconfig,
    )

    async def found() -> list[Finding]:
        cluster = connect(settings)
        try:
            return await watching.verify(cluster, watching.Verification(settings, test_selector, seconds))
        finally:
            await cluster.close()

    try:
        findings = asyncio.run(found())
    except NoClusterAccess as error:
        raise click.ClickException(str(error)) from error
    for finding in sorted(findings, key=lambda finding: finding.is_well):
        click.echo(str(finding))
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)
