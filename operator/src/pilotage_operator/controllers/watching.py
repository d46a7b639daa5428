"""Watches for controllers: the objects of each served resource, and which ones to reconcile after a change."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import msgspec

from pilotage.cluster.watch.known_objects import key_of, version_number
from pilotage.cluster.watch.listing import WatchApi
from pilotage.cluster.watch.reflector import Reflector
from pilotage.cluster.watch.resources import NODES as API_NODES
from pilotage.cluster.watch.resources import PODS as API_PODS
from pilotage.cluster.watch.resources import ApiResource
from pilotage.cluster.watch.watch_events import ObjectIdentity
from pilotage.model.metadata import Metadata
from pilotage_operator.controllers.registry import NODES, PODS, Controller, Resource

log = logging.getLogger(__name__)

Key: TypeAlias = tuple[str, str]  # the kind of an object, and its namespace/name


@dataclass(frozen=True, slots=True)
class Held:
    """A decoded object, with its raw status and spec."""

    value: Any
    status: Mapping[str, Any]
    spec: Mapping[str, Any]

    @property
    def metadata(self) -> Metadata:
        """Return its metadata."""
        found: Metadata = self.value.metadata
        return found


class _Parts(msgspec.Struct):
    status: dict[str, Any] = msgspec.field(default_factory=dict)
    spec: dict[str, Any] = msgspec.field(default_factory=dict)


def holder(resource: Resource) -> Callable[[msgspec.Raw | bytes], Held]:
    """Return the decoder of an object."""
    value = msgspec.json.Decoder(resource.shape).decode
    parts = msgspec.json.Decoder(_Parts).decode

    def hold(raw: msgspec.Raw | bytes) -> Held:
        found = parts(raw)
        return Held(value(raw), found.status, found.spec)

    return hold


def api_resource(resource: Resource, *, is_kept: bool) -> ApiResource[Any]:
    """Return how a resource is watched; for resources that are only read, raw data is not kept."""
    if resource == PODS:
        return replace(API_PODS, field_selector="")  # including finished pods
    if resource == NODES:
        return API_NODES
    if is_kept:
        return ApiResource(resource.group, resource.version, resource.plural, msgspec.Raw, holder(resource))
    return ApiResource(resource.group, resource.version, resource.plural, resource.shape, lambda given: given)


class View:
    """The objects of one resource, by namespace and by some labels; reports every change."""

    def __init__(
        self,
        api: WatchApi,
        resource: ApiResource[Any],
        changed: Callable[..., None],
        labels: Collection[str] = (),
    ) -> None:
        self.reflector: Reflector[Any] = Reflector(api, resource, self)
        # A reconciliation must not see an older state than the previous one.
        self.reflector.expire()
        self._changed, self._labels = changed, labels
        # By label, or "" for the namespace, and value.
        self._shelves: dict[tuple[str, str], dict[str, Any]] = {}

    def inside(self, namespace: str) -> Collection[Any]:
        """Return the objects of a namespace."""
        return self._shelves.get(("", namespace), {}).values()

    def labelled(self, label: str, value: str) -> Collection[Any]:
        """Return the objects with a value of one of the view's labels."""
        return self._shelves.get((label, value), {}).values()

    def added(self, new: Any) -> None:
        """Handle a new object."""
        self._put(new)
        self._changed(new)

    def updated(self, old: Any, new: Any) -> None:
        """Handle a change, which also concerns objects related to the previous state."""
        self._take_away(old)
        self._put(new)
        self._changed(old, new)

    def deleted(self, last: Any) -> None:
        """Remove an object."""
        self._take_away(last)
        self._changed(last)

    def _put(self, each: Any) -> None:
        for place in self._places(each):
            self._shelves.setdefault(place, {})[key_of(each.metadata)] = each

    def _take_away(self, each: Any) -> None:
        for place in self._places(each):
            shelf = self._shelves.get(place, {})
            shelf.pop(key_of(each.metadata), None)
            if not shelf:
                self._shelves.pop(place, None)

    def _places(self, each: Any) -> list[tuple[str, str]]:
        labels: Mapping[str, str] = each.metadata.labels
        own = [(label, labels[label]) for label in self._labels if label in labels]
        return [("", each.metadata.namespace), *own]

    def undecodable(self, metadata: ObjectIdentity, reason: str) -> None:
        """Ignore an object that cannot be decoded."""
        name = f"{metadata.namespace}/{metadata.name}"
        log.warning("ignoring %s %r, which cannot be decoded: %r", self.reflector.resource, name, reason)

    def vanished(self, metadata: ObjectIdentity) -> None:
        """Do nothing: it was ignored."""


