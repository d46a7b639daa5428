"""All watches of the scheduler: for the resources that its plugins need, and whether all have been listed."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.known_objects import Sink
from pilotage.cluster.watch.reflector import Reflector
from pilotage.cluster.watch.resources import NODES, PODS, ApiResource, resources_of
from pilotage.kinds.devices import ResourceClaim
from pilotage.kinds.every import OURS
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.profiles import Profile

log = logging.getLogger(__name__)

# Besides pods and nodes, what a former leader may have decided until a moment ago.
DECIDED_BY_SCHEDULERS = frozenset({ResourceClaim})
PAUSE = 1.0  # seconds until the next request to an API server that does not respond


class Sinks(Protocol):
    """The receivers of watch events."""

    @property
    def pods(self) -> Sink[Pod]: ...
    @property
    def nodes(self) -> Sink[Node]: ...
    @property
    def objects(self) -> Sink[Any]: ...


class Watching:
    """One reflector for each resource that is needed and served."""

    def __init__(
        self,
        api: ApiClient,
        sinks: Sinks,
        kinds: Iterable[type[KubeObject]],
        *,
        pods: ApiResource[Pod] = PODS,
        nodes: ApiResource[Node] = NODES,
    ) -> None:
        self._api = api
        self._sinks = sinks
        self._kinds = set(kinds)
        self.pods = Reflector(api, pods, sinks.pods)
        self.nodes = Reflector(api, nodes, sinks.nodes)
        self.reflectors: list[Reflector[Any]] = [self.nodes]  # pods come last: their nodes exist when they arrive
        self._tasks: dict[Reflector[Any], asyncio.Task[None]] = {}
        self._trouble = ""  # the last error of asking the API server what it serves

    async def start(self) -> None:
        """Start watching everything."""
        self.reflectors += await self._reflectors_for(self._kinds)
        self.reflectors.append(self.pods)
        for reflector in self.reflectors:
            self._run(reflector)

    async def _reflectors_for(self, kinds: set[type[KubeObject]]) -> list[Reflector[Any]]:
        served = [resource for resource in resources_of(kinds) if await self._is_served(resource)]
        return [Reflector(self._api, resource, self._sinks.objects) for resource in served]

    async def add(self, kinds: Iterable[type[KubeObject]]) -> None:
        """Watch these kinds, too, and wait until they have been listed once."""
        new = set(kinds) - self._kinds
        added = await self._reflectors_for(new)
        self._kinds |= new
        self.reflectors += added
        for reflector in added:
            self._run(reflector)
        for reflector in added:
            await reflector.wait_until_synced()

    def give_up(self, read: Iterable[type[KubeObject]]) -> set[type[KubeObject]]:
        """Stop watching kinds that plugin files declare and no plugin reads any more; returns them.

        A changed file declares its kinds again, as new classes. Built-in kinds stay: they are often needed again soon.
        """
        left = {kind for kind in self._kinds - set(read) if kind not in OURS}
        for reflector in [each for each in self.reflectors if each.resource.shape in left]:
            self._tasks.pop(reflector).cancel()
            self.reflectors.remove(reflector)
        self._kinds -= left
        return left

    def _run(self, reflector: Reflector[Any]) -> None:
        self._tasks[reflector] = asyncio.create_task(reflector.run(), name=f"watch {reflector.resource}")

    async def synced(self) -> None:
        """Wait until everything has been listed once."""
        for reflector in self.reflectors:
            await reflector.wait_until_synced()

    async def refresh(self) -> None:
        """Relist what leaders change and wait for it: another one may have acted until a moment ago."""
        decided = [each for each in self.reflectors if each.resource.shape in DECIDED_BY_SCHEDULERS]
        again = (self.nodes, *decided, self.pods)
        tasks = [self._tasks.pop(reflector) for reflector in again]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)  # two runs of one reflector would break each other's list
        for reflector in again:
            reflector.expire()
            self._run(reflector)
        for reflector in again:
            await reflector.wait_until_synced()

    def unsynced(self) -> list[str]:
        """Return the resources that have not been listed yet."""
        return [str(reflector.resource) for reflector in self.reflectors if not reflector.is_synced]

    def ended(self) -> list[str]:
        """Return the watches that have ended, which should never happen."""
        return [str(reflector.resource) for reflector, task in self._tasks.items() if task.done()]

    def silence(self) -> dict[str, float]:
        """Return how long each watch has been silent."""
        return self._of_each(lambda reflector: reflector.seconds_silent(), max)

    def lists(self) -> dict[str, float]:
        """Return how often each resource was listed in full, streamed or not."""
        return self._of_each(lambda each: each.lists + each.streamed_lists)

    def errors(self) -> dict[str, float]:
        """Return how often a watch or a list of each resource failed."""
        return self._of_each(lambda each: each.errors)

    def undecodable(self) -> dict[str, float]:
        """Return how many objects of each resource exist and cannot be decoded."""
        return self._of_each(lambda each: len(each.undecodable))

    def skipped(self) -> dict[str, float]:
        """Return how many objects of each resource were received that are too large to decode."""
        return self._of_each(lambda each: each.skipped)

    def _of_each(
        self, figure: Callable[[Reflector[Any]], float], together: Callable[[list[float]], float] = sum
    ) -> dict[str, float]:
        """Return a figure for each resource, which several plugin files may have declared differently."""
        found: dict[str, list[float]] = {}
        for each in self.reflectors:
            found.setdefault(str(each.resource), []).append(figure(each))
        return {name: together(figures) for name, figures in found.items()}

    def stop(self) -> None:
        """End all watches."""
        for task in self._tasks.values():
            task.cancel()

    async def _is_served(self, resource: ApiResource[Any]) -> bool:
        """Return whether the API server knows a resource; if an older one does not, plugins find no objects."""
        if not resource.group or resource.optional:
            return True  # the watch will find it as soon as it exists
        while True:
            try:
                answer = await self._api.get(f"/apis/{resource.group}/{resource.version}")
            except ApiError as error:
                if error.status == 404:
                    _warn_of_missing(resource)
                    return False
                if error.status < 500 and error.status != 429:
                    return True  # the watch will report what is wrong
                self._wait_for_answer(error)
            except (Unreachable, OutcomeUnknown) as error:
                self._wait_for_answer(error)
            else:
                if not (is_served := is_listed(answer, resource.plural)):
                    _warn_of_missing(resource)
                return is_served
            await asyncio.sleep(PAUSE)

    def _wait_for_answer(self, error: Exception) -> None:
        if str(error) != self._trouble:  # once, not every second
            log.warning("the API server does not respond, retrying every second: %s", error)
        self._trouble = str(error)


def _warn_of_missing(resource: ApiResource[Any]) -> None:
    log.warning("the API server does not serve %s; plugins that read it see no objects", resource)


def is_listed(answer: bytes, plural: str) -> bool:
    """Return whether an API server's answer about a group and version lists a resource; True if it lists none."""
    try:
        found = msgspec.json.decode(answer, type=_Served).resources
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return True
    return not found or any(each.name == plural for each in found)


class _Name(msgspec.Struct):
    name: str = ""


class _Served(msgspec.Struct):
    """The resources of a group and version."""

    resources: list[_Name] | None = None


def kinds_read(profiles: Mapping[str, Profile]) -> set[type[KubeObject]]:
    """Return the kinds that the plugins of all profiles read."""
    plugins = (plugin for profile in profiles.values() for plugin in profile.plugin_set.plugins().values())
    return {kind for plugin in plugins for kind in plugin.reads}


class KnownPods:
    """Looks up pods in the watch's store, also before the watch has started."""

    def __init__(self) -> None:
        self.pods: Mapping[str, Pod] = {}

    def __call__(self, key: str) -> Pod | None:
        """Return a pod as last received from the API server."""
        return self.pods.get(key)

    def newest(self, pod: Pod) -> Pod | None:
        """Return the newest state of a pod; None if it is gone."""
        found = self.pods.get(pod.key)
        return found if found is not None and found.uid == pod.uid else None
