"""Each path of the read API: first the rights of the user are checked, then the answer is shared or built."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Protocol

import msgspec

from pilotage.app.read_api import questions
from pilotage.app.read_api.budget import Budget
from pilotage.app.read_api.questions import one
from pilotage.app.read_api.refusals import NotFound
from pilotage.app.read_api.remedying import Remedying, TriesGangs
from pilotage.app.read_api.rights import PROFILE_GROUP, PROFILES, QUOTA_GROUP, QUOTAS, Forbidden, Rights
from pilotage.app.read_api.shared_answers import Encoded, SharedAnswers
from pilotage.cluster.credentials.delegated_auth import PathAttributes, ResourceAttributes
from pilotage.framework.api.nodes import NodeInfo
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.model.pod import Pod
from pilotage.model.users import User
from pilotage.offline.what_if.answer import WhatIfAnswer
from pilotage.offline.what_if.request import WhatIf, needs, read_body
from pilotage.queue.queued_pod import QueuedPod
from pilotage.scheduling.engine import Engine
from pilotage.telemetry.pages import Question
from pilotage.views import answers
from pilotage.views.answers import PREFIX
from pilotage.views.decisions import decisions
from pilotage.views.encoding import encoded
from pilotage.views.explaining import FIT, REJECTED, ExplainQuestion, Remedied, explanation
from pilotage.views.gangs import gang, gangs
from pilotage.views.nodes import node_view, nodes
from pilotage.views.overview import About, Beat, overview
from pilotage.views.paths import Path
from pilotage.views.plugins import Overruns, plugins
from pilotage.views.pods import pod_view
from pilotage.views.profiles import Reports, profile, profile_diff, profiles
from pilotage.views.queue import queue
from pilotage.views.quotas import quotas
from pilotage.views.state import Stamp, State, Steps
from pilotage.views.viewer import EVERYTHING, Viewer, Words

KEPT_NAMESPACES = 10.0  # seconds for which the namespaces with pods are cached
NODES_AT_ONCE = 50
ReadProfiles = Callable[[], Awaitable[Mapping[str, Mapping[str, Any]]]]
Maybe = msgspec.Struct | None


class AnswersWhatIfs(TriesGangs, Protocol):
    """Tries changes in a copy of the cluster."""

    def steps(self, request: WhatIf, revision: int = 0) -> Steps[WhatIfAnswer]:
        """Answer in slices."""


@dataclass(frozen=True)
class Process:
    """The process that answers."""

    about: Callable[[], Awaitable[About]]
    leader: Callable[[], str]  # the pod that leads; "" for none
    leads: Callable[[], bool]
    beat: Beat
    read_profiles: ReadProfiles
    reports: Callable[[], Awaitable[Reports]]
    overruns: Callable[[], Overruns]
    what_ifs: AnswersWhatIfs | None = None


@dataclass(frozen=True)
class Asked:
    """A request with its user and its path."""

    user: User
    path: Path
    names: Mapping[str, str]
    question: Question

    def one(self, name: str) -> str:
        """Return a parameter of the query."""
        return one(self.question.query, name)

    @property
    def key(self) -> tuple[object, ...]:
        """Return the key of the request, without the user."""
        query = self.question.query
        return self.path.name, *self.names.values(), *((name, *query[name]) for name in sorted(query))


class Answering:
    """Answers for each path; users who may see the same share them."""

    def __init__(
        self,
        state: State,
        process: Process,
        rights: Rights,
        budget: Budget,
        revision: Callable[[], int],
        shared: SharedAnswers,
    ) -> None:
        self._state, self._process, self._rights, self._budget = state, process, rights, budget
        self._revision, self._answers = revision, shared
        self._remedying = Remedying(state, revision, budget, process.what_ifs)
        self._namespaces: tuple[float, frozenset[str]] | None = None
        self._counting = asyncio.Lock()
        self._by_path: dict[str, Callable[[Asked], Awaitable[Encoded]]] = {
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

    async def answer(self, asked: Asked) -> Encoded:
        """Return the answer as it is sent."""
        return await self._by_path[asked.path.name](asked)

    # ---------------------------------------------------------------------------------------------------------- making

    async def _shared(
        self, asked: Asked, viewer: Viewer, make: Callable[[Stamp], Steps[Maybe]], missing: str = ""
    ) -> Encoded:
        """Return the answer for everyone with the same rights."""

        async def made() -> Encoded:
            stamp = self._stamp()
            return await self._budget.run(_encoded(make(stamp), stamp, missing))

        return await self._answers.get((*asked.key, viewer), made)

    async def _own(self, found: Maybe, stamp: Stamp, missing: str = "") -> Encoded:
        return await self._budget.run(_encoded(_at_once(found), stamp, missing))

    def _stamp(self) -> Stamp:
        return Stamp(datetime.now(UTC), self._revision())

    # ------------------------------------------------------------------------------------------------ who may see what

    async def listing(self, asked: Asked, namespace: str = "") -> Viewer:
        """Return what a user may see of pods and their gangs."""
        if namespace or (namespace := asked.one("namespace")):
            return await self._rights.of_namespace(asked.user, namespace)
        return await self._rights.of_all(asked.user, await self._with_pods())

    async def _with_pods(self) -> frozenset[str]:
        """Return the namespaces with pods; one whose first pod was bound at once may be missing for a few seconds."""
        async with self._counting:
            tally = self._state.tally
            if self._namespaces is None or monotonic() - self._namespaces[0] > KEPT_NAMESPACES:
                found = await self._budget.run(_on_nodes(list(self._state.cache.nodes())))
                self._namespaces = monotonic(), found
            await self._budget.run(tally.settle())
            return self._namespaces[1] | {kind.own.namespace for kind in tally.cells}

    async def _partly(self, asked: Asked, namespaces: Callable[[], Awaitable[Iterable[str]]]) -> Viewer:
        """Return what a user may see of something with pods of several namespaces."""
        viewer = await self._rights.everywhere(asked.user)
        if viewer.everywhere:
            return viewer
        seen, _ = await self._rights.namespaces(asked.user, await namespaces())
        return Viewer(namespaces=seen, nodes=viewer.nodes)

    async def _require_path(self, asked: Asked) -> None:
        await self._rights.require(asked.user, PathAttributes(PREFIX + asked.path.path, "get"))

    # ------------------------------------------------------------------------------------------------------- the paths

    async def _access(self, asked: Asked) -> Encoded:
        user, rights, stamp = asked.user, self._rights, self._stamp()
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
        told = answers.Access(
            at=stamp.at,
            revision=stamp.revision,
            source=stamp.source,
            user=user.name,
            groups=list(user.groups),
            namespaces="all" if found.everywhere else sorted(seen),
            more_namespaces=more,
            may=may,
        )
        return await self._own(told, stamp)

    async def _overview(self, asked: Asked) -> Encoded:
        await self._require_path(asked)
        viewer, about = await self._partly(asked, self._with_pods), await self._process.about()
        beat = self._process.beat
        return await self._shared(asked, viewer, lambda stamp: overview(self._state, viewer, stamp, about, beat))

    async def _queue(self, asked: Asked) -> Encoded:
        wanted = questions.queue_question(asked.question.query)
        viewer = await self.listing(asked)
        return await self._shared(asked, viewer, lambda stamp: queue(self._state, viewer, stamp, wanted))

    async def _pod(self, asked: Asked) -> Encoded:
        namespace, name = asked.names["namespace"], asked.names["name"]
        viewer = await self._rights.of_pod(asked.user, namespace, name)
        key, missing = f"{namespace}/{name}", f'pods "{name}" not found'
        return await self._shared(asked, viewer, lambda stamp: pod_view(self._state, viewer, stamp, key), missing)

    async def _explain(self, asked: Asked) -> Encoded:
        namespace, name = asked.names["namespace"], asked.names["name"]
        wanted, looks = questions.explain_question(asked.question.query), asked.one("remedies") != "0"
        viewer = await self._rights.of_pod(asked.user, namespace, name)

        async def made() -> Encoded:
            stamp, (pod, queued, engine) = self._stamp(), self._pod_and_engine(namespace, name)
            remedied = await self._remedied(pod, queued, engine, viewer, wanted, looks=looks)
            steps = explanation(self._state, viewer, stamp, pod, engine, wanted, remedied)
            return await self._budget.run(_encoded(steps, stamp))

        return await self._answers.get((*asked.key, viewer), made)

    def _pod_and_engine(self, namespace: str, name: str) -> tuple[Pod, QueuedPod | None, Engine]:
        key, state = f"{namespace}/{name}", self._state
        queued = state.queue.find(key)
        pod = state.pods().get(key) if queued is None else queued.pod
        if pod is None:
            raise NotFound(f'pods "{name}" not found')
        engine = state.engines.get(pod.scheduler_name)
        if engine is None:
            served = ", ".join(state.engines)
            raise NotFound(f"the pod's scheduler is {pod.scheduler_name}; this one serves {served}")
        return pod, queued, engine

    async def _remedied(
        self,
        pod: Pod,
        queued: QueuedPod | None,
        engine: Engine,
        viewer: Viewer,
        wanted: ExplainQuestion,
        *,
        looks: bool,
    ) -> Remedied:
        words = Words(self._state, viewer)
        if looks and queued is not None:
            return await self._remedying.for_waiting(queued, engine, words)
        if queued is None and wanted.nodes not in ("", REJECTED, FIT):
            return await self._remedying.for_placed(pod, engine, words, wanted.nodes)
        return Remedied()

    async def _nodes(self, asked: Asked) -> Encoded:
        wanted = questions.nodes_question(asked.question.query)
        await self._rights.require(asked.user, ResourceAttributes("list", "nodes"))
        return await self._shared(asked, EVERYTHING, lambda stamp: nodes(self._state, stamp, wanted))

    async def _node(self, asked: Asked) -> Encoded:
        name = asked.names["name"]
        await self._rights.require(asked.user, ResourceAttributes("get", "nodes", name=name))

        async def there() -> Iterable[str]:
            info = self._state.cache.find_node(name)
            return () if info is None else {pod.namespace for pod in info.pods.values()}

        viewer, missing = await self._partly(asked, there), f'nodes "{name}" not found'
        return await self._shared(asked, viewer, lambda stamp: node_view(self._state, viewer, stamp, name), missing)

    async def _gangs(self, asked: Asked) -> Encoded:
        limit, token, where = questions.limit(asked.question.query), asked.one("continue"), asked.one("namespace")
        viewer = await self.listing(asked)
        return await self._shared(
            asked, viewer, lambda stamp: gangs(self._state, viewer, stamp, namespace=where, limit=limit, token=token)
        )

    async def _gang(self, asked: Asked) -> Encoded:
        where, name = asked.names["namespace"], asked.names["name"]
        viewer, missing = await self.listing(asked, where), f'gang "{name}" not found'
        return await self._shared(asked, viewer, lambda stamp: gang(self._state, viewer, stamp, where, name), missing)

    async def _quotas(self, asked: Asked) -> Encoded:
        namespace = asked.one("namespace")
        if namespace:
            viewer = await self._rights.of_namespace(asked.user, namespace, QUOTAS, QUOTA_GROUP)
        else:
            there = {quota.metadata.namespace for quota in self._state.cache.objects.all(ElasticQuota)}
            viewer = await self._rights.of_all(asked.user, there, QUOTAS, QUOTA_GROUP)
        return await self._shared(asked, viewer, lambda stamp: quotas(self._state, viewer, stamp, namespace))

    async def _profiles(self, asked: Asked) -> Encoded:
        await self._rights.require(asked.user, ResourceAttributes("list", PROFILES, PROFILE_GROUP))
        found, reports = await self._process.read_profiles(), await self._process.reports()
        return await self._shared(asked, EVERYTHING, lambda stamp: profiles(self._state, stamp, found, reports))

    async def _profile(self, asked: Asked) -> Encoded:
        name, resources, stamp = asked.names["name"], await self._resources(asked), self._stamp()
        found = profile(self._state, stamp, name, resources.get(name), await self._process.reports())
        return await self._own(found, stamp, f'schedulerprofiles "{name}" not found')

    async def _profile_diff(self, asked: Asked) -> Encoded:
        name, resources, stamp = asked.names["name"], await self._resources(asked), self._stamp()
        if name not in resources:
            raise NotFound(f'schedulerprofiles "{name}" not found')
        found = profile_diff(stamp, name, resources[name], asked.one("from"), asked.one("to"))
        return await self._own(found, stamp)

    async def _resources(self, asked: Asked) -> Mapping[str, Mapping[str, Any]]:
        name = asked.names["name"]
        await self._rights.require(asked.user, ResourceAttributes("get", PROFILES, PROFILE_GROUP, name=name))
        return await self._process.read_profiles()

    async def _plugins(self, asked: Asked) -> Encoded:
        await self._require_path(asked)
        return await self._shared(
            asked, EVERYTHING, lambda stamp: plugins(self._state, stamp, self._process.overruns())
        )

    async def _decisions(self, asked: Asked) -> Encoded:
        wanted = questions.decisions_question(asked.question.query)
        viewer = await self.listing(asked)
        if wanted.node and not viewer.nodes:
            raise Forbidden("node: this needs the right to list nodes")
        return await self._shared(asked, viewer, lambda stamp: decisions(self._state, viewer, stamp, wanted))

    # --------------------------------------------------------------------------------------------------------- what-if

    async def _what_if(self, asked: Asked) -> Encoded:
        await self._rights.require(asked.user, PathAttributes(f"{PREFIX}/what-if", "create"))
        if self._process.what_ifs is None:
            raise NotFound("this server does not answer what-if requests")
        request, stamp = read_body(asked.question.body), self._stamp()
        viewer = await self._asker(asked.user, request)
        found = await self._budget.run(self._process.what_ifs.steps(request, stamp.revision))
        return await self._own(found.seen_by(viewer.nodes, viewer.sees, Words(self._state, viewer)), stamp)

    async def _asker(self, user: User, request: WhatIf) -> Viewer:
        """Return what a user may see of the answer; Forbidden if they may not ask."""
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
        return Viewer(namespaces=needed.namespaces, nodes=viewer.nodes)


def _encoded(steps: Steps[Maybe], stamp: Stamp, missing: str = "") -> Steps[Encoded]:
    """Build and encode an answer in steps; NotFound if there is none."""
    found = yield from steps
    if found is None:
        raise NotFound(missing)
    yield
    body, tag = yield from encoded(found)
    return Encoded(body, tag, stamp.revision)


def _at_once(found: Maybe) -> Steps[Maybe]:
    """Return what is already there."""
    yield
    return found


def _on_nodes(infos: list[NodeInfo]) -> Steps[frozenset[str]]:
    """Return the namespaces of all pods that have a node."""
    found: set[str] = set()
    for start in range(0, len(infos), NODES_AT_ONCE):
        for info in infos[start : start + NODES_AT_ONCE]:
            found.update(pod.namespace for pod in info.pods.values())
        yield
    return frozenset(found)
