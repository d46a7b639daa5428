"""An extender that says what it is told to over a real connection, and remembers what it was asked."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any

from aiohttp import web

from kit.tiny_plugins import cluster_of
from pilotage.cluster.services.extender import Extender, ExtenderSettings
from pilotage.cluster.services.extender_transport import Transport
from pilotage.extenders.extended_cycle import ExtendedScheduler
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.scheduling.outcome import Outcome
from pilotage.testing import FakeCluster, FakeScheduler, make_pod
from pilotage.testing.cluster import Nominations

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

POD = make_pod("web", uid="u-web", cpu=1, priority=10)
KINDS = ("filter", "prioritize", "preempt", "bind")
VERBS: dict[str, Any] = {f"{kind}_verb": kind for kind in KINDS}


class ScriptedExtender:
    """Answers every question alike, or by verb, or as a handler does."""

    def __init__(self) -> None:
        self.answer: Any = None
        self.answers: dict[str, Any] = {}  # by verb; an answer that can be called gets the question
        self.handler: Handler | None = None
        self.questions: list[tuple[str, Any]] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one question."""
        if self.handler is not None:
            return await self.handler(request)
        verb, question = request.path.rpartition("/")[2], await request.json()
        self.questions.append((request.path, question))
        answer = self.answers.get(verb, self.answer)
        return web.json_response(answer(question) if callable(answer) else answer)


@asynccontextmanager
async def serving(scripted: ScriptedExtender, context: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedExtender]:
    """Let an extender listen on a port of its own."""
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{path:.*}", scripted.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        scripted.url = f"{'http' if context is None else 'https'}://127.0.0.1:{runner.addresses[0][1]}"
        yield scripted
    finally:
        await runner.cleanup()


@asynccontextmanager
async def asking(url: str, transport: Transport | None = None, **settings: Any) -> AsyncIterator[Extender]:
    """Make our side of an extender with all verbs; pods and nodes called `gone` are not there."""
    extender = Extender(ExtenderSettings(url, **{**VERBS, **settings}), pod_json, node_json, transport)
    try:
        yield extender
    finally:
        await extender.close()


def pod_json(pod: Pod) -> bytes | None:
    """Return a pod as it is sent, with little more than its name."""
    return None if pod.name == "gone" else json.dumps({"metadata": {"name": pod.name, "uid": pod.uid}}).encode()


def node_json(name: str) -> bytes | None:
    """Return a node as it is sent, with its name alone."""
    return None if name == "gone" else json.dumps({"metadata": {"name": name}}).encode()


class Extenders:
    """Extenders of one test."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.scripted: list[ScriptedExtender] = []

    async def __call__(self, answers: dict[str, Any] | None = None, **settings: Any) -> Extender:
        """Start one that is asked about names only, and only for the verbs that it has answers for."""
        scripted = await self._stack.enter_async_context(serving(ScriptedExtender()))
        scripted.answers = answers or {}
        self.scripted.append(scripted)
        verbs = {f"{verb}_verb": verb if verb in scripted.answers else "" for verb in KINDS}
        options = {"node_cache_capable": True, **verbs, **settings}
        return await self._stack.enter_async_context(asking(scripted.url, **options))

    def asked(self) -> list[list[tuple[str, Any]]]:
        """Return what each was asked: a verb, and about which nodes."""
        return [[(path[1:], question.get("NodeNames")) for path, question in each.questions] for each in self.scripted]


def leaves(*names: str, **failed: str) -> dict[str, Any]:
    """Answer to `filter`: the nodes that are left, and why not the others."""
    return {"NodeNames": list(names), "FailedNodes": failed}


def extended_scheduler(
    *plugins: Any, extenders: list[Extender], cluster: FakeCluster | None = None, percentage: int = 0, **options: Any
) -> ExtendedScheduler:
    """Return a scheduler with these plugins that asks these extenders; of three nodes, unless it is told."""
    cluster = cluster or cluster_of(3)
    engine = FakeScheduler(*plugins, cluster=cluster, percentage=percentage).engine
    tie_break = Random(0)
    engines = {DEFAULT_SCHEDULER: engine}
    return ExtendedScheduler(cluster.cache, engines, Nominations(cluster), tie_break, extenders, **options)


async def schedule(*plugins: Any, extenders: list[Extender], pod: Pod = POD, **options: Any) -> Outcome:
    """Place a pod with the help of extenders."""
    outcome = await extended_scheduler(*plugins, extenders=extenders, **options).schedule_with_extenders(pod)
    assert outcome is not None
    return outcome
