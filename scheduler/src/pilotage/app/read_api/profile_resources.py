"""The SchedulerProfiles of the cluster, read on request and cached."""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Protocol

import msgspec

from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.scheduler_profiles.resource import PATH

KEPT_FOR = 5.0  # seconds
FEW_SECONDS = 5.0  # for the API server to answer


class Reads(Protocol):
    """A client of the API server."""

    async def get(self, path: str) -> bytes:
        """Return the body of an answer."""


class ProfileResources:
    """All SchedulerProfiles by scheduler name; none if they cannot be read."""

    def __init__(self, api: Reads, clock: Callable[[], float] = monotonic) -> None:
        self._api, self._clock = api, clock
        self._found: Mapping[str, Mapping[str, Any]] = {}
        self._at: float | None = None
        self._turn = asyncio.Lock()

    async def all(self) -> Mapping[str, Mapping[str, Any]]:
        """Return them, at most five seconds old."""
        async with self._turn:
            if self._at is None or self._clock() - self._at > KEPT_FOR:
                self._found, self._at = await self._read(), self._clock()
        return self._found

    async def _read(self) -> dict[str, Mapping[str, Any]]:
        try:
            async with asyncio.timeout(FEW_SECONDS):
                body = await self._api.get(PATH)
            items = msgspec.json.decode(body, type=dict[str, Any]).get("items") or []
        except (ApiError, Unreachable, OutcomeUnknown, TimeoutError, msgspec.MsgspecError):
            return {}
        return {_scheduler_name(each): each for each in items if isinstance(each, dict)}


def _scheduler_name(found: Mapping[str, Any]) -> str:
    for part in ("status", "spec"):
        if name := (found.get(part) or {}).get("schedulerName"):
            return str(name)
    return str((found.get("metadata") or {}).get("name", ""))
