"""An in-memory handle, for tests of what a plugin reads and writes outside of a cycle."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from pilotage.framework.api.handle import JSON, NOT_STARTED, Api, ApiFailed, Handle
from pilotage.framework.api.plugin import Plugin
from pilotage.framework.api.waiting import WaitingPods
from pilotage.model.pod import Pod
from pilotage.testing.cluster import FakeCluster, Nominations


class Write(NamedTuple):
    """A write request."""

    verb: str
    path: str
    body: Any


@dataclass
class FakeApi:
    """An API server that records writes, and returns prepared objects by path."""

    objects: dict[str, Any] = field(default_factory=dict)
    writes: list[Write] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)  # nodes by namespace/name of the pod

    async def get(self, path: str) -> Any:
        """Return an object."""
        if path not in self.objects:
            raise ApiFailed(f"{path} not found", 404)
        return self.objects[path]

    async def get_bytes(self, path: str, content_type: str) -> bytes:
        """Fail: objects are prepared as plain data."""
        raise ApiFailed(f"{path} is not available as {content_type}", 406)

    async def post(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Record a created object."""
        self.writes.append(Write("POST", path, body))
        return body

    async def patch(
        self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "", strategic: bool = False
    ) -> Any:
        """Record a patch."""
        self.writes.append(Write("PATCH", path, body))
        return body

    async def put(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        *,
        content_type: str = JSON,
        pod: Pod | None = None,
        node: str = "",
    ) -> Any:
        """Record a replacement."""
        self.writes.append(Write("PUT", path, body))
        return body

    async def delete(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Record a deletion."""
        self.writes.append(Write("DELETE", path, body))
        return body

    async def bind(self, pod: Pod, node: str) -> None:
        """Record a bind."""
        self.bound[pod.key] = node


@dataclass
class FakeEvents:
    """Records events: the pod by namespace/name, the reason and the note of each."""

    recorded: list[tuple[str, str, str]] = field(default_factory=list)

    def record(self, pod: Pod, reason: str, note: str, *, warning: bool = False) -> None:
        """Record an event."""
        self.recorded.append((pod.key, reason, note))


_BEGUN: WeakKeyDictionary[Plugin, FakeCluster] = WeakKeyDictionary()


def begin(plugin: Plugin, cluster: FakeCluster) -> None:
    """Start a plugin on a cluster, unless that or the test has started it already."""
    by_test = plugin not in _BEGUN and plugin.handle is not NOT_STARTED
    if not by_test and _BEGUN.get(plugin) is not cluster:
        _BEGUN[plugin] = cluster
        plugin.start(handle_of(cluster))


def handle_of(
    cluster: FakeCluster,
    *,
    api: Api | None = None,
    waiting: WaitingPods | None = None,
    clock: Callable[[], float] | None = None,
) -> Handle:
    """Return the handle of a plugin on a cluster in memory, to pass to `start`."""
    handle = Handle(
        objects=cluster.cache.objects,
        waiting_pods=WaitingPods() if waiting is None else waiting,
        nominations=Nominations(cluster),
        api=FakeApi() if api is None else api,
        events=FakeEvents(),
        find_node=cluster.cache.find_node,
        find_pod=lambda key: next((pod for pod in cluster.cache.pods() if pod.key == key), None),
        all_nodes=cluster.cache.nodes,
    )
    if clock is not None:
        handle.clock = clock
    return handle
