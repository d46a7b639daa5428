"""The operator's view of the cluster, with only the fields that it reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias

import msgspec

from pilotage.config.handshake import HASH, Contention, PluginFile, Trouble, report_in

_OVER = ("Succeeded", "Failed")
_LONG_SILENCE = 60.0  # seconds


class OwnerReference(msgspec.Struct, rename="camel", omit_defaults=False, frozen=True):
    """The owner of an object, for garbage collection."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""


class Metadata(msgspec.Struct, rename="camel"):
    """Object metadata."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: list[OwnerReference] = msgspec.field(default_factory=list)


class StoredProfile(msgspec.Struct):
    """A SchedulerProfile as stored, valid or not."""

    metadata: Metadata
    spec: Any = None
    status: Any = None

    @property
    def name(self) -> str:
        """Return its name."""
        return self.metadata.name


class ConfigMap(msgspec.Struct):
    """A ConfigMap."""

    metadata: Metadata
    data: dict[str, str] = msgspec.field(default_factory=dict)


class Selector(msgspec.Struct, rename="camel"):
    """A selector of pods."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)


class Template(msgspec.Struct):
    """The pod template of a Deployment."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)


class DeploymentSpec(msgspec.Struct):
    """The spec of a Deployment."""

    replicas: int = 1
    selector: Selector = msgspec.field(default_factory=Selector)
    template: Template = msgspec.field(default_factory=Template)


class DeploymentStatus(msgspec.Struct, rename="camel"):
    """The status of a Deployment."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0


class Deployment(msgspec.Struct):
    """The Deployment of the scheduler."""

    metadata: Metadata
    spec: DeploymentSpec = msgspec.field(default_factory=DeploymentSpec)
    status: DeploymentStatus = msgspec.field(default_factory=DeploymentStatus)

    @property
    def stamp(self) -> str:
        """Return the configuration hash in its pod template."""
        return self.spec.template.metadata.annotations.get(HASH, "")

    @property
    def is_rolled_out(self) -> bool:
        """Return whether its rollout is complete."""
        status, wanted = self.status, self.spec.replicas
        is_seen = status.observed_generation >= self.metadata.generation
        return is_seen and status.updated_replicas >= wanted and status.replicas <= status.updated_replicas


class LeaseSpec(msgspec.Struct, rename="camel"):
    """The holder of a Lease, its renewal and duration."""

    holder_identity: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: int | None = None

    def leader(self, now: datetime) -> str:
        """Return its holder; "" if it was not renewed for a long time, since clocks may differ."""
        silence = (now - moment(self.renew_time)).total_seconds()
        return self.holder_identity or "" if silence < _LONG_SILENCE + (self.lease_duration_seconds or 0) else ""


class Lease(msgspec.Struct):
    """A Lease."""

    metadata: Metadata
    spec: LeaseSpec = msgspec.field(default_factory=LeaseSpec)


class PodStatus(msgspec.Struct):
    """The status of a pod."""

    phase: str = ""


class SchedulerPod(msgspec.Struct):
    """A pod of the scheduler."""

    metadata: Metadata
    status: PodStatus = msgspec.field(default_factory=PodStatus)


@dataclass(frozen=True)
class Replica:
    """A replica of the scheduler, and its report."""

    name: str
    hash: str
    created: datetime
    is_running: bool
    trouble: Trouble | None = None
    trying: str = ""  # the hash that it was about to build
    contended: Mapping[str, Contention] = field(default_factory=dict)  # by scheduler name


@dataclass(frozen=True)
class Right:
    """One verb on one resource."""

    group: str
    resource: str
    verb: str


Answer: TypeAlias = Literal["allowed", "denied", "unserved"]


@dataclass(frozen=True)
class PluginSource:
    """A ConfigMap with plugin files."""

    name: str
    uid: str
    files: tuple[PluginFile, ...]


@dataclass(frozen=True)
class KeptProfile:
    """A profile in the chart's values."""

    name: str
    spec: Mapping[str, Any]


@dataclass(frozen=True)
class World:
    """A snapshot of everything that the reconciliation depends on."""

    now: datetime
    profiles: tuple[StoredProfile, ...] = ()
    replicas: tuple[Replica, ...] = ()
    deployment: Deployment | None = None
    config_map: ConfigMap | None = None
    kept: tuple[KeptProfile, ...] | None = None  # None: the values contain no list of profiles
    owner: OwnerReference | None = None
    rights: Mapping[Right, Answer] = field(default_factory=dict)
    kube_scheduler: str = ""  # the leader of kube-scheduler, if a profile has its name
    # The last intact data of the ConfigMap, in case it was deleted.
    remembered: Mapping[str, str] = field(default_factory=dict)
    plugin_sources: tuple["PluginSource", ...] = ()  # the oldest first


def replicas_among(pods: list[SchedulerPod], deployment: Deployment | None) -> tuple[Replica, ...]:
    """Return the relevant pods by name: those of the Deployment that are not terminating or finished."""
    wanted = deployment.spec.selector.match_labels.items() if deployment else ()
    counting = (
        pod
        for pod in pods
        if pod.metadata.deletion_timestamp is None
        and pod.status.phase not in _OVER
        and all(pod.metadata.labels.get(key) == value for key, value in wanted)
    )
    return tuple(sorted(map(_replica, counting), key=lambda replica: replica.name))


def _replica(pod: SchedulerPod) -> Replica:
    said = report_in(pod.metadata.annotations)
    return Replica(
        pod.metadata.name,
        said.hash,
        moment(pod.metadata.creation_timestamp),
        pod.status.phase == "Running",
        said.trouble,
        said.trying,
        said.contended,
    )


def moment(text: str | None) -> datetime:
    """Parse a time of the API; an invalid one counts as long ago."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def written(when: datetime) -> str:
    """Return a time in the API's format."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
