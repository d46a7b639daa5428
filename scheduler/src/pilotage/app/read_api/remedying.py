"""Searches for remedies beside scheduling: one search at a time, with pauses, and cached."""

import asyncio
from collections.abc import Callable
from time import monotonic

from pilotage.app.read_api.budget import Budget
from pilotage.model.pod import Pod
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.remedies import Remedies, WhyNot, members_of, search, why_not
from pilotage.views.explaining import Remedied
from pilotage.views.remedying import remedies_shown
from pilotage.views.state import State, Steps
from pilotage.views.viewer import Words

MOST_KEPT = 64
LEAST_PAUSE = 0.1  # seconds between two searches

Key = tuple[str, int]


class Remedying:
    """Finds what would place a pod, or why it is not on a node."""

    def __init__(self, state: State, revision: Callable[[], int], budget: Budget) -> None:
        self._state, self._revision, self._budget = state, revision, budget
        self._kept: dict[Key, Remedies] = {}  # the oldest first
        self._turn = asyncio.Lock()
        self._next = 0.0

    async def for_waiting(self, pod: Pod, engine: Engine, words: Words) -> Remedied:
        """Return what would place a pending pod."""
        async with self._turn:
            key = pod.uid, self._revision()
            found = self._kept.get(key)
            if found is None:
                found = await self._search(pod, engine)
                self._kept[pod.uid, self._revision()] = found
                if len(self._kept) > MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
        note = found.note if not words.names_foreign(found.note) else ""
        return Remedied(remedies_shown(found.remedies, words), note)

    async def _search(self, pod: Pod, engine: Engine) -> Remedies:
        if (pause := self._next - monotonic()) > 0:
            await asyncio.sleep(pause)
        self._next = monotonic() + LEAST_PAUSE
        state = self._state
        gang = members_of(state.queue, engine, pod)
        return await self._budget.run(search(state.cache, engine, state.queue.nominator, pod, gang))

    async def for_placed(self, pod: Pod, engine: Engine, words: Words, node: str) -> Remedied:
        """Return why a placed pod is not on a node."""
        state = self._state
        if not words.names_nodes or state.cache.find_node(node) is None:
            return Remedied()

        def compared() -> Steps[WhyNot]:
            yield
            return why_not(state.cache, engine, state.queue.nominator, pod, node)

        found = await self._budget.run(compared())
        return Remedied(why_not=words(found.text))
