"""The options of `pilotage run`, beside the configuration file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.model.outside_services import OutsideRules

API_PORT = 10260


class InvalidOptions(Exception):
    """The command line is invalid; the text says what to change."""


@dataclass(frozen=True)
class Serving:
    """The settings of the HTTPS server."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - probes come from the node, as with kube-scheduler
    secure_port: int = 10259  # 0 for none
    api_port: int = 0  # of the read API; 0 for none
    api_port_is_wanted: bool = False  # set explicitly, so it is an error if the port is not available
    tls_cert_file: str = ""
    tls_private_key_file: str = ""
    tls_min_version: str = ""
    tls_cipher_suites: tuple[str, ...] = ()
    client_ca_file: str = ""
    requestheader_client_ca_file: str = ""
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)
    authentication_skip_lookup: bool = False
    authentication_cache_seconds: float = 10.0
    authorized_cache_seconds: float = 10.0
    unauthorized_cache_seconds: float = 10.0
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    share_port: bool = False


@dataclass(frozen=True)
class FollowedConfigMap:
    """The ConfigMap with the configuration, and the pod to report its state on."""

    namespace: str
    name: str
    pod_namespace: str = ""
    pod_name: str = ""  # "" outside of a cluster: nothing is reported


@dataclass(frozen=True)
class Options:
    """Settings that are not part of KubeSchedulerConfiguration, and those that override it."""

    kubeconfig: str = ""
    config_map: FollowedConfigMap | None = None  # in place of a configuration file
    # The limits of what profiles may request; only with a ConfigMap: the author of a file also starts the process.
    outside: OutsideRules | None = None
    master: str = ""
    qps: float | None = None  # only without a configuration file
    burst: int | None = None
    profiling: bool | None = None
    leader_election: Mapping[str, object] = field(default_factory=dict)  # fields set on the command line
    longest_unschedulable: float = 300.0
    plugin_call_budget: float = 1.0  # seconds for a call of a custom plugin; 0 for no limit
    crash_record: str = ""  # the file with the call in flight
    limits_memory: bool = False  # to a little less than the container's limit
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    disabled_metrics: tuple[str, ...] = ()
    allowed_labels: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)  # by metric
    serving: Serving = Serving()
    verbosity: int = 0
    vmodule: str = ""
    logging_format: str = "text"
    flags: Mapping[str, str] = field(default_factory=dict)  # all of them, for /flagz

    def applied(self, config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
        """Return the configuration with the options applied; only the file's kubeconfig takes precedence over them."""
        connection = config.client_connection
        client = {"kubeconfig": connection.kubeconfig or self.kubeconfig, "qps": self.qps, "burst": self.burst}
        changes = {
            "client_connection": connection.model_copy(update=_given(client)),
            "leader_election": config.leader_election.model_copy(update=dict(self.leader_election)),
            "enable_profiling": self.profiling,
        }
        return config.model_copy(update=_given(changes))


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}
