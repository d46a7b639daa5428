"""All watches together: what is watched, when the view is whole, and what happens while the server is away."""

import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kit.small_api import SmallApi, small_api
from pilotage import app
from pilotage.app.informers import KnownPods, Watching, is_listed, kinds_read
from pilotage.cluster.credentials.access import from_kubeconfig
from pilotage.cluster.transport.api_client import ApiClient
from pilotage.kinds.devices import ResourceClaim
from pilotage.kinds.kube_object import KubeObject
from pilotage.kinds.storage import CSINode, PersistentVolumeClaim
from pilotage.kinds.workloads import Namespace, PodDisruptionBudget
from pilotage.testing import make_pod, node_manifest, pod_manifest

PATIENCE = 20.0


class Sink:
    """Keeps the names of what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def added(self, new: Any) -> None:
        self.said.append(f"+{new.metadata.name}")

    def updated(self, old: Any, new: Any) -> None:
        self.said.append(f"~{new.metadata.name}")

    def deleted(self, last: Any) -> None:
        self.said.append(f"-{last.metadata.name}")

    def undecodable(self, metadata: Any, reason: str) -> None:
        self.said.append(f"?{metadata.name}")

    def vanished(self, metadata: Any) -> None:
        self.said.append(f"!{metadata.name}")


class Sinks(SimpleNamespace):
    """One for everything."""

    def __init__(self) -> None:
        super().__init__(pods=Sink(), nodes=Sink(), objects=Sink())


@pytest.fixture
async def api() -> AsyncIterator[SmallApi]:
    async with small_api() as running:
        yield running


@pytest.fixture
async def client(api: SmallApi) -> AsyncIterator[ApiClient]:
    found = ApiClient(from_kubeconfig(None, master=api.url), agent="tests/1")
    yield found
    await found.close()


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - nobody tells when a server was asked
            await asyncio.sleep(0.01)


async def test_nodes_come_first_and_pods_last(api: SmallApi, client: ApiClient) -> None:
    api.put("nodes", node_manifest("n1"))
    api.put("pods", pod_manifest("web"))
    sinks = Sinks()
    watching = Watching(client, sinks, {CSINode, Namespace})
    assert watching.unsynced() == ["nodes"]
    await watching.start()
    try:
        assert [str(each.resource) for each in watching.reflectors] == [
            "nodes",
            "namespaces",
            "csinodes.storage.k8s.io",
            "pods",
        ]
        await asyncio.wait_for(watching.synced(), PATIENCE)
        assert watching.unsynced() == []
        assert watching.ended() == []
        assert sinks.nodes.said == ["+n1"]
        assert sinks.pods.said == ["+web"]
        assert set(watching.silence()) == {"nodes", "namespaces", "csinodes.storage.k8s.io", "pods"}
        assert all(0 <= seconds < PATIENCE for seconds in watching.silence().values())
    finally:
        watching.stop()
    await until(lambda: len(watching.ended()) == 4)


async def test_what_the_server_does_not_serve_is_done_without(
    api: SmallApi, client: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    api.refusals["/apis/resource.k8s.io/v1"] = 404
    watching = Watching(client, Sinks(), {ResourceClaim, PodDisruptionBudget})
    await watching.start()
    watching.stop()
    assert [str(each.resource) for each in watching.reflectors] == ["nodes", "poddisruptionbudgets.policy", "pods"]
    text = "the API server does not serve resourceclaims.resource.k8s.io; plugins that read it see no objects"
    assert text in caplog.text


@pytest.mark.parametrize(
    ("answer", "is_served"),
    [
        (b'{"resources":[{"name":"deviceclasses"},{"name":"resourceclaims/status"}]}', False),
        (b'{"resources":[{"name":"devicetaintrules"}]}', True),
        (b'{"resources":[]}', True),
        (b"{}", True),
        (b"not JSON", True),
    ],
)
def test_a_server_that_knows_the_group_may_lack_a_kind_of_it(answer: bytes, is_served: bool) -> None:
    assert is_listed(answer, "devicetaintrules") is is_served


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_server_in_trouble_is_asked_again_and_said_so_once(
    status: int, api: SmallApi, client: ApiClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.app.informers.PAUSE", 0.01)
    api.refusals["/apis/policy/v1"] = status
    watching = Watching(client, Sinks(), {PodDisruptionBudget})
    starting = asyncio.create_task(watching.start())
    await until(lambda: api.requests.count(("GET", "/apis/policy/v1")) > 3)
    assert caplog.messages == [f"the API server does not respond, retrying every second: {status}: refused by the test"]
    api.refusals.clear()
    await asyncio.wait_for(starting, PATIENCE)
    watching.stop()
    assert "poddisruptionbudgets.policy" in [str(each.resource) for each in watching.reflectors]


@pytest.mark.parametrize("status", [401, 403])
async def test_a_server_that_refuses_is_left_to_the_watch(status: int, api: SmallApi, client: ApiClient) -> None:
    api.refusals["/apis/policy/v1"] = status
    watching = Watching(client, Sinks(), {PodDisruptionBudget})
    await asyncio.wait_for(watching.start(), PATIENCE)
    watching.stop()
    assert len(watching.reflectors) == 3


async def test_a_new_list_is_waited_for(api: SmallApi, client: ApiClient) -> None:
    api.put("nodes", node_manifest("n1"))
    sinks = Sinks()
    watching = Watching(client, sinks, set())
    await watching.start()
    await asyncio.wait_for(watching.synced(), PATIENCE)
    gate = api.held["/pods"] = asyncio.Event()
    api.put("pods", pod_manifest("new"))
    refreshing = asyncio.create_task(watching.refresh())
    await until(lambda: [path for _, path in api.requests].count("/api/v1/pods") == 2)
    await asyncio.sleep(0.05)
    assert not refreshing.done()
    assert watching.unsynced() == ["pods"]
    gate.set()
    await asyncio.wait_for(refreshing, PATIENCE)
    assert sinks.pods.said[-1] == "+new"
    assert watching.ended() == []
    watching.stop()


async def test_what_a_former_leader_may_have_decided_is_listed_anew(api: SmallApi, client: ApiClient) -> None:
    watching = Watching(client, Sinks(), {ResourceClaim, Namespace})
    await watching.start()
    await asyncio.wait_for(watching.synced(), PATIENCE)
    before = watching.lists()
    await asyncio.wait_for(watching.refresh(), PATIENCE)
    after = watching.lists()
    watching.stop()
    again = {name for name, count in after.items() if count > before[name]}
    assert again == {"nodes", "resourceclaims.resource.k8s.io", "pods"}


class RackPower(KubeObject, group="power.example.com", version="v1", plural="rackpowers", scope="Cluster"):
    """A kind that a plugin file declares."""


async def test_a_kind_of_a_plugin_file_is_watched_for_as_long_as_it_is_read(api: SmallApi, client: ApiClient) -> None:
    class Again(KubeObject, group="power.example.com", version="v1", plural="rackpowers", scope="Cluster"):
        """The same, in the text that follows."""

    watching = Watching(client, Sinks(), {RackPower, Namespace})
    await watching.start()
    await asyncio.wait_for(watching.synced(), PATIENCE)
    await asyncio.wait_for(watching.add({Again}), PATIENCE)
    assert [each.resource.shape for each in watching.reflectors if each.resource.group] == [RackPower, Again]
    assert watching.lists()["rackpowers.power.example.com"] == 2  # of both
    assert watching.give_up({Again}) == {RackPower}, "ours is not given up"
    assert watching.give_up({Again}) == set()
    assert [str(each.resource) for each in watching.reflectors] == [
        "nodes",
        "namespaces",
        "pods",
        "rackpowers.power.example.com",
    ]
    assert watching.ended() == []
    watching.stop()


def test_which_kinds_the_default_plugins_read() -> None:
    kinds = kinds_read(app.configured(None).profiles())
    assert {PersistentVolumeClaim, CSINode, PodDisruptionBudget, Namespace, ResourceClaim} <= kinds


def test_known_pods() -> None:
    known, pod = KnownPods(), make_pod("a", uid="a")
    assert known("default/a") is None
    known.pods = {"default/a": pod}
    assert known("default/a") is pod
    assert known.newest(make_pod("a", uid="a")) is pod
    assert known.newest(make_pod("a", uid="namesake")) is None
    assert known.newest(make_pod("b")) is None
