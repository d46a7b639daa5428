"""Other profiles for a scheduler that is running: built completely, then put in place between two pods."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from pilotage.app import Configured
from pilotage.app.core import Core
from pilotage.app.profile_engines import engines, let_go, retries
from pilotage.app.watching import KnownPods, Watching, kinds_read
from pilotage.config.handshake import Unit
from pilotage.config.load import load
from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.model.pod import Pod
from pilotage.profiles import Profile, build_profiles
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.extenders import Extenders

Value = TypeVar("Value")

LONGEST_LIST = 30.0  # seconds to wait for objects that only new plugins read
LONGEST_BINDS = 5.0  # seconds to wait for binds that the policy of before has decided


class NeedsRestart(Exception):
    """What the configuration changes cannot be changed in a process that is running."""


class NotListed(Exception):
    """What new plugins read could not be listed; the profiles of before go on."""


@dataclass
class Reloading:
    """Brings a configuration into service; the queue, the cache and all that is held stay as they are."""

    ready: Configured  # what runs now
    profiles: dict[str, Profile]
    core: Core
    watching: Watching
    known: KnownPods
    connect: Callable[[Profile], None]  # gives new plugins their way to the API server
    has_extenders: bool = False

    async def apply(self, unit: Unit) -> None:
        """Run another configuration from now on; any exception leaves the one of before in service."""
        catalogue = self.ready.catalogue.with_files(unit.files)  # 1. the plugins that there are
        loaded = load(unit.configuration, catalogue)  # 2. is it right
        self._refuse_the_rest(loaded.config)  # 3. is it about profiles only
        profiles = build_profiles(loaded, catalogue, running=self.profiles)  # 4. plugins
        await self._list(profiles)  # 5. what they read
        for profile in profiles.values():
            self.connect(profile)
        old = self._swap(profiles)  # 6. between two pods
        self.ready = Configured(loaded, catalogue)
        await self._finish_binds(old)  # 7. nothing more comes of the policy of before

    def _refuse_the_rest(self, config: KubeSchedulerConfiguration) -> None:
        now = self.ready.loaded.config
        fields = (name for name in type(now).model_fields if name != "profiles")
        different = [name for name in fields if getattr(now, name) != getattr(config, name)]
        if different:
            raise NeedsRestart(f"other values of {', '.join(different)} need a new process")

    async def _list(self, profiles: Mapping[str, Profile]) -> None:
        try:
            async with asyncio.timeout(LONGEST_LIST):
                await self.watching.add(kinds_read(profiles))
        except TimeoutError:
            left = ", ".join(self.watching.unsynced())
            raise NotListed(f"{left} cannot be listed, which the plugins read") from None

    def _swap(self, profiles: Mapping[str, Profile]) -> list[Engine]:
        """Put profiles in the place of others; returns what runs no more."""
        queue, running, made = self.core.queue, self.core.engines, self._engines(profiles)
        old = [engine for name, engine in running.items() if made.get(name) is not engine]
        new_names = made.keys() - running.keys()
        for queued in queue:
            if queued.pod.scheduler_name not in made:
                queue.delete(queued.pod)  # nobody serves it any more; it stays in the cluster as it is
        _replace(running, made)
        let_go(self.core.cache, old, made)
        _replace(self.profiles, profiles)
        more = [Extenders()] if self.has_extenders else []
        queue.reconfigure(
            next(iter(profiles.values())).lineup.queue_sort[0],
            lambda pod: self.profiles[pod.scheduler_name].lineup.pre_enqueue,
            {name: retries(profile, *more) for name, profile in profiles.items()},
        )
        for pod in list(self.known.pods.values()):
            if pod.scheduler_name in new_names and self._waits(pod):
                queue.add(pod)
        self.core.loop.wake()
        return old

    def _engines(self, profiles: Mapping[str, Profile]) -> dict[str, Engine]:
        return engines(profiles, self.core.cache, self.core.engines, self.core.waiting)

    def _waits(self, pod: Pod) -> bool:
        return not pod.node_name and not self.core.cache.is_assumed(pod.uid)

    async def _finish_binds(self, old: list[Engine]) -> None:
        try:
            async with asyncio.timeout(LONGEST_BINDS):
                await self.core.bindings.finished_of(old)
        except TimeoutError:
            pass  # a volume may take minutes, and what holds it was decided before


def _replace(mapping: dict[str, Value], other: Mapping[str, Value]) -> None:
    mapping.clear()
    mapping.update(other)
