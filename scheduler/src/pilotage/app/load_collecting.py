"""Collects the load of nodes, for the plugins of all profiles that score by it."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from pilotage.cluster.services.load_metrics import LoadCollector
from pilotage.cluster.services.load_sources import LoadUnavailable, Provider, SourceSettings, Unusable, source_of
from pilotage.cluster.watch.listing import GetApi
from pilotage.framework.api.handle import LoadQuery
from pilotage.framework.api.nodes import NodeInfo
from pilotage.model.node_load import Loads
from pilotage.model.outside_services import CREDENTIALS, OutsideRules, refusals
from pilotage.plugins.load._shared.arguments import PROMETHEUS

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadSnapshot:
    """Load figures that are not updated any more."""

    loads: Loads


@dataclass
class _Running:
    """A collector, and its task once started."""

    collector: LoadCollector
    task: asyncio.Task[None] | None = None
    queries: list[LoadQuery] = field(default_factory=list)  # of its subscribers


class LoadCollecting:
    """One collector for each source, shared by all plugins that name it, and stopped after the last one."""

    def __init__(
        self,
        api: GetApi,
        nodes: Callable[[], Iterable[NodeInfo]],
        clock: Callable[[], float],
        rules: OutsideRules | None = None,
    ) -> None:
        self._api = api
        self._rules = rules  # for sources that profiles name; None: the configuration is trusted
        self._nodes = nodes
        self._clock = clock
        self._sources: dict[SourceSettings, _Running] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._has_begun = False

    def subscribe(self, query: LoadQuery) -> LoadCollector:
        """Collect the figures that a starting plugin needs."""
        settings = settings_of(query, self._rules)
        if settings not in self._sources:
            self._sources[settings] = _Running(self._collector(settings, self._refused(query)))
        self._sources[settings].queries.append(query)
        self._settle_soon()
        return self._sources[settings].collector

    def as_of_now(self, query: LoadQuery) -> "LoadSnapshot | None":
        """Return a copy of the latest figures of a source; None if they are not collected."""
        running = self._sources.get(settings_of(query, self._rules))
        return None if running is None else LoadSnapshot(running.collector.loads)

    def unsubscribe(self, query: LoadQuery) -> None:
        """Unsubscribe a plugin that no longer runs."""
        for running in self._sources.values():
            running.queries = [each for each in running.queries if each is not query]
        self._settle_soon()

    def _settle_soon(self) -> None:
        if self._has_begun:
            asyncio.get_running_loop().call_soon(self.settle)  # more may change with this one

    def begin(self) -> None:
        """Start collecting: the nodes are known now."""
        self._has_begun = True
        self.settle()

    def settle(self) -> None:
        """Start the collectors that are needed, stop the others, and query at the shortest requested interval."""
        for settings in [settings for settings, running in self._sources.items() if not running.queries]:
            self._end(self._sources.pop(settings))
        for settings, running in self._sources.items():
            every = min(query.refresh_seconds for query in running.queries)
            running.collector.tune(every, min(query.stale_after_seconds for query in running.queries))
            if running.task is None:
                running.task = asyncio.create_task(running.collector.run(), name=f"load {settings.name}")

    def ages(self) -> dict[str, float]:
        """Return how old the figures of each source are, in seconds."""
        return {name: collector.age() for name, collector in self._named()}

    def healthy(self) -> dict[str, float]:
        """Return 1 for each source whose figures are used, 0 for the others."""
        return {name: float(collector.is_healthy()) for name, collector in self._named()}

    def troubles(self) -> dict[str, str]:
        """Return the problem of each source that has one."""
        return {name: trouble for name, collector in self._named() if (trouble := collector.trouble())}

    async def close(self) -> None:
        """Stop everything."""
        for settings in list(self._sources):
            self._end(self._sources.pop(settings))
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _named(self) -> Iterator[tuple[str, LoadCollector]]:
        """Yield all collectors by name; several at one address, with different queries or credentials, are numbered."""
        seen: dict[str, int] = {}
        for settings, running in self._sources.items():
            seen[settings.name] = seen.get(settings.name, 0) + 1
            number = seen[settings.name]
            yield settings.name if number == 1 else f"{settings.name} ({number})", running.collector

    def _refused(self, query: LoadQuery) -> str:
        """Return why a source is not allowed; an operator has reported that already."""
        found = query.service()
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


def settings_of(query: LoadQuery, rules: OutsideRules | None = None) -> SourceSettings:
    """Return the source that a plugin names."""
    directory = None if rules is None else rules.directory
    if query.watcher_address:
        return SourceSettings(Provider.LOAD_WATCHER, query.watcher_address.rstrip("/"))
    given = query.metric_provider
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
