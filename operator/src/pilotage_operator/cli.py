"""The command line of the operator."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click
import yaml

from pilotage.model.outside_services import CREDENTIALS, OutsideRules, wrong_directory, wrong_host
from pilotage.scheduler_profiles.checking import judged
from pilotage.scheduler_profiles.resource import KIND
from pilotage.telemetry.logs import set_up_logs
from pilotage_operator.controllers.registry import CONTROLLERS
from pilotage_operator.plugin_catalogue import judge_with
from pilotage_operator.settings import settings_for
from pilotage_operator.verification.command import verify

F = TypeVar("F", bound=Callable[..., Any])

_INVALID = 2
_DEBUG = 4
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


@click.group(
    epilog="Example:  pilotage-operator judge -f profile.yaml",
    context_settings=_CONTEXT,
)
@click.version_option(package_name="pilotage-operator", prog_name="pilotage-operator", message="%(prog)s %(version)s")
def main() -> None:
    """The operator of Pilotage: turns SchedulerProfile resources into a running configuration."""


main.add_command(verify)


def _option(*names: str, variable: str, text: str, **more: Any) -> Callable[[F], F]:
    return click.option(*names, envvar=variable, help=text, show_envvar=True, **more)


_PLUGIN_FOLDERS = _option(
    "--plugin-dir",
    "plugin_folders",
    variable="PILOTAGE_PLUGIN_DIR",
    text="A folder with plugins (.py files). Can be repeated.",
    multiple=True,
    type=click.Path(path_type=Path, file_okay=False),
)


def _kinds(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the named kinds."""
    known = tuple(controller.resource.kind for controller in CONTROLLERS)
    wanted = known if value == "all" else tuple(name.strip() for name in value.split(",") if name.strip())
    if strange := [name for name in wanted if name not in known]:
        raise click.BadParameter(f"there is no controller for {', '.join(strange)}; there are: {', '.join(known)}")
    return wanted


