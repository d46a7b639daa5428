"""Replaces the profiles of a running scheduler: built completely, then swapped in between two pods."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Protocol, TypeVar

from pilotage.app import Configured
from pilotage.app.core import Core
from pilotage.app.informers import KnownPods, Watching, kinds_read
from pilotage.app.leaving_out import without
from pilotage.app.profile_engines import engines, release_plugins, retries
from pilotage.config.handshake import Unit
from pilotage.config.load import Loaded, load
from pilotage.config.types import KubeSchedulerConfiguration
from pilotage.extenders.extenders import Extenders
from pilotage.framework.runtime.plugin_guard import is_foreign
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.pod import Pod
from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue
from pilotage.profiles import Profile, build_profiles
from pilotage.scheduling.engine import Engine

Value = TypeVar("Value")

LONGEST_SLICE = 0.01  # seconds to prepare profiles before yielding to others
LONG_TEXT = 16 << 10  # characters of a configuration that takes long to read
LONGEST_LIST = 30.0  # seconds to wait for objects that only new plugins read
LONGEST_BINDS = 5.0  # seconds to wait for binds that the previous policy decided


class NeedsRestart(Exception):
    """The configuration changes settings that a running process cannot change."""


class NotListed(Exception):
    """Objects that new plugins read could not be listed; the previous profiles keep running."""


class RunsLong(Protocol):
    """Runs long work inline or in a thread."""

    async def __call__(self, work: Callable[[], Value]) -> Value: ...


@dataclass
class Reloading:
    """Applies a configuration; the queue, the cache and reservations stay as they are."""

    ready: Configured  # the running configuration
    profiles: dict[str, Profile]
    core: Core
    watching: Watching
    known: KnownPods
    has_extenders: bool = False
    left_out: set[str] = field(default_factory=set)  # profiles that could not start
    _unread: set[type[KubeObject]] = field(default_factory=set)  # kinds whose objects are kept for binds in progress

    async def apply(self, unit: Unit) -> None:
        """Switch to another configuration; any exception leaves the previous one running."""
        catalogue = self.ready.catalogue.with_files(unit.files)  # 1. the known plugins
        # Plugin files can only be aborted in the main thread.
        is_ours = not unit.files and not any(is_foreign(entry.plugin) for entry in catalogue)
        run_long = _in_a_thread if is_ours and len(unit.configuration) > LONG_TEXT else _at_once
        loaded = await run_long(partial(load, unit.configuration, catalogue))  # 2. is it valid
        self._refuse_the_rest(loaded.config)  # 3. does it change only profiles
        while (less := await self._bring(loaded, catalogue, run_long)) is not None:
            loaded = less

    async def _bring(self, loaded: Loaded, catalogue: PluginCatalogue, run_long: RunsLong) -> Loaded | None:
        """Apply a configuration; if a profile is still left out, return one to try instead."""
        try:
            await self._apply(loaded, catalogue, run_long)
        except BrokenPlugin as error:
            # It is not part of the change, so the others do not wait for it.
            less = without(loaded, error.profile) if error.profile in self.left_out else None
            if less is None:
                raise
            return less
        self.left_out.difference_update(self.profiles)
        return None

    async def _apply(self, loaded: Loaded, catalogue: PluginCatalogue, run_long: RunsLong) -> None:
        build = partial(build_profiles, loaded, catalogue, running=dict(self.profiles))
        profiles = await run_long(build)  # 4. plugins
        await self._list(profiles)  # 5. the objects they read
        made = await self._engines(profiles)
        await self.core.loop.between_decisions()  # all pods of a gang are placed by one policy
        old = self._swap(profiles, made)  # 6. between two pods
        self.ready = Configured(loaded, catalogue)
        await self._finish_binds(old)  # 7. binds of the previous policy
        self._give_up()  # 8. stop watching kinds that only it read

    def _refuse_the_rest(self, config: KubeSchedulerConfiguration) -> None:
        now = self.ready.loaded.config
        fields = (name for name in type(now).model_fields if name != "profiles")
        different = [name for name in fields if getattr(now, name) != getattr(config, name)]
        if different:
            raise NeedsRestart(f"changes of {', '.join(different)} require a restart")

    async def _list(self, profiles: Mapping[str, Profile]) -> None:
        try:
            async with asyncio.timeout(LONGEST_LIST):
                await self.watching.add(kinds_read(profiles))
        except TimeoutError:
            left = ", ".join(self.watching.unsynced())
            raise NotListed(f"cannot list {left}, which the plugins read") from None

    def _give_up(self) -> None:
        for kind in self._unread:
            self.core.cache.objects.drop_all(kind)
        # Longer binds may still look up their objects, until the next change.
        self._unread = self.watching.give_up(kinds_read(self.profiles))

    def _swap(self, profiles: Mapping[str, Profile], made: Mapping[str, Engine]) -> list[Engine]:
        """Swap profiles; returns those that no longer run."""
        queue, running = self.core.queue, self.core.engines
        old = [engine for name, engine in running.items() if made.get(name) is not engine]
        new_names = made.keys() - running.keys()
        for queued in queue:
            if queued.pod.scheduler_name not in made:
                queue.delete(queued.pod)  # no profile serves it any more; the pod itself is not changed
        _replace(running, made)
        release_plugins(self.core.handles, old, made)
        _replace(self.profiles, profiles)
        more = [Extenders()] if self.has_extenders else []
        queue.reconfigure(
            next(iter(profiles.values())).plugin_set.queue_sort[0],
            lambda pod: self.profiles[pod.scheduler_name].plugin_set.pre_enqueue,
            {name: retries(profile, *more) for name, profile in profiles.items()},
        )
        for pod in list(self.known.pods.values()):
            if pod.scheduler_name in new_names and self._waits(pod):
                queue.add(pod)
        self.core.loop.wake()
        return old

    async def _engines(self, profiles: Mapping[str, Profile]) -> dict[str, Engine]:
        """Build engines one by one, so that a hundred profiles do not block the loop."""
        core, made = self.core, dict[str, Engine]()
        try:
            begun = perf_counter()
            for name, profile in profiles.items():
                if perf_counter() - begun >= LONGEST_SLICE:
                    await asyncio.sleep(0)
                    begun = perf_counter()
                made |= engines({name: profile}, core.cache, core.engines, core.handles, profiles.keys())
        except BaseException:
            new = [each for name, each in made.items() if core.engines.get(name) is not each]
            release_plugins(core.handles, new, core.engines)
            raise
        return made

    def _waits(self, pod: Pod) -> bool:
        return not pod.node_name and not self.core.cache.is_assumed(pod.uid)

    async def _finish_binds(self, old: list[Engine]) -> None:
        try:
            async with asyncio.timeout(LONGEST_BINDS):
                await self.core.bindings.finished_of(old)
        except TimeoutError:
            pass  # a volume may take minutes, and the pod's node is decided


async def _at_once(work: Callable[[], Value]) -> Value:
    return work()


async def _in_a_thread(work: Callable[[], Value]) -> Value:
    return await asyncio.to_thread(work)


def _replace(mapping: dict[str, Value], other: Mapping[str, Value]) -> None:
    mapping.clear()
    mapping.update(other)
