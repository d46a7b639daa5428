"""The defaults of a configuration: the default plugins, and values for empty fields."""

from typing import NamedTuple, TypeVar

from pilotage.config.durations import Duration
from pilotage.config.types import (
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    Plugin,
    PluginSet,
    Profile,
    Section,
)

SCHEDULER_NAME = "default-scheduler"

SomeSection = TypeVar("SomeSection", bound=Section)


class DefaultPlugin(NamedTuple):
    """A plugin of the default profile; weight 0 means unset, which counts as 1 for scoring."""

    name: str
    weight: int
    reason: str


# The order of calls: the first filter that rejects a node ends its evaluation.
DEFAULT_PLUGINS = (
    DefaultPlugin("SchedulingGates", 0, "a gated pod must not enter the queue"),
    DefaultPlugin("PrioritySort", 0, "the highest priority first, then the longest wait"),
    DefaultPlugin("NodeName", 0, "the cheapest filter: a pod that names its node fits no other"),
    DefaultPlugin("NodeUnschedulable", 0, "a cordoned node gets no new pods"),
    DefaultPlugin("TaintToleration", 3, "the highest weight: taints are set by the owners of nodes"),
    DefaultPlugin("NodeAffinity", 2, "a user's preference has more weight than utilization"),
    DefaultPlugin("NodePorts", 0, "a host port can be used only once"),
    DefaultPlugin("NodeResourcesFit", 1, "free resources; prefers the node with more of them"),
    DefaultPlugin("VolumeRestrictions", 0, "disks that only one node or one pod may use"),
    DefaultPlugin("NodeVolumeLimits", 0, "the maximum number of a driver's volumes on a node"),
    DefaultPlugin("VolumeBinding", 0, "the pod's volumes are accessible from the node, or can be provisioned"),
    DefaultPlugin("VolumeZone", 0, "a volume is only accessible in its zone"),
    DefaultPlugin("PodTopologySpread", 2, "after the cheaper filters: it counts pods; a user's preference"),
    DefaultPlugin("InterPodAffinity", 2, "the most expensive filter comes late; a user's preference"),
    DefaultPlugin("DynamicResources", 2, "before preemption: releasing an unused claim is better than evicting a pod"),
    DefaultPlugin("DefaultPreemption", 0, "preempts if nothing else helped"),
    DefaultPlugin("NodeResourcesBalancedAllocation", 1, "balances the utilization of cpu and memory"),
    DefaultPlugin("ImageLocality", 1, "pods start sooner where the image is present"),
    DefaultPlugin("DefaultBinder", 0, "writes the binding to the API server"),
    DefaultPlugin("NodeDeclaredFeatures", 0, "added last: the kubelet supports the features that the pod needs"),
)

DEFAULT_MULTI_POINT = PluginSet(
    enabled=tuple(Plugin(name=plugin.name, weight=plugin.weight) for plugin in DEFAULT_PLUGINS)
)


def with_defaults(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Fill in empty fields; plugins are merged with the defaults, and their arguments are left to `settle`."""
    return config.model_copy(
        update={
            "leader_election": _leader_election(config.leader_election),
            "client_connection": _client_connection(config.client_connection),
            "enable_contention_profiling": _contention_profiling(config),
            "profiles": _profiles(config.profiles),
            "extenders": tuple(_extender(extender) for extender in config.extenders),
        }
    )


def _leader_election(given: LeaderElection) -> LeaderElection:
    return _where_empty(
        given,
        lease_duration=Duration.parse("15s"),
        renew_deadline=Duration.parse("10s"),
        retry_period=Duration.parse("2s"),
        resource_lock="leases",
        resource_name="kube-scheduler",
        resource_namespace="kube-system",
    )


def _client_connection(given: ClientConnection) -> ClientConnection:
    return _where_empty(given, content_type="application/vnd.kubernetes.protobuf", qps=50.0, burst=100)


def _contention_profiling(config: KubeSchedulerConfiguration) -> bool:
    said = "enable_contention_profiling" in config.model_fields_set
    return config.enable_contention_profiling if said else config.enable_profiling


def _extender(given: Extender) -> Extender:
    return _where_empty(given, http_timeout=Duration.parse("5s"))


def _profiles(given: tuple[Profile, ...]) -> tuple[Profile, ...]:
    profiles = given or (Profile(),)
    # With several profiles, each needs a name.
    if len(profiles) == 1 and "scheduler_name" not in profiles[0].model_fields_set:
        return (profiles[0].model_copy(update={"scheduler_name": SCHEDULER_NAME}),)
    return profiles


def _where_empty(section: SomeSection, **values: object) -> SomeSection:
    return section.model_copy(update={name: value for name, value in values.items() if not getattr(section, name)})
