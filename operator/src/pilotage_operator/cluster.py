"""The operator's I/O: everything that it reads from and writes to the API server."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TypeVar

import kopf
import msgspec
from kubernetes.aio.client import (
    AuthorizationV1Api,
    V1ResourceAttributes,
    V1SubjectAccessReview,
    V1SubjectAccessReviewSpec,
)

from pilotage.cluster.credentials import access as ways
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_errors import ApiError, NoAccess, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.listing import read_answer
from pilotage.cluster.watch.watch_lines import BrokenStream, TooLong
from pilotage.cluster.write.turn import Turn
from pilotage.config.handshake import HASH, PLUGINS_LABEL, PluginFile
from pilotage.scheduler_profiles.resource import GROUP, PLURAL
from pilotage.scheduler_profiles.resource import PATH as PROFILES
from pilotage_operator.api_requests import ApiRequests
from pilotage_operator.event_objects import EventBudget, event_manifest, file_event_manifest
from pilotage_operator.login import Login
from pilotage_operator.profiles.actions import (
    Action,
    CreateConfigMap,
    CreateProfile,
    DeleteProfile,
    PatchConfigMap,
    PatchProfile,
    PatchStatus,
    StampDeployment,
    WakeUp,
    WriteEvent,
    WriteFileEvent,
)
from pilotage_operator.profiles.own_nodes import PatchNode
from pilotage_operator.profiles.plugin_library import is_plugin_file
from pilotage_operator.profiles.unwise import DEFAULT_SCHEDULER
from pilotage_operator.profiles.world import (
    Answer,
    ConfigMap,
    Deployment,
    Lease,
    Metadata,
    OwnerReference,
    PluginSource,
    Replica,
    Right,
    SchedulerPod,
    StoredProfile,
    replicas_among,
)
from pilotage_operator.settings import FIELD_MANAGER, Settings
from pilotage_operator.watch_lag import Key

log = logging.getLogger(__name__)

T = TypeVar("T")
_SECONDS = 10.0  # for every request
_ALLOWED_FOR, _DENIED_FOR = 30.0, 4.0  # seconds that an answer is cached
_AT_ONCE = 8  # concurrent access reviews
# The namespace of events about cluster-scoped objects.
_EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
_EVENTS_BURST, _SECONDS_AN_EVENT = 25, 5.0
_KUBE_SCHEDULER = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
# Groups of every API server, which need no CRD.
_BUILT_IN = frozenset(
    {"", "apps", "autoscaling", "batch", "policy"}
    | {f"{name}.k8s.io" for name in ("coordination", "events", "networking", "node", "rbac.authorization")}
    | {f"{name}.k8s.io" for name in ("resource", "scheduling", "storage")}
)


class NotReachable(Exception):
    """The API server is temporarily not reachable."""

    def __init__(self, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class WorldChanged(Exception):
    """An object has changed since it was read; read it again."""


class Refused(Exception):
    """The API server rejects this, or does not allow it."""


class NamespaceEnds(Refused):
    """Nothing is created in a namespace that is being deleted."""


@dataclass(frozen=True)
class Seen:
    """The state of the cluster at one moment."""

    profiles: tuple[StoredProfile, ...]
    config_map: ConfigMap | None
    deployment: Deployment | None
    replicas: tuple[Replica, ...]
    owner: OwnerReference | None
    plugin_sources: tuple[PluginSource, ...] = ()
    versions: Mapping[Key, str] = field(default_factory=dict)  # of all objects that watchers must have reported
    kube_scheduler: str = ""  # the leader of kube-scheduler, if a profile has its name


class _Object(msgspec.Struct):
    metadata: Metadata


def connect(settings: Settings) -> "Cluster":
    """Find the access to the API server; NoClusterAccess if there is none."""
    try:
        return Cluster(settings, ways.find(settings.kubeconfig))
    except NoAccess as error:
        raise NoClusterAccess(str(error)) from error


class NoClusterAccess(Exception):
    """There is no access to the API server; the message says what to do."""


class Cluster:
    """One API server, seen from one release."""

    def __init__(self, settings: Settings, access: Access) -> None:
        self._settings = settings
        self._login = Login(access, agent=FIELD_MANAGER)
        self._client = ApiRequests(self._login, writer=FIELD_MANAGER, seconds=_SECONDS, at_once=_AT_ONCE)
        self._questions = asyncio.Semaphore(_AT_ONCE)
        self._answers: dict[Right, tuple[Answer, float]] = {}
        self._served: dict[str, tuple[frozenset[str], float]] = {}
        self._budget = EventBudget(_EVENTS_BURST, _SECONDS_AN_EVENT)
        self._told: set[str] = set()

    @property
    def client(self) -> ApiRequests:
        """Return the client, which controllers also use; `asked` classifies its exceptions."""
        return self._client

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def login(self) -> kopf.AiohttpSession:
        """Return our login for kopf's watchers."""
        return await self._login.for_kopf()

    # ------------------------------------------------------------------------------------------------- reading

    async def is_served(self) -> bool:
        """Return whether SchedulerProfiles are served."""
        return PLURAL in await self._resources(GROUP)

    async def read_state(self, *, with_owner: bool) -> Seen:
        """Read everything that the reconciliation depends on."""
        profiles, config_map, sources, deployment, pods, owner = await asyncio.gather(
            self._list(PROFILES, StoredProfile),
            self._get(self._config_map_path(), ConfigMap),
            self._list(self._path("/api/v1", "configmaps"), ConfigMap, labelSelector=self._plugins_selector()),
            self._get(self._deployment_path(), Deployment),
            self._list(self._path("/api/v1", "pods"), SchedulerPod, labelSelector=self._settings.scheduler_selector),
            self._owner() if with_owner else _nothing(),
        )
        named = [("SchedulerProfile", each) for each in profiles] + [("ConfigMap", each) for each in sources]
        single = [("ConfigMap", config_map), ("Deployment", deployment)]
        found = [*named, *((kind, one) for kind, one in single if one is not None)]
        return Seen(
            tuple(profiles),
            config_map,
            deployment,
            replicas_among(pods, deployment),
            owner,
            plugin_sources(sources),
            {(kind, one.metadata.name): one.metadata.resource_version for kind, one in found},
            await self._kube_scheduler() if any(map(_is_of_the_cluster, profiles)) else "",
        )

    def _plugins_selector(self) -> str:
        return f"{PLUGINS_LABEL}={self._settings.release}"

    async def rights(self, wanted: Collection[Right]) -> Mapping[Right, Answer]:
        """Return which permissions the scheduler has; answers are cached for a while."""
        now = monotonic()
        known = {right: self._answers[right] for right in wanted if right in self._answers}
        new = [right for right in wanted if right not in known or known[right][1] <= now]
        for right, answer in zip(new, await asyncio.gather(*map(self._ask, new)), strict=True):
            self._answers[right] = answer, monotonic() + (_ALLOWED_FOR if answer == "allowed" else _DENIED_FOR)
        return {right: self._answers[right][0] for right in wanted}

    async def _ask(self, right: Right) -> Answer:
        if right.group not in _BUILT_IN and right.resource not in await self._known_resources(right.group):
            return "unserved"
        namespace = self._settings.namespace
        resource, _, subresource = right.resource.partition("/")
        spec = V1SubjectAccessReviewSpec(
            user=self._settings.scheduler_user,
            groups=["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
            resource_attributes=V1ResourceAttributes(
                group=right.group, resource=resource, subresource=subresource, verb=right.verb
            ),
        )
        review = V1SubjectAccessReview(spec=spec)
        async with self._questions:
            said = await self.asked(
                self._client.typed(
                    lambda api: AuthorizationV1Api(api).create_subject_access_review(review, _request_timeout=_SECONDS)
                )
            )
        return "allowed" if said.status is not None and said.status.allowed else "denied"

    async def _known_resources(self, group: str) -> frozenset[str]:
        known = self._served.get(group)
        if known is None or known[1] <= monotonic():
            known = await self._resources(group), monotonic() + _DENIED_FOR
            self._served[group] = known
        return known[0]

    async def _resources(self, group: str) -> frozenset[str]:
        """Return the resources of a group in all its versions; none if it is not served."""
        found = await self._get_plain(f"/apis/{group}")
        names: set[str] = set()
        for version in (found or {}).get("versions", ()):
            listed = await self._get_plain(f"/apis/{version['groupVersion']}")
            names |= {resource["name"] for resource in (listed or {}).get("resources", ())}
        return frozenset(names)

    async def _owner(self) -> OwnerReference | None:
        if not self._settings.owner:
            return None
        group, kind = "rbac.authorization.k8s.io/v1", "ClusterRole"
        found = await self._get(f"/apis/{group}/clusterroles/{self._settings.owner}", _Object)
        if found is None or found.metadata.deletion_timestamp:
            return None
        return OwnerReference(group, kind, found.metadata.name, found.metadata.uid)

    async def _kube_scheduler(self) -> str:
        """Return the leader of kube-scheduler; "" if its Lease cannot be read, since this is only for a warning."""
        try:
            found = await self._get(_KUBE_SCHEDULER, Lease)
        except Refused as error:
            if _KUBE_SCHEDULER not in self._told:
                log.warning("cannot determine whether kube-scheduler also serves default-scheduler: %s", error)
            self._told.add(_KUBE_SCHEDULER)
            return ""
        return found.spec.leader(datetime.now(UTC)) if found is not None else ""

    async def _list(self, path: str, kind: type[T], **query: str) -> list[T]:
        # Item by item, so that authors of profiles cannot make the list too large or block the operator.
        found: list[T] = []
        turn = Turn()

        async def take(item: bytes | TooLong) -> None:
            if isinstance(item, TooLong):
                log.warning("ignoring a %s that is too large", kind.__name__)
            elif (each := _decoded(msgspec.json.decode(item), kind)) is not None:
                found.append(each)
            if turn.step():
                await turn.give_way()

        await self.asked(self._read(path, query, take))
        return found

    async def _read(
        self, path: str, query: Mapping[str, str], take: Callable[[bytes | TooLong], Awaitable[None]]
    ) -> None:
        try:
            await read_answer(self._client, path, query, take, patience=_SECONDS)
        except BrokenStream as error:
            raise OutcomeUnknown(str(error)) from error

    async def all_of(self, path: str, kind: type[T], selector: str = "") -> list[T]:
        """Return all objects of a path with labels that a selector matches."""
        return await self._list(path, kind, **({"labelSelector": selector} if selector else {}))

    async def _get(self, path: str, kind: type[T]) -> T | None:
        if not path:
            return None
        found = await self._get_plain(path)
        return None if found is None else _decoded(found, kind)

    async def _get_plain(self, path: str) -> Any:
        try:
            return msgspec.json.decode(await self.asked(self._client.get(path)))
        except WorldChanged:
            return None

    # ------------------------------------------------------------------------------------------------- writing

    async def do(self, action: Action | PatchNode) -> None:
        """Execute one action; raises WorldChanged, NotReachable or Refused if it fails."""
        match action:
            case CreateProfile(manifest):
                await self._create(PROFILES, manifest)
            case PatchProfile(name, patch):
                await self._patch(f"{PROFILES}/{name}", patch)
            case DeleteProfile(name, uid):
                await self.asked(self._client.delete(f"{PROFILES}/{name}", uid))
            case PatchStatus(name, patch):
                await self._patch(f"{PROFILES}/{name}/status", patch)
            case PatchNode(name, patch):
                await self._patch(f"/api/v1/nodes/{name}", patch)
            case CreateConfigMap(manifest):
                await self._create(self._path("/api/v1", "configmaps"), manifest)
            case PatchConfigMap(patch):
                await self._patch(self._config_map_path(), patch)
            case StampDeployment(stamp):
                template = {"metadata": {"annotations": {HASH: stamp}}}
                await self._patch(self._deployment_path(), {"spec": {"template": template}})
            case WriteEvent() | WriteFileEvent():
                await self._write_event(action)
            case WakeUp():
                pass

    async def _write_event(self, event: WriteEvent | WriteFileEvent) -> None:
        """Write an event; failures are only logged."""
        if event.once in self._told or not self._budget.take():
            return
        try:
            if isinstance(event, WriteFileEvent):
                path = self._path("/apis/events.k8s.io/v1", "events")
                await self._create(path, file_event_manifest(event, self._settings.namespace))
            else:
                await self._create(_EVENTS, event_manifest(event))
        except NamespaceEnds as error:
            log.debug("no event on %s: %s", event.name, error)
        except (WorldChanged, NotReachable, Refused) as error:
            log.warning("cannot write an event on %s: %s", event.name, error)
        else:
            self._told |= {event.once} - {""}

    async def _create(self, path: str, manifest: Mapping[str, Any]) -> None:
        await self.asked(self._client.create(path, manifest))

    async def _patch(self, path: str, change: Mapping[str, Any]) -> None:
        await self.asked(self._client.patch(path, change))

    async def asked(self, request: Awaitable[T]) -> T:
        """Wait for a response; raises WorldChanged, NotReachable or Refused without one."""
        try:
            return await request
        except (Unreachable, OutcomeUnknown) as error:
            raise NotReachable(str(error)) from error
        except ApiError as error:
            if error.status in (404, 409):
                raise WorldChanged(str(error)) from error
            if error.is_of_ending_namespace:
                raise NamespaceEnds(str(error)) from error
            if error.status in (400, 403, 413, 422):
                raise Refused(str(error)) from error
            raise NotReachable(str(error), error.retry_after or 0.0) from error

    # ------------------------------------------------------------------------------------------------- places

    def _path(self, api: str, resource: str) -> str:
        return f"{api}/namespaces/{self._settings.namespace}/{resource}"

    def _config_map_path(self) -> str:
        return f"{self._path('/api/v1', 'configmaps')}/{self._settings.config_map}"

    def _deployment_path(self) -> str:
        name = self._settings.scheduler_deployment
        return f"{self._path('/apis/apps/v1', 'deployments')}/{name}" if name else ""


def _is_of_the_cluster(profile: StoredProfile) -> bool:
    """Return whether a profile serves default-scheduler."""
    named = profile.spec.get("schedulerName") if isinstance(profile.spec, dict) else None
    return (named or profile.name) == DEFAULT_SCHEDULER


async def _nothing() -> None:
    return None


def _decoded(item: Any, kind: type[T]) -> T | None:
    try:
        return msgspec.convert(item, kind)
    except msgspec.ValidationError as error:
        log.warning("ignoring a %s that cannot be decoded: %s", kind.__name__, error)
        return None


def plugin_sources(config_maps: Collection[ConfigMap]) -> tuple[PluginSource, ...]:
    """Return the plugin files of ConfigMaps, the oldest first."""
    ordered = sorted(config_maps, key=lambda found: (found.metadata.creation_timestamp, found.metadata.name))
    return tuple(
        PluginSource(
            found.metadata.name,
            found.metadata.uid,
            tuple(
                PluginFile(f"{found.metadata.name}/{key}", text)
                for key, text in sorted(found.data.items())
                if is_plugin_file(key)
            ),
        )
        for found in ordered
    )
