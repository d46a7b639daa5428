"""An API server in memory: it serves lists and watches as bytes, and takes binds, statuses and events."""

import asyncio
import contextlib
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from hostile.loop_watch import LoopWatch
from hostile.stored_object import StoredObject
from pilotage.cluster.credentials.delegated_auth import ACCESS_REVIEWS, TOKEN_REVIEWS
from pilotage.cluster.transport.api_errors import Withheld, api_error
from pilotage.cluster.watch.resources import RESOURCES
from pilotage.kinds.every import kind_of
from pilotage.testing import Manifest

CHUNK = 256 << 10  # bytes, as much as asyncio reads at once
CONFIG_MAPS = "configmaps"
_SHAPE_PATH = {resource.shape: resource.path for resource in RESOURCES}
END_OF_LIST = (
    b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"%d",'
    b'"annotations":{"k8s.io/initial-events-end":"true"}}}}\n'
)


def path_of(manifest: Manifest) -> str:
    """Return where a manifest's kind is listed."""
    if manifest["kind"] == "ConfigMap":
        return f"/api/v1/namespaces/{manifest['metadata']['namespace']}/{CONFIG_MAPS}"
    kind = kind_of(manifest)
    assert kind is not None, f"no plugin reads {manifest['kind']}"
    return _SHAPE_PATH[kind]


class _Watch:
    """One watch: lines that were not read yet."""

    def __init__(self) -> None:
        self.waiting: deque[bytes] = deque()
        self.news = asyncio.Event()

    def tell(self, line: bytes) -> None:
        self.waiting.append(line)
        self.news.set()


