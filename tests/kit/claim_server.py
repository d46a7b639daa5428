"""An API server in memory that has claims, with versions and preconditions; requests can be made to go wrong."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pilotage.framework.api.handle import JSON, ApiFailed, NotAllowed, OfflineApi
from pilotage.kinds.devices import DELETE_PROTECTION, ResourceClaim
from pilotage.model.pod import Pod

Manifest = dict[str, Any]
Fault = Callable[[], None]  # raises instead of an answer, or changes something first

CONFLICT, NOT_FOUND, INVALID = 409, 404, 422
PATH = "/apis/resource.k8s.io/v1/namespaces/"


class ClaimServer(OfflineApi):
    """Serves claims; `before` and `after` are faults of the next writes, None for a write that goes well."""

    def __init__(self, *claims: ResourceClaim) -> None:
        self.version = 10
        self.stored: dict[str, Manifest] = {}  # by path
        self.requests: list[str] = []  # GET a, PATCH a, PATCH a/status
        self.before: deque[Fault | None] = deque()
        self.after: deque[Fault | None] = deque()
        self.refuses_json = False  # finalizers in JSON, as with white space in parameters
        self.gone_pods: set[str] = set()  # by uid
        for claim in claims:
            self.put_claim(claim)

    def put_claim(self, claim: ResourceClaim) -> ResourceClaim:
        """Add or replace a claim, and return it as stored."""
        path = f"{PATH}{claim.metadata.namespace}/resourceclaims/{claim.metadata.name}"
        self._store(path, json.loads(msgspec.json.encode(claim)))
        return self.claim(claim.metadata.name)

    def claim(self, name: str) -> ResourceClaim:
        """Return a claim as it is now."""
        (found,) = (each for path, each in self.stored.items() if path.endswith(f"/{name}"))
        return msgspec.json.decode(json.dumps(found), type=ResourceClaim)

    def touch(self, name: str) -> None:
        """Change something else in a claim."""
        self.put_claim(self.claim(name))

    async def get(self, path: str) -> Any:
        """Return a claim."""
        await self._received("GET", path, None)
        return self._found(path)

    async def get_bytes(self, path: str, content_type: str) -> bytes:
        """Return a claim in the other encoding, of which there is only what is read."""
        await self._received("GET", path, None)
        metadata = self._found(path)["metadata"]
        fields = _bytes(5, metadata["uid"]) + _bytes(6, metadata["resourceVersion"])
        return b"k8s\x00" + _message(2, _message(1, fields))

    async def patch(
        self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "", strategic: bool = False
    ) -> Any:
        """Change a claim."""
        await self._received("PATCH", path, pod)
        return self._change(path, json.loads(msgspec.json.encode(body)))

    async def put(
        self,
        path: str,
        body: Mapping[str, Any] | bytes,
        *,
        content_type: str = JSON,
        pod: Pod | None = None,
        node: str = "",
    ) -> Any:
        """Replace a claim."""
        await self._received("PUT", path, pod)
        if isinstance(body, bytes):
            assert DELETE_PROTECTION.encode() in body
            stored = self._found(path)
            finalizers = [*stored["metadata"].get("finalizers", ()), DELETE_PROTECTION]
            return self._store(path, {**stored, "metadata": {**stored["metadata"], "finalizers": finalizers}})
        return self._change(path, json.loads(msgspec.json.encode(body)))

    async def delete(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Delete a claim."""
        await self._received("DELETE", path, pod)
        self._found(path)
        del self.stored[path]

    async def post(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Create a claim."""
        await self._received("POST", path, pod)
        made = json.loads(msgspec.json.encode(body))
        metadata = made["metadata"]
        metadata |= {"name": metadata.pop("generateName") + "x", "uid": f"made-{self.version}"}
        return self._store(f"{path}/{metadata['name']}", made)

    async def _received(self, verb: str, path: str, pod: Pod | None) -> None:
        if pod is not None and pod.uid in self.gone_pods:
            raise NotAllowed("not written: the pod no longer exists")
        self.requests.append(f"{verb} {path.partition('/resourceclaims')[2].removeprefix('/')}".strip())
        await asyncio.sleep(0)
        if self.before and (fault := self.before.popleft()) is not None:
            fault()

    def _found(self, path: str) -> Manifest:
        path = path.removesuffix("/status")
        if path not in self.stored:
            raise ApiFailed(f"resourceclaim {path.rpartition('/')[2]} not found", NOT_FOUND)
        return self.stored[path]

    def _change(self, path: str, body: Manifest) -> Any:
        stored = self._found(path)
        metadata, now = body["metadata"], stored["metadata"]
        if metadata.get("resourceVersion", now["resourceVersion"]) != now["resourceVersion"]:
            raise ApiFailed("the object has been modified", CONFLICT)
        if metadata["uid"] != now["uid"]:
            raise ApiFailed("metadata.uid: field is immutable", INVALID)
        if path.endswith("/status"):
            changed = {**stored, "status": self._status(stored.get("status", {}), body["status"])}
        elif self.refuses_json:
            raise ApiFailed("spec: field is immutable", INVALID)
        else:
            changed = {**stored, "metadata": {**now, "finalizers": metadata["finalizers"]}}
        answer = self._store(path.removesuffix("/status"), changed)
        if self.after and (fault := self.after.popleft()) is not None:
            fault()
        return answer

    def _status(self, now: Manifest, change: Manifest) -> Manifest:
        consumers = change.get("reservedFor") or []
        gone = {each["uid"] for each in consumers if "$patch" in each}
        if gone:
            left = [each for each in now.get("reservedFor", []) if each["uid"] not in gone]
            return {**now, "reservedFor": left}
        if now.get("allocation") and change.get("allocation") not in (None, now["allocation"]):
            raise ApiFailed("status.allocation: field cannot be modified once set", INVALID)
        changed = {key: value for key, value in {**now, **change}.items() if value is not None}
        if len(changed.get("reservedFor", [])) > 256:
            raise ApiFailed("status.reservedFor: Too many: 257: must have at most 256 items", INVALID)
        if changed.get("reservedFor") and not changed.get("allocation"):
            raise ApiFailed("status.reservedFor: may not be specified when `allocated` is not set", INVALID)
        return changed

    def _store(self, path: str, manifest: Manifest) -> Manifest:
        self.version += 1
        manifest["metadata"] = {**manifest["metadata"], "resourceVersion": str(self.version)}
        self.stored[path] = manifest
        return manifest


def lost() -> None:
    """Lose the answer."""
    raise ApiFailed("the connection broke")


def refused() -> None:
    """Refuse a write."""
    raise ApiFailed("forbidden", 403)


def _message(number: int, value: bytes) -> bytes:
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def _bytes(number: int, value: str) -> bytes:
    return _message(number, value.encode())
