"""Collects figures of how busy nodes are, for the plugins of all profiles that score by them."""

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
class LoadOfThen:
    """Figures that nobody keeps up."""

    loads: Loads


@dataclass
class _Running:
    """A collector, and its task once it has begun."""

    collector: LoadCollector
    task: asyncio.Task[None] | None = None
    queries: list[LoadQuery] = field(default_factory=list)  # of those who want it


class LoadCollecting:
    """One collector for each source, however many plugins name it; one that nobody names any more is stopped."""

    def __init__(
        self,
        api: GetApi,
        nodes: Callable[[], Iterable[NodeInfo]],
        clock: Callable[[], float],
        rules: OutsideRules | None = None,
    ) -> None:
        self._api = api
        self._rules = rules  # for sources that profiles name; None: whoever configures the scheduler owns it
        self._nodes = nodes
        self._clock = clock
        self._sources: dict[SourceSettings, _Running] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._has_begun = False

    def subscribe(self, query: LoadQuery) -> LoadCollector:
        """Collect what a plugin wants that is about to run."""
        settings = settings_of(query, self._rules)
        if settings not in self._sources:
            self._sources[settings] = _Running(self._collector(settings, self._refused(query)))
        self._sources[settings].queries.append(query)
        self._settle_soon()
        return self._sources[settings].collector

    def as_of_now(self, query: LoadQuery) -> "LoadOfThen | None":
        """Return the latest figures of a source as they stay from now on; None if nobody collects them."""
        running = self._sources.get(settings_of(query, self._rules))
        return None if running is None else LoadOfThen(running.collector.loads)

    def unsubscribe(self, query: LoadQuery) -> None:
        """Take note that a plugin does not run any more."""
        for running in self._sources.values():
            running.queries = [each for each in running.queries if each is not query]
        self._settle_soon()

    def _settle_soon(self) -> None:
        if self._has_begun:
            asyncio.get_running_loop().call_soon(self.settle)  # others may come or go with this one

    def begin(self) -> None:
        """Start to collect: the nodes are known from now on."""
        self._has_begun = True
        self.settle()

    def settle(self) -> None:
        """Start what is needed now, stop what is not, and ask as often as the most impatient plugin wants."""
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

    def _refused(self, query: LoadQuery) -> str:
        """Return why a source may not be asked; the operator has said so already, if there is one."""
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
    """Return where a plugin wants its figures from."""
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
