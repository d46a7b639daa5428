"""What a plugin gets from outside: one handle, passed to `start` before any other method is called."""

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

Follower = Callable[[Any], None]  # is given the object that was added, changed or deleted


class ApiFailed(PluginFailed):
    """A request that was rejected or got no response; without a response the status is 0."""

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status


class NotAllowed(ApiFailed):
    """A write that was not sent: this scheduler is not the leader, or the pod or node no longer exists."""


class Api(Protocol):
    """The API server, with timeouts; right before a write is sent, it is checked again whether it still may be.

    Responses are plain data. A failed request raises ApiFailed, a write that may not be sent NotAllowed. What a write
    is about is passed as `pod` and `node`: it is not sent once one of them is gone, and namespaces take turns.
    """

    async def get(self, path: str) -> Any:
        """Return an object or a list."""

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
        """Change an object with a merge patch, and return the result; retried if that may help."""

    async def bind(self, pod: Pod, node: str) -> None:
        """Bind a pod, and return only when it is certain that it is bound."""


class OfflineApi:
    """No API server: every request fails."""

    async def get(self, path: str) -> Any:
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

    async def bind(self, pod: Pod, node: str) -> None:
        """Fail."""
        raise ApiFailed(f"cannot bind {pod.key} to {node}: this scheduler is not connected to an API server")


class Nominations(Protocol):
    """Nodes that are nominated for pods that wait for their victims to terminate."""

    def node_of(self, pod: Pod) -> str | None:
        """Return the node of a pod."""

    def pods_for_node(self, node: str) -> Sequence[Pod]:
        """Return the pods of a node."""


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
        """Return the provider that is used otherwise."""

    @property
    def refresh_seconds(self) -> int:
        """Return how often figures are queried."""

    @property
    def stale_after_seconds(self) -> int:
        """Return the maximum age of figures that are used."""

    def service(self) -> tuple[At, Service] | None:
        """Return the service that is called besides the API server, and the argument that names it; None: none."""


class LoadSource(Protocol):
    """A source of figures."""

    @property
    def loads(self) -> Loads:
        """Return the latest figures; a new object whenever they have changed."""


class LoadSources(Protocol):
    """Collects load metrics of nodes."""

    def source(self, query: LoadQuery) -> LoadSource | None:
        """Have figures collected as long as the plugin runs; None if there is no collector."""


class NoLoad:
    """Collects no figures."""

    def source(self, query: LoadQuery) -> LoadSource | None:
        """Return None."""
        return None


class Events(Protocol):
    """Writes events about pods, some time later."""

    def record(self, pod: Pod, reason: str, note: str, *, warning: bool = False) -> None:
        """Record what happened to a pod."""


class NoEvents:
    """Writes nothing."""

    def record(self, pod: Pod, reason: str, note: str, *, warning: bool = False) -> None:
        """Write nothing."""


class Changes(Protocol):
    """Notifies about objects that change."""

    def follow(self, kind: type[Kind], told: Follower) -> Callable[[], None]:
        """Call back for every object of a kind that is added, changed or deleted; returns a function that ends that."""


OFFLINE_API: Api = OfflineApi()
NO_NOMINATIONS: Nominations = NoNominations()
NO_LOAD: LoadSources = NoLoad()
NO_EVENTS: Events = NoEvents()
LOG = logging.getLogger("pilotage.plugin")


@dataclass
class Handle:
    """Everything outside of a cycle that a plugin can use; by default there is no cluster."""

    objects: Objects = NO_OBJECTS
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    nominations: Nominations = NO_NOMINATIONS
    api: Api = OFFLINE_API
    load: LoadSources = NO_LOAD
    clock: Callable[[], float] = time.time
    events: Events = NO_EVENTS
    metrics: OwnMetrics = field(default_factory=OwnMetrics)
    log: logging.Logger = LOG
    find_node: Callable[[str], NodeInfo | None] = lambda _name: None  # of all, not only those of the profile
    find_pod: Callable[[str], Pod | None] = lambda _key: None  # as the API server last had it, by namespace/name
    remit: Remit = EVERYTHING  # what of the cluster the profile may touch
    all_nodes: Callable[[], Nodes] | None = None
    changes: Changes | None = None
    _endings: list[Callable[[], None]] = field(default_factory=list)

    def nodes(self) -> Nodes:
        """Return the nodes of the profile as they are now."""
        if self.all_nodes is None:
            raise PluginFailed("there is no cluster here")
        nodes = self.all_nodes()
        own = self.remit.own(nodes)
        return nodes if own is None else nodes.take(own)

    def on_change(self, kind: type[Kind], told: Follower) -> None:
        """Call back for every object of a kind that is added, changed or deleted, as long as the plugin runs."""
        if self.changes is not None:
            self.at_end(self.changes.follow(kind, told))

    def at_end(self, action: Callable[[], None]) -> None:
        """Call a function when the plugin stops."""
        self._endings.append(action)

    def close(self) -> None:
        """Run what was registered for the plugin's end."""
        while self._endings:
            self._endings.pop()()


NOT_STARTED = Handle()  # of every plugin before `start`
