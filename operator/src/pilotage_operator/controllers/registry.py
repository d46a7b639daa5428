"""All controllers: their resources, what they read, and their functions. A new one is an entry in CONTROLLERS."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from pilotage.kinds.app_network import AppGroup, NetworkTopology
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.kinds.every import NODE, POD
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.pod_groups import PodGroup
from pilotage.kinds.quota_accounting import table_of
from pilotage.kinds.sticky_job import StickyJob
from pilotage.kinds.workloads import Namespace
from pilotage.model.node import NodeObject
from pilotage.model.pod import Pod, PodObject
from pilotage.plugins.network._shared.app_groups import APP_GROUP
from pilotage.plugins.network._shared.costs import place_of
from pilotage_operator.controllers import app_groups, elastic_quotas, network_topologies, pod_groups, sticky_jobs
from pilotage_operator.controllers.app_groups import StoredAppGroup
from pilotage_operator.controllers.elastic_quotas import StoredElasticQuota
from pilotage_operator.controllers.network_topologies import StoredNetworkTopology
from pilotage_operator.controllers.outcome import Outcome, StatusEvent
from pilotage_operator.controllers.pod_groups import StoredPodGroup
from pilotage_operator.controllers.sticky_jobs import StoredStickyJob


@dataclass(frozen=True)
class Resource:
    """A resource of the API, and the class of its objects."""

    group: str
    version: str
    plural: str
    kind: str
    shape: type[Any]

    @property
    def root(self) -> str:
        """Return the path of its group and version."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str, name: str = "") -> str:
        """Return the path of an object, or of all objects in a namespace."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" + (f"/{name}" if name else "")


def _stored(kind: type[KubeObject], shape: type[Any]) -> Resource:
    """Return a kind that the scheduler reads, with its complete status."""
    api = kind.api
    return Resource(api.group, api.version, api.plural, api.name, shape)


PODS = Resource(POD.group, POD.version, POD.plural, POD.name, PodObject)
NODES = Resource(NODE.group, NODE.version, NODE.plural, NODE.name, NodeObject)
NAMESPACES = _stored(Namespace, Namespace)
APP_GROUPS = _stored(AppGroup, StoredAppGroup)
ELASTIC_QUOTAS = _stored(ElasticQuota, StoredElasticQuota)
NETWORK_TOPOLOGIES = _stored(NetworkTopology, StoredNetworkTopology)
POD_GROUPS = _stored(PodGroup, StoredPodGroup)
STICKY_JOBS = _stored(StickyJob, StoredStickyJob)


class Overview(Protocol):
    """The data that a controller may read for any of its objects."""

    @property
    def summary(self) -> Any:
        """Return what the controller has computed for all of its objects."""

    def pods(self, namespace: str) -> Collection[Pod]:
        """Return the pods of a namespace."""

    def labelled(self, value: str) -> Collection[Pod]:
        """Return the pods of all namespaces with a value of the controller's label."""

    def all(self, resource: Resource) -> Collection[Any]:
        """Return all objects of a resource that the controller reads or owns."""


class Seen(Overview, Protocol):
    """The data that a controller may read when it reconciles an object."""

    @property
    def now(self) -> datetime:
        """Return the time."""

    @property
    def refusal(self) -> str:
        """Return why the last action for this object was rejected; empty if it was not."""

    @property
    def config_map(self) -> Mapping[str, str] | None:
        """Return the data of the ConfigMap that the controller needs; None if it does not exist."""


