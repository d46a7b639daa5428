"""A live cluster, read once: missing permissions are collected, so that all can be reported together."""

import asyncio
import re
from collections.abc import Iterable
from urllib.parse import quote

import msgspec

from pilotage.cluster.kubectl.names import subject_flag
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError
from pilotage.cluster.watch.known_objects import KnownObjects
from pilotage.cluster.watch.listing import Lister
from pilotage.cluster.watch.resources import PODS, ApiResource, T
from pilotage.cluster.watch.watch_events import EventReader, UndecodableObject
from pilotage.model.pod import Pod

FROM_MEMORY = "0"  # from the API server's watch cache: fast, and as fresh as any watch
FORBIDDEN, NOT_FOUND, TOO_MANY_REQUESTS = 403, 404, 429
PAUSES = (0.5, 1.0, 2.0)  # seconds before a list is tried again
USER = re.compile(r'User "([^"\s]{1,253})"')
MOST_NAMED = 4  # missing rights in a message; docs/explain.md lists all
ROLE = "pilotage-explainer.pilotage"
GRANT = (
    "kubectl create clusterrolebinding explainer --clusterrole={} {} grants all of them "
    "(a ClusterRole of the chart; FULLNAME-explainer.NAMESPACE for another release)"
)


class _Named(msgspec.Struct):
    name: str = ""


class _Served(msgspec.Struct):
    resources: list[_Named] = []


class ClusterReading:
    """Lists resources, and continues after a refusal."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self.missing: list[str] = []  # rights, each as a verb and a resource
        self._user = ""
        self._hidden = ""  # a pod that may not even be read by its name

    async def list(self, resource: ApiResource[T], *, is_needed: bool = True) -> KnownObjects[T]:
        """Return all objects; none if the API server does not serve them, here as in the scheduler.

        Where the objects are not needed, there are none if the API server refuses, for whatever reason.
        """
        try:
            return await self._listed(resource)
        except ApiError as error:
            if not is_needed:
                return KnownObjects()
            # Without the permission, the API server also refuses what does not exist.
            is_there = error.status != NOT_FOUND and await self._is_served(resource)
            if is_there and not self.refused(error, f"list {resource}"):
                raise
            return KnownObjects()

    async def _listed(self, resource: ApiResource[T]) -> KnownObjects[T]:
        """List objects, again if the API server asks for patience: while it fills its watch cache, for instance."""
        for seconds in (*PAUSES, None):
            try:
                found, _ = await Lister(self._api, resource, EventReader(resource)).list(FROM_MEMORY)
            except ApiError as error:
                if error.status != TOO_MANY_REQUESTS or seconds is None:
                    raise
                await asyncio.sleep(seconds)
            else:
                return found
        raise AssertionError("the last attempt returns or raises")

    async def _is_served(self, resource: ApiResource[T]) -> bool:
        if not resource.group:
            return True
        try:
            body = await self._api.get(f"/apis/{resource.group}/{resource.version}")
        except ApiError as error:
            return error.status != NOT_FOUND
        return any(each.name == resource.plural for each in msgspec.json.decode(body, type=_Served).resources)

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return one pod; None if it does not exist or reading it is forbidden."""
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
        try:
            found = EventReader(PODS).object(await self._api.get(path))
        except ApiError as error:
            if error.status not in (FORBIDDEN, NOT_FOUND):
                raise
            if error.status == FORBIDDEN:
                self._hidden = f"{namespace}/{name}"
            return None
        return None if isinstance(found, UndecodableObject) else found

    def refused(self, error: ApiError, right: str) -> bool:
        """Record the missing permission, if the error is about one."""
        if error.status != FORBIDDEN:
            return False
        self.missing.append(right)
        named = USER.search(error.message)
        self._user = named[1] if named else self._user
        return True

    def what_is_missing(self) -> str:
        """Return the missing permissions, and how to grant them."""
        grant = GRANT.format(ROLE, subject_flag(self._user))
        one = f"get the pod {self._hidden}, or to " if self._hidden else ""
        return f"you are not allowed to {one}{_joined(self.missing)} in all namespaces; {grant}"


def _joined(rights: Iterable[str]) -> str:
    """Return permissions by verb: list nodes, pods or get configmaps; the last of many only as a number."""
    every = list(dict.fromkeys(rights))
    named = every if len(every) <= MOST_NAMED + 1 else every[:MOST_NAMED]
    by_verb: dict[str, list[str]] = {}
    for right in named:
        verb, _, resource = right.partition(" ")
        by_verb.setdefault(verb, []).append(resource)
    text = " or ".join(f"{verb} {', '.join(resources)}" for verb, resources in by_verb.items())
    return text if len(named) == len(every) else f"{text} and {len(every) - len(named)} other kinds"
