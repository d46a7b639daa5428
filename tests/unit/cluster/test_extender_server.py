"""Our plugins as an extender, asked by our own client and by others, over a real connection."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from kit.scripted_extender import VERBS
from kit.tiny_plugins import NEVER, NO, Alpha, Before, Likes, Loves, scoped
from pilotage.app.profile_engines import engines
from pilotage.cache.cluster_cache import ClusterCache
from pilotage.cluster.services import extender_server
from pilotage.cluster.services.extender import Extender, ExtenderSettings
from pilotage.cluster.services.extender_server import Exposed, ExtenderServer
from pilotage.extenders.extender_service import ExtenderService, static_profiles
from pilotage.framework.api.plugin import CLUSTER, STATIC, Plugin
from pilotage.framework.runtime.preemption.victims import Victims
from pilotage.listening.front_door import Patience
from pilotage.model.extender_messages import Binding, ExtenderFailed
from pilotage.model.pod import DEFAULT_SCHEDULER, Pod
from pilotage.plugins.nodes.node_affinity import NodeAffinity
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.profiles import Profile
from pilotage.testing import decode_node, decode_pod, node_manifest, plugin_set_of, pod_manifest

NODES = {f"n{i}": node_manifest(f"n{i}", cpu=2, labels={"zone": f"z{i}"}) for i in (1, 2, 3)}


def manifest(name: str = "web", **fields: Any) -> dict[str, Any]:
    made = pod_manifest(name, **fields)
    made["metadata"] |= {"uid": f"u-{name}", "creationTimestamp": None}
    made["spec"]["priority"] = fields.pop("priority", 0)
    return made


WEB = manifest()


class Asked:
    """An extender with these plugins, and our client for it."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.cache = ClusterCache()
        self.pods = {"web": WEB}
        self.url = ""

    async def start(self, *plugins: Plugin, live: bool = False, bind: Any = None, **options: Any) -> Extender:
        profiles = {DEFAULT_SCHEDULER: Profile(DEFAULT_SCHEDULER, plugin_set_of(*plugins), 0)}
        service = ExtenderService(engines(profiles, self.cache), self.cache, cache_is_live=live)
        server = ExtenderServer(service, bind, **options)
        self._stack.push_async_callback(server.stop)
        self.url = await server.start("127.0.0.1", 0)
        client = Extender(ExtenderSettings(self.url, node_cache_capable=live, **VERBS), self._pod_json, self._node_json)
        self._stack.push_async_callback(client.close)
        return client

    def pod(self, name: str = "web", **fields: Any) -> Pod:
        self.pods[name] = manifest(name, **fields)
        return decode_pod(self.pods[name])

    def place(self, *pods: Pod) -> None:
        for node in NODES.values():
            self.cache.put_node(decode_node(node))
        for pod in pods:
            self.cache.put_pod(pod)

    def _pod_json(self, pod: Pod) -> bytes:
        return json.dumps(self.pods[pod.name]).encode()

    def _node_json(self, name: str) -> bytes:
        return json.dumps(NODES[name]).encode()


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with AsyncExitStack() as stack:
        yield Asked(stack)


def static(plugin: type[Any]) -> type[Any]:
    return scoped(STATIC, plugin)


async def test_nodes_that_come_with_the_question_are_filtered(asked: Asked) -> None:
    alpha = static(Alpha)(about={"n1": NO, "n2": NEVER})
    extender = await asked.start(alpha)
    result = await extender.filter(asked.pod(), ["n1", "n2", "n3"])
    assert result.names == ["n3"]
    assert result.failed == {"n1": "no"}
    assert result.unresolvable == {"n2": "never"}


async def test_only_the_nodes_of_the_question_are_in_the_answer(asked: Asked) -> None:
    extender = await asked.start(static(Likes)(scores={"n1": 20, "n2": 100, "n3": 50}))
    assert await extender.prioritize(asked.pod(), ["n1", "n2", "n3"]) == [("n1", 2), ("n2", 10), ("n3", 5)]
    assert await extender.prioritize(asked.pod(), ["n1", "n3"]) == [("n1", 4), ("n3", 10)]
    assert (await extender.filter(asked.pod(), ["n2"])).names == ["n2"]


async def test_a_plugin_that_prefers_no_node_does_not_drown_the_others(asked: Asked) -> None:
    even = dict.fromkeys(NODES, 100)
    extender = await asked.start(static(Likes)(scores={"n1": 2, "n2": 4, "n3": 0}), static(Loves)(scores=even))
    assert await extender.prioritize(asked.pod(), ["n1", "n2", "n3"]) == [("n1", 5), ("n2", 10), ("n3", 0)]
    assert await extender.prioritize(asked.pod(), ["n1"]) == [("n1", 0)]


