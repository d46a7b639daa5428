"""Collectors for the plugins of all profiles: one for each source, while anybody needs it."""

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from kit.scripted_extender import ScriptedExtender, serving
from kit.small_api import SmallApi, small_api
from localcluster.pki import Authority, Identity
from pilotage import app
from pilotage.app import live as module
from pilotage.app.handles import Handles
from pilotage.app.live import Live
from pilotage.app.load_collecting import LoadCollecting, settings_of
from pilotage.app.options import Options, Serving
from pilotage.cluster.services.load_sources import Provider
from pilotage.model.outside_services import OutsideRules
from pilotage.plugins.load._shared.load_aware import LoadAware
from pilotage.plugins.load.load_variation_risk_balancing import LoadVariationRiskBalancing
from pilotage.plugins.load.peaks import Peaks
from pilotage.plugins.load.target_load_packing import TargetLoadPacking
from pilotage.telemetry.verbosity import Verbosity
from pilotage.testing import FakeCluster, make_node, node_manifest, pod_manifest

PATIENCE = 20.0
CLUSTER = FakeCluster([make_node("n1", cpu=4), make_node("n2", cpu=4)])


class Api:
    """A metrics API."""

    def __init__(self) -> None:
        self.asked = 0

    async def get(self, path: str, query: Any = None, *, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        self.asked += 1
        items = [{"metadata": {"name": "n1"}, "usage": {"cpu": "1", "memory": "1Gi"}}]
        return json.dumps({"items": items}).encode()


class World:
    """Profiles that run, and what collects for them."""

    def __init__(self, rules: OutsideRules | None = None, **profiles: LoadAware) -> None:
        self.api = Api()
        self.now = 1_000_000.0
        self.collecting = LoadCollecting(self.api, CLUSTER.cache.nodes, lambda: self.now, rules)
        self.handles = Handles(CLUSTER.cache, load=self.collecting, clock=lambda: self.now)
        self.running: list[LoadAware] = []
        self.put(**profiles)

    def put(self, **profiles: LoadAware) -> None:
        """Take the place of all profiles, as the scheduler does it."""
        for name, made in profiles.items():
            self.handles.start(made, name)
        self.handles.end(self.running)
        self.running = list(profiles.values())

    def tasks(self) -> list[str]:
        return sorted(each.get_name() for each in asyncio.all_tasks() if each.get_name().startswith("load "))


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.collecting.close()
    assert made.tasks() == []


def plugin(kind: type[LoadAware] = TargetLoadPacking, **arguments: Any) -> LoadAware:
    return kind.of(arguments)


@pytest.mark.looptime
class TestSharing:
    async def test_nothing_is_asked_before_the_nodes_are_known(self, world: World) -> None:
        world.put(one=plugin())
        await asyncio.sleep(100)
        assert (world.api.asked, world.tasks()) == (0, [])
        world.collecting.begin()
        await asyncio.sleep(1)
        assert (world.api.asked, world.tasks()) == (1, ["load metrics.k8s.io"])

    async def test_plugins_of_several_profiles_share_a_source(self, world: World) -> None:
        plugins = plugin(), plugin(LoadVariationRiskBalancing), plugin(Peaks)
        world.put(one=plugins[0], two=plugins[1], three=plugins[2])
        world.collecting.begin()
        await asyncio.sleep(95)
        assert world.api.asked == 4
        pod = CLUSTER.cycle(None)  # type: ignore[arg-type]  # nobody looks at it
        assert all(each.figures(pod).of("n1").cpu is not None for each in plugins)

    async def test_the_most_impatient_of_them_decides_how_often(self, world: World) -> None:
        world.put(one=plugin(refreshSeconds=60), two=plugin(refreshSeconds=10))
        world.collecting.begin()
        await asyncio.sleep(95)
        assert world.api.asked == 10

    async def test_other_settings_are_another_source(self, world: World) -> None:
        watcher = plugin(watcherAddress="http://127.0.0.1:1/")
        world.put(one=plugin(), two=watcher, three=plugin(Peaks, watcherAddress="http://127.0.0.1:1"))
        world.collecting.begin()
        await asyncio.sleep(1)
        assert world.tasks() == ["load http://127.0.0.1:1", "load metrics.k8s.io"]
        assert world.collecting.healthy() == {"http://127.0.0.1:1": 0, "metrics.k8s.io": 1}
        assert world.collecting.ages() == {"http://127.0.0.1:1": 0, "metrics.k8s.io": 0}
        assert list(world.collecting.troubles()) == ["metrics.k8s.io", "http://127.0.0.1:1"]
        assert world.collecting.troubles()["metrics.k8s.io"].startswith("1 of 2 nodes have no recent figures")

    async def test_two_sources_at_one_address_have_names_of_their_own(self, world: World) -> None:
        given = {"type": "Prometheus", "address": "http://127.0.0.1:1"}
        world.put(one=plugin(metricProvider=given), two=plugin(metricProvider={**given, "instanceLabel": "node"}))
        assert list(world.collecting.ages()) == ["http://127.0.0.1:1", "http://127.0.0.1:1 (2)"]


@pytest.mark.looptime
class TestReloading:
    async def test_what_nobody_needs_any_more_is_stopped(self, world: World) -> None:
        world.put(one=plugin())
        world.collecting.begin()
        await asyncio.sleep(1)
        world.put(one=plugin(watcherAddress="http://127.0.0.1:1"))
        await asyncio.sleep(1)
        assert world.tasks() == ["load http://127.0.0.1:1"]
        assert list(world.collecting.ages()) == ["http://127.0.0.1:1"]

    async def test_what_is_still_needed_goes_on(self, world: World) -> None:
        world.put(one=plugin())
        world.collecting.begin()
        await asyncio.sleep(1)
        world.put(one=plugin(targetUtilization=50), two=plugin(Peaks))
        await asyncio.sleep(1)
        assert (world.api.asked, world.tasks()) == (1, ["load metrics.k8s.io"])

    async def test_new_times_are_taken_over(self, world: World) -> None:
        world.put(one=plugin(refreshSeconds=1000))
        world.collecting.begin()
        await asyncio.sleep(1)
        world.put(one=plugin(refreshSeconds=10))
        await asyncio.sleep(25)
        assert world.api.asked == 4


def test_a_certificate_that_cannot_be_read_is_trouble_and_no_error() -> None:
    async def trouble() -> dict[str, str]:
        world = World(
            one=plugin(
                metricProvider={"type": "Prometheus", "address": "https://127.0.0.1:1", "caFile": "/nowhere/ca.crt"}
            )
        )
        world.collecting.begin()
        await asyncio.sleep(0.01)
        found = world.collecting.troubles()
        await world.collecting.close()
        return found

    assert "cannot be used" in asyncio.run(trouble())["https://127.0.0.1:1"]


@pytest.mark.parametrize(
    ("arguments", "provider", "address"),
    [
        pytest.param({}, Provider.METRICS_API, "", id="the metrics API, unless told otherwise"),
        pytest.param({"metricProvider": {"type": "KubernetesMetricsServer"}}, Provider.METRICS_API, "", id="by name"),
        pytest.param(
            {"metricProvider": {"type": "Prometheus"}},
            Provider.PROMETHEUS,
            "http://prometheus-k8s:9090",
            id="Prometheus where it usually is",
        ),
        pytest.param(
            {"metricProvider": {"type": "Prometheus", "address": "http://p/"}},
            Provider.PROMETHEUS,
            "http://p",
            id="there",
        ),
        pytest.param(
            {"watcherAddress": "http://w:2020", "metricProvider": {"type": "SignalFx"}},
            Provider.LOAD_WATCHER,
            "http://w:2020",
            id="load-watcher wins",
        ),
    ],
)
def test_which_source(arguments: Any, provider: Provider, address: str) -> None:
    found = settings_of(plugin(**arguments))
    assert (found.provider, found.address) == (provider, address)
    assert plugin(**arguments).faults(()) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(
            {"metricProvider": {"type": "SignalFx"}},
            "invalid MetricProvider.Type, got SignalFx; SignalFx is not supported directly; write "
            "KubernetesMetricsServer or Prometheus, or give a watcherAddress of a load-watcher that queries it",
            id="SignalFx",
        ),
        pytest.param(
            {"metricProvider": {"type": "Nagios"}},
            "invalid MetricProvider.Type, got Nagios; write KubernetesMetricsServer or Prometheus, or give a "
            "watcherAddress",
            id="a provider that there is not",
        ),
        pytest.param(
            {"metricProvider": {"type": "Prometheus", "address": "p:9090"}},
            'args.metricProvider.address: Invalid value: "p:9090": must be a URL that begins with http:// or '
            "https://; ",
            id="an address without a scheme",
        ),
        pytest.param(
            {"metricProvider": {"instanceIs": "Name"}},
            'args.metricProvider.instanceIs: Unsupported value: "Name": supported values: "Any", "NodeName", '
            '"NodeAddress"; ',
            id="another kind of instance",
        ),
        pytest.param(
            {"metricProvider": {"instanceLabel": ""}},
            'args.metricProvider.instanceLabel: Invalid value: "": must be the name of a label, such as instance or '
            "node; ",
            id="no label",
        ),
        pytest.param(
            {"metricProvider": {"token": "a", "tokenFile": "/b"}},
            'args.metricProvider.tokenFile: Invalid value: "/b": there is also a token; remove one of the two',
            id="two tokens",
        ),
        pytest.param(
            {"refreshSeconds": 0}, "args.refreshSeconds: Invalid value: 0: must be at least 1 second; ", id="no pause"
        ),
        pytest.param(
            {"staleAfterSeconds": -1},
            "args.staleAfterSeconds: Invalid value: -1: must be at least 1 second; ",
            id="figures that are always old",
        ),
    ],
)
def test_sources_that_are_refused(arguments: Any, told: str) -> None:
    (fault,) = plugin(**arguments).faults(("args",))
    assert f"{fault.text}; {fault.hint}" == told


