"""An API server for tests that lists and watches, and misbehaves on request."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

Raw = dict[str, Any]


class FakeApi:
    """Holds objects; every change is an event of a numbered history."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Raw]] = {"pods": {}, "nodes": {}}
        self.history: list[tuple[int, str, Raw]] = []
        self.requests: list[Raw] = []
        self.oldest = 0
        self.refusal = 0
        self._streams: set[web.StreamResponse] = set()
        self._dead: set[web.StreamResponse] = set()
        self._changed = asyncio.Condition()

    @property
    def version(self) -> int:
        """The latest version of anything."""
        return len(self.history)

    async def put(self, raw: Raw) -> None:
        """Create or change an object."""
        kind = self.objects[raw["kind"].lower() + "s"]
        event = "MODIFIED" if raw["metadata"]["name"] in kind else "ADDED"
        kind[raw["metadata"]["name"]] = await self._happens(event, raw)

    async def delete(self, kind: str, name: str) -> None:
        """Delete an object."""
        await self._happens("DELETED", self.objects[kind].pop(name))

    async def error(self, code: int) -> None:
        """End every watch with an error event."""
        for stream in list(self._streams):
            status = {"kind": "Status", "code": code, "message": "as the test wants it"}
            await stream.write(json.dumps({"type": "ERROR", "object": status}).encode() + b"\n")

    async def repeat_last(self) -> None:
        """Repeat the last event."""
        version, event, raw = self.history[-1]
        for stream in list(self._streams):
            await stream.write(line(event, raw, version))

    async def cut(self) -> None:
        """Break every watch in the middle of a line."""
        for stream in list(self._streams):
            await stream.write(b'{"type":"ADDED","object":{"metad')
            if stream._req and stream._req.transport:
                stream._req.transport.abort()

    def deaden(self) -> None:
        """Keep every watch open, without events."""
        self._dead |= self._streams

    async def _happens(self, event: str, raw: Raw) -> Raw:
        version = self.version + 1
        stamped = {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(version)}}
        async with self._changed:
            self.history.append((version, event, stamped))
            self._changed.notify_all()
        return stamped

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve a list or a watch."""
        asked = dict(request.query)
        self.requests.append({"path": request.path, **asked})
        if self.refusal:
            return web.json_response({"code": self.refusal}, status=self.refusal)
        return await self._watch(request) if "watch" in asked else self._list(request)

    def _list(self, request: web.Request) -> web.Response:
        every = list(self.objects[request.match_info["kind"]].values())
        first, limit = int(request.query.get("continue", 0)), int(request.query["limit"])
        rest = {"continue": str(first + limit)} if first + limit < len(every) else {}
        metadata = {"resourceVersion": str(self.version), **rest}
        return web.json_response({"metadata": metadata, "items": every[first : first + limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        position = int(request.query["resourceVersion"])
        if position < self.oldest:
            return web.json_response({"code": 410}, status=410)
        stream = web.StreamResponse()
        await stream.prepare(request)
        self._streams.add(stream)
        try:
            await self._send(stream, request.match_info["kind"], position)
        finally:
            self._streams.discard(stream)
        return stream

    async def _send(self, stream: web.StreamResponse, kind: str, position: int) -> None:
        while True:
            for version, event, raw in self.history[position:]:
                if raw["kind"].lower() + "s" == kind and stream not in self._dead:
                    await stream.write(line(event, raw, version))
            position = self.version
            async with self._changed:
                await self._changed.wait_for(lambda: self.version > position)  # noqa: B023


def line(event: str, raw: Raw, version: int) -> bytes:
    """Return a watch event as it is sent."""
    metadata = {**raw["metadata"], "resourceVersion": str(version)}
    return json.dumps({"type": event, "object": {**raw, "metadata": metadata}}).encode() + b"\n"


@contextlib.asynccontextmanager
async def serving(api: FakeApi, port: int = 0) -> AsyncIterator[str]:
    """Serve the API on this machine and yield its address."""
    app = web.Application()
    app.router.add_get("/api/v1/{kind}", api.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