async def test_a_node_that_changes_is_seen_as_it_is(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    extender = await asked.start(NodeAffinity())
    pod = asked.pod(node_selector={"zone": "z2"})
    assert (await extender.filter(pod, list(NODES))).names == ["n2"]
    monkeypatch.setitem(NODES, "n1", node_manifest("n1", labels={"zone": "z2"}))
    assert (await extender.filter(pod, list(NODES))).names == ["n1", "n2"]


async def test_a_live_cache_is_asked_by_name_and_knows_the_pods(asked: Asked) -> None:
    extender = await asked.start(NodeResourcesFit(), live=True)
    asked.place(asked.pod("full", cpu=2, node="n1"))
    result = await extender.filter(asked.pod(cpu=1), ["n1", "n2", "n9"])
    assert result.names == ["n2"]
    assert result.failed == {"n1": "Insufficient cpu", "n9": "the extender does not know the node yet"}


async def test_an_empty_cache_knows_no_node(asked: Asked) -> None:
    extender = await asked.start(NodeResourcesFit(), live=True)
    assert (await extender.filter(asked.pod(), ["n1"])).names == []
    assert await extender.prioritize(asked.pod(), ["n1"]) == [("n1", 0)]


async def test_a_pod_that_is_rejected_before_any_node(asked: Asked) -> None:
    extender = await asked.start(Before(answer=NEVER), Likes(scores={}))
    assert (await extender.filter(asked.pod(), ["n1"])).unresolvable == {"n1": "never"}
    assert await extender.prioritize(asked.pod(), ["n1"]) == [("n1", 0)]


async def test_a_plugin_that_fails_is_told_in_the_answer(asked: Asked) -> None:
    failing = {"n1": KeyError("gone")}
    extender = await asked.start(static(Alpha)(about=failing))
    with pytest.raises(ExtenderFailed, match='running "Alpha" filter plugin: KeyError'):
        await extender.filter(asked.pod(), ["n1"])
    extender = await asked.start(static(Likes)(scores={**failing, "n2": 1}))
    with pytest.raises(ExtenderFailed, match=r"failed prioritize with extender at URL .*, code 500"):
        await extender.prioritize(asked.pod(), ["n1", "n2"])


async def test_victims_are_left_where_evicting_them_helps(asked: Asked) -> None:
    extender = await asked.start(NodeResourcesFit(), live=True)
    low, half, other = (
        asked.pod("low", cpu=2, node="n1"),
        asked.pod("half", cpu=1, node="n2"),
        asked.pod("other", cpu=1, node="n2"),
    )
    asked.place(low, half, other)
    candidates = {"n1": Victims("n1", (low,), 1), "n2": Victims("n2", (half,)), "n9": Victims("n9", (low,))}
    found = await extender.preempt(asked.pod(cpu=2), candidates)
    assert {node: (list(victims.uids), victims.violations) for node, victims in found.items()} == {"n1": (["u-low"], 1)}


async def test_without_a_live_cache_all_victims_are_left(asked: Asked) -> None:
    extender = await asked.start()
    low, other, far = asked.pod("low", node="n1"), asked.pod("other", node="n1"), asked.pod("far", node="n2")
    found = await extender.preempt(asked.pod(), {"n1": Victims("n1", (low, other), 1), "n2": Victims("n2", (far,))})
    left = {node: (list(victims.uids), victims.violations) for node, victims in found.items()}
    assert left == {"n1": (["u-low", "u-other"], 1), "n2": (["u-far"], 0)}


async def test_a_binding_is_passed_on(asked: Asked) -> None:
    bound = []

    async def bind(binding: Binding) -> str:
        bound.append(binding)
        if binding.node == "n2":
            raise OSError("gone")
        return "" if binding.node == "n1" else "no such node"

    extender = await asked.start(bind=bind)
    await extender.bind(asked.pod(), "n1")
    with pytest.raises(ExtenderFailed, match="no such node"):
        await extender.bind(asked.pod(), "n9")
    with pytest.raises(ExtenderFailed, match="gone"):
        await extender.bind(asked.pod(), "n2")
    assert bound[0] == Binding("web", "default", "u-web", "n1")


async def test_without_a_cluster_nothing_is_bound(asked: Asked) -> None:
    extender = await asked.start()
    with pytest.raises(ExtenderFailed, match="this extender does not bind pods"):
        await extender.bind(asked.pod(), "n1")


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        pytest.param("filter", b"{", 400, "the message is not JSON", id="no JSON"),
        pytest.param("filter", b"{}", 400, "the message has no Pod", id="no pod"),
        pytest.param("filter", b'{"Pod": []}', 400, "the pod cannot be read", id="a pod that is none"),
        pytest.param(
            "filter",
            b'{"Pod": {"metadata": {}, "spec": {"containers": [{"resources": {"requests": {"cpu": "lots"}}}]}}}',
            400,
            "the pod cannot be read",
            id="a quantity that is none",
        ),
        pytest.param(
            "prioritize",
            b'{"Pod": {"metadata": {}}, "Nodes": {"items": [{}]}}',
            400,
            "a node has no name",
            id="nameless",
        ),
        pytest.param(
            "prioritize",
            b'{"Pod": {"metadata": {}}, "Nodes": {"items": [{"metadata": {"name": "n"}, "spec": 1}]}}',
            400,
            "a node cannot be read",
            id="a node that is none",
        ),
        pytest.param("bind", b"{}", 400, "a binding must name a pod", id="a binding of nobody"),
        pytest.param("filter", b" " * 2000, 413, "Maximum request body size", id="too much"),
        pytest.param("fitler", b"{}", 404, "", id="an unknown verb"),
    ],
)
async def test_questions_that_are_none(asked: Asked, path: str, body: bytes, status: int, text: str) -> None:
    await asked.start(largest_question=1000)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as session:
        response = await session.post(f"{asked.url}/{path}", data=body)
        assert response.status == status
        assert text in await response.text()


