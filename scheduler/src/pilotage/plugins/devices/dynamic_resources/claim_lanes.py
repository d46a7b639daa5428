"""The writes of each claim one after the other, and those of different claims side by side."""

import asyncio
import logging
from collections import deque
from typing import Protocol

log = logging.getLogger(__name__)


class Work(Protocol):
    """A write of a claim, with everything that belongs to it."""

    async def run(self, lane: "Lane") -> None:
        """Do it; more work of the same lane may be done along with it, and is taken from there then."""

    def give_up(self) -> None:
        """Tell whoever waits that it will not be done."""


Lane = deque[Work]


class ClaimLanes:
    """The lanes of all claims with writes under way."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {}  # by the id of the claim
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._lanes)

    def add(self, uid: str, work: Work) -> None:
        """Do some work for a claim after all that was added before."""
        lane = self._lanes.get(uid)
        if lane is not None:
            lane.append(work)
            return
        self._lanes[uid] = deque([work])
        task = asyncio.get_running_loop().create_task(self._run(uid), name=f"writes of claim {uid}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finished(self) -> None:
        """Wait until there is no work."""
        while self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _run(self, uid: str) -> None:
        lane = self._lanes[uid]
        try:
            while lane:
                await self._do(lane.popleft(), lane)
        finally:
            del self._lanes[uid]
            for work in lane:
                work.give_up()

    async def _do(self, work: Work, lane: Lane) -> None:
        try:
            await work.run(lane)
        except Exception:  # a bug of ours costs this write only
            log.exception("a write of a claim failed")
        finally:
            work.give_up()