def synced(controller: "Controller", held: Any, status: Mapping[str, Any]) -> list[StatusEvent]:
    """Return the event about an updated status, for kinds without other events."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", controller.resource.kind)
    name = f"{held.metadata.namespace}/{held.metadata.name}"
    return [StatusEvent("Normal", "Synced", f"{words} {name} synced successfully")]


@dataclass(frozen=True)
class Controller:
    """The definition of a controller for one resource."""

    resource: Resource
    decide: Callable[[Any, Seen], Outcome]
    reads: tuple[Resource, ...] = (PODS,)
    # The relevant part of an object that is read: other changes are ignored. None: everything is relevant.
    facts: Callable[[Any], Any] | None = None
    # The objects, as namespace/name, that a change of an object concerns; None: all of them.
    concerns: Callable[[Any, Overview], Iterable[str] | None] | None = None
    # Computed once for all objects from everything that is read except pods, until that changes.
    summary: Callable[[Overview], Any] | None = None
    label: str = ""  # the label of pods with the name of an object
    status_events: Callable[["Controller", Any, Mapping[str, Any]], Iterable[StatusEvent]] = synced
    config_map: Callable[[Any], str] | None = None  # its name, in the object's namespace
    every: float = 0.0  # seconds after which to reconcile again; 0: only after changes
    writes_spec: bool = False
    writes_pods: bool = False


CONTROLLERS = (
    Controller(
        APP_GROUPS,
        lambda group, seen: Outcome(
            app_groups.status_of(
                group, app_groups.own(group, seen.labelled(group.metadata.name), seen.summary), seen.now
            )
        ),
        reads=(PODS, APP_GROUPS),
        facts=app_groups.facts,
        concerns=lambda each, seen: app_groups.concerned(each, seen.summary),
        summary=lambda seen: app_groups.homes(seen.all(APP_GROUPS)),
        label=APP_GROUP,
        status_events=lambda _, group, status: app_groups.status_events(group, status),
    ),
    Controller(
        ELASTIC_QUOTAS,
        lambda quota, seen: Outcome(elastic_quotas.status_of(quota, seen.pods, seen.summary, seen.now)),
        reads=(PODS, NAMESPACES, ELASTIC_QUOTAS),
        facts=elastic_quotas.facts,
        concerns=elastic_quotas.concerned,
        summary=lambda seen: table_of(seen.all(ELASTIC_QUOTAS), seen.all(NAMESPACES)),
        status_events=lambda own, quota, status: [
            *synced(own, quota, status),
            *elastic_quotas.status_events(quota, status),
        ],
    ),
    Controller(
        NETWORK_TOPOLOGIES,
        lambda topology, seen: network_topologies.decide(topology, seen.config_map, seen.all(NODES), seen.now),
        reads=(NODES,),
        facts=lambda node: place_of(node.labels),
        status_events=lambda _, topology, status: network_topologies.status_events(topology, status),
        config_map=lambda topology: topology.spec.configmap_name,
        every=300.0,  # the ConfigMap is not watched
        writes_spec=True,
    ),
    Controller(
        POD_GROUPS,
        lambda group, seen: pod_groups.decide(group, seen.labelled(group.metadata.name), seen.now, seen.refusal),
        concerns=lambda pod, _: pod_groups.groups_of(pod),
        label=pod_groups.LABEL,
        status_events=lambda _, group, status: pod_groups.status_events(group, status),
        every=3600.0,  # to report a group that has waited too long
    ),
    Controller(
        STICKY_JOBS,
        lambda job, seen: sticky_jobs.decide(job, seen.pods(job.metadata.namespace), seen.now, seen.refusal),
        concerns=lambda pod, _: sticky_jobs.jobs_of(pod),
        status_events=lambda _, job, status: sticky_jobs.status_events(job, status),
        writes_pods=True,
    ),
)


# What the operator's own role allows, for profiles with spec.nodes: a second rule would add nothing.
WITHOUT_CONTROLLERS = frozenset({(NODES.group, NODES.plural, "list")})


def rights_of(controller: Controller) -> set[tuple[str, str, str]]:
    """Return all permissions that a controller needs beyond those of every operator: group, resource, verb."""
    own = controller.resource
    wanted = {(own.group, f"{own.plural}/status", "patch"), ("events.k8s.io", "events", "create")}
    for read in (own, *controller.reads):
        wanted |= {(read.group, read.plural, verb) for verb in ("list", "watch")}
    if controller.config_map:
        wanted.add(("", "configmaps", "get"))
    if controller.writes_spec:
        wanted.add((own.group, own.plural, "patch"))
    if controller.writes_pods:
        wanted |= {("", "pods", verb) for verb in ("create", "delete")}
    return wanted - WITHOUT_CONTROLLERS
