"""The parts that let a scheduler follow a ConfigMap, from its first text to its last."""

import logging
from collections.abc import Coroutine
from typing import Any

import msgspec

from pilotage.app import Configured
from pilotage.app.following import IDLE, KEY, REFUSED, Following
from pilotage.app.options import FollowedConfigMap
from pilotage.app.probation import Probation
from pilotage.app.reloading import Reloading
from pilotage.cluster.access import Access
from pilotage.cluster.api_client import ApiClient
from pilotage.cluster.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.config_map import ConfigMap, config_map_resource
from pilotage.cluster.own_pod import OwnPod
from pilotage.cluster.reflector import Reflector
from pilotage.config.load import load

log = logging.getLogger(__name__)


class HotConfiguration:
    """Watches the ConfigMap, brings it into service, and tells on our own pod what runs and what is wrong."""

    def __init__(
        self, place: FollowedConfigMap, watches: ApiClient, writes: ApiClient, reloading: Reloading, first: str | None
    ) -> None:
        self.reloading = reloading
        self._pod = OwnPod(writes, place.pod_namespace, place.pod_name) if place.pod_name else None
        self.following = Following(reloading, self._pod.annotate if self._pod else lambda _annotations: None)
        self.probation = Probation(self.following.tell_failing, self.following.tell_well)
        self.following.on_applied = self.probation.begin
        self._watch = Reflector(watches, config_map_resource(place.namespace, place.name), self.following)
        if first is not None:
            self.following.begin_with(first)

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """Return what runs for as long as the scheduler does."""
        own = [] if self._pod is None else [self._pod.run()]
        return [self._watch.run(), self.following.run(), *own]

    def missing(self) -> str | None:
        """Return why the scheduler cannot be ready: nothing is configured yet."""
        return None if self.following.running else "the ConfigMap with the configuration is not there or not right"


async def first_configuration(
    catalogue_of: Configured, place: FollowedConfigMap, access: Access, agent: str
) -> tuple[Configured, str | None]:
    """Return what to start with: the ConfigMap's text, or a configuration that serves nobody until there is one."""
    idle = Configured(load(IDLE, catalogue_of.catalogue), catalogue_of.catalogue)
    text = await _read(place, access, agent)
    if text is None:
        log.info("waiting for the ConfigMap %s/%s", place.namespace, place.name)
        return idle, None
    try:
        found = Configured(load(text, catalogue_of.catalogue), catalogue_of.catalogue)
        found.profiles()
    except REFUSED as error:
        log.error("the configuration in the ConfigMap %s/%s is refused: %s", place.namespace, place.name, error)
        return idle, None
    return found, text


async def _read(place: FollowedConfigMap, access: Access, agent: str) -> str | None:
    client = ApiClient(access, agent=agent, connections=1, timeout=10.0)
    try:
        answer = await client.get(f"/api/v1/namespaces/{place.namespace}/configmaps/{place.name}")
        return msgspec.json.decode(answer, type=ConfigMap).data.get(KEY)
    except (ApiError, Unreachable, OutcomeUnknown, msgspec.MsgspecError) as error:
        log.info("no configuration yet: %s", error)  # the watch goes on trying
        return None
    finally:
        await client.close()
