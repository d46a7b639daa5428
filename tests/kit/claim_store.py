"""An API server that keeps claims, for tests of what a plugin writes; everything else is only recorded."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from pilotage.framework.api.handle import JSON, ApiFailed
from pilotage.kinds.devices import ResourceClaim
from pilotage.model.pod import Pod

Manifest = dict[str, Any]
ROOT = ResourceClaim.api.root


class ClaimStore:
    """Claims by their path; a write with an outdated version conflicts."""

    def __init__(self, *claims: Manifest) -> None:
        self.writes: list[tuple[str, str]] = []  # methods and paths
        self.bodies: list[Any] = []  # of the writes
        self.refused: dict[str, ApiFailed] = {}  # by method and the start of a path
        self.claims: dict[str, Manifest] = {}
        self._version = 0
        for claim in claims:
            self._keep(claim)

    async def get(self, path: str) -> Any:
        """Return a claim."""
        if path not in self.claims:
            raise ApiFailed(f"{path} not found", 404)
        return deepcopy(self.claims[path])

    async def get_bytes(self, path: str, content_type: str) -> bytes:
        """Fail."""
        raise ApiFailed(f"{path} is not available as {content_type}", 406)

    async def post(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Create a claim, whose name ends in x, and whose uid is its name."""
        self._note("POST", path, body)
        made = deepcopy(dict(body))
        name = made["metadata"].get("name") or f"{made['metadata'].pop('generateName')}x"
        made["metadata"] |= {"name": name, "uid": f"uid of {name}"}
        return deepcopy(self._keep(made))

    async def patch(
        self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "", strategic: bool = False
    ) -> Any:
        """Merge a patch into a claim, or accept any other."""
        self._note("PATCH", path, body)
        name = path.removesuffix("/status")
        if not path.startswith(ROOT):
            return dict(body)
        if name not in self.claims:
            raise ApiFailed(f"{path} not found", 404)
        claim = self.claims[name]
        if body["metadata"].get("resourceVersion", claim["metadata"]["resourceVersion"]) != self._version_of(claim):
            raise ApiFailed("the claim was changed", 409)
        if strategic:
            gone = {each["uid"] for each in body["status"]["reservedFor"]}
            left = [each for each in claim["status"].get("reservedFor", []) if each["uid"] not in gone]
            claim["status"]["reservedFor"] = left
        else:
            _merge(claim, body)
        return deepcopy(self._keep(claim))

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
        raise ApiFailed("only patches are expected", 405)

    async def delete(self, path: str, body: Mapping[str, Any], *, pod: Pod | None = None, node: str = "") -> Any:
        """Delete a claim."""
        self._note("DELETE", path, body)
        if self.claims.pop(path, None) is None:
            raise ApiFailed(f"{path} not found", 404)
        return {}

    async def bind(self, pod: Pod, node: str) -> None:
        """Fail."""
        raise ApiFailed("no bind is expected", 405)

    def _note(self, method: str, path: str, body: Any) -> None:
        self.writes.append((method, path))
        self.bodies.append(body)
        for start, failure in self.refused.items():
            if f"{method} {path}".startswith(start):
                raise failure

    def _keep(self, claim: Manifest) -> Manifest:
        self._version += 1
        metadata = claim["metadata"]
        metadata["resourceVersion"] = str(self._version)
        self.claims[ResourceClaim.api.path(metadata["namespace"], metadata["name"])] = claim
        return claim

    def _version_of(self, claim: Manifest) -> str:
        return str(claim["metadata"]["resourceVersion"])


def _merge(into: Manifest, patch: Mapping[str, Any]) -> None:
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, Mapping):
            into.setdefault(key, {})
            _merge(into[key], value)
        else:
            into[key] = value