class MemoryServer:
    """The API server, as a scheduler uses it; `ApiClient` in all that the scheduler uses of it."""

    def __init__(self, watch: LoopWatch) -> None:
        self._loop_watch = watch
        self._objects: dict[str, dict[str, StoredObject]] = defaultdict(dict)  # by path, then by namespace/name
        self._watches: dict[str, list[_Watch]] = defaultdict(list)
        self._version = 1
        self.told: dict[str, str] = {}  # the last that was said about a pod, by namespace/name
        self.bound: dict[str, str] = {}
        self.on_bound: Callable[[str], None] = lambda _key: None
        # Who may do what: the user, who is named by the token, and the attributes of the review.
        self.allows: Callable[[str, Manifest], bool] = lambda _user, _wanted: False

    def put(self, prepared: Iterable[tuple[str, StoredObject]]) -> None:
        """Add objects."""
        for path, found in prepared:
            self._version += 1
            found.version = self._version
            change = "MODIFIED" if found.key in self._objects[path] else "ADDED"
            self._objects[path][found.key] = found
            self._tell(path, found, change)

    def remove(self, path: str, key: str) -> None:
        """Remove an object."""
        found = self._objects[path].pop(key, None)
        if found is not None:
            self._version += 1
            found.version = self._version
            self._tell(path, found, "DELETED")

    def objects_at(self, path: str) -> dict[str, StoredObject]:
        """Return the objects of a kind, by namespace/name."""
        return self._objects[path]

    def backlog(self) -> int:
        """Return how many lines were not read yet."""
        return sum(len(watch.waiting) for watches in self._watches.values() for watch in watches)

    def _tell(self, path: str, found: StoredObject, change: str) -> None:
        if self._watches[path]:
            line = found.line(change)
            for watch in self._watches[path]:
                watch.tell(line)

    # ------------------------------------------------------------------------------- what the scheduler calls

    @asynccontextmanager
    async def stream(
        self, path: str, query: Mapping[str, str] | None = None, **_: Any
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Watch, with a list to begin with if that is asked for."""
        watch = _Watch()
        with self._loop_watch.own_work():
            if (query or {}).get("sendInitialEvents") == "true":
                for found in self._objects[path].values():
                    watch.tell(found.line("ADDED"))
                watch.tell(END_OF_LIST % self._version)
            self._watches[path].append(watch)
        try:
            yield self._chunks(watch)
        finally:
            self._watches[path].remove(watch)

    async def _chunks(self, watch: _Watch) -> AsyncIterator[bytes]:
        while True:
            await watch.news.wait()
            while watch.waiting:
                line = watch.waiting.popleft()
                for begin in range(0, len(line), CHUNK):
                    yield line[begin : begin + CHUNK]
                    await asyncio.sleep(0)
            watch.news.clear()

    async def get(self, path: str, query: Mapping[str, str] | None = None, **_: Any) -> bytes:
        """Answer a list, or one pod."""
        await asyncio.sleep(0)
        with self._loop_watch.own_work():
            if path in self._objects or "/pods/" not in path:
                items = b",".join(found.json() for found in self._objects[path].values())
                return b'{"metadata":{"resourceVersion":"%d"},"items":[%b]}' % (self._version, items)
            return self._pod(path).json()

    async def post(self, path: str, body: bytes, *, may_send: Callable[[], bool] | None = None, **_: Any) -> bytes:
        """Take a bind, an event or a claim, or answer a review."""
        await asyncio.sleep(0)
        if may_send is not None and not may_send():
            raise Withheld("it may not be sent")
        with self._loop_watch.own_work():
            given = msgspec.json.decode(body)
            if path in (TOKEN_REVIEWS, ACCESS_REVIEWS):
                return msgspec.json.encode({"status": self._reviewed(given["spec"])})
            if path.endswith("/binding"):
                self._bind(self._pod(path), given["target"]["name"])
            elif "/events" in path:
                self._note_event(given)
            elif path.endswith("/resourceclaims"):
                return self._create(given)
        return b"{}"

    async def patch(self, path: str, body: bytes, *, may_send: Callable[[], bool] | None = None, **_: Any) -> bytes:
        """Change a status, or a claim or volume."""
        await asyncio.sleep(0)
        if may_send is not None and not may_send():
            raise Withheld("it may not be sent")
        with self._loop_watch.own_work():
            if "/pods/" not in path:
                return self._patch_object(path, msgspec.json.decode(body))
            pod = self._pod(path)
            patch = msgspec.json.decode(body)
            if isinstance(patch, dict):
                pod.patch_status(patch.get("status", {}))
                self._note_conditions(pod)
            self._changed(pod)
            return b'{"metadata":{"resourceVersion":"%d"}}' % pod.version

    async def delete(self, path: str, body: bytes = b"", **_: Any) -> bytes:
        """Delete a pod or a claim: it goes at once."""
        await asyncio.sleep(0)
        with self._loop_watch.own_work():
            if "/pods/" not in path:
                kind, found = self._object(path)
                self.remove(kind, found.key)
                return b"{}"
            pod = self._pod(path)
            pod.is_leaving = True
            self._changed(pod)
            self.remove("/api/v1/pods", pod.key)
        return b"{}"

    async def close(self) -> None:
        """Have nothing to close."""

    # -------------------------------------------------------------------------------------------- what they do

    def _reviewed(self, spec: Manifest) -> Manifest:
        if "token" in spec:
            user = {"username": spec["token"], "groups": ["system:authenticated"]}
            return {"authenticated": True, "audiences": spec.get("audiences", []), "user": user}
        wanted = spec.get("resourceAttributes") or spec.get("nonResourceAttributes") or {}
        return {"allowed": self.allows(spec.get("user", ""), wanted)}

    def _pod(self, path: str) -> StoredObject:
        parts = path.strip("/").split("/")
        namespace, name = parts[parts.index("namespaces") + 1], parts[parts.index("pods") + 1]
        found = self._objects["/api/v1/pods"].get(f"{namespace}/{name}")
        if found is None:
            raise api_error(404, b"", None)
        return found

    def _patch_object(self, path: str, patch: Any) -> bytes:
        kind, found = self._object(path)
        if isinstance(patch, dict):
            metadata = patch.get("metadata", {})
            found.annotate(metadata.get("annotations") or {})
            found.finalizers = metadata.get("finalizers", found.finalizers)
            if found.kind == "ResourceClaim":
                found.patch_status(patch.get("status", {}))
        self._changed(found, kind)
        return found.json()

    def _create(self, manifest: Manifest) -> bytes:
        metadata = manifest["metadata"]
        name = f"{metadata.pop('generateName')}{self._version}"
        metadata |= {"name": name, "uid": name}
        made = StoredObject(manifest)
        self.put([(path_of(manifest), made)])
        return made.json()

    def _object(self, path: str) -> tuple[str, StoredObject]:
        """Return where a claim or volume is listed, and the object itself."""
        *parts, name = path.removesuffix("/status").strip("/").split("/")
        if "namespaces" in parts:
            at = parts.index("namespaces")
            name, parts = f"{parts[at + 1]}/{name}", parts[:at] + parts[at + 2 :]
        kind = "/" + "/".join(parts)
        found = self._objects[kind].get(name)
        if found is None:
            raise api_error(404, b"", None)
        return kind, found

    def _changed(self, found: StoredObject, path: str = "/api/v1/pods") -> None:
        self._version += 1
        found.version = self._version
        self._tell(path, found, "MODIFIED")

    def _bind(self, pod: StoredObject, node: str) -> None:
        pod.node = node
        self.bound[pod.key] = node
        self.told[pod.key] = f"bound to {node}"
        self._changed(pod)
        self.on_bound(pod.key)

    def _note_conditions(self, pod: StoredObject) -> None:
        for condition in pod.status.get("conditions", ()):
            if condition.get("type") == "PodScheduled" and condition.get("message"):
                self.told[pod.key] = str(condition["message"])

    def _note_event(self, event: Manifest) -> None:
        about = event.get("regarding") or {}
        key = f"{about.get('namespace', '')}/{about.get('name', '')}"
        with contextlib.suppress(KeyError):
            if event["reason"] != "Scheduled" and key not in self.told:
                self.told[key] = str(event["note"])