def _names(context: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """Return the names of a comma-separated list."""
    return None if value is None else tuple(name.strip() for name in value.split(",") if name.strip())


def _directory(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return a directory for credentials."""
    if why := wrong_directory(value):
        raise click.BadParameter(why)
    return value


def _hosts(context: click.Context, parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Return the named hosts."""
    found = _names(context, parameter, value) or ()
    for why in filter(None, map(wrong_host, found)):
        raise click.BadParameter(why)
    return found


@main.command(
    epilog="Example:  pilotage-operator run --namespace=kube-system --release=pilotage --kubeconfig=$HOME/.kube/config"
)
@_option("--namespace", variable="PILOTAGE_NAMESPACE", text="The namespace of the release.", default=None)
@_option("--release", variable="PILOTAGE_RELEASE", text="The name of the release.", required=True)
@_option("--fullname", variable="PILOTAGE_FULLNAME", text="The prefix of its objects' names [default: the release].")
@_option(
    "--scheduler-deployment",
    variable="PILOTAGE_SCHEDULER_DEPLOYMENT",
    text="The Deployment of the scheduler; empty if there is none [default: FULLNAME-scheduler].",
)
@_option(
    "--scheduler-selector",
    variable="PILOTAGE_SCHEDULER_SELECTOR",
    text="The labels of the scheduler's pods [default: app.kubernetes.io/instance=RELEASE,"
    "app.kubernetes.io/component=scheduler].",
)
@_option(
    "--scheduler-service-account",
    variable="PILOTAGE_SCHEDULER_SERVICE_ACCOUNT",
    text="The scheduler's service account [default: FULLNAME-scheduler].",
)
@_option("--config-map", variable="PILOTAGE_CONFIG_MAP", text="The scheduler's ConfigMap [default: FULLNAME-config].")
@_option(
    "--owner",
    variable="PILOTAGE_OWNER",
    text="The ClusterRole that owns the profiles of the values; empty: no owner [default: FULLNAME-operator].",
)
@_option(
    "--values-file",
    "--values",
    "values_file",
    variable="PILOTAGE_VALUES_FILE",
    text="The profiles of the chart's values: a list of {name, spec}. Default: none are created or deleted.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@_option(
    "--liveness-port",
    variable="PILOTAGE_LIVENESS_PORT",
    text="The port of /healthz; 0: none.",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
)
@_option(
    "--metrics-port",
    variable="PILOTAGE_METRICS_PORT",
    text="The port of /metrics; 0: none.",
    default=0,
    show_default=True,
    type=click.IntRange(0, 65535),
)
@_option(
    "--controllers",
    variable="PILOTAGE_CONTROLLERS",
    text="The kinds to run controllers for, if the cluster serves them: all, or a comma-separated list; empty: none.",
    default="all",
    show_default=True,
    callback=_kinds,
)
@_option(
    "--taint-nodes",
    variable="PILOTAGE_TAINT_NODES",
    text="Taint the nodes of profiles with spec.nodes.taint; requires `patch` on nodes.",
    is_flag=True,
    default=False,
)
@_option(
    "--credentials-dir",
    variable="PILOTAGE_CREDENTIALS_DIR",
    text="The folder from which the scheduler reads the tokens and keys of profiles.",
    default=CREDENTIALS,
    show_default=True,
    callback=_directory,
)
@_option(
    "--credential-secrets",
    variable="PILOTAGE_CREDENTIAL_SECRETS",
    text="The Secrets mounted there, comma-separated [default: unknown, and not validated].",
    callback=_names,
)
@_option(
    "--allowed-hosts",
    variable="PILOTAGE_ALLOWED_HOSTS",
    text="The hosts that profiles may use, comma-separated; empty: any host, without credentials.",
    default="",
    callback=_hosts,
)
@_option("--kubeconfig", variable="PILOTAGE_KUBECONFIG", text="The kubeconfig [default: the pod's service account].")
@_option(
    "--log-format",
    variable="PILOTAGE_LOG_FORMAT",
    text="The log format.",
    default="text",
    show_default=True,
    type=click.Choice(["text", "json"]),
)
@_option("--verbose", variable="PILOTAGE_VERBOSE", text="Log more.", is_flag=True)
@click.pass_context
def run(context: click.Context, /, release: str, log_format: str, verbose: bool, **given: Any) -> None:
    """Reconcile the SchedulerProfiles of one release until stopped."""
    # kopf takes a second to import, which only this command should pay for.
    from pilotage_operator.cluster import NoClusterAccess
    from pilotage_operator.operate import operate

    namespace = given.pop("namespace") or _own_namespace(context)
    outside = ("credentials_dir", "allowed_hosts", "credential_secrets")
    given["outside"] = OutsideRules(*(given.pop(each) for each in outside))
    set_up_logs(_DEBUG if verbose else 0, json=log_format == "json")
    try:
        asyncio.run(operate(settings_for(namespace, release, **given)))
    except NoClusterAccess as error:
        raise click.ClickException(str(error)) from error


def _own_namespace(context: click.Context) -> str:
    if found := os.environ.get("POD_NAMESPACE"):
        return found
    raise click.UsageError("name the namespace of the release with --namespace", context)


@main.command(epilog="Example:  pilotage-operator judge -f examples/profiles/priority.yaml")
@click.option("-f", "--file", "file", type=click.File("r"), required=True, help="Manifests; - for standard input.")
@_PLUGIN_FOLDERS
def judge(file: TextIO, plugin_folders: tuple[Path, ...]) -> None:
    """Validate SchedulerProfiles offline and print all errors; the exit code is 2 if there are any."""
    try:
        documents = [each for each in yaml.safe_load_all(file) if isinstance(each, dict) and each.get("kind") == KIND]
    except (yaml.YAMLError, RecursionError) as error:
        raise click.ClickException(f"{file.name}: it is not YAML: {error}") from error
    if not documents:
        raise click.ClickException(f"{file.name}: there is no {KIND} in it")
    set_up_logs()
    found = judged(documents, judge_with(plugin_folders))
    for name, faults in found:
        click.echo(f"{name}: it can run" if not faults else "\n".join(f"{name}: {fault}" for fault in faults))
    sys.exit(_INVALID if any(faults for _, faults in found) else 0)
