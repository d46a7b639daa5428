"""The scheduler as a whole against a small API server: how it starts, works and comes to its end."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from kit.small_api import SmallApi, small_api
from pilotage import app
from pilotage.app import live as module
from pilotage.app import running as start
from pilotage.app.clients import limits
from pilotage.app.live import LOST, STOPPED, Live
from pilotage.app.options import InvalidOptions, Options, Serving
from pilotage.cluster.transport.api_errors import NoAccess
from pilotage.config.durations import Duration
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import PreBind
from pilotage.model.pod import Pod
from pilotage.telemetry.serving_certificate import CannotServe
from pilotage.telemetry.verbosity import Verbosity
from pilotage.testing import node_manifest, pod_manifest

PATIENCE = 20.0  # seconds until a test gives up
NO_LEASE = {"leader_elect": False}
SHORT_LEASE = {
    "leader_elect": True,
    "resource_name": "pilotage",
    "lease_duration": Duration.parse("2s"),
    "renew_deadline": Duration.parse("1s"),
    "retry_period": Duration.parse("100ms"),
}
# Not lost on a machine that is busy for seconds with something else.
LONG_LEASE = {**SHORT_LEASE, "lease_duration": Duration.parse("60s"), "renew_deadline": Duration.parse("40s")}


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the rubbish of tests to be collected, and the log as it was."""
    monkeypatch.setattr(module, "calm_garbage_collection", lambda: None)
    root = logging.getLogger()
    level = root.level
    yield
    root.setLevel(level)


@pytest.fixture
async def api() -> AsyncIterator[SmallApi]:
    async with small_api() as running:
        running.put("nodes", node_manifest("n1"))
        yield running


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def options(url: str, port: int = 0, **more: Any) -> Options:
    serving = Serving(bind_address="127.0.0.1", secure_port=port, authentication_skip_lookup=True)
    return Options(**{"master": url, "leader_election": NO_LEASE, "serving": serving, **more})


def made(given: Options, configuration: str | None = None) -> Live:
    return Live(app.configured(configuration), given, Verbosity())


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody tells when a server was asked
            await asyncio.sleep(0.01)


class Running:
    """A scheduler that works, until it is told to stop."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.stopped = asyncio.Event()
        self.task = asyncio.create_task(live.run(self.stopped))

    async def ends(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.task

    async def stop(self) -> int:
        self.stopped.set()
        return await self.ends()


@asynccontextmanager
async def running(given: Options, configuration: str | None = None) -> AsyncIterator[Running]:
    found = Running(made(given, configuration))
    try:
        yield found
    finally:
        found.stopped.set()
        await asyncio.wait([found.task], timeout=PATIENCE)


def pod(name: str, **fields: Any) -> dict[str, Any]:
    return pod_manifest(name, scheduler="default-scheduler", **fields)


class Waits(PreBind):
    """Prepares for ever, as for a volume that nobody makes."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        await asyncio.Event().wait()


