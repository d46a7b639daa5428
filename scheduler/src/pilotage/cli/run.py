"""`pilotage run`: the scheduler on a cluster, with kube-scheduler's flags."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import yaml

from pilotage import app
from pilotage.app.options import API_PORT, FollowedConfigMap, Options, Serving
from pilotage.cli.command import BadInput, PlainCommand, note, plugin_dir_option
from pilotage.cli.flag_types import GoDuration, Names, Verbosity, go_bool, names, options
from pilotage.cli.ignored_flags import IGNORED, IGNORED_BOOLS, ignored_options
from pilotage.cli.outside_flags import directory, hosts
from pilotage.config.load import effective
from pilotage.model.outside_services import CREDENTIALS, OutsideRules
from pilotage.telemetry.metric_options import allowed_labels

EPILOG = """\b
Examples:
  pilotage run --config scheduler.yaml --kubeconfig ~/.kube/config
  pilotage run --config scheduler.yaml --leader-elect-resource-name my-scheduler     (in a cluster)
  pilotage run --secure-port 0 --leader-elect=false --v 2
"""

# With a configuration file these have no effect, as with kube-scheduler.
ONLY_WITHOUT_CONFIG = ("profiling", "contention_profiling", "kube_api_qps", "kube_api_burst", "kube_api_content_type")

LEADER_FIELDS = {
    "leader_elect": "leader_elect",
    "leader_elect_lease_duration": "lease_duration",
    "leader_elect_renew_deadline": "renew_deadline",
    "leader_elect_retry_period": "retry_period",
    "leader_elect_resource_lock": "resource_lock",
    "leader_elect_resource_name": "resource_name",
    "leader_elect_resource_namespace": "resource_namespace",
}


EXISTING = click.Path(exists=True, dir_okay=False)
NAMES = Names()

CONNECTION = options(
    click.option(
        "--config", "config", metavar="FILE", help="The KubeSchedulerConfiguration. Default: kube-scheduler's."
    ),
    click.option(
        "--config-map",
        metavar="NAMESPACE/NAME",
        help="Read the configuration from this ConfigMap instead of --config; changes are hot-reloaded.",
    ),
    click.option(
        "--credentials-dir",
        default=CREDENTIALS,
        show_default=True,
        metavar="DIR",
        callback=directory,
        help="With --config-map: the only folder from which tokens, keys and certificates are read.",
    ),
    click.option(
        "--allowed-hosts",
        type=NAMES,
        default="",
        metavar="HOST[:PORT],...",
        callback=hosts,
        help="With --config-map: the hosts that profiles may use. Default: any host, without credentials.",
    ),
    click.option(
        "--write-config-to", metavar="FILE", help="Write the configuration, with all defaults, to FILE and exit."
    ),
    click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="The kubeconfig. Default: the pod's service account, or kubectl's.",
    ),
    click.option("--master", default="", metavar="URL", help="The API server's address, instead of the kubeconfig's."),
    click.option(
        "--kube-api-qps",
        type=float,
        help="Requests per second to the API server; only without --config. Default: no limit.",
    ),
    click.option("--kube-api-burst", type=int, help="The burst above --kube-api-qps; only without --config."),
    click.option(
        "--pod-max-in-unschedulable-pods-duration",
        type=GoDuration(),
        default="5m",
        show_default=True,
        help="After this time an unschedulable pod is retried even if no event concerns it.",
    ),
)

GUARDING = options(
    click.option(
        "--plugin-call-budget",
        type=GoDuration(),
        default="1s",
        show_default=True,
        help="A call of a custom plugin that takes longer is aborted, and counts as a failure. 0: no limit.",
    ),
    click.option(
        "--crash-record",
        default="",
        metavar="FILE",
        help="Record the current plugin call in FILE, so that a call that crashed the process is not repeated at once.",
    ),
    go_bool(
        "--limit-memory",
        "Stay below the container's memory limit, so that a plugin that allocates too much fails alone.",
        default=True,
    ),
)

LEADER = options(
    go_bool(
        "--leader-elect", "Elect a leader among the replicas; only the leader schedules. Default: as configured (true)."
    ),
    click.option(
        "--leader-elect-lease-duration",
        type=GoDuration(),
        help="How long others wait without a renewal before they take the lease.",
    ),
    click.option(
        "--leader-elect-renew-deadline",
        type=GoDuration(),
        help="How long the leader retries a renewal before it stops.",
    ),
    click.option("--leader-elect-retry-period", type=GoDuration(), help="The time between two attempts."),
    click.option("--leader-elect-resource-lock", type=click.Choice(["leases"]), help="The kind of lock."),
    click.option("--leader-elect-resource-name", help="The name of the Lease; different from kube-scheduler's."),
    click.option("--leader-elect-resource-namespace", help="The namespace of the Lease."),
)


def _headers(name: str, default: str, help_text: str) -> Callable[[Any], Any]:
    return click.option(
        f"--requestheader-{name}", type=NAMES, default=default, metavar="NAME,...", help=help_text, show_default=True
    )


SERVING = options(
    click.option("--bind-address", default="0.0.0.0", show_default=True, help="The address to listen on."),  # noqa: S104
    click.option(
        "--secure-port",
        type=click.IntRange(0, 65535),
        default=10259,
        show_default=True,
        help="The HTTPS port; 0: none.",
    ),
    click.option(
        "--api-port",
        type=click.IntRange(0, 65535),
        help=f"The HTTPS port of the read API (docs/api.md); 0: none. Default: {API_PORT}; none with --secure-port 0.",
    ),
    click.option("--tls-cert-file", default="", help="The serving certificate. Default: a self-signed one."),
    click.option("--tls-private-key-file", default="", help="Its key."),
    click.option("--tls-min-version", default="", metavar="VersionTLS1x", help="The minimum TLS version."),
    click.option(
        "--tls-cipher-suites", type=NAMES, default="", metavar="NAME,...", help="The cipher suites of TLS 1.2."
    ),
    go_bool("--permit-port-sharing", "Let other processes listen on the same port.", default=False),
    click.option("--client-ca-file", type=EXISTING, help="The CA of client certificates."),
    click.option("--requestheader-client-ca-file", type=EXISTING, help="The CA of front proxies' certificates."),
    _headers("allowed-names", "", "The common names of front proxies. Default: any."),
    _headers("username-headers", "x-remote-user", "The headers with the user name."),
    _headers("uid-headers", "", "The headers with the user's uid."),
    _headers("group-headers", "x-remote-group", "The headers with the user's groups."),
    _headers("extra-headers-prefix", "x-remote-extra-", "The prefix of headers with further attributes."),
    go_bool("--authentication-skip-lookup", "Do not look up the cluster's client CA.", default=False),
    click.option("--authentication-token-webhook-cache-ttl", type=GoDuration(), default="10s", show_default=True),
    click.option("--authorization-webhook-cache-authorized-ttl", type=GoDuration(), default="10s", show_default=True),
    click.option("--authorization-webhook-cache-unauthorized-ttl", type=GoDuration(), default="10s", show_default=True),
    click.option(
        "--authorization-always-allow-paths", type=NAMES, default="/healthz,/readyz,/livez", show_default=True
    ),
)

TELLING = options(
    go_bool("--profiling", "Serve /debug/pprof. Default: as configured (true)."),
    click.option("--disabled-metrics", type=NAMES, default="", metavar="NAME,...", help="Metrics to disable."),
    click.option(
        "--allow-metric-labels",
        multiple=True,
        metavar="METRIC,LABEL='VALUE,...'",
        help="The allowed values of a label; all others become `unexpected`.",
    ),
    click.option("-v", "--v", "verbosity", type=Verbosity(0, 10), default=0, help="Log verbosity, 0 to 10."),
    click.option("--vmodule", default="", metavar="MODULE=N,...", help="Log verbosity of single modules."),
    click.option(
        "--logging-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="The log format.",
    ),
)


@click.command("run", cls=PlainCommand, epilog=EPILOG)
@CONNECTION
@plugin_dir_option
@GUARDING
@LEADER
@SERVING
@TELLING
@ignored_options()
@click.version_option(package_name="pilotage", prog_name="pilotage", message="%(prog)s %(version)s")
@click.argument("arguments", nargs=-1, metavar="", expose_value=False, callback=lambda _, __, given: _refuse(given))
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Run the scheduler on a cluster.

    Serves the profiles of the configuration; a pod chooses one by its schedulerName. The exit code is 0 when stopped by
    a signal, 1 when the lease is lost or the scheduler fails, and 2 when it cannot start with these options.
    """
    explicit = {name for name in given if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE}
    said = to_options(given, explicit)
    ready = app.configured(_source(given), given["plugin_dirs"], enable=not given["config_map"])
    unused = _of_no_use(given, explicit, ready.loaded.config.client_connection.kubeconfig)
    for text in (*ready.loaded.warnings, *unused):
        note(text)
    if given["write_config_to"]:
        _write(Path(given["write_config_to"]), effective(said.applied(ready.loaded.config)))
        return
    from pilotage.app.event_loop import EventLoop
    from pilotage.app.running import run

    with asyncio.Runner(loop_factory=EventLoop) as runner:
        sys.exit(runner.run(run(ready, said)))


