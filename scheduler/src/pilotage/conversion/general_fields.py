"""The fields outside of profiles: a v1 configuration keeps them, a SchedulerProfile does not have them."""

from typing import Any

from pilotage.config.types import API_VERSION, KIND, KubeSchedulerConfiguration, LeaderElection
from pilotage.conversion.notes import Notes
from pilotage.conversion.older_types import OlderConfiguration

_LEASES = "leases"
_SECURE_PORT = "health and metrics are served on the secure port: --secure-port of `pilotage run`"
# Fields that v1 does not have.
_GONE = {
    "healthz_bind_address": ("healthzBindAddress", _SECURE_PORT),
    "metrics_bind_address": ("metricsBindAddress", _SECURE_PORT),
    "feature_gates": ("featureGates", "all gates have kube-scheduler's defaults"),
}
_EXTRA_ARGS = "scheduler.extraArgs of the chart"
# Fields of v1 that no profile has, and where to set them.
_OF_THE_RELEASE = {
    "leader_election": ("leaderElection", "use scheduler.leaderElect and scheduler.replicaCount of the chart"),
    "client_connection": (
        "clientConnection",
        "in a cluster the scheduler uses its service account, without limits of its own",
    ),
    "parallelism": ("parallelism", "one thread of one process schedules all pods"),
    "enable_profiling": ("enableProfiling", "use scheduler.profiling of the chart"),
    "enable_contention_profiling": ("enableContentionProfiling", "there are no locks to profile"),
    "pod_initial_backoff_seconds": ("podInitialBackoffSeconds", "it is 1 with profiles"),
    "pod_max_backoff_seconds": ("podMaxBackoffSeconds", "it is 10 with profiles"),
    "delay_cache_until_active": ("delayCacheUntilActive", "every replica fills its cache before it leads"),
}


def in_v1(given: OlderConfiguration, notes: Notes) -> KubeSchedulerConfiguration:
    """Return all fields of a configuration except its profiles."""
    kept: dict[str, Any] = {
        name: getattr(given, name)
        for name in KubeSchedulerConfiguration.model_fields
        if name in given.model_fields_set and name != "profiles"
    }
    for name, (written, why) in _GONE.items():
        if name in given.model_fields_set:
            notes.note(f"{written} is left out: {why}")
    if "leader_election" in kept:
        kept["leader_election"] = _with_leases(given.leader_election, notes)
    return KubeSchedulerConfiguration(**{**kept, "api_version": API_VERSION, "kind": KIND})


def _with_leases(given: LeaderElection, notes: Notes) -> LeaderElection:
    if given.resource_lock in ("", _LEASES):
        return given
    notes.note(f"leaderElection.resourceLock: {given.resource_lock} was removed: {_LEASES} is used")
    return given.model_copy(update={"resource_lock": _LEASES})


def note_release_fields(given: KubeSchedulerConfiguration, notes: Notes) -> None:
    """Note fields that a profile cannot express, if they differ from the release's behaviour."""
    for name, (written, why) in _OF_THE_RELEASE.items():
        if (
            name in given.model_fields_set
            and getattr(given, name) != KubeSchedulerConfiguration.model_fields[name].default
        ):
            notes.note(f"{written} is left out: {why}")
