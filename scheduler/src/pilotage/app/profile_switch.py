"""Switches one plugin of a SchedulerProfile on or off, changing only its entry, even with concurrent edits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from time import monotonic
from typing import Any

import msgspec

from pilotage.app.profile_entry import Fate, Manifest, Switch, fate_of, generation_of, spec_of, steps_to
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.transport.api_client import JSON_PATCH, ApiClient
from pilotage.cluster.transport.api_errors import ApiError, OutcomeUnknown, Unreachable, no_response
from pilotage.config.suggestions import did_you_mean
from pilotage.scheduler_profiles.resource import PATH as PROFILES

AGENT = f"pilotage/{version('pilotage')} profile"
TRIES = 5
PAUSE = 0.1  # seconds between two polls
NOT_FOUND, CONFLICT, REFUSED = 404, 409, 422


class CannotSwitch(Exception):
    """The profile could not be read or changed; the text says what to do."""


@dataclass(frozen=True)
class Change:
    """The spec before and after; equal if there was nothing to do."""

    before: Manifest
    after: Manifest
    generation: int


@dataclass(frozen=True)
class Outcome:
    """The result of a change, how many seconds it took, and the operator's message."""

    fate: Fate
    seconds: float
    replicas: str = ""
    message: str = ""


class ProfileSwitch:
    """Changes one entry of a profile, and waits for the result."""

    def __init__(self, access: Access, wish: Switch) -> None:
        self._access, self._wish = access, wish
        self._path = f"{PROFILES}/{wish.profile}"

    async def change(self, *, dry_run: bool = False) -> Change:
        """Send the change, or only a dry run of it."""
        async with self._client() as api:
            return await self._change(api, "?dryRun=All" if dry_run else "")

    async def follow(self, generation: int, seconds: float) -> Outcome:
        """Wait until every replica runs this generation, it is rejected or rolled back, or the time-out expires."""
        async with self._client() as api:
            return await self._follow(api, generation, seconds)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[ApiClient]:
        api = ApiClient(self._access, agent=AGENT)
        try:
            yield api
        except ApiError as error:
            raise CannotSwitch(f"the API server rejected the request: {error.message}") from error
        except (Unreachable, OutcomeUnknown) as error:
            raise CannotSwitch(no_response(self._access.server, error)) from error
        finally:
            await api.close()

    async def _change(self, api: ApiClient, query: str) -> Change:
        found = await self._found(api)
        for is_last in (*[False] * (TRIES - 1), True):
            steps = steps_to(found, self._wish)
            if not steps:
                return Change(spec_of(found), spec_of(found), generation_of(found))
            try:
                body = await api.patch(self._path + query, msgspec.json.encode(steps), content_type=JSON_PATCH)
            except ApiError as error:
                before, found = found, await self._found(api)
                # The spec changed between our read and our patch: keep that edit, and read again.
                if error.status in (CONFLICT, REFUSED) and spec_of(before) != spec_of(found) and not is_last:
                    continue
                raise
            changed = _decoded(body)
            return Change(spec_of(found), spec_of(changed), generation_of(changed))
        raise AssertionError("the last try returns or raises")

    async def _follow(self, api: ApiClient, generation: int, seconds: float) -> Outcome:
        started = monotonic()
        while True:
            fate, message, replicas = fate_of(await self._found(api), generation)
            took = monotonic() - started
            if fate is not None:
                return Outcome(fate, took, replicas, message)
            if took >= seconds:
                return Outcome(Fate.UNKNOWN, took, replicas, message)
            await asyncio.sleep(PAUSE)

    async def _found(self, api: ApiClient) -> Manifest:
        try:
            return _decoded(await api.get(self._path))
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise
            raise CannotSwitch(await self._who_is_there(api)) from error

    async def _who_is_there(self, api: ApiClient) -> str:
        try:
            items = _decoded(await api.get(PROFILES))["items"]
        except ApiError:
            return "the cluster does not serve SchedulerProfiles; is Pilotage installed?"
        names = [str(each["metadata"]["name"]) for each in items]
        hint = did_you_mean(self._wish.profile, names) or f"there are: {', '.join(names) or 'none'}"
        return f"there is no SchedulerProfile {self._wish.profile}; {hint}"


def _decoded(body: bytes) -> Manifest:
    return msgspec.json.decode(body, type=dict[str, Any])
