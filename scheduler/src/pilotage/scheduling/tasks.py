"""Concurrent work that waits for the outside, and how it is run."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Tasks(Protocol):
    """Runs work to its end."""

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start some work soon; never waits."""

    async def side_by_side(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
        """Do several things, and return their results."""

    def __len__(self) -> int: ...


class LoopTasks:
    """Runs work as tasks of the running event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start some work in the next iteration of the loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def side_by_side(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
        """Do several things concurrently, and return their results."""
        return await asyncio.gather(*works, return_exceptions=True)
