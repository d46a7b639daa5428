"""The Lease of this process, renewed in a separate thread, so that a busy scheduling loop never loses it."""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pilotage.cluster.election.leader_election import Candidate, LeaseClient, continuous_clock
from pilotage.cluster.election.lease_settings import LeaseSettings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """Why this process has permanently stopped leading."""

    reason: str


class LeaderElection:
    """An election that runs in its own thread, and reports to the event loop that started it."""

    def __init__(
        self,
        settings: LeaseSettings,
        connect: Callable[[], LeaseClient],
        *,
        on_new_leader: Callable[[str], None] = lambda _identity: None,
        clock: Callable[[], float] = continuous_clock,
    ) -> None:
        self.settings = settings
        self._connect, self._on_new_leader, self._clock = connect, on_new_leader, clock
        self._thread = threading.Thread(target=self._hold, name="lease", daemon=True)
        self._candidate: Candidate | None = None
        self._campaign: tuple[asyncio.AbstractEventLoop, asyncio.Task[Loss | None]] | None = None
        self._is_stopping = False

    def start(self) -> None:
        """Start the election, and report to the current event loop."""
        self._home = asyncio.get_running_loop()
        self._leading: asyncio.Future[None] = self._home.create_future()
        self._over: asyncio.Future[Loss | None] = self._home.create_future()
        self._ended = asyncio.Event()
        self._thread.start()

    def may_act(self) -> bool:
        """Return whether no other replica can be leading now; call it right before each bind, from any thread."""
        candidate = self._candidate
        return candidate is not None and candidate.may_act()

    @property
    def is_leader(self) -> bool:
        """Whether the Lease was acquired and is not known to be lost: for metrics, not as permission to act."""
        return self._candidate is not None and self._candidate.is_leader

    @property
    def leader(self) -> str:
        """The last seen holder of the Lease; empty if there was none."""
        return self._candidate.leader if self._candidate else ""

    @property
    def slow_paths(self) -> int:
        """How often a renewal had to read the Lease first."""
        return self._candidate.slow_paths if self._candidate else 0

    async def wait_until_leading(self) -> bool:
        """Wait for the Lease; False if the election ended without it."""
        either: set[asyncio.Future[Any]] = {self._leading, self._over}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return not self._over.done()

    async def wait_until_lost(self) -> Loss | None:
        """Wait for the end of the election; None if it was stopped, not lost."""
        return await asyncio.shield(self._over)

    async def stop(self, seconds: float) -> bool:
        """Stop acting, release the Lease and end the thread; False after a time-out."""
        was_stopping, self._is_stopping = self._is_stopping, True
        if self._thread.ident is None:
            return True
        if self._campaign is not None and not was_stopping:
            loop, task = self._campaign
            _tell(loop, task.cancel)
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return False
        self._thread.join()
        return True

    def _hold(self) -> None:
        end: Loss | None = Loss("the lease thread ended")
        try:
            end = asyncio.run(self._run())
        except asyncio.CancelledError:
            end = None if self._is_stopping else end
        except Exception as error:
            log.exception("the lease thread failed")
            end = Loss(f"the lease thread failed: {error!r}")
        finally:
            _tell(self._home, self._finish, end)
            _tell(self._home, self._ended.set)

    async def _run(self) -> Loss | None:
        task: asyncio.Task[Loss | None] | None = asyncio.current_task()
        assert task is not None
        self._campaign = asyncio.get_running_loop(), task
        # Checked after the line above, so that a stop is noticed either here or as a cancellation.
        if self._is_stopping:
            return None
        client = self._connect()
        try:
            end = await self._lead(client)
            # Immediately: closing a connection to a dead server can take long.
            _tell(self._home, self._finish, end)
            return end
        finally:
            await client.close()

    async def _lead(self, client: LeaseClient) -> Loss | None:
        candidate = Candidate(self.settings, client, clock=self._clock, on_new_leader=self._announce)
        self._candidate = candidate
        try:
            await candidate.acquire()
            _tell(self._home, self._leading.set_result, None)
            return Loss(await candidate.keep())
        except asyncio.CancelledError:
            await candidate.release()
            return None
        finally:
            candidate.resign()

    def _announce(self, identity: str) -> None:
        _tell(self._home, self._on_new_leader, identity)

    def _finish(self, end: Loss | None) -> None:
        if not self._over.done():
            self._over.set_result(end)


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object) -> None:
    # A closed loop has no listeners any more.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(callback, *arguments)
