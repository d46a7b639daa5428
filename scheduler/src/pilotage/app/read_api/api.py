"""The read API: finds out who may see what, lets a view answer, and says in the API server's way what cannot be."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from time import monotonic
from typing import Any, Protocol, TypeVar

import msgspec

from pilotage.app.read_api import questions
from pilotage.app.read_api.budget import Budget, Busy
from pilotage.app.read_api.feed import Feed
from pilotage.app.read_api.questions import one
from pilotage.app.read_api.refusals import NO_STORE, NotFound, failed, refusal, who_leads
from pilotage.app.read_api.remedying import Remedying, TriesGangs
from pilotage.app.read_api.revisions import Revisions
from pilotage.app.read_api.rights import (
    PROFILE_GROUP,
    PROFILES,
    QUOTA_GROUP,
    QUOTAS,
    Forbidden,
    Rights,
)
from pilotage.cluster.credentials.delegated_auth import PathAttributes, ResourceAttributes
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.model.users import ANONYMOUS, User
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import WhatIf, needs, read_body
from pilotage.telemetry.pages import JSON, Answer, Question, Stream
from pilotage.views import answers
from pilotage.views.answers import PREFIX
from pilotage.views.decisions import decisions
from pilotage.views.explaining import FIT, REJECTED, Remedied, explanation
from pilotage.views.gangs import gang, gangs
from pilotage.views.nodes import node_view, nodes
from pilotage.views.openapi import openapi
from pilotage.views.overview import About, Beat, overview
from pilotage.views.paths import PATHS, Path
from pilotage.views.plugins import plugins
from pilotage.views.pods import pod_view
from pilotage.views.profiles import profile, profile_diff, profiles
from pilotage.views.queue import queue
from pilotage.views.quotas import quotas
from pilotage.views.state import Stamp, State, Steps
from pilotage.views.tags import tag_of
from pilotage.views.viewer import Viewer, Words

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
KEPT_NAMESPACES = 5.0  # seconds for which it is remembered which namespaces have pods
KEYS_AT_ONCE = 5_000
Answered = TypeVar("Answered")
ReadProfiles = Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]]
_encode = msgspec.json.Encoder().encode


class AnswersWhatIfs(TriesGangs, Protocol):
    """Tries things in a copy of the cluster."""

    def steps(self, request: WhatIf, revision: int = 0) -> Steps[WhatIfAnswer]:
        """Answer in slices."""


@dataclass(frozen=True)
class Process:
    """The process that answers."""

    about: Callable[[], Awaitable[About]]
    leader: Callable[[], str]  # the pod that leads; "" if nobody does
    leads: Callable[[], bool]
    beat: Beat
    read_profiles: ReadProfiles
    what_ifs: AnswersWhatIfs | None = None


@dataclass(frozen=True)
class Asked:
    """A question on its way: who asks what, and about which state."""

    user: User
    path: Path
    names: Mapping[str, str]
    question: Question
    stamp: Stamp

    def one(self, name: str) -> str:
        """Return a parameter of the query."""
        return one(self.question.query, name)


class ReadApi:
    """Every path of the API, for the server to ask."""

    def __init__(self, state: State, process: Process, rights: Rights, budget: Budget) -> None:
        self._state, self._process, self._rights, self.budget = state, process, rights, budget
        self.revisions = Revisions(state)
        self.feed = Feed(state, self.revisions.now, budget)
        self._remedying = Remedying(state, self.revisions.now, budget, process.what_ifs)
        self._namespaces: tuple[float, frozenset[str]] | None = None
        self._description = b""
        self._views: dict[str, Callable[[Asked], Awaitable[msgspec.Struct]]] = {
            "access": self._access,
            "overview": self._overview,
            "queue": self._queue,
            "pod": self._pod,
            "explain": self._explain,
            "nodes": self._nodes,
            "node": self._node,
            "gangs": self._gangs,
            "gang": self._gang,
            "quotas": self._quotas,
            "profiles": self._profiles,
            "profile": self._profile,
            "profile_diff": self._profile_diff,
            "plugins": self._plugins,
            "decisions": self._decisions,
            "what_if": self._what_if,
        }

    def reads_body(self, method: str, path: str) -> bool:
        """Tell whether the body of such a request matters."""
        return method == "POST" and path == f"{PREFIX}/what-if"

    async def answer(self, question: Question) -> Answer | Stream:
        """Answer a question, whatever it is."""
        try:
            return await self._answer(question)
        except Exception as error:
            refused = refusal(error)
            if refused is not None:
                return refused
            log.exception("the path %s broke", question.path)
            return failed(500, "InternalError", "this could not be answered; the scheduler's log says why")

    async def _answer(self, question: Question) -> Answer | Stream:
        path, names = _find(question)
        user = question.user
        if user is None or user.name == ANONYMOUS:
            return failed(401, "Unauthorized", "show a token: kubectl create token NAME --audience pilotage")
        if path.method != ("GET" if question.method == "HEAD" else question.method):
            refused = failed(405, "MethodNotAllowed", f"use {path.method}")
            return Answer(refused.status, refused.body, refused.content_type, {**NO_STORE, "Allow": path.method})
        if path.leader_only and not self._process.leads():
            leader = self._process.leader()
            return failed(503, "ServiceUnavailable", who_leads(leader), leader=leader)
        if path.name == "openapi":
            return self._openapi()
        if self.budget.is_spent():
            raise Busy
        asked = Asked(user, path, names, question, Stamp(datetime.now(UTC), self.revisions.now()))
        if path.name == "events":
            return await self._events(asked)
        return await self._view(asked)

    async def _view(self, asked: Asked) -> Answer:
        answered = await self._views[asked.path.name](asked)
        body = self.budget.timed(lambda: _encode(answered))
        tag = self.budget.timed(lambda: tag_of(asked.stamp, body))
        headers = {**NO_STORE, "ETag": tag}
        if tag in asked.question.headers.get("if-none-match", ()):
            return Answer(304, b"", JSON, headers)
        return Answer(200, body, JSON, headers)

    def _openapi(self) -> Answer:
        if not self._description:
            self._description = _encode(openapi(version("pilotage")))
        return Answer(200, self._description, JSON)

    async def _run(self, steps: Steps[Answered]) -> Answered:
        return await self.budget.run(steps)

    # ------------------------------------------------------------------------------------------------ who may see what

    async def _listing(self, asked: Asked, namespace: str = "") -> Viewer:
        """Return who looks at a list of pods, or of what belongs to them."""
        if namespace or (namespace := asked.one("namespace")):
            return await self._rights.of_namespace(asked.user, namespace)
        return await self._rights.of_all(asked.user, await self._with_pods())

    async def _with_pods(self) -> frozenset[str]:
        """Return the namespaces that have pods, as of a moment ago."""
        now = monotonic()
        if self._namespaces is None or now - self._namespaces[0] > KEPT_NAMESPACES:
            self._namespaces = now, await self._run(_namespaces(list(self._state.pods())))
        return self._namespaces[1]

    # ------------------------------------------------------------------------------------------------------- the paths

    async def _access(self, asked: Asked) -> answers.Access:
        user, rights, stamp = asked.user, self._rights, asked.stamp
        found = await rights.everywhere(user)
        seen, more = (frozenset[str](), False)
        if not found.everywhere:
            seen, more = await rights.namespaces(user, await self._with_pods())
        may = answers.May(
            nodes=found.nodes,
            profiles=await rights.may(user, ResourceAttributes("list", PROFILES, PROFILE_GROUP)),
            toggle=await rights.may(user, ResourceAttributes("patch", PROFILES, PROFILE_GROUP)),
            what_if=await rights.may(user, PathAttributes(f"{PREFIX}/what-if", "create")),
        )
        return answers.Access(
            at=stamp.at,
            revision=stamp.revision,
            source=stamp.source,
            user=user.name,
            groups=list(user.groups),
            namespaces="all" if found.everywhere else sorted(seen),
            more_namespaces=more,
            may=may,
        )

    async def _overview(self, asked: Asked) -> answers.Overview:
        await self._require_path(asked)
        viewer = await self._rights.everywhere(asked.user)
        if not viewer.everywhere:
            seen, _ = await self._rights.namespaces(asked.user, await self._with_pods())
            viewer = Viewer(viewer.name, viewer.groups, namespaces=seen, nodes=viewer.nodes)
        return await self._run(
            overview(self._state, viewer, asked.stamp, await self._process.about(), self._process.beat)
        )

    async def _queue(self, asked: Asked) -> answers.Queue:
        wanted = questions.queue_question(asked.question.query)
        return await self._run(queue(self._state, await self._listing(asked), asked.stamp, wanted))

    async def _pod(self, asked: Asked) -> answers.PodView:
        namespace, name = asked.names["namespace"], asked.names["name"]
        viewer = await self._rights.of_pod(asked.user, namespace, name)
        found = await self._run(pod_view(self._state, viewer, asked.stamp, f"{namespace}/{name}"))
        if found is None:
            raise NotFound(f'pods "{name}" not found')
        return found

    async def _explain(self, asked: Asked) -> answers.Explanation:
        namespace, name = asked.names["namespace"], asked.names["name"]
        wanted = questions.explain_question(asked.question.query)
        viewer = await self._rights.of_pod(asked.user, namespace, name)
        key, state = f"{namespace}/{name}", self._state
        queued = state.queue.find(key)
        pod = state.pods().get(key) if queued is None else queued.pod
        if pod is None:
            raise NotFound(f'pods "{name}" not found')
        engine = state.engines.get(pod.scheduler_name)
        if engine is None:
            served = ", ".join(state.engines)
            raise NotFound(f"the pod is for the scheduler {pod.scheduler_name}, and this one serves {served}")
        words, remedied = Words(state, viewer), Remedied()
        if asked.one("remedies") != "0" and queued is not None:
            remedied = await self._remedying.for_waiting(queued, engine, words)
        elif queued is None and wanted.nodes not in ("", REJECTED, FIT):
            remedied = await self._remedying.for_placed(pod, engine, words, wanted.nodes)
        return await self._run(explanation(state, viewer, asked.stamp, pod, engine, wanted, remedied))

    async def _nodes(self, asked: Asked) -> answers.NodeTable:
        await self._rights.require(asked.user, ResourceAttributes("list", "nodes"))
        return await self._run(nodes(self._state, asked.stamp, questions.nodes_question(asked.question.query)))

    async def _node(self, asked: Asked) -> answers.NodeView:
        name = asked.names["name"]
        await self._rights.require(asked.user, ResourceAttributes("get", "nodes", name=name))
        viewer = await self._rights.everywhere(asked.user)
        if not viewer.everywhere:
            info = self._state.cache.find_node(name)
            there = set() if info is None else {pod.namespace for pod in info.pods.values()}
            seen, _ = await self._rights.namespaces(asked.user, there)
            viewer = Viewer(viewer.name, viewer.groups, namespaces=seen, nodes=viewer.nodes)
        found = await self._run(node_view(self._state, viewer, asked.stamp, name))
        if found is None:
            raise NotFound(f'nodes "{name}" not found')
        return found

    async def _gangs(self, asked: Asked) -> answers.Gangs:
        limit, token, namespace = questions.limit(asked.question.query), asked.one("continue"), asked.one("namespace")
        viewer = await self._listing(asked)
        return await self._run(gangs(self._state, viewer, asked.stamp, namespace=namespace, limit=limit, token=token))

    async def _gang(self, asked: Asked) -> answers.Gang:
        namespace, name = asked.names["namespace"], asked.names["name"]
        viewer = await self._listing(asked, namespace)
        found = await self._run(gang(self._state, viewer, asked.stamp, namespace, name))
        if found is None:
            raise NotFound(f'gang "{name}" not found')
        return found

    async def _quotas(self, asked: Asked) -> answers.Quotas:
        namespace = asked.one("namespace")
        if namespace:
            viewer = await self._rights.of_namespace(asked.user, namespace, QUOTAS, QUOTA_GROUP)
        else:
            there = {quota.metadata.namespace for quota in self._state.cache.objects.all(ElasticQuota)}
            viewer = await self._rights.of_all(asked.user, there, QUOTAS, QUOTA_GROUP)
        return await self._run(quotas(self._state, viewer, asked.stamp, namespace))

    async def _profiles(self, asked: Asked) -> answers.Profiles:
        await self._rights.require(asked.user, ResourceAttributes("list", PROFILES, PROFILE_GROUP))
        return profiles(self._state, asked.stamp, await self._process.read_profiles())

    async def _profile(self, asked: Asked) -> answers.Profile:
        name, resources = asked.names["name"], await self._resources(asked)
        found = profile(self._state, asked.stamp, name, resources.get(name))
        if found is None:
            raise NotFound(f'schedulerprofiles "{name}" not found')
        return found

    async def _profile_diff(self, asked: Asked) -> answers.ProfileDiff:
        name, resources = asked.names["name"], await self._resources(asked)
        if name not in resources:
            raise NotFound(f'schedulerprofiles "{name}" not found')
        return profile_diff(asked.stamp, name, resources[name], asked.one("from"), asked.one("to"))

    async def _resources(self, asked: Asked) -> Mapping[str, Mapping[str, Any]]:
        name = asked.names["name"]
        await self._rights.require(asked.user, ResourceAttributes("get", PROFILES, PROFILE_GROUP, name=name))
        return await self._process.read_profiles()

    async def _plugins(self, asked: Asked) -> answers.Plugins:
        await self._require_path(asked)
        return self.budget.timed(lambda: plugins(self._state, asked.stamp))

    async def _decisions(self, asked: Asked) -> answers.Decisions:
        wanted = questions.decisions_question(asked.question.query)
        viewer = await self._listing(asked)
        if wanted.node and not viewer.nodes:
            raise Forbidden("node: this needs the right to list nodes")
        return await self._run(decisions(self._state, viewer, asked.stamp, wanted))

    async def _require_path(self, asked: Asked) -> None:
        await self._rights.require(asked.user, PathAttributes(PREFIX + asked.path.path, "get"))

    # --------------------------------------------------------------------------------------------- streams and what-ifs

    async def _events(self, asked: Asked) -> Stream:
        topics = questions.topics(asked.question.query)
        last = next(iter(asked.question.headers.get("last-event-id", ())), "")

        async def find() -> Viewer:
            if "nodes" in topics:
                await self._rights.require(asked.user, ResourceAttributes("list", "nodes"))
            if "profiles" in topics:
                await self._rights.require(asked.user, ResourceAttributes("list", PROFILES, PROFILE_GROUP))
            return await self._listing(asked)

        number = int(last) if last.isascii() and last.isdecimal() and len(last) < 20 else None
        pieces = await self.feed.open(find, await find(), topics, number)
        return Stream(pieces, EVENT_STREAM, {**NO_STORE, "X-Accel-Buffering": "no"})

    async def _what_if(self, asked: Asked) -> WhatIfAnswer:
        await self._rights.require(asked.user, PathAttributes(f"{PREFIX}/what-if", "create"))
        if self._process.what_ifs is None:
            raise NotFound("what-ifs are not answered here")
        request = self.budget.timed(lambda: read_body(asked.question.body))
        viewer = await self._asker(asked.user, request)
        found = await self._run(self._process.what_ifs.steps(request, asked.stamp.revision))
        return found.seen_by(viewer.nodes, viewer.sees, Words(self._state, viewer))

    async def _asker(self, user: User, request: WhatIf) -> Viewer:
        """Return what somebody may see of the answer; Forbidden if they may not even ask."""
        needed = needs(request)
        if needed.nodes:
            await self._rights.require(user, ResourceAttributes("list", "nodes"))
        if needed.profiles:
            await self._rights.require(user, ResourceAttributes("list", PROFILES, PROFILE_GROUP))
        viewer = await self._rights.everywhere(user)
        if viewer.everywhere:
            return viewer
        for namespace in sorted(needed.namespaces):
            await self._rights.require(user, ResourceAttributes("list", "pods", "", namespace))
        return Viewer(viewer.name, viewer.groups, namespaces=needed.namespaces, nodes=viewer.nodes)


def _find(question: Question) -> tuple[Path, dict[str, str]]:
    for path in PATHS:
        names = path.match(question.path)
        if names is not None:
            return path, names
    raise NotFound(f"there is no such path; {PREFIX}/openapi.json describes those that there are")


def _namespaces(keys: list[str]) -> Steps[frozenset[str]]:
    found: set[str] = set()
    for start in range(0, len(keys), KEYS_AT_ONCE):
        found.update(_firsts(keys[start : start + KEYS_AT_ONCE]))
        yield
    return frozenset(found)


def _firsts(keys: Iterable[str]) -> Iterable[str]:
    return (key.partition("/")[0] for key in keys)
