"""What kopf watches and tells, against a small server: selectors, changes, and that it writes nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import kopf
from aiohttp import web

from pilotage.cluster.credentials.access import from_kubeconfig
from pilotage_operator.cluster import Cluster
from pilotage_operator.handlers import handlers, kopf_settings
from pilotage_operator.settings import settings_for
from pilotage_operator.watch_lag import WatchLag

SETTINGS = settings_for("sys", "pilot")
WATCHED = {
    "/apis/pilotage.dev/v1alpha1/schedulerprofiles": "SchedulerProfile",
    "/api/v1/namespaces/sys/configmaps": "ConfigMap",
    "/api/v1/namespaces/sys/pods": "Pod",
    "/apis/apps/v1/namespaces/sys/deployments": "Deployment",
}


class Listening:
    """Stands for the reconciler."""

    def __init__(self) -> None:
        self.watch_lag = WatchLag()
        self.changes = 0
        self.said = ""

    def something_changed(self) -> None:
        self.changes += 1

    def trouble(self) -> str:
        return self.said


class Server:
    """Serves discovery, empty lists, and watches that tell of what the test puts in."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        self.watches: dict[str, asyncio.Queue[dict[str, Any]]] = {path: asyncio.Queue() for path in WATCHED}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.method, request.path, dict(request.query)))
        if request.path in WATCHED and "watch" in request.query:
            return await self._watch(request)
        if request.path in WATCHED:
            return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})
        return web.json_response(_discovery(request.path))

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            event = await self.watches[request.path].get()
            await response.write(json.dumps(event).encode() + b"\n")


def _discovery(path: str) -> dict[str, Any]:
    groups = {"pilotage.dev": "v1alpha1", "apps": "v1"}
    match path.strip("/").split("/"):
        case ["api"]:
            return {"versions": ["v1"]}
        case ["apis"]:
            return {"groups": [_group(name, version) for name, version in groups.items()]}
        case ["api", "v1"]:
            kinds = {"configmaps": "ConfigMap", "pods": "Pod", "namespaces": "Namespace"}
            return {"resources": [_resource(plural, kind) for plural, kind in kinds.items()]}
        case ["apis", "apps", _]:
            return {"resources": [_resource("deployments", "Deployment")]}
        case ["apis", "pilotage.dev", _]:
            return {"resources": [_resource("schedulerprofiles", "SchedulerProfile") | {"namespaced": False}]}
    return {}


def _group(name: str, version: str) -> dict[str, Any]:
    served = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [served], "preferredVersion": served}


def _resource(plural: str, kind: str) -> dict[str, Any]:
    verbs = ["get", "list", "watch", "patch"]
    return {"name": plural, "singularName": kind.lower(), "kind": kind, "namespaced": True, "verbs": verbs}


async def serving(server: Server) -> web.AppRunner:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


async def until(holds: Any) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what others do is looked at from outside
            await asyncio.sleep(0.01)


@asynccontextmanager
async def watching(server: Server, listening: Listening) -> AsyncIterator[None]:
    """Run kopf with our handlers until the block ends."""
    stop, runner = asyncio.Event(), await serving(server)
    cluster = Cluster(SETTINGS, from_kubeconfig(None, master=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    operator = asyncio.create_task(
        kopf.operator(
            registry=handlers(cluster, listening),  # type: ignore[arg-type] # all that is used of it
            settings=kopf_settings(SETTINGS),
            namespaces=["sys"],
            standalone=True,
            stop_flag=stop,
        )
    )
    try:
        await until(lambda: {path for _, path, query in server.asked if "watch" in query} == set(WATCHED))
        yield
    finally:
        await runner.cleanup()  # before it ends kopf waits for all tasks that it finds, and these are not its own
        stop.set()
        await operator
        await cluster.close()


async def test_every_change_wakes_the_reconciler_and_kopf_writes_nothing() -> None:
    server, listening = Server(), Listening()
    async with watching(server, listening):
        for number, (path, kind) in enumerate(WATCHED.items(), start=1):
            metadata = {"name": "x", "uid": str(number), "resourceVersion": "5"}
            server.watches[path].put_nowait({"type": "ADDED", "object": {"kind": kind, "metadata": metadata}})
            await until(lambda wanted=number: listening.changes == wanted)
        listening.watch_lag.seen({("ConfigMap", "x"): "5"}, 0.0)
        assert listening.watch_lag.seconds(1.0) == 0
    selectors = {path: (query.get("fieldSelector"), query.get("labelSelector")) for _, path, query in server.asked}
    assert selectors["/api/v1/namespaces/sys/configmaps"] == (None, "pilotage.dev/plugins in (pilot,pilot.config)")
    assert selectors["/apis/apps/v1/namespaces/sys/deployments"] == ("metadata.name=pilot-scheduler", None)
    assert selectors["/api/v1/namespaces/sys/pods"] == (None, SETTINGS.scheduler_selector)
    assert {method for method, _, _ in server.asked} == {"GET"}
    assert not any("customresourcedefinitions" in path or path.endswith("/namespaces") for _, path, _ in server.asked)
