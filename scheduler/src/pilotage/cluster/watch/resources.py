"""How the API serves each kind of object that scheduling reads."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pilotage.kinds.every import NODE, OURS, POD, in_order
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.metadata import Metadata
from pilotage.model.node import Node, NodeObject
from pilotage.model.pod import Pod, PodObject

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"  # finished pods use no resources


class ApiObject(Protocol):
    """An object of the API of any kind."""

    @property
    def metadata(self) -> Metadata:
        """Return the object's metadata."""


T = TypeVar("T", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class ApiResource(Generic[T]):
    """A resource of the API: its path, the shape of its objects, and their conversion."""

    group: str
    version: str
    plural: str
    shape: type[Any]  # what msgspec decodes
    build: Callable[[Any], T]  # from the decoded object; parses quantities, so that invalid ones are found here
    field_selector: str = ""
    namespace: str = ""  # only objects of this namespace
    optional: bool = False  # if it is not served, or not allowed, there are no objects
    # Whether the last decodable state stays valid while the object is undecodable; otherwise it has none.
    outlasts: Callable[[T], bool] = lambda _: False

    @property
    def path(self) -> str:
        """Return the path under which all objects of the resource are listed and watched."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{root}/{self.plural}"

    @property
    def selection(self) -> dict[str, str]:
        """Return the query parameters that select objects."""
        return {"fieldSelector": self.field_selector} if self.field_selector else {}

    def __str__(self) -> str:
        """Return the name as in a role: pods, csinodes.storage.k8s.io."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _pod(given: PodObject) -> Pod:
    pod = Pod(given)
    _ = pod.requests, pod.usage
    return pod


def _is_placed(pod: Pod) -> bool:
    """Return whether a pod uses resources of a node, which stay in use even if the pod becomes undecodable."""
    return bool(pod.node_name)


def _as_it_is(given: T) -> T:
    return given


def resource_of(kind: type[KubeObject]) -> ApiResource[Any]:
    """Return the resource of a kind."""
    api = kind.api
    optional, outlasts = not api.in_kubernetes, kind.holds_something
    return ApiResource(api.group, api.version, api.plural, kind, _as_it_is, optional=optional, outlasts=outlasts)


def resources_of(kinds: Iterable[type[KubeObject]]) -> list[ApiResource[Any]]:
    """Return the resources of these kinds that can be watched."""
    return [resource_of(kind) for kind in in_order(kinds) if kind.api.watched]


PODS: ApiResource[Pod] = ApiResource(
    POD.group, POD.version, POD.plural, PodObject, _pod, UNFINISHED, outlasts=_is_placed
)
NODES: ApiResource[Node] = ApiResource(NODE.group, NODE.version, NODE.plural, NodeObject, Node)

# All resources that scheduling reads; the plugins determine which are watched. A pod's priority is in its spec.
RESOURCES: tuple[ApiResource[Any], ...] = (PODS, NODES, *resources_of(OURS))