def let_wait(live: Live, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the pods of this name wait for what they need on their nodes."""
    [engine] = live.core.engines.values()
    monkeypatch.setattr(engine.binding, "pre_flight", lambda cycle, _: [Waits()] if cycle.pod.name == name else [])


class TestWork:
    async def test_pods_are_bound_and_their_owners_told(self, api: SmallApi) -> None:
        async with running(options(api.url)) as scheduler:
            api.put("pods", pod("web"))
            await until(lambda: api.bindings)
            assert await scheduler.stop() == STOPPED
        assert api.bindings == [("web", "n1")]
        assert [event["note"] for event in api.events] == ["Successfully assigned default/web to n1"]

    async def test_nothing_is_bound_while_one_list_is_missing(self, api: SmallApi) -> None:
        gate = api.held["/services"] = asyncio.Event()
        api.put("pods", pod("web"))
        async with running(options(api.url)) as scheduler:
            await until(lambda: scheduler.live.known("default/web"))
            await asyncio.sleep(0.2)
            assert api.bindings == []
            assert not scheduler.live.is_ready
            gate.set()
            del api.held["/services"]
            await until(lambda: api.bindings)

    async def test_a_pod_that_waits_for_its_volumes_holds_up_no_events_of_others(
        self, api: SmallApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with running(options(api.url)) as scheduler:
            live = scheduler.live
            live.recorder._longest_hold = 1e6  # seconds for which events stand back behind binds
            let_wait(live, "waits", monkeypatch)
            api.put("pods", pod("waits"))
            await until(lambda: len(live.core.bindings))
            api.put("pods", pod("web"))
            await until(lambda: api.events)
        assert api.events[0]["note"] == "Successfully assigned default/web to n1"


class TestToldToStop:
    async def test_a_pod_that_waits_for_its_volumes_keeps_nobody_else_from_leading(
        self, api: SmallApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with running(options(api.url, leader_election=LONG_LEASE)) as scheduler:
            await until(lambda: api.holder("pilotage"))
            let_wait(scheduler.live, "waits", monkeypatch)
            api.put("pods", pod("waits"))
            await until(lambda: len(scheduler.live.core.bindings))
            assert await scheduler.stop() == STOPPED
        assert api.holder("pilotage") == ""
        assert api.bindings == []

    async def test_what_is_under_way_comes_to_its_end(self, api: SmallApi) -> None:
        gate = api.held["/binding"] = asyncio.Event()
        async with running(options(api.url, leader_election=LONG_LEASE)) as scheduler:
            api.put("pods", pod("web"))
            await until(lambda: len(scheduler.live.core.bindings) and api.events)  # leading is told beside the work
            scheduler.stopped.set()
            await asyncio.sleep(0.1)
            assert not scheduler.task.done()
            assert api.holder("pilotage")  # while a bind is under way nobody else may begin
            api.put("pods", pod("late"))
            await asyncio.sleep(0.1)
            gate.set()
            assert await scheduler.ends() == STOPPED
        assert api.bindings == [("web", "n1")]  # and none was begun any more
        told = [event.get("note") or event["message"].partition(" ")[2] for event in api.events]
        assert sorted(told) == ["Successfully assigned default/web to n1", "became leader", "stopped leading"]
        assert api.holder("pilotage") == ""

    @pytest.mark.parametrize(
        "written", [pytest.param("/huge/status", id="its status"), pytest.param("/events", id="its event")]
    )
    async def test_what_its_owner_is_told_is_written_first(self, api: SmallApi, written: str) -> None:
        gate = api.held[written] = asyncio.Event()
        async with running(options(api.url)) as scheduler:
            api.put("pods", pod("huge", cpu="999"))
            await until(lambda: any(path.endswith(written) for _, path in api.requests))
            scheduler.stopped.set()
            await asyncio.sleep(0.3)
            assert not scheduler.task.done()
            gate.set()
            assert await scheduler.ends() == STOPPED
        assert ("PATCH", "/api/v1/namespaces/default/pods/huge/status") in api.requests
        assert [event["reason"] for event in api.events] == ["FailedScheduling"]

    async def test_before_it_has_begun(self, api: SmallApi) -> None:
        api.held["/nodes"] = asyncio.Event()
        async with running(options(api.url, leader_election=SHORT_LEASE)) as scheduler:
            await until(lambda: any(path.endswith("/nodes") for _, path in api.requests))
            assert await scheduler.stop() == STOPPED
        assert api.leases == {}

    async def test_while_another_one_leads(self, api: SmallApi) -> None:
        api.leases["pilotage"] = {
            "metadata": {"name": "pilotage", "resourceVersion": "1"},
            "spec": {"holderIdentity": "other", "leaseDurationSeconds": 60},
        }
        api.put("pods", pod("web"))
        async with running(options(api.url, leader_election=SHORT_LEASE)) as scheduler:
            await until(lambda: scheduler.live.is_ready)
            await asyncio.sleep(0.3)
            assert api.bindings == []
            assert await scheduler.stop() == STOPPED
        assert api.holder("pilotage") == "other"


class TestTheLeaseIsLost:
    async def test_it_ends_with_1_and_binds_nothing_more(self, api: SmallApi, caplog: pytest.LogCaptureFixture) -> None:
        async with running(options(api.url, leader_election=SHORT_LEASE)) as scheduler:
            api.put("pods", pod("web"))
            await until(lambda: api.bindings)
            api.lose_lease("pilotage")
            api.put("pods", pod("waits", cpu="999"))
            assert await scheduler.ends() == LOST
            api.put("nodes", node_manifest("big", cpu="9999"))
            await asyncio.sleep(0.2)
        assert api.bindings == [("web", "n1")]
        assert "leader election lost: the Lease is held by somebody-else" in caplog.text
        assert api.holder("pilotage") == "somebody-else"

    async def test_a_lease_that_cannot_be_renewed(self, api: SmallApi, caplog: pytest.LogCaptureFixture) -> None:
        async with running(options(api.url, leader_election=SHORT_LEASE)) as scheduler:
            await until(scheduler.live.may_act)
            api.refusals["/apis/coordination.k8s.io"] = 500
            assert await scheduler.ends() == LOST
            assert not scheduler.live.may_act()
        assert "leader election lost: the Lease was not renewed within 1 s: 500: refused by the test" in caplog.text


class TestFailures:
    async def test_work_that_fails_ends_with_1_and_says_why(
        self, api: SmallApi, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with running(options(api.url, leader_election=SHORT_LEASE)) as scheduler:

            def fail(*_: object) -> None:
                raise ZeroDivisionError("oh")

            scheduler.live.core.loop.on_decided.connect(fail)
            api.put("pods", pod("web"))
            assert await scheduler.ends() == LOST
        [record] = [record for record in caplog.records if record.message.startswith("the scheduler failed")]
        assert record.message == "the scheduler failed: ZeroDivisionError('oh')"
        assert record.exc_info is not None
        assert record.levelno == logging.ERROR

    async def test_work_that_fails_while_it_is_told_to_stop(
        self, api: SmallApi, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scheduler = Running(made(options(api.url)))

        async def fail() -> None:
            try:
                await asyncio.sleep(PATIENCE)
            finally:
                raise ZeroDivisionError("oh")

        monkeypatch.setattr(scheduler.live, "_work", fail)
        await asyncio.sleep(0.05)
        assert await scheduler.stop() == STOPPED

    async def test_what_writes_events_fails(
        self, api: SmallApi, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scheduler = Running(made(options(api.url)))

        async def fail() -> None:
            raise ZeroDivisionError("oh")

        monkeypatch.setattr(scheduler.live.recorder, "run", fail)
        assert await scheduler.ends() == LOST
        assert "the scheduler failed: ZeroDivisionError('oh')" in caplog.text


class TestTheDoor:
    async def test_an_api_server_that_is_not_there_is_waited_for(
        self, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pilotage.app.informers.PAUSE", 0.05)
        async with running(options(f"http://127.0.0.1:{free_port()}")) as scheduler:
            await until(lambda: "does not respond" in caplog.text)
            await asyncio.sleep(0.3)
            assert not scheduler.task.done()
            assert caplog.text.count("the API server does not respond, retrying every second: ") == 1
            assert "Traceback" not in caplog.text
            assert await scheduler.stop() == STOPPED

    async def test_no_way_to_a_cluster(self) -> None:
        with pytest.raises(NoAccess, match="cannot read the kubeconfig /nowhere"):
            made(Options(kubeconfig="/nowhere"))

    @pytest.mark.parametrize(
        ("times", "text"),
        [
            pytest.param({"lease_duration": Duration.parse("1s")}, "leaseDuration must be greater", id="lease"),
            pytest.param({"retry_period": Duration(0)}, "retryPeriod must be greater than zero", id="no pause"),
        ],
    )
    async def test_times_that_cannot_be(self, times: dict[str, Any], text: str) -> None:
        with pytest.raises(InvalidOptions, match=text):
            made(options("http://127.0.0.1:1", leader_election={"leader_elect": True, **times}))

    async def test_a_port_that_is_taken(self, api: SmallApi) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            live = made(options(api.url, port))
            with pytest.raises(CannotServe, match=f"cannot listen on 127.0.0.1:{port}: .*--secure-port"):
                await live.run(asyncio.Event())

    async def test_a_certificate_that_is_not_there(self, api: SmallApi) -> None:
        serving = Serving(
            bind_address="127.0.0.1", secure_port=free_port(), tls_cert_file="/a", tls_private_key_file="/b"
        )
        with pytest.raises(CannotServe, match="cannot read /a"):
            await made(options(api.url, serving=serving)).run(asyncio.Event())


Ask = Callable[[str], Awaitable[tuple[int, str]]]


@asynccontextmanager
async def asking(port: int) -> AsyncIterator[Ask]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as session:

        async def ask(path: str) -> tuple[int, str]:
            async with session.get(f"https://127.0.0.1:{port}{path}") as response:
                return response.status, await response.text()

        yield ask


class TestServing:
    async def test_no_port_no_server(self, api: SmallApi) -> None:
        async with running(options(api.url)) as scheduler:
            await until(lambda: scheduler.live.is_ready)
            assert scheduler.live._server is None

    async def test_probes(self, api: SmallApi) -> None:
        gate = api.held["/services"] = asyncio.Event()
        port = free_port()
        async with running(options(api.url, port)) as scheduler, asking(port) as ask:
            await until(lambda: scheduler.live._server)
            assert await ask("/livez") == (200, "ok")
            assert await ask("/healthz") == (200, "ok")
            status, text = await ask("/readyz?verbose")
            assert status == 500
            assert "[-]sched-handler-sync failed: reason withheld" in text
            assert "leaderElection" not in text  # there is none
            gate.set()
            await until(lambda: scheduler.live.is_ready)
            assert await ask("/readyz") == (200, "ok")
            scheduler.live.watching._tasks[scheduler.live.watching.pods].cancel()
            await asyncio.sleep(0.05)
            assert (await ask("/livez"))[0] == 500

    async def test_it_is_not_ready_as_soon_as_it_is_told_to_stop(self, api: SmallApi) -> None:
        gate = api.held["/binding"] = asyncio.Event()
        port = free_port()
        async with running(options(api.url, port)) as scheduler, asking(port) as ask:
            api.put("pods", pod("web"))
            await until(lambda: len(scheduler.live.core.bindings))
            scheduler.stopped.set()
            await until(lambda: scheduler.live.is_leaving)
            status, text = await ask("/readyz?verbose")
            assert status == 500
            assert "[-]shutdown failed" in text
            assert await ask("/livez") == (200, "ok")
            gate.set()
            assert await scheduler.ends() == STOPPED


class TestTheWayToTheServer:
    @pytest.mark.parametrize(
        ("flag", "file", "expected"),
        [
            pytest.param("/flag", "", "/flag", id="the flag, if the file names none"),
            pytest.param("/flag", "/file", "/file", id="the file goes before the flag, as with kube-scheduler"),
            pytest.param("", "/file", "/file", id="the file alone"),
        ],
    )
    async def test_which_kubeconfig(self, flag: str, file: str, expected: str) -> None:
        configuration = app.DEFAULT_CONFIGURATION + (f"clientConnection: {{kubeconfig: {file}}}\n" if file else "")
        with pytest.raises(NoAccess, match=f"cannot read the kubeconfig {expected}:"):
            made(Options(kubeconfig=flag), configuration)

    @pytest.mark.parametrize(
        ("given", "written", "expected"),
        [
            pytest.param({}, "", (0.0, 0), id="no limit, if nobody wrote one down"),
            pytest.param({"qps": 7.0, "burst": 9}, "", (7.0, 9), id="flags"),
            pytest.param({"qps": 7.0}, "", (7.0, 100), id="only the rate"),
            pytest.param({"qps": -1.0}, "", (0.0, 100), id="less than nothing is no limit"),
            pytest.param({}, "clientConnection: {qps: 3, burst: 4}\n", (3.0, 4), id="the file"),
            pytest.param({}, "clientConnection: {qps: -1}\n", (0.0, 100), id="the file says: no limit"),
        ],
    )
    async def test_how_many_requests(self, given: dict[str, Any], written: str, expected: tuple[float, int]) -> None:
        ready = app.configured(app.DEFAULT_CONFIGURATION + written)
        assert limits(ready, Options(**given)) == expected


async def test_a_second_signal_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: dict[int, Callable[[], None]] = {}
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "add_signal_handler", lambda number, handler: handlers.__setitem__(number, handler))
    said: list[object] = []
    monkeypatch.setattr("os._exit", said.append)
    start._on_signals(lambda: said.append("stop"))
    assert sorted(handlers) == [2, 15]
    handlers[15]()
    assert said == ["stop"]
    handlers[2]()
    assert said[1] == 1