# ------------------------------------------------------------------------------------------------------- as a whole


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: LoadVariationRiskBalancing, weight: 1000}]}}
  pluginConfig:
  - name: LoadVariationRiskBalancing
    args: {watcherAddress: "WATCHER"}
"""


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the rubbish of tests to be collected, and the log as it was."""
    monkeypatch.setattr(module, "calm_garbage_collection", lambda: None)
    level = logging.getLogger().level
    yield
    logging.getLogger().setLevel(level)


@pytest.fixture
async def api() -> AsyncIterator[SmallApi]:
    async with small_api() as running:
        for name in ("n1", "n2"):
            running.put("nodes", node_manifest(name))
        yield running


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody tells when a server was asked
            await asyncio.sleep(0.01)


async def test_a_scheduler_collects_and_places_by_it(api: SmallApi) -> None:
    async with serving(ScriptedExtender()) as watcher:

        def node(share: float) -> Any:
            return {"metrics": [{"type": "CPU", "operator": "AVG", "value": share}]}

        async def handle(request: web.Request) -> web.StreamResponse:
            return web.json_response({"data": {"NodeMetricsMap": {"n1": node(90), "n2": node(10)}}})

        watcher.handler = handle
        ready = app.configured(CONFIGURATION.replace("WATCHER", watcher.url))
        serving_nothing = Serving(bind_address="127.0.0.1", secure_port=0, authentication_skip_lookup=True)
        options = Options(master=api.url, leader_election={"leader_elect": False}, serving=serving_nothing)
        live = Live(ready, options, Verbosity())
        stopped = asyncio.Event()
        task = asyncio.create_task(live.run(stopped))
        try:
            await until(lambda: live.load.healthy() == {watcher.url: 1})
            for i in range(4):
                api.put("pods", pod_manifest(f"p{i}", scheduler="default-scheduler"))
            await until(lambda: len(api.bindings) == 4)
            page = live.metrics.text().decode()
        finally:
            stopped.set()
            await asyncio.wait([task], timeout=PATIENCE)
    assert {node for _, node in api.bindings} == {"n2"}
    assert f'pilotage_load_metrics_healthy{{source="{watcher.url}"}} 1' in page
    assert f'pilotage_load_metrics_age_seconds{{source="{watcher.url}"}}' in page
    assert not [each for each in asyncio.all_tasks() if each.get_name().startswith("load ")]


