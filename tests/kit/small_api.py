"""A small API server in this process: pods, nodes, leases and events in memory, listed and watched over HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

Manifest = dict[str, Any]

END_OF_LIST = {"k8s.io/initial-events-end": "true"}


class SmallApi:
    """Keeps objects by path; a pod that is bound is told to whoever watches."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Manifest]] = {"pods": {}, "nodes": {}, "configmaps": {}}
        self.leases: dict[str, Manifest] = {}
        self.requests: list[tuple[str, str]] = []  # method and path
        self.bindings: list[tuple[str, str]] = []  # pod and node
        self.events: list[Manifest] = []
        self.refusals: dict[str, int] = {}  # status by path, for as long as it is there
        self.held: dict[str, asyncio.Event] = {}  # answers by the end of their path that wait
        self.headers: dict[str, str] = {}  # of the last request
        self.answers: dict[str, Manifest] = {}  # by path, instead of what is kept
        self.url = ""
        self._version = 10
        self._watchers: dict[str, set[asyncio.Queue[bytes | None]]] = {}

    def put(self, kind: str, manifest: Manifest) -> None:
        """Add an object or change it; of two kinds with one name, podgroups.scheduling.k8s.io tells which."""
        metadata = manifest["metadata"]
        key = f"{metadata.get('namespace', '')}/{metadata['name']}"
        known = key in self.objects.setdefault(kind, {})
        self.objects[kind][key] = self._stamped(manifest)
        self._tell(kind, "MODIFIED" if known else "ADDED", manifest)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Take an object away."""
        gone = self.objects[kind].pop(f"{namespace}/{name}")
        self._tell(kind, "DELETED", self._stamped(gone))

    def lose_lease(self, name: str, holder: str = "somebody-else") -> None:
        """Let another one hold a lease."""
        lease = self.leases[name]
        lease["spec"]["holderIdentity"] = holder
        self._stamped(lease)

    def holder(self, name: str) -> str | None:
        """Return who holds a lease; None if there is none."""
        return str(self.leases[name]["spec"].get("holderIdentity") or "") if name in self.leases else None

    # ------------------------------------------------------------------------------------------------------- answering

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        path, method = request.path, request.method
        self.requests.append((method, path))
        self.headers = dict(request.headers)
        for end, gate in list(self.held.items()):
            if path.endswith(end):
                await gate.wait()
        refusal = next((status for part, status in self.refusals.items() if path.startswith(part)), None)
        if refusal is not None:
            return _status(refusal, "refused by the test")
        parts = path.strip("/").split("/")
        if path in self.answers:
            return web.json_response(self.answers[path], status=200 if method == "GET" else 201)
        if "leases" in parts:
            return await self._lease(request, parts)
        if method == "POST" and parts[-1] == "binding":
            return await self._bind(request, parts)
        if method == "POST" and parts[-1] == "events":
            self.events.append(await request.json())
            return web.json_response(self.events[-1], status=201)
        if method == "PATCH" and parts[-1] == "status":
            return await self._patch_status(request, f"{parts[3]}/{parts[5]}")
        if method == "PATCH" and parts[-2] == "pods":
            return _status(403, 'cannot patch resource "pods"')  # a right that no scheduler has
        if method == "GET" and len(parts) == 6:
            found = self.objects.get(parts[4], {}).get(f"{parts[3]}/{parts[5]}")
            return _status(404, "not found") if found is None else web.json_response(found)
        if method == "GET" and len(parts) == 5 and parts[3] in self.objects:
            found = self.objects[parts[3]].get(f"/{parts[4]}")
            return _status(404, "not found") if found is None else web.json_response(found)
        if method == "GET" and len(parts) > 2:
            kind = f"{parts[-1]}.{parts[1]}"
            namespace = parts[-2] if parts[-3] == "namespaces" else ""
            return await self._list(request, kind if kind in self.objects else parts[-1], namespace)
        return web.json_response({"resources": []})

    async def _list(self, request: web.Request, kind: str, namespace: str) -> web.StreamResponse:
        known = self.objects.get(kind, {}).values()
        found = [
            each for each in known if namespace in ("", each["metadata"].get("namespace")) and _chosen(request, each)
        ]
        if kind == "pods":  # of other kinds tests name no labels
            found = [each for each in found if _labelled(request, each)]
        if request.query.get("watch") != "true":
            return web.json_response({"metadata": {"resourceVersion": str(self._version)}, "items": found})
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._watchers.setdefault(kind, set()).add(queue)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        try:
            await response.prepare(request)
            if request.query.get("sendInitialEvents") == "true":
                end = {"metadata": {"resourceVersion": str(self._version), "annotations": END_OF_LIST}}
                lines = [_line("ADDED", each) for each in found]
                await response.write(b"".join([*lines, _line("BOOKMARK", end)]))
            while (line := await queue.get()) is not None:
                await response.write(line)
        finally:
            self._watchers[kind].discard(queue)
        return response

    async def _bind(self, request: web.Request, parts: list[str]) -> web.StreamResponse:
        body = await request.json()
        pod = self.objects["pods"].get(f"{parts[3]}/{parts[5]}")
        if pod is None:
            return _status(404, f'pods "{parts[5]}" not found')
        self.bindings.append((parts[5], body["target"]["name"]))
        bound = json.loads(json.dumps(pod))
        bound["spec"]["nodeName"] = body["target"]["name"]
        self.put("pods", bound)
        return web.json_response({"kind": "Status", "status": "Success"}, status=201)

    async def _patch_status(self, request: web.Request, key: str) -> web.StreamResponse:
        """Take over annotations and labels: as at a real one they are part of it, and nobody here reads a status."""
        pod, wanted = self.objects["pods"].get(key), (await request.json()).get("metadata", {})
        parts = [part for part in ("annotations", "labels") if wanted.get(part)]
        if pod is None or not parts:
            return web.json_response(pod or {})
        for part in parts:
            merged = pod["metadata"].get(part, {}) | wanted[part]
            pod["metadata"][part] = {name: value for name, value in merged.items() if value is not None}
        self.put("pods", pod)
        return web.json_response(pod)

    async def _lease(self, request: web.Request, parts: list[str]) -> web.StreamResponse:
        if request.method == "POST":
            lease = await request.json()
            self.leases[lease["metadata"]["name"]] = self._stamped(lease)
            return web.json_response(lease, status=201)
        known = self.leases.get(parts[-1])
        if known is None:
            return _status(404, "not found")
        if request.method == "PUT":
            lease = await request.json()
            if lease["metadata"].get("resourceVersion") != known["metadata"]["resourceVersion"]:
                return _status(409, "the object has been modified")
            known = self.leases[parts[-1]] = self._stamped(lease)
        return web.json_response(known)

    # --------------------------------------------------------------------------------------------------------- keeping

    def _stamped(self, manifest: Manifest) -> Manifest:
        self._version += 1
        metadata = manifest.setdefault("metadata", {})
        metadata["resourceVersion"] = str(self._version)
        metadata.setdefault("uid", f"uid-{metadata['name']}")
        return manifest

    def _tell(self, kind: str, event: str, manifest: Manifest) -> None:
        for queue in self._watchers.get(kind, ()):
            queue.put_nowait(_line(event, manifest))

    def hang_up(self) -> None:
        """End all watches."""
        for queues in self._watchers.values():
            for queue in queues:
                queue.put_nowait(None)


def _chosen(request: web.Request, manifest: Manifest) -> bool:
    """Tell whether a field selector chooses an object, of which the reason of events is understood and nothing else."""
    fields = dict(part.split("=", 1) for part in request.query.get("fieldSelector", "").split(",") if part)
    return fields.get("reason") in (None, manifest.get("reason"))


def _labelled(request: web.Request, manifest: Manifest) -> bool:
    """Tell whether a label selector of equalities chooses an object."""
    wanted = dict(part.split("=", 1) for part in request.query.get("labelSelector", "").split(",") if part)
    labels: dict[str, str] = manifest["metadata"].get("labels", {})
    return wanted.items() <= labels.items()


def _line(event: str, manifest: Manifest) -> bytes:
    return json.dumps({"type": event, "object": manifest}).encode() + b"\n"


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code)


@asynccontextmanager
async def small_api(api: SmallApi | None = None) -> AsyncIterator[SmallApi]:
    """Serve such an API on a port of its own."""
    api = api or SmallApi()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        api.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield api
    finally:
        await runner.cleanup()
