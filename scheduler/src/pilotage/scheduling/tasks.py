"""Runs concurrent work that waits for requests."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Tasks(Protocol):
    """Runs work in the background."""

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start some work soon, without waiting."""

    async def side_by_side(self, works: Iterable[Coroutine[Any, Any, T]]) -> list[T | BaseException]:
        """Run several coroutines, and return their results."""

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
        """Run several coroutines concurrently, and return their results."""
        return await asyncio.gather(*works, return_exceptions=True)
