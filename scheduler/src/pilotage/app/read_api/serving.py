"""The read API of a live scheduler: what it reads, where it listens, and the label by which the leader is found."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import count
from time import monotonic
from typing import Any

import numpy as np

from pilotage.app.clients import AGENT
from pilotage.app.core import Core
from pilotage.app.options import Options
from pilotage.app.read_api.answering import AnswersWhatIfs, Process
from pilotage.app.read_api.api import PATIENCE, ReadApi
from pilotage.app.read_api.budget import Budget, Busy
from pilotage.app.read_api.profile_resources import ProfileResources
from pilotage.app.read_api.rights import Rights
from pilotage.app.serving import guard
from pilotage.cluster.credentials.access import Access
from pilotage.cluster.credentials.delegated_auth import UNAUTHORIZED, DelegatedAuth, Denial
from pilotage.cluster.transport.api_client import ApiClient, Observe
from pilotage.config.handshake import Annotations, Report, announcing, report_in
from pilotage.listening.front_door import Patience
from pilotage.model.pod import Pod
from pilotage.model.users import User
from pilotage.scheduling.decision_log import DecisionLog
from pilotage.telemetry.api_metrics import ApiMetrics
from pilotage.telemetry.server import Limits, Server
from pilotage.telemetry.serving_certificate import CannotServe, ServingCertificate
from pilotage.views.answers import Alarm, Replica
from pilotage.views.overview import SECONDS, About, Beat
from pilotage.views.paths import template_of
from pilotage.views.plugins import Overruns
from pilotage.views.profiles import Reports
from pilotage.views.state import STEP, State, Steps
from pilotage.views.tally import Tally

log = logging.getLogger(__name__)

VERSION = version("pilotage")
AUDIENCE = "pilotage"  # of tokens that the API server does not accept
LEADS = "pilotage.dev/leads"  # a label of the pod that leads
PORT_FLAG = "--api-port"
A_MINUTE = 60 // SECONDS  # in intervals of the overview
A_MOMENT = 1.0  # seconds after the last attempt
REVIEWS_A_SECOND, REVIEWS_AT_ONCE = 50.0, 300
# Streams are long-lived, and all users may share one proxy.
LIMITS = Limits(sending=10.0, patience=Patience(connections=160, connections_of_one_peer=96))
SAME_RELEASE = ("app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component")


@dataclass(frozen=True)
class Standing:
    """What the process knows about itself."""

    leads: Callable[[], bool]
    leader: Callable[[], str]  # its identity in the Lease
    pods: Callable[[], Mapping[str, Pod]]
    alarms: Callable[[], Sequence[Alarm]]
    troubles: Callable[[], Mapping[str, str]]  # by profile
    overruns: Callable[[], Overruns]
    label: Callable[[Mapping[str, str | None]], None]
    annotate: Callable[[Annotations], None]
    own: str = ""  # namespace/name of its pod


class KnowsUsers:
    """Authenticates users; each path checks what they may see."""

    def __init__(self, auth: DelegatedAuth, budget: Budget) -> None:
        self._auth, self._budget = auth, budget

    async def judge(
        self, method: str, path: str, headers: Mapping[str, Sequence[str]], peer_certificate: bytes | None
    ) -> Denial | User:
        """Return the user, or Unauthorized; while answers must wait, every request waits here."""
        with suppress(Busy):
            await self._budget.turn(PATIENCE)
        user = await self._auth.identify(headers, peer_certificate)
        return UNAUTHORIZED if user is None else user


def _load_numpy() -> None:
    """Call what numpy loads at its first use: that takes 7 ms."""
    few = np.zeros(2, np.int32)
    np.unique(few)
    np.isin(few, few)


class LiveApi:
    """The API of one process, from its start to its end."""

    def __init__(
        self,
        core: Core,
        standing: Standing,
        options: Options,
        access: Access,
        observe: Observe,
        metrics: ApiMetrics,
        clock: Callable[[], float],
        what_ifs: AnswersWhatIfs | None = None,
    ) -> None:
        _load_numpy()
        self.log = DecisionLog()
        self.log.watch(core.loop, core.bindings)
        self._core, self._standing, self._options = core, standing, options
        client = partial(ApiClient, access, agent=f"{AGENT} read-api", connections=4, timeout=10.0, observe=observe)
        self._reviews = client(qps=REVIEWS_A_SECOND, burst=REVIEWS_AT_ONCE)
        self._auth = guard(self._reviews, options.serving, (AUDIENCE,))
        tally = Tally(core.queue, self.log)
        self._state = State(core.cache, core.queue, core.engines, core.waiting, self.log, tally, standing.pods, clock)
        self._beat = Beat(self.log)
        self._what_ifs = what_ifs
        self._budget = Budget(self._is_placing, is_tentative=lambda: core.loop.is_tentative)
        process = Process(
            about=self._about,
            leader=lambda: _pod_of(standing.leader()),
            leads=standing.leads,
            beat=self._beat,
            read_profiles=ProfileResources(self._reviews).all,
            reports=self._reports,
            overruns=standing.overruns,
            what_ifs=what_ifs,
        )
        self.api = ReadApi(self._state, process, Rights(self._auth), self._budget)
        self._metrics = metrics
        feed, budget = self.api.feed, self._budget
        metrics.read_api(
            streams=lambda: feed.streams,
            dropped=lambda: feed.dropped,
            cpu=lambda: budget.spent,
            longest=lambda: budget.longest_slice,
        )
        self._server: Server | None = None
        self._shows: ServingCertificate | None = None  # once it is shown
        self._siblings: tuple[float, list[str]] = (-SECONDS, [])
        self._is_labelled: bool | None = None
        self._cycles, self._placed_at = 0, -A_MOMENT

    def _is_placing(self) -> bool:
        """Return whether pods are being placed, or were a moment ago."""
        core, now = self._core, monotonic()
        if core.queue.cycles != self._cycles:
            self._cycles, self._placed_at = core.queue.cycles, now
        return self._standing.leads() and (core.queue.pending().active > 0 or now - self._placed_at < A_MOMENT)

    def jobs(self) -> list[Coroutine[Any, Any, None]]:
        """Return the background jobs."""
        return [self._auth.run(), self.api.feed.run(), self._tick()]

    async def start(self, shows: ServingCertificate) -> None:
        """Listen; if the default port is taken, continue without the API."""
        serving = self._options.serving
        budget, guard = self._budget, KnowsUsers(self._auth, self._budget)
        server = Server(
            self.api,
            guard,
            shows,
            limits=LIMITS,
            port_flag=PORT_FLAG,
            report_slice=budget.take,
            report_request=lambda path, *more: self._metrics.api_asked(template_of(path), *more),
        )
        try:
            await server.start(serving.bind_address, serving.api_port, share_port=serving.share_port)
        except CannotServe as error:
            if serving.api_port_is_wanted:
                raise
            log.warning("the read API is not served: %s", error)
            return
        self._server, self._shows = server, shows

    @property
    def port(self) -> int:
        """The port; 0 if it does not listen."""
        return 0 if self._server is None else self._server.port

    async def close(self, seconds: float) -> None:
        """End all streams and connections."""
        self.api.feed.close()
        if self._server is not None:
            await self._server.stop(seconds)
        await self._reviews.close()

    async def _tick(self) -> None:
        for number in count(1):
            if number % A_MINUTE == 0:
                self._budget.begin_minute()
            self._beat.tick()
            await self._forget_who_is_gone()
            if (tick := getattr(self._what_ifs, "tick", None)) is not None:
                tick()
            for _ in range(SECONDS):
                self._announce()
                await asyncio.sleep(1.0)

    def _announce(self) -> None:
        """Write to our pod whether it leads (for the Service), and its certificate (for kubectl pilotage)."""
        self._standing.annotate(announcing("" if self._shows is None else self._shows.fingerprint))
        if self._is_labelled != (leads := self._standing.leads()):
            self._is_labelled = leads
            self._standing.label({LEADS: "true" if leads else None})

    async def _forget_who_is_gone(self) -> None:
        queue = self._core.queue
        if self.log.pods > 2 * len(queue) + 1000:
            for _ in self.log.forget_all_but(lambda key: queue.find(key) is not None):
                await asyncio.sleep(0)

    # ------------------------------------------------------------------------------------------------- about itself

    async def _about(self) -> About:
        standing = self._standing
        return About(
            version=VERSION,
            leader=_pod_of(standing.leader()),
            replicas=tuple(await self._replicas()),
            alarms=tuple(standing.alarms()),
            unready=dict(standing.troubles()),
        )

    async def _replicas(self) -> list[Replica]:
        standing, leader = self._standing, _pod_of(self._standing.leader())
        found = [_replica(pod, leader) for pod in await self._pods_of_release()]
        return found or [Replica(name=self._own_name(), leads=standing.leads(), ready=True)]

    async def _reports(self) -> Reports:
        """Return the report of each replica; outside of a cluster, what this one runs."""
        found = {pod.name: report_in(pod.annotations) for pod in await self._pods_of_release()}
        return found or {self._own_name(): Report(self.log.hash)}

    def _own_name(self) -> str:
        return self._standing.own.partition("/")[2] or _pod_of(self._standing.leader())

    async def _pods_of_release(self) -> list[Pod]:
        """Return the pods of all replicas; none outside of a cluster."""
        pods, now = self._standing.pods(), monotonic()
        own = pods.get(self._standing.own)
        if own is None:
            return []
        if now - self._siblings[0] > SECONDS:
            self._siblings = now, await self._budget.run(_like(pods, own))
        return [pod for key in self._siblings[1] if (pod := self._standing.pods().get(key)) is not None]


def _like(pods: Mapping[str, Pod], own: Pod) -> Steps[list[str]]:
    """Return the pods of the same release, by namespace/name."""
    wanted, found = {label: own.labels.get(label) for label in SAME_RELEASE}, []
    for number, (key, pod) in enumerate(list(pods.items())):
        if number % (STEP * 10) == 0:
            yield
        if pod.namespace == own.namespace and all(pod.labels.get(name) == value for name, value in wanted.items()):
            found.append(key)
    return found


def _replica(pod: Pod, leader: str) -> Replica:
    condition = pod.status.condition("Ready")
    ready = condition is not None and condition.status == "True"
    return Replica(name=pod.name, leads=pod.name == leader, ready=ready, node=pod.node_name)


def _pod_of(identity: str) -> str:
    """Return the pod of an identity in the Lease, which is POD_UUID."""
    return identity.rpartition("_")[0] or identity
