"""Real requests to the real server; where kube-scheduler has the page, its text is what v1.37.1 gave."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from pilotage.telemetry.health import Check, Health, ping
from pilotage.telemetry.profiling import Profiler
from pilotage.telemetry.server import Denial
from pilotage.telemetry.serving_certificate import CannotServe


@dataclass(frozen=True)
class Refused:
    status: int
    message: str


@dataclass
class Watchman:
    """Writes down whom it judged, and says what it is told to."""

    verdict: Refused | Exception | None = None
    judged: list[tuple[str, str, Mapping[str, Sequence[str]], bytes | None]] = field(default_factory=list)

    async def judge(
        self, method: str, path: str, headers: Mapping[str, Sequence[str]], peer_certificate: bytes | None
    ) -> Denial | None:
        self.judged.append((method, path, headers, peer_certificate))
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


def unsynced() -> str | None:
    return "handlers are not fully synchronized"


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        pytest.param("/healthz", 200, "ok", id="all is well"),
        pytest.param("/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n", id="in so many words"),
        pytest.param("/livez?verbose=", 200, "[+]ping ok\nlivez check passed\n", id="whatever verbose is set to"),
        pytest.param("/livez/ping", 200, "ok", id="one check"),
        pytest.param("/livez/ping?verbose", 200, "ok", id="one check has no more words"),
        pytest.param("/livez/nope", 404, "404 page not found\n", id="a check that does not exist"),
        pytest.param("/healthz/", 404, "404 page not found\n", id="no check"),
        pytest.param("//healthz", 404, "404 page not found\n", id="a path is taken as it is"),
        pytest.param(
            "/readyz",
            500,
            "[+]shutdown ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n",
            id="not ready",
        ),
        pytest.param(
            "/readyz?verbose&exclude=sched-handler-sync&exclude=x",
            200,
            "[+]shutdown ok\n[+]sched-handler-sync excluded: ok\n"
            'warn: some health checks cannot be excluded: no matches for "x"\nreadyz check passed\n',
            id="ready but for one check",
        ),
        pytest.param(
            "/readyz/sched-handler-sync?exclude=shutdown",
            500,
            "internal server error: handlers are not fully synchronized\n",
            id="why it is not ready",
        ),
        pytest.param("/", 404, "404 page not found\n", id="no page"),
        pytest.param("/metrics/", 404, "404 page not found\n", id="no folder"),
    ],
)
async def test_probes(serve: Any, path: str, status: int, body: str) -> None:
    readyz: dict[str, Check] = {"shutdown": ping, "sched-handler-sync": unsynced}
    served = await serve(health=Health({"healthz": {"ping": ping}, "livez": {"ping": ping}, "readyz": readyz}))
    assert await served.ask(path) == (status, body)


async def test_metrics(serve: Any) -> None:
    reset: list[str] = []
    served = await serve(reset_metrics=lambda: reset.append("done"))
    async with served.session().get("/metrics") as response:
        assert await response.text() == "scheduler_pending_pods 3\n"
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert reset == []
    assert await served.ask("/metrics", "DELETE") == (200, "metrics reset\n")
    assert reset == ["done"]
    assert await served.ask("/metrics/resources") == (200, "")


async def test_outcomes_of_probes_are_metrics(serve: Any) -> None:
    served = await serve()
    await served.ask("/livez")
    _, text = await served.ask("/metrics/slis")
    assert 'kubernetes_healthcheck{name="ping",type="livez"} 1\n' in text
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="livez"} 1\n' in text
    assert await served.ask("/metrics/slis", "DELETE") == (200, "metrics reset\n")
    assert await served.ask("/metrics/slis") == (200, "")


async def test_the_configuration(serve: Any) -> None:
    served = await serve(configuration=lambda: {"kind": "KubeSchedulerConfiguration", "parallelism": 16})
    async with served.session().get("/configz") as response:
        assert await response.text() == '{"componentconfig":{"kind":"KubeSchedulerConfiguration","parallelism":16}}'
        assert response.headers["Content-Type"] == "application/json"


WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees "
    "and is for debugging purposes only.\n"
)


async def test_the_flags(serve: Any) -> None:
    served = await serve()
    assert await served.ask("/flagz") == (200, f"\npilotage flagz\n{WARNING}secure-port: 10259\nv: 2\n")


async def test_the_status(serve: Any) -> None:
    now = datetime.now(UTC)
    served = await serve(started=now - timedelta(hours=26, minutes=3, seconds=4))
    status, text = await served.ask("/statusz")
    assert status == 200
    assert re.fullmatch(
        f"\npilotage statusz\n{re.escape(WARNING)}\n"
        r"Started= \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}\n"
        r"Up= 26 hr 03 min \d\d sec\n"
        r"Python version= 3\.\d+\.\d+\S*\n"
        r"Binary version= 0\.1\.0\n"
        r"Emulation version= 1\.37\n"
        r"Paths= /configz /flagz /healthz /livez /metrics /readyz\n",
        text,
    )


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("text/plain", 200, id="text"),
        pytest.param("*/*", 200, id="anything"),
        pytest.param("application/json, text/plain;q=0.5", 200, id="rather something else"),
        pytest.param("application/json", 406, id="something else only"),
        pytest.param("text/html", 406, id="another text"),
    ],
)
async def test_pages_for_people_are_text(serve: Any, accept: str, expected: int) -> None:
    served = await serve()
    for path in ("/flagz", "/statusz"):
        status, text = await served.ask(path, headers={"Accept": accept})
        assert status == expected
        assert expected == 200 or '"reason": "NotAcceptable"' in text


async def test_head_is_get_without_a_body(serve: Any) -> None:
    served = await serve()
    for path in ("/healthz", "/metrics", "/configz"):
        async with served.session().get(path) as full, served.session().head(path) as head:
            assert await head.read() == b""
            assert (head.status, head.headers["Content-Length"]) == (200, str(len(await full.read())))


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        pytest.param("POST", "/healthz", "GET, HEAD", id="a probe cannot be written"),
        pytest.param("DELETE", "/configz", "GET, HEAD", id="nor the configuration deleted"),
        pytest.param("PUT", "/metrics", "GET, DELETE, HEAD", id="metrics can be reset, and no more"),
        pytest.param("GET", "/debug/flags/v", "PUT", id="the verbosity can be set only"),
        pytest.param("OPTIONS", "/flagz", "GET, HEAD", id="options are no method of ours"),
    ],
)
async def test_other_methods_do_not_exist(serve: Any, method: str, path: str, allowed: str) -> None:
    served = await serve(profiling=True, set_verbosity=lambda level: None)
    async with served.session().request(method, path) as response:
        assert (response.status, await response.text()) == (405, "405 method not allowed\n")
        assert response.headers["Allow"] == allowed


@pytest.mark.parametrize("path", ["/healthz", "/metrics", "/nope", "/debug/pprof/"])
async def test_found_or_not_an_answer_is_kept_from_caches_and_guesses(serve: Any, path: str) -> None:
    served = await serve()
    async with served.session().get(path) as response:
        assert response.headers["Cache-Control"] == "no-cache, private"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Server"] == "pilotage", "no versions"


class TestGuard:
    async def test_it_is_told_who_asks_for_what(self, serve: Any) -> None:
        guard = Watchman()
        served = await serve(guard=guard)
        headers = CIMultiDict([("Authorization", "Bearer x"), ("X-Remote-Group", "a"), ("X-Remote-Group", "b")])
        await served.ask("/me%74rics?verbose", headers=headers)
        [(method, path, found, certificate)] = guard.judged
        assert (method, path, certificate) == ("GET", "/metrics", None)
        assert (found["authorization"], found["x-remote-group"]) == (["Bearer x"], ["a", "b"])

    @pytest.mark.parametrize("path", ["/metrics", "/nope", "/debug/pprof/profile"])
    async def test_who_is_forbidden_learns_nothing_else(self, serve: Any, path: str) -> None:
        text = f'forbidden: User "system:anonymous" cannot get path "{path}"'
        served = await serve(guard=Watchman(Refused(403, text)), profiling=True)
        assert await served.ask(path) == (
            403,
            '{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n  "status": "Failure",\n'
            f'  "message": "forbidden: User \\"system:anonymous\\" cannot get path \\"{path}\\"",\n'
            '  "reason": "Forbidden",\n  "details": {},\n  "code": 403\n}',
        )

    async def test_who_is_unknown(self, serve: Any) -> None:
        served = await serve(guard=Watchman(Refused(401, "Unauthorized")))
        assert await served.ask("/metrics") == (
            401,
            '{\n  "kind": "Status",\n  "apiVersion": "v1",\n  "metadata": {},\n  "status": "Failure",\n'
            '  "message": "Unauthorized",\n  "reason": "Unauthorized",\n  "code": 401\n}',
        )

    async def test_where_nobody_could_tell(self, serve: Any) -> None:
        served = await serve(guard=Watchman(Refused(500, "no answer")))
        assert await served.ask("/metrics") == (500, 'Internal Server Error: "/metrics": no answer\n')

    async def test_a_broken_guard_lets_nobody_in(self, serve: Any, caplog: pytest.LogCaptureFixture) -> None:
        served = await serve(guard=Watchman(ValueError("secret")))
        assert await served.ask("/metrics") == (500, "500 internal server error\n")
        assert "a request could not be authorized" in caplog.messages


async def test_a_broken_page_shows_no_traceback(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> bytes:
        raise ValueError("secret")

    served = await serve(metrics=broken)
    assert await served.ask("/metrics", headers={"Accept": "text/html"}) == (500, "500 internal server error\n")
    assert await served.ask("/healthz") == (200, "ok")
    assert "the page /metrics failed" in caplog.messages


class TestProfiling:
    @pytest.mark.parametrize("path", ["/debug/pprof/", "/debug/pprof/profile", "/debug/flags/v"])
    async def test_it_is_there_only_if_wanted(self, serve: Any, path: str) -> None:
        served = await serve(profiling=False, set_verbosity=lambda level: None)
        assert (await served.ask(path))[0] == 404

    async def test_where_the_time_goes(self, serve: Any) -> None:
        served = await serve(profiling=True)
        status, text = await served.ask("/debug/pprof/profile?seconds=1")
        assert status == 200
        assert "(_run_once)" in text
        assert "/lib/" not in text, "no folders"

    async def test_two_at_once_would_both_be_wrong(self) -> None:
        profiler = Profiler()
        first = asyncio.create_task(profiler.watch(3600))
        await asyncio.sleep(0)
        assert await profiler.watch(0) is None
        first.cancel()
        await asyncio.wait([first])
        assert await profiler.watch(0) is not None

    @pytest.mark.parametrize("seconds", ["0", "-1", "61", "1e3", "x", "", "9" * 5000])
    async def test_how_long_is_bounded(self, serve: Any, seconds: str) -> None:
        served = await serve(profiling=True)
        status, text = await served.ask(f"/debug/pprof/profile?seconds={seconds}")
        assert (status, text) == (400, "seconds must be a whole number from 1 to 60\n")

    async def test_where_each_task_is(self, serve: Any) -> None:
        served = await serve(profiling=True)
        assert "goroutine" in (await served.ask("/debug/pprof/"))[1]
        before = asyncio.all_tasks()
        text = (await served.ask("/debug/pprof/goroutine"))[1]
        told = {line.removesuffix(":") for line in text.splitlines() if line.endswith(":")}
        assert {task.get_name() for task in before & asyncio.all_tasks()} <= told
        assert "serving-certificate:\n  pilotage.telemetry.server._refresh" in text

    async def test_which_objects_there_are(self, serve: Any) -> None:
        class Rare:
            pass

        served = await serve(profiling=True)
        kept = [Rare(), Rare()]
        for query in ("", "?gc=1"):
            _, text = await served.ask(f"/debug/pprof/heap{query}")
            counts = {name: int(number) for number, name in (line.split(maxsplit=1) for line in text.splitlines())}
            assert counts[f"{__name__}.{Rare.__qualname__}"] == len(kept)
            assert counts.pop("objects") == sum(counts.values())

    async def test_rubbish_is_collected_if_that_is_wanted(self, serve: Any) -> None:
        class Circle:
            def __init__(self) -> None:
                self.self = self

        served = await serve(profiling=True)
        Circle()
        assert Circle.__qualname__ not in (await served.ask("/debug/pprof/heap?gc=1"))[1]

    @pytest.mark.parametrize(
        ("body", "status", "expected"),
        [
            pytest.param("4", 200, "successfully set klog.logging.verbosity to 4\n", id="a number"),
            pytest.param("x", 400, "the body must be the new verbosity: a whole number such as 4\n", id="a word"),
            pytest.param("-1", 400, "the body must be the new verbosity: a whole number such as 4\n", id="below zero"),
        ],
    )
    async def test_the_verbosity(self, serve: Any, body: str, status: int, expected: str) -> None:
        levels: list[int] = []
        served = await serve(profiling=True, set_verbosity=levels.append)
        assert await served.ask("/debug/flags/v", "PUT", data=body) == (status, expected)
        assert levels == ([4] if status == 200 else [])


class TestStop:
    async def test_what_is_being_answered_is_finished(self, serve: Any) -> None:
        asked, may_go_on = asyncio.Event(), asyncio.Event()

        class Slow(Watchman):
            async def judge(self, *_: Any) -> Denial | None:
                asked.set()
                await may_go_on.wait()
                return None

        served = await serve(guard=Slow())
        url = served.url
        answer = asyncio.create_task(served.ask("/healthz"))
        await asked.wait()
        stopping = asyncio.create_task(served.server.stop(60.0))
        await asyncio.sleep(0)
        async with aiohttp.ClientSession() as other:
            with pytest.raises(aiohttp.ClientConnectionError):
                await other.get(f"{url}/healthz", ssl=served.trust)
        may_go_on.set()
        assert await answer == (200, "ok")
        await stopping

    async def test_it_does_not_wait_for_idle_clients_nor_for_ever(self, serve: Any) -> None:
        class Never(Watchman):
            async def judge(self, method: str, path: str, *_: Any) -> Denial | None:
                if path == "/metrics":
                    asked.set()
                    await asyncio.Event().wait()
                return None

        asked = asyncio.Event()
        served = await serve(guard=Never())
        await served.ask("/healthz")
        answer = asyncio.create_task(served.ask("/metrics"))
        await asked.wait()
        async with asyncio.timeout(30):
            await served.server.stop(0.2)
            with pytest.raises(aiohttp.ClientConnectionError):
                await answer


async def test_a_port_that_is_taken(serve: Any) -> None:
    served, other = await serve(), await serve()
    port = served.server.port
    await other.server.stop()
    with pytest.raises(CannotServe, match=rf"cannot listen on 127\.0\.0\.1:{port}: .*choose another --bind-address"):
        await other.server.start("127.0.0.1", port)
