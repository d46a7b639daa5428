"""A scheduler in memory with its read API on a real socket, and users with and without rights."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from kit.live_core import LiveCore
from pilotage.app.core import Core
from pilotage.app.read_api.answering import AnswersWhatIfs, Process
from pilotage.app.read_api.api import ReadApi
from pilotage.app.read_api.budget import Budget
from pilotage.app.read_api.rights import Rights
from pilotage.cluster.credentials.delegated_auth import UNAUTHORIZED, Denial, PathAttributes, ResourceAttributes
from pilotage.config.handshake import Report
from pilotage.model.users import User
from pilotage.plugins.gangs.coscheduling.coscheduling import Coscheduling
from pilotage.plugins.pods.scheduling_gates import SchedulingGates
from pilotage.plugins.quota.capacity_scheduling.capacity_scheduling import CapacityScheduling
from pilotage.scheduling.decision_log import DecisionLog
from pilotage.telemetry.server import Limits, Server
from pilotage.telemetry.serving_certificate import ServingCertificate, TlsSettings
from pilotage.views.overview import About, Beat
from pilotage.views.state import State
from pilotage.views.tally import Tally

Wanted = PathAttributes | ResourceAttributes
MINUTE = 60.0
ADMIN, VIEWER, STRANGER = "admin", "shop-viewer", "stranger"
SHOP = "shop"


@dataclass
class Users:
    """Knows tokens, which are names of users, and what these may."""

    may_see: dict[str, Callable[[Wanted], bool]] = field(default_factory=dict)
    asked: list[tuple[str, Wanted]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    is_away: bool = False

    async def judge(
        self, method: str, path: str, headers: Mapping[str, Sequence[str]], peer_certificate: bytes | None
    ) -> Denial | User:
        token = next(iter(headers.get("authorization", ())), "").removeprefix("Bearer ")
        if not token:
            return User("system:anonymous", groups=("system:unauthenticated",))
        return User(token, groups=("system:authenticated",)) if token in self.may_see else UNAUTHORIZED

    async def may(self, user: User, wanted: Wanted) -> bool | None:
        self.asked.append((user.name, wanted))
        if self.is_away:
            return None
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0)
        self.at_once -= 1
        return self.may_see[user.name](wanted)


def views_shop(wanted: Wanted) -> bool:
    """May what the role `view` gives in one namespace."""
    return isinstance(wanted, ResourceAttributes) and wanted.namespace == SHOP and wanted.verb in ("get", "list")


@dataclass
class Scene:
    """The scheduler, its API, and a client."""

    live: LiveCore
    api: ReadApi
    server: Server
    users: Users
    log: DecisionLog
    trust: ssl.SSLContext
    leads: bool = True
    profiles: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    reports: dict[str, Report] = field(default_factory=dict)
    sessions: list[aiohttp.ClientSession] = field(default_factory=list)
    following: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.port}/pilotage/v1"

    def session(self, token: str = ADMIN) -> aiohttp.ClientSession:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connector = aiohttp.TCPConnector(ssl=self.trust, limit=0)
        self.sessions.append(aiohttp.ClientSession(connector=connector, headers=headers))
        return self.sessions[-1]

    async def answer(self, path: str, token: str = ADMIN, **settings: Any) -> tuple[int, Any, Mapping[str, str]]:
        async with self.session(token).get(self.url + path, **settings) as response:
            text = await response.text()
            return response.status, json.loads(text) if text else None, response.headers

    async def get(self, path: str, token: str = ADMIN) -> Any:
        status, body, _ = await self.answer(path, token)
        assert status == 200, (path, body)
        return body

    async def close(self) -> None:
        """End everything."""
        for session in self.sessions:
            await session.close()
        self.api.feed.close()
        await self.server.stop(1.0)
        if self.following is not None:
            self.following.cancel()

    async def refused(self, path: str, token: str = ADMIN) -> tuple[int, str]:
        status, body, _ = await self.answer(path, token)
        assert body["kind"] == "Status", body
        assert body["code"] == status
        return status, body["message"]


Begin = Callable[..., Awaitable[Scene]]


async def begun(
    folder: Path,
    *,
    limits: Limits | None = None,
    most_decisions: int = 20_000,
    what_ifs: Callable[[Core], AnswersWhatIfs] | None = None,
    **settings: Any,
) -> Scene:
    """Return a scene whose server listens."""
    live = LiveCore(SchedulingGates(), Coscheduling(), CapacityScheduling(), **settings)
    log, users, made = DecisionLog(most=most_decisions), Users(), list[Scene]()
    log.watch(live.core.loop, live.core.bindings)
    core = live.core
    clock = core.queue._clock
    tally = Tally(core.queue, log)
    state = State(core.cache, core.queue, core.engines, core.waiting, log, tally, lambda: live.api.pods, clock)
    beat = Beat(log)

    async def about() -> About:
        return About(version="0", leader="scheduler-0")

    async def resources() -> Mapping[str, Mapping[str, Any]]:
        return made[0].profiles

    async def reports() -> Mapping[str, Report]:
        return made[0].reports or {"scheduler-0": Report(log.hash)}

    copies = None if what_ifs is None else what_ifs(core)
    process = Process(about, lambda: "scheduler-0", lambda: made[0].leads, beat, resources, reports, dict, copies)
    budget = Budget(lambda: core.queue.pending().active > 0)
    budget.patience = MINUTE  # a busy machine is no busy scheduler
    api = ReadApi(state, process, Rights(users), budget)
    certificate = ServingCertificate(TlsSettings(str(folder / "server.crt"), str(folder / "server.key")))
    server = Server(api, users, certificate, limits=limits or Limits(), report_slice=api.budget.take)
    await server.start("127.0.0.1", 0)
    users.may_see |= {ADMIN: lambda _: True, VIEWER: views_shop, STRANGER: lambda _: False}
    trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))
    made.append(Scene(live, api, server, users, log, trust))
    made[0].following = asyncio.create_task(api.feed.run())
    return made[0]
