"""Looks for remedies while the scheduler works: one search at a time, not too often, and remembered for a moment."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from pilotage.app.read_api.budget import Budget, Busy
from pilotage.model.pod import Pod
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.engine import Engine
from pilotage.scheduling.remedies import Gate, Remedies, Siblings, WhyNot, gate_of, search, siblings_of, why_not
from pilotage.views.explaining import Remedied
from pilotage.views.remedying import remedies_shown
from pilotage.views.state import State, Steps
from pilotage.views.viewer import Words

MOST_KEPT = 64
LEAST_PAUSE = 0.1  # seconds from one search to the next
NO_TIME = "the scheduler is busy placing pods, so the search for remedies was ended; ask again later"

Key = tuple[str, int]


class TriesGangs(Protocol):
    """Has copies of the cluster, in which the pods of a gang can hold places."""

    def remedies(self, pod: Pod, gang: Siblings, gate: Gate | None = None) -> Steps[Remedies | None]:
        """Look for what would place a gang; None if there is no copy."""


class Remedying:
    """Finds what would place a pod, or why it is not on a node."""

    def __init__(
        self, state: State, revision: Callable[[], int], budget: Budget, copies: TriesGangs | None = None
    ) -> None:
        self._state, self._revision, self._budget, self._copies = state, revision, budget, copies
        self._kept: dict[Key, Remedies] = {}  # the oldest first
        self._turn = asyncio.Lock()
        self._next = 0.0

    async def for_waiting(self, queued: QueuedPod, engine: Engine, words: Words) -> Remedied:
        """Return what would place a waiting pod."""
        async with self._turn:
            key = queued.pod.uid, self._revision()
            found = self._kept.get(key)
            if found is None:
                found = await self._search(queued, engine)
                if found.note != NO_TIME:
                    self._kept[queued.pod.uid, self._revision()] = found
                if len(self._kept) > MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
        return Remedied(remedies_shown(found.remedies, words), words(found.note))

    async def _search(self, queued: QueuedPod, engine: Engine) -> Remedies:
        if (pause := self._next - monotonic()) > 0:
            await asyncio.sleep(pause)
        self._next = monotonic() + LEAST_PAUSE
        state, pod = self._state, queued.pod
        gang, gate = siblings_of(state.queue, engine, pod), gate_of(queued)
        try:
            found = await self._in_copy(pod, gang, gate)
            if found is None:
                nominations = state.queue.nominator
                found = await self._budget.run(search(state.cache, engine, nominations, pod, gang, gate))
            return found
        except Busy:
            return Remedies(note=NO_TIME)

    async def _in_copy(self, pod: Pod, gang: Siblings | None, gate: Gate | None) -> Remedies | None:
        if gang is None or gang.is_large or self._copies is None:
            return None
        return await self._budget.run(self._copies.remedies(pod, gang, gate))

    async def for_placed(self, pod: Pod, engine: Engine, words: Words, node: str) -> Remedied:
        """Return why a node is not the place of a pod that has another one, or would get one."""
        state = self._state
        if not words.names_nodes or state.cache.find_node(node) is None:
            return Remedied()

        def compared() -> Steps[WhyNot]:
            yield
            return why_not(state.cache, engine, state.queue.nominator, pod, node)

        found = await self._budget.run(compared())
        return Remedied(why_not=words(found.text))
