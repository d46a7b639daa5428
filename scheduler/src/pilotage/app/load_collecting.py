"""Collects figures of how busy nodes are, for the plugins of all profiles that score by them."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pilotage.cluster.services.load_metrics import LoadCollector
from pilotage.cluster.services.load_sources import LoadUnavailable, Provider, SourceSettings, Unusable, source_of
from pilotage.cluster.watch.listing import GetApi
from pilotage.framework.api.nodes import NodeInfo
from pilotage.model.outside_services import CREDENTIALS, OutsideRules, refusals
from pilotage.plugins.load._shared.arguments import PROMETHEUS
from pilotage.plugins.load._shared.load_aware import LoadAware
from pilotage.profiles import Profile

log = logging.getLogger(__name__)


@dataclass
class _Running:
    """A collector, and its task once it has begun."""

    collector: LoadCollector
    task: asyncio.Task[None] | None = None


class LoadCollecting:
    """One collector for each source, however many plugins name it; one that nobody names any more is stopped."""

    def __init__(
        self,
        api: GetApi,
        nodes: Callable[[], Iterable[NodeInfo]],
        clock: Callable[[], float],
        profiles: Mapping[str, Profile],
        rules: OutsideRules | None = None,
    ) -> None:
        self._api = api
        self._rules = rules  # for sources that profiles name; None: whoever configures the scheduler owns it
        self._nodes = nodes
        self._clock = clock
        self._profiles = profiles  # those that run now
        self._sources: dict[SourceSettings, _Running] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._has_begun = False

    def connect(self, profile: Profile) -> None:
        """Give figures to the plugins of a profile that is about to run."""
        for plugin in _load_aware(profile):
            settings = settings_of(plugin, self._rules)
            if settings not in self._sources:
                self._sources[settings] = _Running(self._collector(settings, self._refused(plugin)))
            plugin.connect(self._sources[settings].collector, self._clock)
        if self._has_begun:
            # By then the profile runs, and it is known who is needed.
            asyncio.get_running_loop().call_soon(self.settle)

    def begin(self) -> None:
        """Start to collect: the nodes are known from now on."""
        self._has_begun = True
        self.settle()

    def settle(self) -> None:
        """Start what is needed now, stop what is not, and ask as often as the most impatient plugin wants."""
        wanted: dict[SourceSettings, list[LoadAware]] = {}
        for profile in self._profiles.values():
            for plugin in _load_aware(profile):
                wanted.setdefault(settings_of(plugin, self._rules), []).append(plugin)
        for settings in [each for each in self._sources if each not in wanted]:
            self._end(self._sources.pop(settings))
        for settings, running in self._sources.items():
            every = min(plugin.refresh_seconds for plugin in wanted[settings])
            running.collector.tune(every, min(plugin.stale_after_seconds for plugin in wanted[settings]))
            if running.task is None:
                running.task = asyncio.create_task(running.collector.run(), name=f"load {settings.name}")

    def ages(self) -> dict[str, float]:
        """Return how old the figures of each source are, in seconds."""
        return {name: collector.age() for name, collector in self._named()}

    def healthy(self) -> dict[str, float]:
        """Return 1 for each source whose figures count, 0 for the others."""
        return {name: float(collector.is_healthy()) for name, collector in self._named()}

    def troubles(self) -> dict[str, str]:
        """Return what is wrong with each source with which something is."""
        return {name: trouble for name, collector in self._named() if (trouble := collector.trouble())}

    async def close(self) -> None:
        """Stop everything."""
        for settings in list(self._sources):
            self._end(self._sources.pop(settings))
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _named(self) -> Iterator[tuple[str, LoadCollector]]:
        """Yield all collectors; two at one address, with other queries or credentials, get numbers."""
        seen: dict[str, int] = {}
        for settings, running in self._sources.items():
            seen[settings.name] = seen.get(settings.name, 0) + 1
            number = seen[settings.name]
            yield settings.name if number == 1 else f"{settings.name} ({number})", running.collector

    def _refused(self, plugin: LoadAware) -> str:
        """Return why a source may not be asked; the operator has said so already, if there is one."""
        found = plugin.service()
        if self._rules is None or found is None:
            return ""
        return "; ".join(f"{field}: {text}" for field, text in refusals(found[1], self._rules))

    def _collector(self, settings: SourceSettings, refused: str) -> LoadCollector:
        try:
            if refused:
                raise LoadUnavailable(refused)
            source = source_of(settings, self._api)
        except LoadUnavailable as error:
            source = Unusable(error)
        return LoadCollector(settings.name, source, lambda: [info.node for info in self._nodes()], self._clock)

    def _end(self, running: _Running) -> None:
        async def end() -> None:
            if running.task is not None:
                running.task.cancel()
                await asyncio.gather(running.task, return_exceptions=True)
            await running.collector.close()

        task = asyncio.create_task(end())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def settings_of(plugin: LoadAware, rules: OutsideRules | None = None) -> SourceSettings:
    """Return where a plugin wants its figures from."""
    directory = None if rules is None else rules.directory
    if plugin.watcher_address:
        return SourceSettings(Provider.LOAD_WATCHER, plugin.watcher_address.rstrip("/"))
    given = plugin.metric_provider
    if given.type != PROMETHEUS:
        return SourceSettings(Provider.METRICS_API)
    files = given.files(directory or CREDENTIALS)
    return SourceSettings(
        Provider.PROMETHEUS,
        given.url.rstrip("/"),
        token=given.token,
        token_file=files.token,
        user_files=(files.user, files.password),
        ca_file=given.ca_file,
        directory=directory,
        insecure=given.insecure_skip_verify,
        instance_label=given.instance_label,
        instance_is=given.instance_is,
        queries=given.asked,
    )


def _load_aware(profile: Profile) -> list[LoadAware]:
    return [plugin for plugin in profile.plugin_set.plugins().values() if isinstance(plugin, LoadAware)]
