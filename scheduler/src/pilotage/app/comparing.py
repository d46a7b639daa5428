"""Periodically compares the cache with the API server, in case a change was missed."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping

from pilotage.cluster.transport.api_client import ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.cluster.watch.listing import Lister
from pilotage.cluster.watch.resources import NODES, PODS
from pilotage.cluster.watch.watch_events import EventReader
from pilotage.scheduling.comparison import Comparison, Difference

log = logging.getLogger(__name__)

EVERY = 300.0  # seconds
SECOND_LOOK = 15.0  # seconds later: late watch events have arrived by then
NEWEST = ""


class Comparing:
    """Lists pods and nodes twice, and reports differences seen both times."""

    def __init__(
        self,
        api: ApiClient,
        comparison: Comparison,
        tell: Callable[[Mapping[str, int]], None],
        *,
        every: float = EVERY,
        second_look: float = SECOND_LOOK,
    ) -> None:
        self._pods = Lister(api, PODS, EventReader(PODS))
        self._nodes = Lister(api, NODES, EventReader(NODES))
        self._comparison = comparison
        self._tell = tell
        self._every = every
        self._second_look = second_look

    async def run(self) -> None:
        """Compare until cancelled."""
        while True:
            await asyncio.sleep(self._every)
            try:
                await self.compare()
            except (ApiError, Unreachable, OutcomeUnknown) as error:
                log.warning("the cache cannot be compared with the API server: %s", error)
            except Exception:
                log.exception("the comparison of the cache with the API server failed")

    async def compare(self) -> set[Difference]:
        """Return the differences that persist for some seconds."""
        found = await self._look()
        if found:
            await asyncio.sleep(self._second_look)
            found &= await self._look()
        for difference in sorted(found):
            log.error("the cache differs from the API server: %s", difference.problem)
        counts = Counter(difference.kind for difference in found)
        self._tell({"pods": counts["pods"], "nodes": counts["nodes"]})
        return found

    async def _look(self) -> set[Difference]:
        nodes, _ = await self._nodes.list(NEWEST)
        pods, _ = await self._pods.list(NEWEST)
        not_understood = [each.metadata.uid for each in pods.undecodable.values()]
        return self._comparison.differences(pods.objects, nodes.objects, not_understood)
