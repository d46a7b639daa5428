"""A small API server that has custom resources, too: discovered, patched with preconditions, and their pods."""

import json
from typing import Any

from aiohttp import web

from kit.small_api import Manifest, SmallApi

GROUPS = {
    "appgroups": "appgroup.diktyo.x-k8s.io/v1alpha1",
    "elasticquotas": "scheduling.x-k8s.io/v1alpha1",
    "networktopologies": "networktopology.diktyo.x-k8s.io/v1alpha1",
    "podgroups": "scheduling.x-k8s.io/v1alpha1",
    "stickyjobs": "pilotage.dev/v1alpha1",
}


class CustomApi(SmallApi):
    """Serves the kinds that it is told to; answers that are put in order come before its own."""

    def __init__(self, *served: str) -> None:
        super().__init__()
        self.objects["namespaces"] = {}
        self.served: set[str] = set()
        self.without_status: set[str] = set()  # of those that are served
        self.writes: list[tuple[str, str]] = []  # those that were taken: method and path
        self.troubles: list[int] = []  # the statuses of the next answers to writes
        self.refuses_pods = False  # to make and to delete them
        self._made = 0
        for plural in served:
            self.serve(plural)

    def serve(self, plural: str) -> None:
        """Have a definition from now on."""
        self.served.add(plural)
        self.objects.setdefault(plural, {})

    def make(self, plural: str, name: str, namespace: str = "team", **parts: Any) -> Manifest:
        """Create an object."""
        self._made += 1
        metadata = {"name": name, "namespace": namespace, "uid": f"uid-{self._made}", "generation": 1}
        metadata |= parts.pop("metadata", {})
        manifest = {"apiVersion": GROUPS.get(plural, "v1"), "metadata": metadata, **parts}
        self.put(plural, manifest)
        return manifest

    def find(self, plural: str, name: str, namespace: str = "team") -> Manifest:
        """Return an object; nothing if there is none."""
        return self.objects[plural].get(f"{namespace}/{name}", {})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        parts, method = request.path.strip("/").split("/"), request.method
        if method == "GET" and parts[0] == "apis" and len(parts) == 3:
            group = "/".join(parts[1:])
            known = [plural for plural in self.served if GROUPS[plural] == group]
            known += [f"{plural}/status" for plural in known if plural not in self.without_status]
            return web.json_response({"resources": [{"name": name} for name in known]}) if known else _status(404)
        if parts[0] == "apis" and parts[-1] in GROUPS and parts[-1] not in self.served:
            return _status(404)
        if method in ("PATCH", "DELETE") or (method == "POST" and parts[-1] == "pods"):
            self.requests.append((method, request.path))
            return await self._write(request, parts)
        return await super().handle(request)

    async def _write(self, request: web.Request, parts: list[str]) -> web.StreamResponse:
        if self.troubles:
            return _status(self.troubles.pop(0))
        at = parts.index("namespaces")
        namespace, plural, name = parts[at + 1], parts[at + 2], parts[at + 3] if len(parts) > at + 3 else ""
        if self.refuses_pods and plural == "pods":
            return _status(403)
        body = await request.json()
        if request.method == "POST":
            return self._create(plural, namespace, body)
        known = self.objects[plural].get(f"{namespace}/{name}")
        wanted = body.get("metadata", body.get("preconditions", {}))
        if known is None:
            return _status(404)
        if any(known["metadata"][field] != value for field, value in wanted.items()):
            return _status(409)
        self.writes.append((request.method, request.path))
        if request.method == "DELETE":
            self.delete(plural, name, namespace)
            return web.json_response({})
        changed = _merged(known, {key: value for key, value in body.items() if key != "metadata"})
        self.put(plural, changed)
        return web.json_response(changed)

    def _create(self, plural: str, namespace: str, body: Manifest) -> web.StreamResponse:
        name = body["metadata"]["name"]
        if f"{namespace}/{name}" in self.objects[plural]:
            return _status(409)
        self.writes.append(("POST", f"{plural}/{name}"))
        made = self.make(plural, name, namespace, **{key: body[key] for key in ("metadata", "spec")}, status={})
        return web.json_response(made, status=201)


def _merged(old: Any, change: Any) -> Any:
    if not isinstance(change, dict):
        return change
    known = json.loads(json.dumps(old)) if isinstance(old, dict) else {}
    merged = known | {key: _merged(known.get(key), value) for key, value in change.items()}
    return {key: value for key, value in merged.items() if value is not None}


def _status(code: int) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": "by the test"}, status=code)