def _source(given: dict[str, Any]) -> Path | None:
    if given["config"] and given["config_map"]:
        raise click.UsageError("--config and --config-map exclude each other; use one of them")
    if given["write_config_to"] and given["config_map"]:
        raise click.UsageError("--write-config-to does not work with --config-map; use --config")
    return Path(given["config"]) if given["config"] else None


def _followed(given: str | None) -> FollowedConfigMap | None:
    if given is None:
        return None
    namespace, _, name = given.partition("/")
    if not namespace or not name or "/" in name:
        raise BadInput(f"--config-map: {given!r} is not of the form NAMESPACE/NAME")
    pod = (os.environ.get("POD_NAMESPACE", namespace), os.environ.get("POD_NAME", ""))
    if not pod[1]:
        note("POD_NAME is not set in the environment, so the running configuration is not reported")
    return FollowedConfigMap(namespace, name, *pod)


def _refuse(arguments: tuple[str, ...]) -> None:
    if arguments:
        raise click.UsageError(f"run takes no arguments, only flags; remove {' '.join(arguments)}")


def _write(file: Path, config: dict[str, Any]) -> None:
    try:
        file.write_text(yaml.safe_dump(config, sort_keys=False))
    except OSError as error:
        raise BadInput(f"--write-config-to: cannot write {file}: {error.strerror}") from None


