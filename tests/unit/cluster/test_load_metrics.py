"""Collecting load figures from servers that are well, slow, dead, endless or mad."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kit.loads import NOW
from kit.scripted_extender import Handler, ScriptedExtender, serving
from localcluster.pki import Authority, Identity
from pilotage.cluster.credentials.access import find
from pilotage.cluster.services import load_sources as module
from pilotage.cluster.services.load_metrics import LoadCollector
from pilotage.cluster.services.load_sources import LoadUnavailable, Provider, SourceSettings, source_of
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.model.node import Node
from pilotage.model.node_load import NodeLoad, ResourceLoad
from pilotage.plugins.load._shared.arguments import MetricProvider
from pilotage.testing import decode_node, node_manifest

AVERAGE_OF_CPU = "avg_over_time(instance:node_cpu:ratio[15m])"
DEVIATION_OF_CPU = "stddev_over_time(instance:node_cpu:ratio[15m])"
AVERAGE_OF_MEMORY = "avg_over_time(instance:node_memory_utilisation:ratio[15m])"
DEVIATION_OF_MEMORY = "stddev_over_time(instance:node_memory_utilisation:ratio[15m])"


def node(name: str, *addresses: str) -> Node:
    manifest = node_manifest(name, cpu=4, memory="8Gi")
    manifest["status"]["addresses"] = [{"type": "InternalIP", "address": address} for address in addresses]
    return decode_node(manifest)


NODES = [node("n1", "10.0.0.1", "fd00::1"), node("n2", "10.0.0.2")]


class World:
    """A server that answers by path and query, and a collector that asks it."""

    def __init__(self, server: ScriptedExtender) -> None:
        self.server = server
        self.answers: dict[str, Any] = {}  # by query, or by path
        self.asked: list[web.Request] = []
        self.now = NOW
        self.nodes = list(NODES)
        server.handler = self.handle

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        answer = self.answers.get(request.query.get("query", request.path), 404)
        if callable(answer):
            return await answer(request)  # type: ignore[no-any-return]  # a handler
        return web.Response(status=answer) if isinstance(answer, int) else web.json_response(answer)

    def collector(self, provider: Provider, api: Any = None, **settings: Any) -> LoadCollector:
        given = SourceSettings(provider, self.server.url, queries=MetricProvider().asked)
        source = source_of(replace(given, **settings), api)
        return LoadCollector("the source", source, lambda: self.nodes, lambda: self.now)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serving(ScriptedExtender()) as server:
        yield World(server)


async def polled(collector: LoadCollector) -> LoadCollector:
    try:
        await collector.poll()
    finally:
        await collector.close()
    return collector


def says(text: str | bytes, status: int = 200, **headers: str) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=text, status=status, headers=headers)

    return handle


async def silence(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits so long")


async def flood(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"[" * (1 << 20))


def vector(**values: str) -> dict[str, Any]:
    return by_label("instance", values)


def by_label(label: str, values: dict[str, str]) -> dict[str, Any]:
    result = [{"metric": {label: name}, "value": [NOW, value]} for name, value in values.items()]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


class TestPrometheus:
    async def test_the_default_queries(self, world: World) -> None:
        world.answers = {
            AVERAGE_OF_CPU: vector(n1="0.25", n2="0.5"),
            DEVIATION_OF_CPU: vector(n1="0.1"),
            AVERAGE_OF_MEMORY: vector(n1="0.75"),
            DEVIATION_OF_MEMORY: vector(n1="0.05", n2="0.05"),
        }
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert collector.loads == {
            "n1": NodeLoad(ResourceLoad(25, 10), ResourceLoad(75, 5), NOW),
            "n2": NodeLoad(ResourceLoad(50), None, NOW),
        }
        assert (collector.trouble(), collector.is_healthy()) == ("", True)
        assert {request.path for request in world.asked} == {"/api/v1/query"}
        assert len(world.asked) == 4

    async def test_one_query_that_fails_leaves_the_others(self, world: World) -> None:
        world.answers = {AVERAGE_OF_CPU: vector(n1="0.25"), DEVIATION_OF_CPU: 500, AVERAGE_OF_MEMORY: says("<html>")}
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert collector.loads == {"n1": NodeLoad(ResourceLoad(25), None, NOW)}
        assert collector.is_healthy()
        url = f"{world.server.url}/api/v1/query"
        assert f'cpu deviation: Get "{url}": code 500 ({DEVIATION_OF_CPU})' in collector.trouble()
        assert "memory average: the response cannot be decoded" in collector.trouble()
        assert "1 of 2 nodes have no recent figures" in collector.trouble()

    async def test_a_missing_recording_rule_is_told(self, world: World) -> None:
        world.answers = {query: vector() for _, query in MetricProvider().asked}
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert collector.loads == {}
        assert not collector.is_healthy()
        told = f"cpu average: the query returns no numbers ({AVERAGE_OF_CPU}); does the metric or recording rule exist?"
        assert told in collector.trouble()
        assert collector.trouble().startswith("no node has figures, so all nodes are scored equally; ")

    @pytest.mark.parametrize(
        ("instance", "settings", "found"),
        [
            pytest.param("n1", {}, True, id="its name"),
            pytest.param("n1:9100", {}, True, id="its name with a port"),
            pytest.param("10.0.0.1", {}, True, id="its address"),
            pytest.param("10.0.0.1:9100", {}, True, id="its address with a port"),
            pytest.param("fd00::1", {}, True, id="its address of the sixth version"),
            pytest.param("[fd00::1]:9100", {}, True, id="that with a port"),
            pytest.param("10.0.0.9:9100", {}, False, id="a stranger's address"),
            pytest.param("", {}, False, id="nothing"),
            pytest.param("n1", {"instance_is": "NodeName"}, True, id="its name, where names are looked for"),
            pytest.param("10.0.0.1:9100", {"instance_is": "NodeName"}, False, id="its address there"),
            pytest.param("10.0.0.1:9100", {"instance_is": "NodeAddress"}, True, id="its address, where they are"),
            pytest.param("n1", {"instance_is": "NodeAddress"}, False, id="its name there"),
            pytest.param("n1", {"instance_label": "node"}, False, id="its name in another label"),
        ],
    )
    async def test_a_node_is_found_by(self, world: World, instance: str, settings: Any, found: bool) -> None:
        world.answers[AVERAGE_OF_CPU] = by_label("instance", {instance: "0.25"})
        collector = await polled(world.collector(Provider.PROMETHEUS, **settings))
        assert list(collector.loads) == (["n1"] if found else [])
        assert ("1 entries belong to no node" in collector.trouble()) is not found

    async def test_what_belongs_to_no_node_is_told(self, world: World) -> None:
        world.answers[AVERAGE_OF_CPU] = by_label("instance", {"10.0.0.8:9100": "0.25", "10.0.0.9:9100": "0.25"})
        collector = await polled(world.collector(Provider.PROMETHEUS))
        told = "cpu average: 2 entries belong to no node, such as instance='10.0.0.8:9100'"
        assert told in collector.trouble()
        assert not collector.is_healthy()

    async def test_a_label_of_ones_own(self, world: World) -> None:
        world.answers[AVERAGE_OF_CPU] = by_label("nodename", {"n2": "0.25"})
        collector = await polled(world.collector(Provider.PROMETHEUS, instance_label="nodename"))
        assert list(collector.loads) == ["n2"]

    async def test_an_address_of_two_nodes_is_of_none(self, world: World) -> None:
        world.nodes = [node("n1", "10.0.0.1", "1.1.1.1"), node("n2", "1.1.1.1")]
        world.answers[AVERAGE_OF_CPU] = by_label("instance", {"1.1.1.1:9100": "0.25", "10.0.0.1:9100": "0.5"})
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert collector.loads == {"n1": NodeLoad(ResourceLoad(50), None, NOW)}

    async def test_of_several_series_the_highest_counts(self, world: World) -> None:
        world.answers[AVERAGE_OF_CPU] = by_label(
            "instance", {"n1": "0.25", "10.0.0.1:9100": "0.5", "10.0.0.1:9101": "0.1"}
        )
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert collector.loads == {"n1": NodeLoad(ResourceLoad(50), None, NOW)}
        assert "cpu average: 2 entries repeat a node" in collector.trouble()

    async def test_numbers_that_are_none(self, world: World) -> None:
        world.answers[AVERAGE_OF_CPU] = vector(n1="NaN", n2="0.5", n3="+Inf")
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert list(collector.loads) == ["n2"]
        assert "cpu average: 2 entries are not numbers" in collector.trouble()

    async def test_queries_of_ones_own(self, world: World) -> None:
        given = {"queries": {"cpu": {"average": 'my{a="b"} + on(node) x'}}}
        asked = MetricProvider.model_validate(given).asked
        world.answers['my{a="b"} + on(node) x'] = vector(n1="0.25")
        collector = await polled(world.collector(Provider.PROMETHEUS, queries=asked))
        assert list(collector.loads) == ["n1"]
        assert AVERAGE_OF_CPU not in {request.query["query"] for request in world.asked}

    async def test_a_token(self, world: World) -> None:
        await polled(world.collector(Provider.PROMETHEUS, token="secret"))
        assert {request.headers.get("Authorization") for request in world.asked} == {"Bearer secret"}

    async def test_a_token_file_is_read_each_time(self, world: World, tmp_path: Path) -> None:
        file = tmp_path / "token"
        collector = world.collector(Provider.PROMETHEUS, token_file=str(file))
        try:
            await collector.poll()
            assert "the token file cannot be read" in collector.trouble()
            for token in ("one", "two"):
                file.write_text(f"{token}\n")
                await collector.poll()
        finally:
            await collector.close()
        assert [request.headers["Authorization"] for request in world.asked[::4]] == ["Bearer one", "Bearer two"]

    async def test_no_token_and_no_password_is_ever_told(self, world: World, caplog: pytest.LogCaptureFixture) -> None:
        address = world.server.url.replace("://", "://me:hidden@")
        collector = await polled(world.collector(Provider.PROMETHEUS, address=address, token="secret"))
        assert not collector.is_healthy()
        assert SourceSettings(Provider.PROMETHEUS, address).name == world.server.url
        assert "hidden" not in caplog.text + collector.trouble()
        assert "secret" not in caplog.text + collector.trouble()

    async def test_a_redirect_is_not_followed(self, world: World) -> None:
        world.answers[AVERAGE_OF_CPU] = says("", 307, Location="http://169.254.169.254/")
        collector = await polled(world.collector(Provider.PROMETHEUS))
        assert "code 307" in collector.trouble()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    Authority(folder).issue([Identity("server", "server", "", ("127.0.0.1",))])
    Authority(folder / "other")
    return folder


class TestTLS:
    @pytest.mark.parametrize(
        ("settings", "ca", "trouble"),
        [
            pytest.param({}, "", "certificate verify failed", id="nobody is trusted without a reason"),
            pytest.param({}, "ca.crt", "", id="the authority that is named is"),
            pytest.param({}, "other/ca.crt", "certificate verify failed", id="another one is not"),
            pytest.param({}, "none", "cannot be used", id="one that is not there is told"),
            pytest.param({"insecure": True}, "", "", id="whoever wants to trusts anybody"),
        ],
    )
    async def test_whom_to_trust(self, certificates: Path, settings: Any, ca: str, trouble: str) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
        async with serving(ScriptedExtender(), context) as server:
            world = World(server)
            world.answers = {query: vector(n1="0.25", n2="0.5") for _, query in MetricProvider().asked}
            try:
                collector = await polled(
                    world.collector(Provider.PROMETHEUS, ca_file=ca and str(certificates / ca), **settings)
                )
                told = collector.trouble()
            except LoadUnavailable as error:
                told = str(error)
        assert (trouble in told) if trouble else told == ""


class TestLoadWatcher:
    async def test_what_it_tells_of_nodes_that_there_are(self, world: World) -> None:
        metrics = [
            {"type": "CPU", "operator": "AVG", "value": 40},
            {"type": "CPU", "operator": "STD", "value": 16},
            {"type": "Memory", "operator": "Latest", "value": 50},
        ]
        nodes = {"n1": {"metrics": metrics}, "n2": {"metrics": []}, "gone": {"metrics": metrics}}
        world.answers["/watcher"] = {
            "timestamp": NOW - 5,
            "window": {"duration": "15m", "start": NOW - 910, "end": NOW - 10},
            "data": {"NodeMetricsMap": nodes},
        }
        collector = await polled(world.collector(Provider.LOAD_WATCHER))
        assert collector.loads == {"n1": NodeLoad(ResourceLoad(40, 16), ResourceLoad(50), NOW - 10)}
        assert collector.age() == 10
        told = (
            "1 entries have no usable values; 1 entries belong to no node of this cluster; "
            "1 of 2 nodes have no recent figures"
        )
        assert collector.trouble().startswith(told)

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            pytest.param(500, 'Get "URL/watcher": code 500', id="an error"),
            pytest.param(404, 'Get "URL/watcher": code 404', id="nobody there"),
            pytest.param(says("<html>"), "the response cannot be decoded", id="a web page"),
            pytest.param(says(b"\xff"), "the response cannot be decoded", id="bytes"),
            pytest.param(says(b'{"data":' * 100_000), "the response cannot be decoded", id="maps in maps without end"),
            pytest.param(flood, "the response is larger than", id="an answer without end"),
            pytest.param({}, "the response has no figures for any node", id="an empty map"),
            pytest.param({"data": {"NodeMetricsMap": {}}}, "the response has no figures for any node", id="no nodes"),
        ],
    )
    async def test_answers_that_are_none(self, world: World, answer: Any, told: str) -> None:
        world.answers["/watcher"] = answer
        collector = await polled(world.collector(Provider.LOAD_WATCHER))
        assert told in collector.trouble().replace(world.server.url, "URL")
        assert (collector.loads, collector.is_healthy()) == ({}, False)

    async def test_an_answer_that_does_not_come(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "WATCHER_TIMEOUT", 0.1)
        world.answers["/watcher"] = silence
        collector = await polled(world.collector(Provider.LOAD_WATCHER))
        assert "Client.Timeout exceeded while awaiting headers" in collector.trouble()

    async def test_nobody_listens(self, world: World) -> None:
        collector = await polled(world.collector(Provider.LOAD_WATCHER, address="http://127.0.0.1:1"))
        assert "connection refused" in collector.trouble()


LIST = "/apis/metrics.k8s.io/v1beta1/nodes"


@pytest.fixture
async def api(world: World) -> AsyncIterator[ApiClient]:
    client = ApiClient(find("", master=world.server.url), agent="test", timeout=5.0, largest=1 << 20)
    yield client
    await client.close()


def used(name: str, cpu: str = "1", memory: str = "2Gi", timestamp: str = "1970-01-12T13:46:30Z") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "timestamp": timestamp,
        "window": "20s",
        "usage": {"cpu": cpu, "memory": memory},
    }


class TestTheMetricsAPI:
    async def test_use_by_capacity(self, world: World, api: ApiClient) -> None:
        world.answers[LIST] = {"items": [used("n1"), used("n2", cpu="3200000000n"), used("gone")]}
        collector = await polled(world.collector(Provider.METRICS_API, api))
        assert collector.loads == {
            "n1": NodeLoad(ResourceLoad(25), ResourceLoad(25), NOW - 10),
            "n2": NodeLoad(ResourceLoad(80), ResourceLoad(25), NOW - 10),
        }
        assert (collector.trouble(), collector.age()) == ("", 10)

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            pytest.param(
                404, "the cluster does not serve metrics.k8s.io; is metrics-server installed?", id="not there"
            ),
            pytest.param(503, f"{LIST}: ", id="metrics-server is down"),
            pytest.param(403, f"{LIST}: ", id="we may not"),
            pytest.param(says("<html>"), f"{LIST}: the response cannot be decoded", id="a web page"),
            pytest.param(says(b" " * (2 << 20)), f"{LIST}: ", id="an answer that is too large"),
            pytest.param({"items": []}, "the response has no figures for any node", id="an empty list"),
            pytest.param({"items": [used("gone")]}, "the response has no figures for any node", id="only strangers"),
            pytest.param({"items": [used("n1", "x", "x")]}, "the response has no figures for any node", id="none"),
        ],
    )
    async def test_answers_that_are_none(self, world: World, api: ApiClient, answer: Any, told: str) -> None:
        world.answers[LIST] = answer
        collector = await polled(world.collector(Provider.METRICS_API, api))
        assert told in collector.trouble()
        assert (collector.loads, collector.is_healthy()) == ({}, False)

    async def test_an_answer_that_does_not_come(
        self, world: World, api: ApiClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "TIMEOUT", 0.1)
        world.answers[LIST] = silence
        collector = await polled(world.collector(Provider.METRICS_API, api))
        assert LIST in collector.trouble()
        assert not collector.is_healthy()

    async def test_one_bad_entry_leaves_the_others(self, world: World, api: ApiClient) -> None:
        world.answers[LIST] = {"items": [used("n1"), {"metadata": None}, None]}
        collector = await polled(world.collector(Provider.METRICS_API, api))
        assert list(collector.loads) == ["n1"]
        assert collector.trouble().startswith("2 entries cannot be read; 1 of 2 nodes have no recent figures")


class TestOverTime:
    async def test_figures_stay_until_they_are_too_old(self, world: World, api: ApiClient) -> None:
        collector = world.collector(Provider.METRICS_API, api)
        assert (collector.is_healthy(), collector.age()) == (False, 0)
        world.answers[LIST] = {"items": [used("n1"), used("n2")]}
        await collector.poll()
        figures = collector.loads
        world.answers[LIST] = 503
        world.now += 280
        await collector.poll()
        assert collector.loads is figures
        assert not collector.is_healthy()
        assert "all nodes are scored alike" not in collector.trouble()
        world.now += 20
        assert collector.age() == 310
        assert collector.trouble().startswith("the figures are 310 s old, so all nodes are scored equally; ")
        world.answers[LIST] = {"items": [used("n1", timestamp=""), used("n2", timestamp="")]}
        await collector.poll()
        assert (collector.trouble(), collector.is_healthy(), collector.age()) == ("", True, 0)

    async def test_a_node_whose_figures_are_old_is_told(self, world: World, api: ApiClient) -> None:
        world.answers[LIST] = {"items": [used("n1"), used("n2", timestamp="1970-01-12T13:00:00Z")]}
        collector = await polled(world.collector(Provider.METRICS_API, api))
        assert collector.is_healthy()
        assert collector.trouble() == "1 of 2 nodes have no recent figures"

    async def test_the_log_has_one_line_for_each_change(
        self, world: World, api: ApiClient, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "pilotage.cluster.services.load_metrics")
        collector = world.collector(Provider.METRICS_API, api)
        good = {"items": [used("n1", timestamp=""), used("n2", timestamp="")]}
        for answer in (503, 503, good, good, 404, 404, {"items": good["items"][:1]}, good):
            world.answers[LIST] = answer
            world.now += 7
            await collector.poll()
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "WARNING", "WARNING", "INFO"]
        assert caplog.messages[1] == "load metrics of the source: figures of 2 nodes"

    async def test_a_slip_in_a_source_does_not_end_the_questions(self, caplog: pytest.LogCaptureFixture) -> None:
        class Broken:
            async def read(self, nodes: Any, now: float) -> Any:
                raise ZeroDivisionError("oops")

            async def close(self) -> None: ...

        collector = await polled(LoadCollector("broken", Broken(), lambda: NODES, lambda: NOW))
        assert collector.trouble().endswith("ZeroDivisionError: oops")

    @pytest.mark.looptime
    async def test_it_asks_at_once_and_then_every_so_often(self) -> None:
        class Counting:
            asked: list[float] = []  # noqa: RUF012 - of this one test

            async def read(self, nodes: Any, now: float) -> Any:
                self.asked.append(asyncio.get_running_loop().time())
                raise LoadUnavailable("not today")

            async def close(self) -> None: ...

        collector = LoadCollector("counting", Counting(), lambda: NODES, lambda: NOW)
        task = asyncio.create_task(collector.run())
        await asyncio.sleep(65)
        collector.tune(10, 300)
        await asyncio.sleep(15)
        task.cancel()
        assert [round(moment) for moment in Counting.asked] == [0, 30, 60, 65, 75]
