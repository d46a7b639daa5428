"""The handle: a plugin's access to everything outside of a cycle, passed to `start` before any other call."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pilotage.config.documents import At
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.objects import NO_OBJECTS, Kind, Objects
from pilotage.framework.api.own_metrics import OwnMetrics
from pilotage.framework.api.remit import EVERYTHING, Remit
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.framework.api.waiting import WaitingPods
from pilotage.model.node_load import Loads
from pilotage.model.outside_services import Service
from pilotage.model.pod import Pod

Follower = Callable[[Any], None]  # called with the object that was added, changed or deleted
Announce = Callable[[Kind | None, Kind], None]  # called with an object's states before and after an own write
JSON = "application/json"


class ApiFailed(PluginFailed):
    """A request that was rejected or got no response; without a response the status is 0."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class NotAllowed(ApiFailed):
    """A write that was not sent: this scheduler is not the leader, or the pod or node no longer exists."""


class Api(Protocol):
    """A client of the API server with time-outs; right before a write is sent, it is checked that it still may be.

    Responses are plain data. A failed request raises ApiFailed, a write that may not be sent NotAllowed. `pod` and
    `node` name the subject of a write: it is not sent once one of them is deleted, and namespaces take turns.
    """

    async def get(self, path: str) -> Any:
        """Return an object or a list."""

    async def get_bytes(self, path: str, content_type: str) -> bytes:
        """Return an object in another encoding than JSON."""

    async def post(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Create an object; sent once, because the outcome of a request without a response is unknown."""

    async def patch(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        pod: Pod | None = None,
        node: str = "",
        strategic: bool = False,
    ) -> Any:
        """Change an object with a merge patch, and return the result; retried if the error may be temporary."""

    async def put(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        *,
        content_type: str = JSON,
        pod: Pod | None = None,
        node: str = "",
    ) -> Any:
        """Replace an object, and return the result; retried if the error may be temporary."""

    async def delete(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Delete an object, with these options; retried if the error may be temporary."""

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod, and return only when the bind is confirmed."""


class OfflineApi:
    """The client without an API server: every request fails."""

    async def get(self, path: str) -> Any:
        """Fail."""
        raise ApiFailed(f"cannot read {path}: this scheduler is not connected to an API server")

    async def get_bytes(self, path: str, content_type: str) -> bytes:
        """Fail."""
        raise ApiFailed(f"cannot read {path}: this scheduler is not connected to an API server")

    async def post(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Fail."""
        raise ApiFailed(f"cannot create {path}: this scheduler is not connected to an API server")

    async def patch(
        self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "", strategic: bool = False
    ) -> Any:
        """Fail."""
        raise ApiFailed(f"cannot change {path}: this scheduler is not connected to an API server")

    async def put(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        *,
        content_type: str = JSON,
        pod: Pod | None = None,
        node: str = "",
    ) -> Any:
        """Fail."""
        raise ApiFailed(f"cannot replace {path}: this scheduler is not connected to an API server")

    async def delete(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Fail."""
        raise ApiFailed(f"cannot delete {path}: this scheduler is not connected to an API server")

    async def bind(self, pod: Pod, node: str) -> None:
        """Fail."""
        raise ApiFailed(f"cannot bind {pod.key} to {node}: this scheduler is not connected to an API server")


class Nominations(Protocol):
    """Nodes nominated for pods that wait for their victims to terminate."""

    def node_of(self, pod: Pod) -> str | None:
        """Return the node nominated for a pod."""

    def pods_for_node(self, node: str) -> Sequence[Pod]:
        """Return the pods for which a node is nominated."""


class NoNominations:
    """No nominations."""

    def node_of(self, pod: Pod) -> str | None:
        """Return None."""
        return None

    def pods_for_node(self, node: str) -> Sequence[Pod]:
        """Return none."""
        return ()


class LoadQuery(Protocol):
    """The source of load metrics, the interval, and the maximum age."""

    @property
    def watcher_address(self) -> str:
        """Return the URL of a load-watcher, or ""."""

    @property
    def metric_provider(self) -> Any:
        """Return the provider to use without a load-watcher."""

    @property
    def refresh_seconds(self) -> int:
        """Return the interval between queries."""

    @property
    def stale_after_seconds(self) -> int:
        """Return the maximum age of usable figures."""

    def service(self) -> tuple[At, Service] | None:
        """Return the service to call besides the API server, and the argument that names it; or None."""


class LoadSource(Protocol):
    """A source of load metrics."""

    @property
    def loads(self) -> Loads:
        """Return the latest figures, as a new object whenever they have changed."""


class LoadSources(Protocol):
    """Collects load metrics of nodes."""

    def source(self, query: LoadQuery) -> LoadSource | None:
        """Start collecting figures while the plugin runs; None if there is no collector."""


class NoLoad:
    """Collects no figures."""

    def source(self, query: LoadQuery) -> LoadSource | None:
        """Return None."""
        return None


class Events(Protocol):
    """Records events about pods; they are written in the background."""

    def record(self, pod: Pod, reason: str, note: str, *, warning: bool = False) -> None:
        """Record what happened to a pod."""


class NoEvents:
    """Writes nothing."""

    def record(self, pod: Pod, reason: str, note: str, *, warning: bool = False) -> None:
        """Write nothing."""


class Changes(Protocol):
    """Notifies about objects that change."""

    def follow(self, kind: type[Kind], told: Follower) -> Callable[[], None]:
        """Call a function for every change of a kind's objects; returns a function that ends this."""


OFFLINE_API: Api = OfflineApi()
NO_NOMINATIONS: Nominations = NoNominations()
NO_LOAD: LoadSources = NoLoad()
NO_EVENTS: Events = NoEvents()
LOG = logging.getLogger("pilotage.plugin")


@dataclass
class Handle:
    """Everything outside of a cycle that a plugin can use; by default without a cluster."""

    objects: Objects = NO_OBJECTS
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    nominations: Nominations = NO_NOMINATIONS
    api: Api = OFFLINE_API
    load: LoadSources = NO_LOAD
    clock: Callable[[], float] = time.time
    events: Events = NO_EVENTS
    metrics: OwnMetrics = field(default_factory=OwnMetrics)
    log: logging.Logger = LOG
    find_node: Callable[[str], NodeInfo | None] = lambda _name: None  # of all nodes, not only the profile's
    find_pod: Callable[[str], Pod | None] = lambda _key: None  # as last received from the API server, by namespace/name
    remit: Remit = EVERYTHING  # the objects that the profile may change
    all_nodes: Callable[[], Nodes] | None = None
    changes: Changes | None = None
    announce: Announce = lambda _old, _new: None  # retries the pods that an own write helps, before the watch shows it
    _endings: list[Callable[[], None]] = field(default_factory=list)

    def nodes(self) -> Nodes:
        """Return the current nodes of the profile."""
        if self.all_nodes is None:
            raise PluginFailed("this handle has no cluster")
        nodes = self.all_nodes()
        own = self.remit.own(nodes)
        return nodes if own is None else nodes.take(own)

    def on_change(self, kind: type[Kind], told: Follower) -> None:
        """Call a function for every object of a kind that is added, changed or deleted, while the plugin runs."""
        if self.changes is not None:
            self.at_end(self.changes.follow(kind, told))

    def at_end(self, action: Callable[[], None]) -> None:
        """Call a function when the plugin stops."""
        self._endings.append(action)

    def close(self) -> None:
        """Call the functions registered with `at_end`."""
        while self._endings:
            self._endings.pop()()


NOT_STARTED = Handle()  # of every plugin before `start`
