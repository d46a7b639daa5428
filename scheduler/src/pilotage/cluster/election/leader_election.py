"""Leader election through a Lease: one candidate, as a state machine without threads.

candidate ── acquire (created, free, or unchanged for its duration) ──> leading ── keep ──> over
                                                                          │ ^        (not renewed in time,
                                                                          └─┘         or another holder)
                                                                         renew
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf
from typing import Any, Protocol

from pilotage.cluster.election.lease_record import LeaseRecord, MalformedLease
from pilotage.cluster.election.lease_settings import JITTER, LeaseSettings
from pilotage.cluster.transport.api_errors import ApiError, NoAccess, OutcomeUnknown, Unreachable

log = logging.getLogger(__name__)

_SHORTEST_WAIT = 0.1
_RELEASE_TRIES = 5

# An attempt that fails with one of these is retried; OSError: a token or certificate cannot be read right now.
_FAILURES = (ApiError, NoAccess, Unreachable, OutcomeUnknown, MalformedLease, OSError)

# CLOCK_MONOTONIC stops during suspend: a holder that resumes would not notice the elapsed time.
continuous_clock: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic
)


class LeaseClient(Protocol):
    """The connection to the API server that an election needs; requests must raise if they take too long."""

    def get(self, path: str, query: Mapping[str, str] = ..., *, timeout: float | None = ...) -> Awaitable[bytes]:
        """Read."""

    def post(self, path: str, body: bytes, *, timeout: float | None = ...) -> Awaitable[bytes]:
        """Create."""

    def put(self, path: str, body: bytes, *, timeout: float | None = ...) -> Awaitable[bytes]:
        """Replace."""

    def close(self) -> Awaitable[None]:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class _Observation:
    """A record, and when we first saw it by our own clock."""

    spec: dict[str, Any]
    holder: str
    expires: float


class Candidate:
    """One candidate: acquires the Lease once, keeps it as long as possible, and ends when the Lease is lost."""

    def __init__(
        self,
        settings: LeaseSettings,
        client: LeaseClient,
        *,
        clock: Callable[[], float] = continuous_clock,
        wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_new_leader: Callable[[str], None] = lambda _identity: None,
    ) -> None:
        self._settings, self._client = settings, client
        self._clock, self._wall_clock, self._chance, self._sleep = clock, wall_clock, chance, sleep
        self._on_new_leader = on_new_leader
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{settings.namespace}/leases"
        self._path = f"{self._collection}/{settings.name}"
        self._until = -inf
        self._held: LeaseRecord | None = None
        self._seen: _Observation | None = None
        self._stamp = datetime.min.replace(tzinfo=UTC)
        self._trouble = ""
        self.slow_paths = 0

    def may_act(self) -> bool:
        """Return whether this candidate leads, and no other one can be leading now."""
        return self._clock() < self._until

    @property
    def is_leader(self) -> bool:
        """Whether the Lease was acquired and is not known to be lost."""
        return self._until != -inf

    @property
    def leader(self) -> str:
        """The last seen holder of the Lease; empty if there was none."""
        return self._seen.holder if self._seen else ""

    async def acquire(self) -> None:
        """Try until the Lease is ours."""
        await self._try()
        while not self.is_leader:
            await self._sleep(self._settings.retry_period * (1 + self._chance() * JITTER))
            await self._try()

    async def keep(self) -> str:
        """Renew the Lease until it is lost, and return why."""
        try:
            while self.leader == self._settings.identity:
                async with asyncio.timeout(self._time_left()):
                    await self._sleep(self._time_to_renewal())
                    await self._try()
        except TimeoutError:
            cause = f": {self._trouble}" if self._trouble else ""
            return f"the Lease was not renewed within {self._settings.renew_deadline:g} s{cause}"
        finally:
            self.resign()
        return f"the Lease is held by {self.leader}" if self.leader else "the Lease has no holder"

    def resign(self) -> None:
        """Stop acting; the Lease stays as it is."""
        self._until = -inf

    async def release(self) -> bool:
        """Stop acting and release the Lease if it is ours; returns whether it is certain that we do not hold it."""
        self.resign()
        for _ in range(_RELEASE_TRIES):
            try:
                record = await self._read()
                if record is not None and record.holder == self._settings.identity:
                    await self._put(record.released(self._now()))
                return True
            except _FAILURES as failure:
                log.warning("could not release lease %s: %s", self._path, failure)
                # Retried only if the last renewal may have conflicted: other errors are not worth a delayed exit.
                if not _is_conflict(failure):
                    return False
        return False

    def _time_left(self) -> float:
        return self._until - self._clock()

    def _time_to_renewal(self) -> float:
        # More often close to the deadline, to reach a server that recovers just in time.
        return min(self._settings.retry_period, max(self._time_left() / 2, _SHORTEST_WAIT))

    async def _try(self) -> None:
        try:
            await self._acquire_or_renew()
            self._trouble = ""
        except _FAILURES as failure:
            trouble, self._trouble = self._trouble, str(failure) or type(failure).__name__
            if _is_conflict(failure):
                log.debug("lease %s: another candidate was faster", self._path)
            elif trouble != self._trouble:
                log.warning("lease %s: %s", self._path, self._trouble)

    async def _acquire_or_renew(self) -> None:
        if self.is_leader and self._held is not None:
            try:
                await self._claim(self._held)
                return
            except _FAILURES as failure:
                self.slow_paths += 1
                log.debug("lease %s: reading it again after a failed renewal: %s", self._path, failure)
        record = await self._read()
        if record is None:
            # Deleting a Lease does not stop its holder: the last observed record stays valid.
            if not self._another_has_it():
                await self._claim(LeaseRecord.absent(self._settings.namespace, self._settings.name))
            return
        self._observe(record)
        if record.holder == self._settings.identity or not (self.is_leader or self._another_has_it()):
            await self._claim(record)

    async def _read(self) -> LeaseRecord | None:
        try:
            return LeaseRecord.decode(await self._client.get(self._path, timeout=self._settings.request_timeout))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    async def _claim(self, record: LeaseRecord) -> None:
        claim = record.held_by(self._settings.identity, self._settings.whole_seconds, self._now())
        # Taken before the request, which can take effect as soon as it is sent.
        sent = self._clock()
        answer = await (self._put(claim) if record.version else self._post(claim))
        if answer.holder != self._settings.identity:
            raise MalformedLease("the API server accepted our claim but stored a different one")
        self._held = answer
        self._observe(answer)
        end = sent + self._settings.renew_deadline
        # A response that is read too late, after the process was suspended, gives no right to act.
        if self._clock() < (self._until if self.is_leader else end):
            self._until = end

    async def _put(self, record: LeaseRecord) -> LeaseRecord:
        timeout = self._settings.request_timeout
        return LeaseRecord.decode(await self._client.put(self._path, record.encode(), timeout=timeout))

    async def _post(self, record: LeaseRecord) -> LeaseRecord:
        timeout = self._settings.request_timeout
        return LeaseRecord.decode(await self._client.post(self._collection, record.encode(), timeout=timeout))

    def _observe(self, record: LeaseRecord) -> None:
        if self._seen is not None and self._seen.spec == record.spec:
            return
        before = self.leader
        duration = record.duration or self._settings.lease_duration
        self._seen = _Observation(record.spec, record.holder, self._clock() + duration)
        if record.holder and record.holder != before:
            self._on_new_leader(record.holder)

    def _another_has_it(self) -> bool:
        seen = self._seen
        return seen is not None and seen.holder not in ("", self._settings.identity) and self._clock() < seen.expires

    def _now(self) -> datetime:
        # Strictly increasing, whatever the wall clock does: a Lease with the same time would be no change for the API
        # server, and no renewal for other candidates.
        self._stamp = max(self._wall_clock(), self._stamp + timedelta(microseconds=1))
        return self._stamp


def _is_conflict(failure: Exception) -> bool:
    return isinstance(failure, ApiError) and failure.status == 409