def _of_no_use(given: dict[str, Any], explicit: set[str], configured_kubeconfig: str) -> list[str]:
    """Return notes about flags without effect."""
    reasons = {_name(flag): reason for flag, reason in (IGNORED | IGNORED_BOOLS).items()}
    if given["config"]:
        reasons |= dict.fromkeys(ONLY_WITHOUT_CONFIG, "the file of --config sets it")
    if configured_kubeconfig not in ("", given["kubeconfig"]):
        reasons["kubeconfig"] = f"the file of --config names {configured_kubeconfig}"
    return [
        f"--{name.replace('_', '-')} is ignored: {reasons[name]}" for name in given if name in explicit & set(reasons)
    ]


def _name(flag: str) -> str:
    return flag.removeprefix("--").replace("-", "_")


def to_options(given: dict[str, Any], explicit: set[str]) -> Options:
    """Return the options; with a configuration file some flags have no effect, as with kube-scheduler."""
    alone = not given["config"]
    return Options(
        kubeconfig=given["kubeconfig"],
        config_map=_followed(given["config_map"]),
        outside=OutsideRules(given["credentials_dir"], given["allowed_hosts"]) if given["config_map"] else None,
        master=given["master"],
        qps=given["kube_api_qps"] if alone else None,
        burst=given["kube_api_burst"] if alone else None,
        profiling=given["profiling"] if alone else None,
        leader_election={field: given[name] for name, field in LEADER_FIELDS.items() if name in explicit},
        longest_unschedulable=given["pod_max_in_unschedulable_pods_duration"] / 1e9,
        plugin_call_budget=given["plugin_call_budget"] / 1e9,
        crash_record=given["crash_record"],
        limits_memory=given["limit_memory"],
        feature_gates=_gates(given["feature_gates"]),
        disabled_metrics=given["disabled_metrics"],
        allowed_labels=allowed_labels(given["allow_metric_labels"]),
        serving=_serving(given),
        verbosity=given["verbosity"],
        vmodule=given["vmodule"],
        logging_format=given["logging_format"],
        flags={name.replace("_", "-"): str(value) for name, value in sorted(given.items()) if value is not None},
    )


def _serving(given: dict[str, Any]) -> Serving:
    return Serving(
        bind_address=given["bind_address"],
        secure_port=given["secure_port"],
        api_port=_api_port(given),
        api_port_is_wanted=given["api_port"] is not None,
        tls_cert_file=given["tls_cert_file"],
        tls_private_key_file=given["tls_private_key_file"],
        tls_min_version=given["tls_min_version"],
        tls_cipher_suites=given["tls_cipher_suites"],
        client_ca_file=given["client_ca_file"] or "",
        **{name: given[name] for name in given if name.startswith("requestheader_") and given[name] is not None},
        authentication_skip_lookup=given["authentication_skip_lookup"],
        authentication_cache_seconds=given["authentication_token_webhook_cache_ttl"] / 1e9,
        authorized_cache_seconds=given["authorization_webhook_cache_authorized_ttl"] / 1e9,
        unauthorized_cache_seconds=given["authorization_webhook_cache_unauthorized_ttl"] / 1e9,
        always_allow_paths=given["authorization_always_allow_paths"],
        share_port=given["permit_port_sharing"],
    )


def _api_port(given: dict[str, Any]) -> int:
    """Return the port of the read API; without a secure port there is one only if it was named."""
    named: int | None = given["api_port"]
    if named is None:
        return API_PORT if given["secure_port"] else 0
    return named


def _gates(given: tuple[str, ...]) -> dict[str, bool]:
    gates = {}
    for entry in (entry for text in given for entry in names(text)):
        name, _, value = entry.rpartition(":")[2].partition("=")
        if value.lower() not in ("true", "false"):
            raise BadInput(f"--feature-gates: {entry!r} is neither KEY=true nor KEY=false")
        gates[name] = value.lower() == "true"
    return gates
