"""Flags of kube-scheduler without effect here, so that command lines written for it work."""

from collections.abc import Callable
from typing import Any

import click

from pilotage.cli.flag_types import go_bool, options

NO_HTTP2 = "HTTP/2 is not served"
OWN_VERSION = "each version of pilotage emulates one version of kube-scheduler"
SAME_SERVER = "the API server of --kubeconfig is used"
UNBUFFERED = "log lines are not buffered"
IGNORED = {
    "--cert-dir": "self-signed certificates are kept in memory",
    "--tls-sni-cert-key": "there is only the certificate of --tls-cert-file",
    "--tls-curve-preferences": "OpenSSL chooses the curves",
    "--http2-max-streams-per-connection": NO_HTTP2,
    "--authentication-kubeconfig": SAME_SERVER,
    "--authorization-kubeconfig": SAME_SERVER,
    "--kube-api-content-type": "the API server is used with JSON",
    "--feature-gates": "every gate has kube-scheduler's default",
    "--emulated-version": OWN_VERSION,
    "--min-compatibility-version": OWN_VERSION,
    "--show-hidden-metrics-for-version": "no metric is hidden",
    "--allow-metric-labels-manifest": "use --allow-metric-labels",
    "--log-flush-frequency": UNBUFFERED,
    "--log-text-info-buffer-size": UNBUFFERED,
    "--log-json-info-buffer-size": UNBUFFERED,
}
IGNORED_BOOLS = {
    "--disable-http2-serving": NO_HTTP2,
    "--permit-address-sharing": "an address in TIME_WAIT is always reused",
    "--authentication-tolerate-lookup-failure": "a failed lookup is retried until it succeeds",
    "--contention-profiling": "there are no locks here",
    "--log-text-split-stream": "everything goes to stderr",
    "--log-json-split-stream": "everything goes to stderr",
}


def ignored_options() -> Callable[[Any], Any]:
    """Add kube-scheduler's flags that have no effect here."""
    values = [
        click.option(name, multiple=True, metavar="...", help=f"Accepted and ignored: {reason}.")
        for name, reason in IGNORED.items()
    ]
    return options(*values, *(go_bool(name, f"Accepted and ignored: {why}.") for name, why in IGNORED_BOOLS.items()))
