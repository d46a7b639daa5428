"""Load metrics of nodes, polled for the plugins that score by them."""

import asyncio
import logging
import re
from collections.abc import Callable, Iterable, Sequence

from pilotage.cluster.services.load_sources import LoadSource, LoadUnavailable, Reading
from pilotage.model.node import Node
from pilotage.model.node_load import Loads

log = logging.getLogger(__name__)

NEVER = "nothing has been measured yet"
NUMBER = re.compile(r"[0-9]+")


class LoadCollector:
    """The latest figures of one source, and problems with them; only `run` and `poll` do I/O."""

    def __init__(
        self,
        name: str,
        source: LoadSource,
        nodes: Callable[[], Iterable[Node]],
        clock: Callable[[], float],
        *,
        every: float = 30.0,
        stale_after: float = 300.0,
    ) -> None:
        self.name = name
        self.loads: Loads = {}  # a new object after every response
        self.every = every
        self.stale_after = stale_after
        self._source = source
        self._nodes = nodes
        self._clock = clock
        self._started = clock()
        self._failure = NEVER
        self._complaints: tuple[str, ...] = ()
        self._told: str | None = None  # what was last logged
        self._wake = asyncio.Event()

    def trouble(self) -> str:
        """Return the current problem, or ""."""
        alike = ""
        if self._is_stale():
            old = f"the figures are {self.age():.0f} s old" if self.loads else "no node has figures"
            alike = f"{old}, so all nodes are scored equally"
        return "; ".join(filter(None, (alike, self._failure, *self._complaints)))

    def age(self) -> float:
        """Return the seconds since the end of the latest measurement, or since the first query."""
        latest = max((load.until for load in self.loads.values()), default=self._started)
        return max(0.0, self._clock() - latest)

    def is_healthy(self) -> bool:
        """Return whether the last query succeeded and any node has recent figures."""
        return not self._failure and not self._is_stale()

    def tune(self, every: float, stale_after: float) -> None:
        """Change the intervals, and restart the wait for the next query."""
        if (every, stale_after) != (self.every, self.stale_after):
            self.every, self.stale_after = every, stale_after
            self._wake.set()

    async def run(self) -> None:
        """Query immediately, then periodically."""
        while True:
            await self.poll()
            self._wake.clear()
            try:
                async with asyncio.timeout(self.every):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def poll(self) -> None:
        """Query once; after a failure the previous figures stay until they are too old."""
        nodes = list(self._nodes())
        try:
            reading = await self._source.read(nodes, self._clock())
        except LoadUnavailable as error:
            self._failure = str(error)
        except Exception as error:  # a bug in one source must not stop the queries
            log.exception("load metrics of %s", self.name)
            self._failure = f"{type(error).__name__}: {error}"
        else:
            self._take(reading, nodes)
        self._tell()

    async def close(self) -> None:
        """Close all connections."""
        await self._source.close()

    def _take(self, reading: Reading, nodes: Sequence[Node]) -> None:
        self._failure = "" if reading.loads else "the response has no figures for any node"
        if reading.loads:
            self.loads = reading.loads
        since = self._clock() - self.stale_after
        missing = sum(node.name not in self.loads or self.loads[node.name].until < since for node in nodes)
        without = (f"{missing} of {len(nodes)} nodes have no recent figures",) if missing else ()
        self._complaints = (*reading.complaints, *without)

    def _is_stale(self) -> bool:
        return not self.loads or self.age() > self.stale_after

    def _tell(self) -> None:
        """Log only changes, ignoring ages and counts, which change all the time."""
        trouble = self.trouble()
        told = NUMBER.sub("", trouble)
        if told == self._told:
            return
        self._told = told
        if trouble:
            log.warning("load metrics of %s: %s", self.name, trouble)
        else:
            log.info("load metrics of %s: figures of %d nodes", self.name, len(self.loads))