class Watching:
    """Watches the controllers' resources, and, once any such object exists, the resources that they read."""

    def __init__(self, api: WatchApi, controllers: Iterable[Controller], wake: Callable[[Key], None]) -> None:
        self._api, self._wake = api, wake
        self._controllers = {each.resource.kind: each for each in controllers}
        self._views: dict[Resource, View] = {}
        self._newer: dict[Key, Held] = {}  # what we wrote, until the watch shows it
        self._summaries: dict[str, Any] = {}  # by kind, until something changes
        self._tasks: list[asyncio.Task[None]] = []
        self.something_kept = asyncio.Event()

    def missing(self) -> list[Resource]:
        """Return the resources that should be watched and are not yet."""
        wanted: dict[Resource, None] = {}
        for controller in self._controllers.values():
            wanted[controller.resource] = None
            view = self._views.get(controller.resource)
            if view is not None and view.reflector.objects:
                wanted |= dict.fromkeys(controller.reads)
        return [resource for resource in wanted if resource not in self._views]

    def watch(self, resource: Resource) -> None:
        """Start watching a resource, permanently."""
        is_kept = any(resource == each.resource for each in self._controllers.values())
        labels = {each.label for each in self._controllers.values() if each.label} if resource == PODS else ()
        shape = api_resource(resource, is_kept=is_kept)
        view = View(self._api, shape, lambda *states: self._changed(resource, *states), labels)
        self._views[resource] = view
        self._tasks.append(asyncio.create_task(view.reflector.run(), name=f"watch {resource.plural}"))

    async def stop(self) -> None:
        """Stop all watches."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def is_whole(self, controller: Controller) -> bool:
        """Return whether everything that a controller reads has been listed."""
        views = [self._views.get(resource) for resource in (controller.resource, *controller.reads)]
        return all(view is not None and view.reflector.is_synced for view in views)

    def find(self, key: Key) -> Held | None:
        """Return the newest known state of an object; None if it was deleted."""
        view = self._views.get(self._controllers[key[0]].resource)
        told: Held | None = view.reflector.objects.get(key[1]) if view else None
        newer = self._newer.get(key)
        if newer is None:
            return told
        if told is None or told.metadata.uid != newer.metadata.uid or _version(told) >= _version(newer):
            del self._newer[key]
            return told
        return newer

    def wrote(self, controller: Controller, answer: bytes) -> None:
        """Record the object from the response to a write."""
        held = holder(controller.resource)(answer)
        self._newer[controller.resource.kind, key_of(held.metadata)] = held

    def pods(self, namespace: str) -> Collection[Any]:
        """Return the pods of a namespace."""
        view = self._views.get(PODS)
        return view.inside(namespace) if view else ()

    def labelled(self, label: str, value: str) -> Collection[Any]:
        """Return the pods with the label of a controller."""
        view = self._views.get(PODS)
        return view.labelled(label, value) if view else ()

    def all(self, resource: Resource) -> Collection[Any]:
        """Return all objects of a resource, decoded."""
        view = self._views.get(resource)
        return [_value(each) for each in (view.reflector.objects.values() if view else ())]

    def summary(self, controller: Controller) -> Any:
        """Return what a controller has computed for all of its objects."""
        kind = controller.resource.kind
        if controller.summary is not None and kind not in self._summaries:
            self._summaries[kind] = controller.summary(ControllerView(self, controller))
        return self._summaries.get(kind)

    def _changed(self, resource: Resource, *states: Any) -> None:
        """Queue all objects that a changed object concerns, in its old and new state."""
        for kind, controller in self._controllers.items():
            if resource == controller.resource:
                self._wake((kind, key_of(states[-1].metadata)))
                self.something_kept.set()
            if resource in controller.reads:
                self._tell(controller, resource, [_value(each) for each in states])

    def _tell(self, controller: Controller, resource: Resource, states: Sequence[Any]) -> None:
        facts, kind = controller.facts, controller.resource.kind
        if facts and len(states) > 1 and facts(states[0]) == facts(states[1]):
            return
        if resource != PODS:
            self._summaries.pop(kind, None)
        if not self.is_whole(controller):
            return  # all of its objects are reconciled after the first list
        for key in self._concerned(controller, states):
            self._wake((kind, key))

    def _concerned(self, controller: Controller, states: Sequence[Any]) -> set[str]:
        known, around = self._views[controller.resource].reflector.objects, ControllerView(self, controller)
        found: set[str] = set()
        for each in states:
            keys = controller.concerns(each, around) if controller.concerns else None
            if keys is None:
                return set(known)
            found.update(key for key in keys if key in known)
        return found


@dataclass(frozen=True)
class ControllerView:
    """One controller's view of the watched objects."""

    watching: Watching
    controller: Controller

    @property
    def summary(self) -> Any:
        """Return what the controller has computed for all of its objects."""
        return self.watching.summary(self.controller)

    def pods(self, namespace: str) -> Collection[Any]:
        """Return the pods of a namespace."""
        return self.watching.pods(namespace)

    def labelled(self, value: str) -> Collection[Any]:
        """Return the pods of all namespaces with a value of the controller's label."""
        return self.watching.labelled(self.controller.label, value)

    def all(self, resource: Resource) -> Collection[Any]:
        """Return all objects of a resource."""
        return self.watching.all(resource)


def _value(each: Any) -> Any:
    return each.value if isinstance(each, Held) else each


def _version(held: Held) -> int:
    return version_number(held.metadata.resource_version)
