"""The components that let a scheduler follow a ConfigMap."""

import logging
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from pilotage.app import Configured, unit_configured
from pilotage.app.config_follower import IDLE, UNUSABLE, Following
from pilotage.app.options import FollowedConfigMap
from pilotage.app.policy_health import PolicyHealth
from pilotage.app.reloading import Reloading
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.config_map import ConfigMap, config_map_resource
from pilotage.cluster.watch.reflector import Reflector
from pilotage.cluster.write.own_pod import OwnPod
from pilotage.config.handshake import Unit, unit_hash, unit_in
from pilotage.plugins.catalogue import BrokenPlugin

log = logging.getLogger(__name__)


class HotConfiguration:
    """Watches the ConfigMap, applies it, and reports the running configuration and problems on our own pod."""

    def __init__(
        self, place: FollowedConfigMap, watches: ApiClient, writes: ApiClient, reloading: Reloading, first: str | None
    ) -> None:
        self.reloading = reloading
        self._pod = OwnPod(writes, place.pod_namespace, place.pod_name) if place.pod_name else None
        self.annotate = self._pod.annotate if self._pod else _no_reader
        self.following = (
            Following(reloading, self.annotate, self._pod.written) if self._pod else Following(reloading, self.annotate)
        )
        self.policy_health = PolicyHealth(self.following.report_failing, self.following.report_recovered)
        self.following.on_applied.connect(self.policy_health.begin)
        self.following.on_unchanged.connect(self.policy_health.remind)
        self._watch = Reflector(watches, config_map_resource(place.namespace, place.name), self.following)
        if first is not None:
            self.following.begin_with(first)

    def label(self, labels: Mapping[str, str | None]) -> None:
        """Set these labels on our own pod, if we run in one."""
        if self._pod is not None:
            self._pod.label(labels)

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """Return the background tasks."""
        own = [] if self._pod is None else [self._pod.run()]
        return [self._watch.run(), self.following.run(), *own]

    def leave_out(self, broken: BrokenPlugin) -> None:
        """Record a profile that could not start, and report it for as long as it cannot."""
        left_out, name = self.reloading.left_out, broken.profile
        left_out.add(name)
        self.policy_health.condemn(name, broken.plugin, str(broken), lambda: name in left_out)

    def missing(self) -> str | None:
        """Return why the scheduler is not ready, if it has no configuration yet."""
        return None if self.following.running else "the ConfigMap with the configuration does not exist or is invalid"


def _no_reader(_annotations: Mapping[str, str | None]) -> None:
    pass


async def first_configuration(
    catalogue_of: Configured, place: FollowedConfigMap, access: Access, agent: str
) -> tuple[Configured, str | None]:
    """Return the unit to start with and its hash: the ConfigMap's, or one that serves no pod until there is one."""
    idle = unit_configured(Unit(IDLE), catalogue_of.catalogue)
    data = await _read(place, access, agent)
    if data is None:
        log.info("waiting for the ConfigMap %s/%s", place.namespace, place.name)
        return idle, None
    try:
        found = unit_configured(unit_in(data), catalogue_of.catalogue)
    except UNUSABLE as error:
        log.error("the configuration in the ConfigMap %s/%s was rejected: %s", place.namespace, place.name, error)
        return idle, None
    return found, unit_hash(data)


async def _read(place: FollowedConfigMap, access: Access, agent: str) -> Mapping[str, str] | None:
    client = ApiClient(access, agent=agent, connections=1, timeout=10.0)
    try:
        answer = await client.get(f"/api/v1/namespaces/{place.namespace}/configmaps/{place.name}")
        return msgspec.json.decode(answer, type=ConfigMap).data or None
    except (ApiError, Unreachable, OutcomeUnknown, msgspec.MsgspecError) as error:
        log.info("no configuration yet: %s", error)  # the watch keeps trying
        return None
    finally:
        await client.close()
