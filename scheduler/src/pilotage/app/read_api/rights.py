"""What a user may see, by SubjectAccessReviews, per namespace where necessary."""

import asyncio
from collections.abc import Iterable
from itertools import islice
from typing import Protocol

from pilotage.cluster.credentials.delegated_auth import PathAttributes, ResourceAttributes
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.model.go_text import quoted
from pilotage.model.users import User
from pilotage.scheduler_profiles.resource import GROUP, PLURAL
from pilotage.views.viewer import Viewer

MOST_NAMESPACES = 256  # that are checked one by one
AT_ONCE = 16
QUOTAS, QUOTA_GROUP = ElasticQuota.api.plural, ElasticQuota.api.group
PROFILES, PROFILE_GROUP = PLURAL, GROUP


class Judge(Protocol):
    """Checks what users may do."""

    async def may(self, user: User, wanted: PathAttributes | ResourceAttributes) -> bool | None:
        """Return whether a user may; None if the API server does not answer."""


class Forbidden(Exception):
    """The user may not see this; the text names the missing right."""


class TooManyNamespaces(Exception):
    """There are too many namespaces to check the rights of a user in each."""


class Unanswered(Exception):
    """The API server does not answer what the user may do."""


class Rights:
    """Finds out what users may see."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def may(self, user: User, wanted: PathAttributes | ResourceAttributes) -> bool:
        """Return whether a user may do something."""
        found = await self._judge.may(user, wanted)
        if found is None:
            raise Unanswered
        return found

    async def require(self, user: User, wanted: PathAttributes | ResourceAttributes) -> None:
        """Raise Forbidden if a user may not do something."""
        if not await self.may(user, wanted):
            raise Forbidden(_told(user, wanted))

    async def everywhere(self, user: User, resource: str = "pods", group: str = "") -> Viewer:
        """Return a viewer of all namespaces, or of no namespace."""
        everywhere = await self.may(user, ResourceAttributes("list", resource, group))
        nodes = await self.sees_nodes(user)
        return Viewer(everywhere=everywhere, nodes=nodes)

    async def sees_nodes(self, user: User) -> bool:
        """Return whether a user may see names of nodes."""
        return await self.may(user, ResourceAttributes("list", "nodes"))

    async def of_namespace(self, user: User, namespace: str, resource: str = "pods", group: str = "") -> Viewer:
        """Return a viewer of one namespace; Forbidden if the user may not see it."""
        found = await self.everywhere(user, resource, group)
        if found.everywhere:
            return found
        await self.require(user, ResourceAttributes("list", resource, group, namespace))
        return Viewer(namespaces=frozenset((namespace,)), nodes=found.nodes)

    async def of_pod(self, user: User, namespace: str, name: str) -> Viewer:
        """Return a viewer of one pod, and of its namespace if the user may list it; Forbidden."""
        found = await self.everywhere(user)
        if found.everywhere:
            return found
        await self.require(user, ResourceAttributes("get", "pods", "", namespace, name))
        lists = await self.may(user, ResourceAttributes("list", "pods", "", namespace))
        seen = frozenset((namespace,)) if lists else frozenset[str]()
        return Viewer(namespaces=seen, nodes=found.nodes)

    async def of_all(self, user: User, namespaces: Iterable[str], resource: str = "pods", group: str = "") -> Viewer:
        """Return a viewer of those of some namespaces that the user may see."""
        found = await self.everywhere(user, resource, group)
        if found.everywhere:
            return found
        seen, more = await self.namespaces(user, namespaces, resource, group)
        if more:
            raise TooManyNamespaces
        return Viewer(namespaces=seen, nodes=found.nodes)

    async def namespaces(
        self, user: User, namespaces: Iterable[str], resource: str = "pods", group: str = ""
    ) -> tuple[frozenset[str], bool]:
        """Return those of some namespaces that a user may see, and whether there are too many to check."""
        named = list(islice(sorted(namespaces), MOST_NAMESPACES + 1))
        asked = named[:MOST_NAMESPACES]
        seen: set[str] = set()
        for first in range(0, len(asked), AT_ONCE):
            some = asked[first : first + AT_ONCE]
            answers = await asyncio.gather(
                *(self.may(user, ResourceAttributes("list", resource, group, each)) for each in some)
            )
            seen.update(each for each, allowed in zip(some, answers, strict=True) if allowed)
        return frozenset(seen), len(named) > len(asked)


def _told(user: User, wanted: PathAttributes | ResourceAttributes) -> str:
    if isinstance(wanted, PathAttributes):
        return f"User {quoted(user.name)} cannot {wanted.verb} path {quoted(wanted.path)}"
    kind = f"{wanted.resource}.{wanted.group}" if wanted.group else wanted.resource
    what = f"{kind} {quoted(wanted.name)}" if wanted.name else kind
    where = f" in the namespace {quoted(wanted.namespace)}" if wanted.namespace else ""
    if wanted.resource in (QUOTAS, "pods") and not wanted.namespace:
        where = " in all namespaces"
    return f"User {quoted(user.name)} cannot {wanted.verb} {what}{where}"
