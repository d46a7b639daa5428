"""Objects of the API server, by any client."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

_NOTHING: Mapping[str, str] = {}
PAGE = "2000"  # objects; large lists come in pages


class Carrier(Protocol):
    """A client of an API server; Refused or NotReached says why there is no answer."""

    async def get(self, path: str, query: Mapping[str, str] = _NOTHING) -> bytes:
        """Read a path."""

    async def post(self, path: str, body: bytes) -> bytes:
        """Send a document."""

    async def close(self) -> None:
        """Close all connections."""


class Documents:
    """Reads and creates objects."""

    def __init__(self, carrier: Carrier, namespace: str = "default") -> None:
        self._carrier = carrier
        self.namespace = namespace  # the default

    async def get(self, path: str) -> dict[str, Any]:
        """Return one object."""
        return dict(json.loads(await self._carrier.get(path)))

    async def items(self, path: str, query: Mapping[str, str] = _NOTHING) -> list[dict[str, Any]]:
        """Return all objects of a list, page by page."""
        found: list[dict[str, Any]] = []
        more: dict[str, str] = {"limit": PAGE}
        while True:
            page = json.loads(await self._carrier.get(path, {**query, **more}))
            found += page.get("items") or ()
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return found
            more["continue"] = token

    async def post(self, path: str, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a document."""
        return dict(json.loads(await self._carrier.post(path, json.dumps(document).encode())))

    async def close(self) -> None:
        """Close all connections."""
        await self._carrier.close()


def namespaced(resource: str, namespace: str) -> str:
    """Return the path of a list of the core API, of one namespace, or of all if it is empty."""
    return f"/api/v1/namespaces/{namespace}/{resource}" if namespace else f"/api/v1/{resource}"
