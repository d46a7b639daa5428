"""What the command line of `pilotage run` says, beside the configuration file."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.model.outside_services import OutsideRules

API_PORT = 10260


class InvalidOptions(Exception):
    """The command line is invalid; the text says what to change."""


@dataclass(frozen=True)
class Serving:
    """How the HTTPS server is served."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - probes come from the node, as with kube-scheduler
    secure_port: int = 10259  # 0 for none
    api_port: int = 0  # of the read API; 0 for none
    api_port_is_wanted: bool = False  # somebody has named it, and it is an error if it cannot be had
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
    """Where the configuration is, and on which pod to report what became of it."""

    namespace: str
    name: str
    pod_namespace: str = ""
    pod_name: str = ""  # "" outside of a cluster: nothing is reported


@dataclass(frozen=True)
class Options:
    """Everything that is not part of KubeSchedulerConfiguration, and what replaces parts of it."""

    kubeconfig: str = ""
    config_map: FollowedConfigMap | None = None  # in place of a configuration file
    # What profiles may make us do; only with a ConfigMap: a file is trusted, since its author starts us.
    outside: OutsideRules | None = None
    master: str = ""
    qps: float | None = None  # only without a configuration file
    burst: int | None = None
    profiling: bool | None = None
    leader_election: Mapping[str, object] = field(default_factory=dict)  # fields that the command line sets
    longest_unschedulable: float = 300.0
    plugin_call_budget: float = 1.0  # seconds for a call of a plugin that is not ours; 0 for no limit
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
        """Return the configuration with what the command line says; only the file's kubeconfig goes before it."""
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
