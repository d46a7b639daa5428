"""All requests of controllers to the API server, except watches."""

import logging
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import msgspec

from pilotage.cluster.write.event_objects import shortened
from pilotage.cluster.write.microtime import format_microtime
from pilotage.model.label_syntax import SUBDOMAIN
from pilotage_operator.api_requests import ApiRequests
from pilotage_operator.cluster import Cluster, NamespaceEnds, NotReachable, Refused, WorldChanged
from pilotage_operator.controllers.outcome import CreatePod, DeletePod, PodAction, StatusEvent
from pilotage_operator.controllers.registry import PODS, Resource
from pilotage_operator.controllers.watching import Held
from pilotage_operator.event_objects import EventBudget
from pilotage_operator.settings import FIELD_MANAGER

log = logging.getLogger(__name__)

_NAME = re.compile(SUBDOMAIN)
_EVENTS_BURST, _SECONDS_AN_EVENT = 50, 0.5


class _Named(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Named] = msgspec.field(default_factory=list)


class _ConfigMap(msgspec.Struct):
    data: dict[str, str] = msgspec.field(default_factory=dict)


class ControllerApi:
    """The API server for controllers; failures raise WorldChanged, NotReachable or Refused."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._warned: set[Resource] = set()
        self._budget = EventBudget(_EVENTS_BURST, _SECONDS_AN_EVENT)

    @property
    def watches(self) -> ApiRequests:
        """Return the API for watches."""
        return self._cluster.client

    async def serves(self, resource: Resource) -> bool:
        """Return whether a resource is served and has a status subresource; core resources always do."""
        if not resource.group:
            return True
        try:
            answer = await self._cluster.asked(self._cluster.client.get(resource.root))
        except WorldChanged:
            return False
        names = {each.name for each in msgspec.json.decode(answer, type=_Resources).resources}
        if resource.plural in names and f"{resource.plural}/status" not in names:
            self._warn_of(resource)
            return False
        return resource.plural in names

    def _warn_of(self, resource: Resource) -> None:
        """Log once that a CRD is insufficient."""
        if resource not in self._warned:
            self._warned.add(resource)
            text = "%s.%s have no writable status; let the chart install the CRD with crds.adopt=true"
            log.warning(text, resource.plural, resource.group)

    async def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the data of a ConfigMap; None if it does not exist, or its name is invalid."""
        if not _NAME.fullmatch(name):
            return None  # users choose the name, which becomes part of a path
        try:
            answer = await self._cluster.asked(
                self._cluster.client.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
            )
        except WorldChanged:
            return None
        return msgspec.json.decode(answer, type=_ConfigMap).data

    async def patch(self, resource: Resource, held: Held, change: Mapping[str, Any], part: str) -> bytes:
        """Change `spec` or `status` of an object, unless it has changed; returns the new object."""
        metadata = {"uid": held.metadata.uid, "resourceVersion": held.metadata.resource_version}
        path = resource.path(held.metadata.namespace, held.metadata.name) + ("/status" if part == "status" else "")
        return await self._cluster.asked(self._cluster.client.patch(path, {"metadata": metadata, part: change}))

    async def do(self, action: PodAction) -> None:
        """Create or delete a pod."""
        client = self._cluster.client
        match action:
            case CreatePod(manifest):
                await self._cluster.asked(client.create(PODS.path(manifest["metadata"]["namespace"]), manifest))
            case DeletePod(namespace, name, uid):
                await self._cluster.asked(client.delete(PODS.path(namespace, name), uid))

    async def write_event(self, resource: Resource, held: Held, event: StatusEvent) -> None:
        """Write an event; failures are only logged, and to be expected if its namespace is being deleted."""
        if not self._budget.take():
            return
        path = f"/apis/events.k8s.io/v1/namespaces/{held.metadata.namespace}/events"
        try:
            manifest = event_manifest(resource, held, event)
            await self._cluster.asked(self._cluster.client.create(path, manifest))
        except NamespaceEnds as error:
            log.debug("no event %s on %s: %s", event.reason, held.metadata.name, error)
        except (WorldChanged, NotReachable, Refused) as error:
            log.warning("cannot write the event %s on %s: %s", event.reason, held.metadata.name, error)


def event_manifest(resource: Resource, held: Held, event: StatusEvent) -> dict[str, Any]:
    """Return an event of events.k8s.io/v1 about an object."""
    metadata = held.metadata
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata.name[:200]}.{uuid4().hex[:16]}", "namespace": metadata.namespace},
        "eventTime": format_microtime(datetime.now(UTC)),
        "reportingController": f"{resource.kind}Controller",
        "reportingInstance": FIELD_MANAGER,
        "action": "Reconciling",
        "reason": event.reason,
        "regarding": {
            "apiVersion": resource.root.removeprefix("/apis/"),
            "kind": resource.kind,
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
        },
        "note": shortened(event.note),
        "type": event.severity,
    }