# ------------------------------------------------------------------------------------------------------- credentials


@asynccontextmanager
async def listening(tmp_path: Path, *, tls: bool) -> AsyncIterator[tuple[str, list[str]]]:
    """Give the address of somebody who notes down which credentials they get."""
    got: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        got.append(request.headers.get("Authorization", "nothing"))
        return web.json_response({"status": "success", "data": {"resultType": "vector", "result": []}})

    context = None
    if tls:
        Authority(tmp_path).issue([Identity("server", "server", "", ("127.0.0.1",))])
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tmp_path / "server.crt", tmp_path / "server.key")
    server = web.Application()
    server.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(server)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}", got
    finally:
        await runner.cleanup()


async def trouble_of(rules: OutsideRules | None, **provider: Any) -> str:
    """Ask once, and return what is wrong with the source."""
    world = World(rules=rules)
    world.put(one=plugin(metricProvider={"type": "Prometheus", **provider}))
    (running,) = world.collecting._sources.values()
    await running.collector.poll()
    await world.collecting.close()
    return running.collector.trouble()


@pytest.fixture
def token(tmp_path: Path) -> Path:
    """The token of an account, where no profile may read it."""
    file = tmp_path / "serviceaccount" / "token"
    file.parent.mkdir()
    file.write_text("of-the-scheduler")
    return file


