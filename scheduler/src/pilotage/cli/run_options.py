"""The options of `pilotage run`, from its flags."""

import os
from typing import Any

from pilotage.app.options import API_PORT, FollowedConfigMap, Options, Serving
from pilotage.cli.command import BadInput, note
from pilotage.cli.flag_types import names
from pilotage.model.outside_services import OutsideRules
from pilotage.telemetry.metric_options import allowed_labels

LEADER_FIELDS = {
    "leader_elect": "leader_elect",
    "leader_elect_lease_duration": "lease_duration",
    "leader_elect_renew_deadline": "renew_deadline",
    "leader_elect_retry_period": "retry_period",
    "leader_elect_resource_lock": "resource_lock",
    "leader_elect_resource_name": "resource_name",
    "leader_elect_resource_namespace": "resource_namespace",
}


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
    """Return the port of the read API; without a secure port there is one only if it is set explicitly."""
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
