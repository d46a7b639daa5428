"""Runs the controllers: reconciles objects after changes, and writes the differences."""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from pilotage_operator.cluster import NotReachable, Refused, WorldChanged
from pilotage_operator.controllers.conditions import with_times
from pilotage_operator.controllers.outcome import Outcome, PodAction, StatusEvent, merge_patch
from pilotage_operator.controllers.registry import CONTROLLERS, Controller, Resource
from pilotage_operator.controllers.watching import ControllerView, Held, Key, Watching
from pilotage_operator.controllers.work_queue import WorkQueue

log = logging.getLogger(__name__)

WORKERS = 4
LOOK_FOR_DEFINITIONS = 10.0  # seconds
NOT_WHOLE_YET = 1.0  # seconds until a retry while lists are incomplete
SOON, LATER = 0.2, 1.0  # seconds until the first retry after a conflict, and after a failure
PAUSE = 5.0  # seconds after all controllers failed


class Api(Protocol):
    """The cluster as controllers need it."""

    @property
    def watches(self) -> Any:
        """Return the API for watches."""

    async def serves(self, resource: Resource) -> bool:
        """Return whether a resource is served."""

    async def config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the data of a ConfigMap; None if it does not exist."""

    async def patch(self, resource: Resource, held: Held, change: Mapping[str, Any], part: str) -> bytes:
        """Change `spec` or `status` of an object, unless it has changed; returns the new object."""

    async def do(self, action: PodAction) -> None:
        """Create or delete a pod."""

    async def write_event(self, resource: Resource, held: Held, event: StatusEvent) -> None:
        """Write an event; failures are only logged."""


@dataclass(frozen=True)
class Surroundings(ControllerView):
    """The data that a controller reads for one object at one moment."""

    now: datetime
    refusal: str
    config_map: Mapping[str, str] | None


class Controllers:
    """All controllers of some kinds."""

    def __init__(self, api: Api, kinds: Collection[str], controllers: Iterable[Controller] = CONTROLLERS) -> None:
        self._api = api
        self._controllers = {each.resource.kind: each for each in controllers if each.resource.kind in kinds}
        self._refusals: dict[Key, str] = {}

    async def run(self) -> None:
        """Run until cancelled; restarts after a failure."""
        if not self._controllers:
            return
        while True:
            try:
                await self._run()
            except Exception:
                log.exception("the controllers failed, restarting them")
            await asyncio.sleep(PAUSE)

    async def _run(self) -> None:
        queue: WorkQueue[Key] = WorkQueue(asyncio.get_running_loop().time)
        watching = Watching(self._api.watches, self._controllers.values(), queue.add)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._keep_watching(watching))
                for _ in range(WORKERS):
                    tasks.create_task(self._work(queue, watching))
        finally:
            await watching.stop()

    async def _keep_watching(self, watching: Watching) -> None:
        """Watch the served resources; CRDs may be added at any time."""
        told: set[Resource] = set()
        while True:
            watching.something_kept.clear()
            for resource in watching.missing():
                if await self._is_served(resource):
                    watching.watch(resource)
                elif resource not in told:
                    log.info("%s.%s are not served; their controller is not running", resource.plural, resource.group)
                    told.add(resource)
            try:
                async with asyncio.timeout(LOOK_FOR_DEFINITIONS):
                    await watching.something_kept.wait()
                await asyncio.sleep(SOON)  # lists are delivered object by object
            except TimeoutError:
                pass

    async def _is_served(self, resource: Resource) -> bool:
        try:
            return await self._api.serves(resource)
        except (NotReachable, Refused) as error:
            log.warning("cannot list %s: %s", resource.plural, error)
            return False

    async def _work(self, queue: WorkQueue[Key], watching: Watching) -> None:
        while True:
            key = await queue.take()
            try:
                await self._look(key, queue, watching)
            except WorldChanged as changed:
                log.debug("reconciling %s %s again: %s", *key, changed)
                queue.failed(key, SOON)
            except NotReachable as error:
                pause = queue.failed(key, LATER, error.retry_after)
                log.warning("%s %s: the API server failed, retrying in %.1f s: %s", *key, pause, error)
            except Refused as error:
                pause = queue.failed(key, LATER)
                log.warning("%s %s: the API server rejected the request, retrying in %.1f s: %s", *key, pause, error)
            except Exception:
                pause = queue.failed(key, LATER)
                log.exception("%s %s: the reconciliation failed, retrying in %.1f s", *key, pause)

    async def _look(self, key: Key, queue: WorkQueue[Key], watching: Watching) -> None:
        """Reconcile one object: decide, write the differences, then execute further actions."""
        controller = self._controllers[key[0]]
        if not watching.is_whole(controller):
            queue.done(key, NOT_WHOLE_YET)
            return
        held = watching.find(key)
        if held is None:
            self._refusals.pop(key, None)
            queue.forget(key)
            return
        now = datetime.now(UTC)
        config_map = await self._config_map(controller, held)
        seen = Surroundings(watching, controller, now, self._refusals.get(key, ""), config_map)
        outcome = controller.decide(held.value, seen)
        await self._write(controller, held, outcome, watching)
        await self._do(key, outcome.actions)
        queue.done(key, _seconds(controller, outcome, now))

    async def _do(self, key: Key, actions: Iterable[PodAction]) -> None:
        try:
            for action in actions:
                await self._api.do(action)
        except Refused as error:
            self._refusals[key] = str(error)  # the object's status will report it
            raise
        self._refusals.pop(key, None)

    async def _config_map(self, controller: Controller, held: Held) -> Mapping[str, str] | None:
        if controller.config_map is None or not (name := controller.config_map(held.value)):
            return None
        return await self._api.config_map(held.metadata.namespace, name)

    async def _write(self, controller: Controller, held: Held, outcome: Outcome, watching: Watching) -> None:
        resource, first = controller.resource, held
        status = with_times(held.status, outcome.status, datetime.now(UTC))
        for part, old, new in (("spec", held.spec, outcome.spec), ("status", held.status, status)):
            if not (change := merge_patch(old, new)):
                continue
            version = held.metadata.resource_version
            watching.wrote(controller, await self._api.patch(resource, held, change, part))
            held = watching.find((resource.kind, _name(held))) or held
            # The CRD of another project may lack the fields that differ.
            if part == "status" and held.metadata.resource_version != version:
                for event in controller.status_events(controller, first.value, outcome.status):
                    await self._api.write_event(resource, held, event)


def _name(held: Held) -> str:
    return f"{held.metadata.namespace}/{held.metadata.name}"


def _seconds(controller: Controller, outcome: Outcome, now: datetime) -> float | None:
    """Return the seconds until an object is reconciled again without events."""
    due = [controller.every] if controller.every else []
    if outcome.again is not None:
        due.append((outcome.again - now).total_seconds())
    return max(min(due), 0.0) if due else None
