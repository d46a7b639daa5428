"""The read API: routes requests, opens streams, and formats errors."""

import logging
from importlib.metadata import version

import msgspec

from pilotage.app.read_api import questions
from pilotage.app.read_api.answering import Answering, Asked, Process
from pilotage.app.read_api.budget import Budget
from pilotage.app.read_api.feed import Feed
from pilotage.app.read_api.refusals import NO_STORE, NotFound, failed, refusal, who_leads
from pilotage.app.read_api.revisions import Revisions
from pilotage.app.read_api.rights import PROFILE_GROUP, PROFILES, Rights
from pilotage.app.read_api.shared_answers import SharedAnswers
from pilotage.cluster.credentials.delegated_auth import ResourceAttributes
from pilotage.model.users import ANONYMOUS
from pilotage.telemetry.pages import JSON, Answer, Question, Stream
from pilotage.views.answers import PREFIX
from pilotage.views.events import Audience
from pilotage.views.openapi import openapi
from pilotage.views.paths import PATHS, Path
from pilotage.views.state import State
from pilotage.views.viewer import Viewer

log = logging.getLogger(__name__)

EVENT_STREAM = "text/event-stream"
PATIENCE = 1.0  # seconds that a request waits for its turn, then 503


class ReadApi:
    """Answers the requests of the server."""

    def __init__(self, state: State, process: Process, rights: Rights, budget: Budget) -> None:
        self._process, self._rights, self.budget, self.tally = process, rights, budget, state.tally
        self.revisions = Revisions(state)
        self.shared = SharedAnswers(self.revisions.now, budget.is_active, budget.take)
        self._answering = Answering(state, process, rights, budget, self.revisions.now, self.shared)
        self.feed = Feed(state, self.revisions.now, budget, self.shared)
        self._description = b""

    def reads_body(self, method: str, path: str) -> bool:
        """Return whether the body of such a request is read."""
        return method == "POST" and path == f"{PREFIX}/what-if"

    async def answer(self, question: Question) -> Answer | Stream:
        """Answer any request."""
        try:
            return await self._answer(question)
        except Exception as error:
            refused = refusal(error)
            if refused is not None:
                return refused
            log.exception("the path %s failed", question.path)
            return failed(500, "InternalError", "the request failed; the reason is in the scheduler's log")

    async def _answer(self, question: Question) -> Answer | Stream:
        await self.budget.turn(PATIENCE)
        path, names = _find(question)
        user = question.user
        if user is None or user.name == ANONYMOUS:
            return failed(401, "Unauthorized", "send a bearer token: kubectl create token NAME --audience pilotage")
        if path.method != ("GET" if question.method == "HEAD" else question.method):
            refused = failed(405, "MethodNotAllowed", f"use {path.method}")
            return Answer(refused.status, refused.body, refused.content_type, {**NO_STORE, "Allow": path.method})
        if path.leader_only and not self._process.leads():
            leader = self._process.leader()
            return failed(503, "ServiceUnavailable", who_leads(leader), leader=leader)
        asked = Asked(user, path, names, question)
        match path.name:
            case "openapi":
                return self._openapi()
            case "events":
                return await self._events(asked)
            case _:
                return await self._answered(asked)

    async def _answered(self, asked: Asked) -> Answer:
        found = await self._answering.answer(asked)
        headers = {**NO_STORE, "ETag": found.tag}
        if found.tag in asked.question.headers.get("if-none-match", ()):
            return Answer(304, b"", JSON, headers)
        return Answer(200, found.body, JSON, headers)

    def _openapi(self) -> Answer:
        if not self._description:
            self._description = msgspec.json.encode(openapi(version("pilotage")))
        return Answer(200, self._description, JSON)

    async def _events(self, asked: Asked) -> Stream:
        topics = questions.topics(asked.question.query)
        last = next(iter(asked.question.headers.get("last-event-id", ())), "")

        async def find() -> Viewer:
            if "nodes" in topics:
                await self._rights.require(asked.user, ResourceAttributes("list", "nodes"))
            if "profiles" in topics:
                await self._rights.require(asked.user, ResourceAttributes("list", PROFILES, PROFILE_GROUP))
            return await self._answering.listing(asked)

        number = int(last) if last.isascii() and last.isdecimal() and len(last) < 20 else None
        audience = Audience(await find(), topics, asked.one("namespace"))
        pieces = await self.feed.open(find, audience, number)
        return Stream(pieces, EVENT_STREAM, {**NO_STORE, "X-Accel-Buffering": "no"}, self.feed.drop)


def _find(question: Question) -> tuple[Path, dict[str, str]]:
    for path in PATHS:
        names = path.match(question.path)
        if names is not None:
            return path, names
    raise NotFound(f"no such path; see {PREFIX}/openapi.json")
