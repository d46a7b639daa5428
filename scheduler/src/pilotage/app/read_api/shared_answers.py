"""Answers for users with the same rights: built once per state, or every half second while pods are being placed."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from pilotage.telemetry.measured import Measured

MOST_KEPT = 256
MOST_BYTES = 4 << 20  # of all answers together
UNCHANGED = 2.0  # seconds for an unchanged state: answers contain durations
WHILE_PLACING = 0.5  # seconds for a state that keeps changing


@dataclass(frozen=True, slots=True)
class Encoded:
    """An answer as it is sent."""

    body: bytes
    tag: str
    revision: int


class _Making(NamedTuple):
    revision: int
    task: "asyncio.Task[Encoded]"


class SharedAnswers:
    """Builds each answer once for all who request it."""

    def __init__(
        self,
        revision: Callable[[], int],
        is_placing: Callable[[], bool],
        report_slice: Callable[[float], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._revision, self._is_placing, self._report_slice = revision, is_placing, report_slice
        self._clock = clock
        self.announced = 0  # the last revision in a stream: no answer is older
        self._kept: dict[Hashable, tuple[float, Encoded]] = {}  # since when; the oldest first
        self._making: dict[Hashable, _Making] = {}
        self._bytes = 0

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Encoded]]) -> Encoded:
        """Return an answer that is cached or being built, or build it."""
        kept, making = self._kept.get(key), self._making.get(key)
        if kept is not None and self._is_good(kept[1].revision, self._clock() - kept[0]):
            return kept[1]
        if making is None or not self._is_good(making.revision, 0.0):
            making = self._making[key] = self._begin(key, make)
        return await asyncio.shield(making.task)  # a client that disconnects does not affect others

    def _is_good(self, revision: int, age: float) -> bool:
        if revision == self._revision():
            return age < UNCHANGED
        return age < WHILE_PLACING and revision >= self.announced and self._is_placing()

    def _begin(self, key: Hashable, make: Callable[[], Awaitable[Encoded]]) -> _Making:
        async def counted() -> Encoded:
            return await Measured(self._made(key, make), self._report_slice)

        task = asyncio.create_task(counted())
        task.add_done_callback(lambda _: self._end(key, task))
        return _Making(self._revision(), task)

    async def _made(self, key: Hashable, make: Callable[[], Awaitable[Encoded]]) -> Encoded:
        since = self._clock()
        found = await make()
        self._keep(key, since, found)
        return found

    def _end(self, key: Hashable, task: "asyncio.Task[Encoded]") -> None:
        if key in self._making and self._making[key].task is task:
            del self._making[key]
        if not task.cancelled():
            task.exception()  # the callers have it, unless they disconnected

    def _keep(self, key: Hashable, since: float, found: Encoded) -> None:
        self._drop(key)
        self._kept[key] = since, found
        self._bytes += len(found.body)
        while self._bytes > MOST_BYTES or len(self._kept) > MOST_KEPT:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._bytes -= len(kept[1].body)

    def forget(self) -> None:
        """Drop all answers."""
        for key in list(self._kept):
            self._drop(key)

    def tend(self) -> None:
        """Drop old answers."""
        for key, (since, _) in list(self._kept.items()):
            if self._clock() - since >= UNCHANGED:
                self._drop(key)
