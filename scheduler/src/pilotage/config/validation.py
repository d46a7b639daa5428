"""The rules for a complete configuration, with kube-scheduler's messages and in its order."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.documents import At
from pilotage.config.durations import Duration
from pilotage.config.expansion import several_sort
from pilotage.config.faults import Fault, Stage, dotted, duplicate, invalid, required
from pilotage.config.resource_names import is_extended, unqualified
from pilotage.config.types import (
    API_VERSION,
    ClientConnection,
    Extender,
    KubeSchedulerConfiguration,
    LeaderElection,
    PluginSet,
    Profile,
)

REMOVED_PLUGINS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
# At newer points, and in multiPoint, a removed plugin is just unknown.
_CHECKED_FOR_REMOVED = tuple(
    point
    for point in ExtensionPoint
    if point not in (ExtensionPoint.PLACEMENT_GENERATE, ExtensionPoint.PLACEMENT_SCORE)
)
_JITTER = 1.2

# The plugins' errors about the entries of pluginConfig: (profile, entry) -> faults.
ArgumentFaults = Mapping[tuple[int, int], Sequence[Fault]]


def validate(config: KubeSchedulerConfiguration, of_arguments: ArgumentFaults) -> list[Fault]:
    """Yield every violation of a rule; the configuration already has defaults and merged plugins."""
    return [
        *_client_connection(config.client_connection),
        *_leader_election(config.leader_election),
        *_positive(("parallelism",), config.parallelism, "should be an integer value greater than zero"),
        *_profiles(config.profiles, of_arguments),
        *_queue_sort(config.profiles),
        *_percentage(("percentageOfNodesToScore",), config.percentage_of_nodes_to_score),
        *_backoff(config),
        *_extenders(config.extenders),
        *_extender_tls(config.extenders),
        *_elector(config.leader_election),
    ]


def _client_connection(client: ClientConnection) -> Iterator[Fault]:
    if client.burst < 0:
        yield invalid(("clientConnection", "burst"), client.burst, "must be non-negative")


def _leader_election(election: LeaderElection) -> Iterator[Fault]:
    if not election.leader_elect:
        return
    at: At = ("leaderElection",)
    yield from _longer_than_zero((*at, "leaseDuration"), election.lease_duration)
    yield from _longer_than_zero((*at, "renewDeadline"), election.renew_deadline)
    yield from _longer_than_zero((*at, "retryPeriod"), election.retry_period)
    if election.lease_duration <= election.renew_deadline:
        # kube-scheduler prints the deadline instead of the lease duration.
        hint = f"leaseDuration is {election.lease_duration}, renewDeadline is {election.renew_deadline}"
        detail = "must be greater than `RenewDeadline`"
        yield invalid((*at, "leaseDuration"), str(election.renew_deadline), detail, hint)
    if election.resource_lock != "leases":
        yield invalid((*at, "resourceLock"), election.resource_lock, 'resourceLock value must be "leases"')


def _elector(election: LeaderElection) -> Iterator[Fault]:
    if election.leader_elect and election.renew_deadline <= int(_JITTER * election.retry_period):
        text = "couldn't create leader elector: renewDeadline must be greater than retryPeriod*JitterFactor"
        hint = f"{election.renew_deadline} must be more than {_JITTER} times {election.retry_period}"
        yield Fault(Stage.ELECTION, text, ("leaderElection", "renewDeadline"), hint)


def _backoff(config: KubeSchedulerConfiguration) -> Iterator[Fault]:
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    yield from _positive(("podInitialBackoffSeconds",), initial, "must be greater than 0")
    if longest < initial:
        yield invalid(("podMaxBackoffSeconds",), longest, "must be greater than or equal to PodInitialBackoffSeconds")


def _profiles(profiles: Sequence[Profile], of_arguments: ArgumentFaults) -> Iterator[Fault]:
    seen: dict[str, int] = {}
    for i, profile in enumerate(profiles):
        at: At = ("profiles", i)
        name_at = (*at, "schedulerName")
        if not profile.scheduler_name:
            hint = "each profile needs its own name" if len(profiles) > 1 else ""
            yield required(name_at, hint=hint)
        if profile.percentage_of_nodes_to_score is not None:
            yield from _percentage((*at, "percentageOfNodesToScore"), profile.percentage_of_nodes_to_score)
        yield from _removed_plugins(at, profile)
        yield from _plugin_config(at, profile, {j: faults for (k, j), faults in of_arguments.items() if k == i})
        if profile.scheduler_name in seen:
            # In Go the value is a field path, which is {} in JSON.
            first = dotted(("profiles", seen[profile.scheduler_name]))
            yield duplicate(name_at, {}, f'"{profile.scheduler_name}" is also the name of {first}')
        seen[profile.scheduler_name] = i


def _removed_plugins(at: At, profile: Profile) -> Iterator[Fault]:
    for point in _CHECKED_FOR_REMOVED:
        for k, plugin in enumerate(profile.plugins.at(point).enabled):
            yield from _removed((*at, "plugins", point.value, "enabled", k), plugin.name)


def _plugin_config(at: At, profile: Profile, of_arguments: Mapping[int, Sequence[Fault]]) -> Iterator[Fault]:
    seen: set[str] = set()
    for j, entry in enumerate(profile.plugin_config):
        entry_at = (*at, "pluginConfig", j)
        if entry.name in seen:
            yield duplicate(entry_at, entry.name)
        seen.add(entry.name)
        yield from _removed(entry_at, entry.name)
        yield from of_arguments.get(j, ())


def _removed(at: At, name: str) -> Iterator[Fault]:
    if name in REMOVED_PLUGINS:
        detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{API_VERSION}")'
        yield invalid(at, name, detail, "NodeVolumeLimits replaces it")


def _queue_sort(profiles: Sequence[Profile]) -> Iterator[Fault]:
    # All profiles share one queue and must sort alike; this compares the settings as written, not their effect.
    first = profiles[0].plugins.queue_sort
    if len(first.enabled) > 1:
        at: At = ("profiles", 0, "plugins", "queueSort", "Enabled")
        hint = several_sort(plugin.name for plugin in first.enabled)
        yield invalid(at, len(first.enabled), "only one queue sort plugin can be enabled", hint)
    sorter = first.enabled[0].name if first.enabled else None
    args = next((entry.args for entry in profiles[0].plugin_config if entry.name == sorter), None)
    for i, profile in enumerate(profiles[1:], start=1):
        at = ("profiles", i, "plugins", "queueSort")
        if profile.plugins.queue_sort != first:
            yield invalid(at, _as_go(profile.plugins.queue_sort), "must be the same for all profiles")
        for entry in profile.plugin_config:
            if entry.name == sorter and entry.args != args:
                at = ("profiles", i, "pluginConfig", "args")
                yield invalid(at, entry.args, "queueSort must be the same for all profiles")


def _extenders(extenders: Sequence[Extender]) -> Iterator[Fault]:
    managed: set[str] = set()
    for i, extender in enumerate(extenders):
        at: At = ("extenders", i)
        if extender.prioritize_verb:
            yield from _positive((*at, "weight"), extender.weight, "must have a positive weight applied to it")
        for j, resource in enumerate(extender.managed_resources):
            name_at = (*at, "managedResources", j, "name")
            yield from _extended_resource(name_at, resource.name)
            if resource.name in managed:
                yield invalid(name_at, resource.name, "duplicate extender managed resource name")
            managed.add(resource.name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        value = f"found {binders} extenders implementing bind"
        yield invalid(("extenders",), value, "only one extender can implement bind")


def _extender_tls(extenders: Sequence[Extender]) -> Iterator[Fault]:
    for i, extender in enumerate(extenders):
        tls = extender.tls_config
        if tls and tls.insecure and (tls.ca_file or tls.ca_data):
            text = "specifying a root certificates file with the insecure flag is not allowed"
            yield Fault(Stage.EXTENDERS, f"couldn't build extenders: {text}", ("extenders", i, "tlsConfig"))


def _extended_resource(at: At, name: str) -> Iterator[Fault]:
    unfit = unqualified(name)
    yield from (invalid(at, name, why, named_type=True) for why in unfit)
    if not unfit and not is_extended(name):
        hint = "an extended resource is named like example.com/device"
        yield invalid(at, name, "is an invalid extended resource name", hint)


def _percentage(at: At, value: int) -> Iterator[Fault]:
    if not 0 <= value <= 100:
        yield invalid(at, value, "not in valid range [0-100]")


def _positive(at: At, value: int, detail: str) -> Iterator[Fault]:
    if value <= 0:
        yield invalid(at, value, detail)


def _longer_than_zero(at: At, value: Duration) -> Iterator[Fault]:
    if value <= 0:
        yield invalid(at, str(value), "must be greater than zero")


def _as_go(plugins: PluginSet) -> dict[str, Any]:
    return {
        name: [{"Name": plugin.name, "Weight": plugin.weight} for plugin in entries] or None
        for name, entries in (("Enabled", plugins.enabled), ("Disabled", plugins.disabled))
    }
