"""Maintains profiles' own nodes: their number in the status, and the taint, if enabled."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from pilotage.scheduler_profiles.resource import PATH as PROFILES
from pilotage.scheduler_profiles.sharing_fields import OwnNodes
from pilotage_operator.cluster import NotReachable, Refused, WorldChanged
from pilotage_operator.profiles.actions import PatchStatus
from pilotage_operator.profiles.own_nodes import (
    NOT_ALLOWED,
    TAINTED_BY,
    PatchNode,
    StoredNode,
    is_tainted_for,
    own_nodes_of,
    release_value,
    selector_text,
    taint_patches,
)
from pilotage_operator.profiles.world import StoredProfile
from pilotage_operator.settings import Settings

log = logging.getLogger(__name__)

T = TypeVar("T")
NODES = "/api/v1/nodes"
EVERY = 15.0  # seconds


class Api(Protocol):
    """The cluster as the keeper needs it."""

    async def all_of(self, path: str, kind: type[T], selector: str = "") -> list[T]:
        """Return all objects of a path with labels that a selector matches."""

    async def do(self, action: PatchNode | PatchStatus) -> None:
        """Execute one action."""


class NodeKeeper:
    """Maintains the nodes of all profiles that this release serves; without such profiles it reads no nodes."""

    def __init__(self, settings: Settings, api: Api) -> None:
        self._settings, self._api = settings, api
        self._release = release_value(settings.instance)
        self._may_have_tainted = settings.taint_nodes  # possibly before this process started

    async def run(self) -> None:
        """Reconcile periodically until cancelled; failures are retried the next time."""
        while True:
            try:
                await self.look()
            except (NotReachable, Refused, WorldChanged) as error:
                log.warning("the taints of profiles' nodes could not be reconciled, retrying: %s", error)
            except Exception:
                log.exception("the taints of profiles' nodes could not be reconciled, retrying")
            await asyncio.sleep(EVERY)

    async def look(self) -> None:
        """Reconcile taints and statuses once."""
        stored = await self._api.all_of(PROFILES, StoredProfile)
        asked = {each.name: own_nodes_of(each, self._settings.instance) for each in stored}
        said = {name: nodes for name, nodes in asked.items() if nodes is not None}
        found = {name: await self._matching(nodes) for name, nodes in said.items()}
        if self._settings.taint_nodes:
            await self._taint({name: found[name] for name, nodes in said.items() if nodes.taint})
        for profile in stored:
            if profile.name in said:
                await self._tell(profile, said[profile.name], found[profile.name])

    async def _matching(self, nodes: OwnNodes) -> list[StoredNode]:
        return await self._api.all_of(NODES, StoredNode, selector_text(nodes.selector))

    async def _taint(self, wanted: Mapping[str, Sequence[StoredNode]]) -> None:
        if not wanted and not self._may_have_tainted:
            return
        marked = await self._api.all_of(NODES, StoredNode, f"{TAINTED_BY}={self._release}")
        for patch in taint_patches(wanted, marked, self._release):
            log.info("node %s: taints updated for the profiles", patch.name)
            await self._api.do(patch)
        self._may_have_tainted = bool(wanted)

    async def _tell(self, profile: StoredProfile, nodes: OwnNodes, found: Sequence[StoredNode]) -> None:
        counted: dict[str, Any] = {"matched": len(found)}
        if nodes.taint:
            counted["tainted"] = sum(is_tainted_for(node, profile.name) for node in found)
            if not self._settings.taint_nodes:
                counted["message"] = NOT_ALLOWED
        known = profile.status.get("nodes") if isinstance(profile.status, dict) else None
        if known == counted:
            return
        gone = {key: None for key in (known or {}) if key not in counted}
        version = {"resourceVersion": profile.metadata.resource_version}
        await self._api.do(PatchStatus(profile.name, {"metadata": version, "status": {"nodes": counted | gone}}))