@pytest.mark.parametrize("verb", ["filter", "prioritize", "preempt", "bind"])
@pytest.mark.parametrize(
    ("given", "status"),
    [
        pytest.param("application/json", 400, id="JSON is read, and found to be no question"),
        pytest.param("application/json; charset=utf-8", 400, id="and may say its characters"),
        pytest.param("text/plain", 415, id="a web page of another origin can send text"),
        pytest.param("application/x-www-form-urlencoded", 415, id="or a form"),
        pytest.param("application/jsonp", 415, id="but not everything that begins alike"),
        pytest.param("", 415, id="nor nothing"),
    ],
)
async def test_questions_are_json_and_say_so(asked: Asked, verb: str, given: str, status: int) -> None:
    await asked.start()
    async with aiohttp.ClientSession() as session:
        response = await session.post(f"{asked.url}/{verb}", data=b"[]", headers={"Content-Type": given})
        assert response.status == status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        pytest.param("127.0.0.1:8888", 200, id="this machine by its address"),
        pytest.param("127.8.8.8", 200, id="by another of its own"),
        pytest.param("[::1]:8888", 200, id="by its address of version 6"),
        pytest.param("LocalHost:8888", 200, id="by name"),
        pytest.param("rebound.example:8888", 421, id="a name that leads here by somebody's DNS"),
        pytest.param("localhost.rebound.example", 421, id="a name that begins alike"),
        pytest.param("127.0.0.1.rebound.example", 421, id="or like an address"),
        pytest.param("localhost@rebound.example", 421, id="a name behind another"),
        pytest.param("[::1", 421, id="no name at all"),
    ],
)
async def test_only_who_means_this_machine_is_answered(asked: Asked, host: str, status: int) -> None:
    await asked.start()
    async with aiohttp.ClientSession() as session:
        response = await session.get(f"{asked.url}/healthz", headers={"Host": host})
        assert response.status == status


async def test_nobody_listens_for_others_without_knowing_them(asked: Asked) -> None:
    profiles = {DEFAULT_SCHEDULER: Profile(DEFAULT_SCHEDULER, plugin_set_of(), 0)}
    server = ExtenderServer(ExtenderService(engines(profiles, asked.cache), asked.cache, cache_is_live=False))
    with pytest.raises(Exposed, match="--client-ca-file"):
        await server.start("0.0.0.0", 0)  # noqa: S104 - it must not


async def test_keys_may_have_any_case_and_nulls_are_absent(asked: Asked) -> None:
    await asked.start(static(Alpha)(about={"n1": NO}))
    question = {
        "pod": {"metadata": {"name": "web", "labels": None}, "spec": {"containers": None}},
        "nodes": {"items": [{"metadata": {"name": "n1"}, "spec": {"taints": None}}]},
    }
    async with aiohttp.ClientSession() as session, session.post(f"{asked.url}/filter", json=question) as response:
        assert await response.json() == {
            "Nodes": {"metadata": {}, "items": []},
            "NodeNames": None,
            "FailedNodes": {"n1": "no"},
            "FailedAndUnresolvableNodes": {},
            "Error": "",
        }


async def test_nothing_is_answered_before_the_cluster_is_known(asked: Asked) -> None:
    ready = asyncio.Event()
    extender = await asked.start(is_ready=ready.is_set)
    with pytest.raises(ExtenderFailed, match="code 503"):
        await extender.filter(asked.pod(), [])
    async with aiohttp.ClientSession() as session:
        assert (await session.get(f"{asked.url}/healthz")).status == 503
        ready.set()
        assert (await session.get(f"{asked.url}/healthz")).status == web.HTTPOk.status_code


def test_only_plugins_that_look_at_the_node_alone_take_part_without_a_cluster() -> None:
    plugin_set = plugin_set_of(static(Alpha)(), scoped(CLUSTER, Likes)(), NodeAffinity(), NodeResourcesFit())
    kept, left_out = static_profiles({"p": Profile("p", plugin_set, 0)})
    assert list(kept["p"].plugin_set.plugins()) == ["NodeAffinity", "Alpha"]
    assert left_out == ["NodeResourcesFit", "Likes"]


async def test_who_asks_nothing_makes_room_for_who_does(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extender_server, "PATIENCE", Patience(connections_of_one_peer=2))
    await asked.start(NodeAffinity())
    host, port = asked.url.removeprefix("http://").split(":")
    silent = [await asyncio.open_connection(host, int(port)) for _ in range(3)]
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        assert await silent[0][0].read() == b""
        assert (await session.get(f"{asked.url}/healthz")).status == 200
    for _, writer in silent:
        writer.transport.abort()
