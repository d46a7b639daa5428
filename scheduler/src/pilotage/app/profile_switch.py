"""One plugin of a SchedulerProfile, switched on or off: nothing but its entry is touched, whoever edits beside us."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import version
from time import monotonic
from typing import Any, TypeAlias

import msgspec

from pilotage.cluster.access import Access
from pilotage.cluster.api_client import JSON_PATCH, ApiClient
from pilotage.cluster.api_errors import ApiError, OutcomeUnknown, Unreachable
from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.suggestions import did_you_mean

Manifest: TypeAlias = dict[str, Any]

AGENT = f"pilotage/{version('pilotage')} profile"
PROFILES = "/apis/pilotage.dev/v1alpha1/schedulerprofiles"
NEEDED_BY_ALL = frozenset({"PrioritySort", "DefaultBinder"})  # what is there also with `base: None`
TRIES = 5
PAUSE = 0.1  # seconds between two looks at what becomes of it
NOT_FOUND, CONFLICT, REFUSED = 404, 409, 422


class CannotSwitch(Exception):
    """The profile could not be read or changed; the text says what to do."""


class Fate(Enum):
    """What became of a change."""

    RUNS = "runs"
    REFUSED = "refused"
    TAKEN_BACK = "taken back"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Switch:
    """Which plugin of which profile, and whether it is to take part."""

    profile: str
    plugin: str
    on: bool


@dataclass(frozen=True)
class Change:
    """What the spec was and is now; the same if there was nothing to do."""

    before: Manifest
    after: Manifest
    generation: int


@dataclass(frozen=True)
class Outcome:
    """What became of a change, in how many seconds, and what the operator says about it."""

    fate: Fate
    seconds: float
    replicas: str = ""
    message: str = ""


class ProfileSwitch:
    """Changes one entry of a profile, and follows what becomes of that."""

    def __init__(self, access: Access, wish: Switch) -> None:
        self._access, self._wish = access, wish
        self._path = f"{PROFILES}/{wish.profile}"

    async def change(self, *, dry_run: bool = False) -> Change:
        """Send the change, or let the API server judge it without keeping it."""
        async with self._client() as api:
            return await self._change(api, "?dryRun=All" if dry_run else "")

    async def follow(self, generation: int, seconds: float) -> Outcome:
        """Wait until every replica runs this generation, it is refused or taken back, or the time is over."""
        async with self._client() as api:
            return await self._follow(api, generation, seconds)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[ApiClient]:
        api = ApiClient(self._access, agent=AGENT)
        try:
            yield api
        except ApiError as error:
            raise CannotSwitch(f"the API server refuses: {error.message}") from error
        except (Unreachable, OutcomeUnknown) as error:
            raise CannotSwitch(f"the API server at {self._access.server} does not answer: {error}") from error
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
                # Somebody else changed the spec between our look and our patch: their edit stays, and we look again.
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
            return "the cluster knows no SchedulerProfiles: is Pilotage installed there?"
        names = [str(each["metadata"]["name"]) for each in items]
        hint = did_you_mean(self._wish.profile, names) or f"there are: {', '.join(names) or 'none'}"
        return f"there is no SchedulerProfile {self._wish.profile}; {hint}"


def steps_to(found: Manifest, wish: Switch) -> list[Manifest]:
    """Return the JSON patch that grants a wish, under the condition that it still finds what was seen; empty: done."""
    spec = spec_of(found)
    entries = spec.get("plugins")
    for place, entry in enumerate(entries or ()):
        if entry["name"] == wish.plugin:
            at = f"/spec/plugins/{place}"
            same = {"op": "test", "path": f"{at}/name", "value": wish.plugin}
            is_on = entry.get("enabled", True)
            return [] if is_on == wish.on else [same, {"op": "add", "path": f"{at}/enabled", "value": wish.on}]
    if wish.on == (wish.plugin in base_of(spec)):
        return []
    entry = {"name": wish.plugin} if wish.on else {"name": wish.plugin, "enabled": False}
    if entries is not None:
        return [{"op": "add", "path": "/spec/plugins/-", "value": entry}]
    # Where there is no list yet, another one could come between: only the version tells.
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": found["metadata"]["resourceVersion"]}
    if "spec" not in found:
        return [unchanged, {"op": "add", "path": "/spec", "value": {"plugins": [entry]}}]
    return [unchanged, {"op": "add", "path": "/spec/plugins", "value": [entry]}]


def base_of(spec: Mapping[str, Any]) -> frozenset[str]:
    """Return the plugins that take part in a profile that says nothing about them."""
    return NEEDED_BY_ALL if spec.get("base") == "None" else frozenset(plugin.name for plugin in DEFAULT_PLUGINS)


def fate_of(found: Manifest, generation: int) -> tuple[Fate | None, str, str]:
    """Return what became of a generation, why, and how many replicas run it; None while that is not known."""
    status = found.get("status") or {}
    said = {
        each["type"]: each for each in status.get("conditions") or () if each.get("observedGeneration") == generation
    }
    replicas = str(status.get("replicas", ""))

    def holds(kind: str, wanted: str) -> bool:
        return bool(said.get(kind, {}).get("status") == wanted)

    def message(kind: str) -> str:
        return str(said.get(kind, {}).get("message", ""))

    if generation_of(found) != generation:
        return Fate.UNKNOWN, "somebody else has changed the profile again", replicas
    if holds("Accepted", "False"):
        return Fate.REFUSED, message("Accepted"), replicas
    if holds("RolledBack", "True"):
        return Fate.TAKEN_BACK, message("RolledBack"), replicas
    return Fate.RUNS if holds("Ready", "True") else None, message("Ready"), replicas


def spec_of(found: Manifest) -> Manifest:
    """Return the spec of a profile."""
    return dict(found.get("spec") or {})


def generation_of(found: Manifest) -> int:
    """Return the number that the API server gives to a spec."""
    return int(found["metadata"]["generation"])


def _decoded(body: bytes) -> Manifest:
    return msgspec.json.decode(body, type=dict[str, Any])
