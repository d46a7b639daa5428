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
    """A plugin of the default profile; weight 0 means unset, which is 1 if it scores."""

    name: str
    weight: int
    reason: str


# The order is that of the calls: among filters, the first that rejects a node ends the work on it.
DEFAULT_PLUGINS = (
    DefaultPlugin("SchedulingGates", 0, "a pod with gates must not enter the queue"),
    DefaultPlugin("PrioritySort", 0, "the important first, then who waited longest"),
    DefaultPlugin("NodeName", 0, "cheapest filter: for a pod that names its node all others are out"),
    DefaultPlugin("NodeUnschedulable", 0, "a cordoned node takes nothing new"),
    DefaultPlugin("TaintToleration", 3, "weighs most: a taint is what an owner says about a node"),
    DefaultPlugin("NodeAffinity", 2, "what a user asked for weighs more than how full a node is"),
    DefaultPlugin("NodePorts", 0, "a host port is there once"),
    DefaultPlugin("NodeResourcesFit", 1, "room; prefers the emptier node"),
    DefaultPlugin("VolumeRestrictions", 0, "disks that one node or one pod may use"),
    DefaultPlugin("NodeVolumeLimits", 0, "how many volumes a driver attaches to a node"),
    DefaultPlugin("VolumeBinding", 0, "the volumes of the pod exist for the node, or can be made"),
    DefaultPlugin("VolumeZone", 0, "a volume does not leave its zone"),
    DefaultPlugin("PodTopologySpread", 2, "after the cheaper filters: it counts pods; a user's preference"),
    DefaultPlugin("InterPodAffinity", 2, "the most expensive filter comes late; a user's preference"),
    DefaultPlugin("DynamicResources", 2, "before preemption: to free an idle claim is better than to evict a pod"),
    DefaultPlugin("DefaultPreemption", 0, "makes room when nothing else helped"),
    DefaultPlugin("NodeResourcesBalancedAllocation", 1, "keeps cpu and memory of a node equally used"),
    DefaultPlugin("ImageLocality", 1, "a node that has the image starts sooner"),
    DefaultPlugin("DefaultBinder", 0, "tells the API server"),
    DefaultPlugin("NodeDeclaredFeatures", 0, "came last: the node's kubelet can do what the pod needs"),
)

DEFAULT_MULTI_POINT = PluginSet(
    enabled=tuple(Plugin(name=plugin.name, weight=plugin.weight) for plugin in DEFAULT_PLUGINS)
)


def with_defaults(config: KubeSchedulerConfiguration) -> KubeSchedulerConfiguration:
    """Fill in what is empty, except plugins and their arguments, which are merged rather than filled in."""
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
