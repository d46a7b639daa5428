"""`pilotage run`: the scheduler on a cluster, with kube-scheduler's flags."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pilotage.cli.command import BadInput, PlainCommand, note, plugin_dir_option
from pilotage.cli.flag_types import GoDuration, Names, Verbosity, go_bool, options
from pilotage.cli.ignored_flags import IGNORED, IGNORED_BOOLS, ignored_options
from pilotage.cli.outside_flags import directory, hosts
from pilotage.cluster.kubectl.names import API_PORT
from pilotage.model.outside_services import CREDENTIALS

EPILOG = """\b
Examples:
  pilotage run --config scheduler.yaml --kubeconfig ~/.kube/config
  pilotage run --config scheduler.yaml --leader-elect-resource-name my-scheduler     (in a cluster)
  pilotage run --secure-port 0 --leader-elect=false --v 2
"""

# With a configuration file these have no effect, as with kube-scheduler.
ONLY_WITHOUT_CONFIG = ("profiling", "contention_profiling", "kube_api_qps", "kube_api_burst", "kube_api_content_type")

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
    import asyncio  # help must be there at once, and all this takes half a second

    from pilotage import app
    from pilotage.cli.run_options import to_options
    from pilotage.config.load import effective

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


def _refuse(arguments: tuple[str, ...]) -> None:
    if arguments:
        raise click.UsageError(f"run takes no arguments, only flags; remove {' '.join(arguments)}")


def _write(file: Path, config: dict[str, Any]) -> None:
    import yaml

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