async def test_the_schedulers_own_token_is_sent_to_nobody(tmp_path: Path, token: Path) -> None:
    async with listening(tmp_path, tls=False) as (address, got):
        await trouble_of(None, address=address, tokenFile=str(token))
        assert set(got) == {"Bearer of-the-scheduler"}, "whoever writes the file of --config may do that"
        got.clear()
        trouble = await trouble_of(OutsideRules(), address=address, tokenFile=str(token))
        assert got == []
    assert "tokenFile: only files below /etc/pilotage/credentials may be read for a profile" in trouble
    assert "address: a token is sent only over https://" in trouble
    assert "of-the-scheduler" not in trouble


async def test_nor_by_a_link_to_it(tmp_path: Path, token: Path) -> None:
    mounted = tmp_path / "credentials"
    mounted.mkdir()
    (mounted / "token").symlink_to(token)
    async with listening(tmp_path, tls=True) as (address, got):
        (mounted / "ca.crt").write_bytes((tmp_path / "ca.crt").read_bytes())
        rules = OutsideRules(str(mounted), ("127.0.0.1",))
        more = {"tokenFile": f"{mounted}/token", "caFile": f"{mounted}/ca.crt"}
        trouble = await trouble_of(rules, address=address, **more)
        assert got == []
    assert "is outside of" in trouble


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({"tokenSecretRef": {"name": "prom", "key": "token"}}, "Bearer theirs", id="a token"),
        pytest.param({"basicAuthSecretRef": {"name": "prom"}}, "Basic bWU6d29yZA==", id="a user and a password"),
    ],
)
@pytest.mark.parametrize("listed", [True, False])
async def test_a_secret_is_sent_to_a_host_of_the_list_alone(
    tmp_path: Path, given: dict[str, Any], sent: str, listed: bool
) -> None:
    mounted = tmp_path / "credentials"
    (mounted / "prom" / "..data").mkdir(parents=True)
    async with listening(tmp_path, tls=True) as (address, got):
        ca = (tmp_path / "ca.crt").read_text()
        for name, text in {"token": "theirs\n", "username": "me", "password": "word\n", "ca.crt": ca}.items():
            (mounted / "prom" / "..data" / name).write_text(text)
            (mounted / "prom" / name).symlink_to(f"..data/{name}")
        rules = OutsideRules(str(mounted), ("127.0.0.1",) if listed else ("prom.example",))
        trouble = await trouble_of(rules, address=address, caFile=f"{mounted}/prom/ca.crt", **given)
    assert set(got) == ({sent} if listed else set())
    assert ("127.0.0.1 is not a host that may get" in trouble) is not listed
    assert "theirs" not in trouble
    assert "word" not in trouble.replace("password", "")


async def test_a_redirect_gets_no_token(tmp_path: Path) -> None:
    async with listening(tmp_path, tls=False) as (other, got), serving(ScriptedExtender()) as first:

        async def redirect(request: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(f"{other}/stolen")

        first.handler = redirect
        trouble = await trouble_of(None, address=first.url, token="theirs")
    assert got == []
    assert "code 307" in trouble
