"""The observed cluster: one observer for each kind of object."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from typing import Any

import aiohttp

from auditor.kubeconfig import Access
from auditor.observer import CannotWatch, Observer, Sink

CORE, DEVICES = "/api/v1", "/apis/resource.k8s.io/v1"
ROOTS = {"resourceclaims": DEVICES, "resourceslices": DEVICES}  # kinds that a server need not have
START_LIMIT = 20.0  # seconds until the first lists must be there
END_LIMIT = 30.0  # seconds until the last lists must be there


class Sight:
    """Observers at work, one for each kind of object."""

    def __init__(self, server: str, observers: Mapping[str, Observer]) -> None:
        self._server = server
        self._observers = observers
        self._work = asyncio.gather(*(observer.run() for observer in observers.values()))

    @property
    def is_whole(self) -> bool:
        """Whether every kind is being watched right now."""
        return all(observer.in_sight for observer in self._observers.values())

    @property
    def lists(self) -> int:
        """How many lists were taken."""
        return sum(observer.lists for observer in self._observers.values())

    def check(self) -> None:
        """Raise what made an observer stop, if one did."""
        if self._work.done():
            self._work.result()

    def ask(self, kinds: Iterable[str]) -> None:
        """Ask for fresh lists."""
        for kind in kinds:
            self._observers[kind].ask()

    async def opens(self, stopped: asyncio.Event) -> None:
        """Wait for the first lists."""
        if not await self._come((observer.answered() for observer in self._observers.values()), START_LIMIT, stopped):
            troubles = "; ".join(sorted({observer.trouble for observer in self._observers.values()}))
            why = "stopped before the first lists came" if stopped.is_set() else troubles
            hint = "is the API server up, and is this its kubeconfig?"
            raise CannotWatch(f"cannot watch {self._server} ({why}); {hint}")

    async def last_look(self) -> None:
        """Wait for lists that begin now."""
        if not await self._come((observer.refreshed() for observer in self._observers.values()), END_LIMIT):
            why = "so what happened last is unknown; stop the auditor while the API server is up"
            raise CannotWatch(f"{self._server} is out of reach at the end, {why}")

    async def _come(
        self, wanted: Iterable[Coroutine[Any, Any, None]], limit: float, stopped: asyncio.Event | None = None
    ) -> bool:
        """Wait until all that is wanted is there, and return whether it came before a limit, a stop or a failure."""
        coming = asyncio.gather(*wanted)
        stop = asyncio.ensure_future((stopped or asyncio.Event()).wait())
        try:
            first: list[asyncio.Future[Any]] = [coming, stop, self._work]
            await asyncio.wait(first, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            self.check()
            return coming.done()
        finally:
            for task in (coming, stop):
                task.cancel()

    async def close(self) -> None:
        """Stop observing."""
        self._work.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._work


@contextlib.asynccontextmanager
async def sight_of(access: Access, sinks: Mapping[str, Sink]) -> AsyncIterator[Sight]:
    """Observe each kind of object for its sink."""
    headers = {**access.headers, "Accept": "application/json", "User-Agent": "auditor"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=access.tls)) as http:
        observers = {
            kind: Observer(http, f"{access.server}{ROOTS.get(kind, CORE)}/{kind}", sink, kind in ROOTS)
            for kind, sink in sinks.items()
        }
        sight = Sight(access.server, observers)
        try:
            yield sight
        finally:
            await sight.close()
