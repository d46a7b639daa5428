"""The API server as plugins have it."""

import asyncio
from typing import Any

import pytest

from pilotage.cluster.transport.api_errors import OutcomeUnknown, Unreachable
from pilotage.framework.api.handle import ApiFailed, NotAllowed
from pilotage.framework.api.verdicts import PluginFailed
from pilotage.model.pod import Pod
from pilotage.scheduling.plugin_api import MOST_WRITES, PluginApi
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime

PATH = "/apis/example.com/v1/racks/r1"
POD = make_pod("web", namespace="shop")


async def unbound(pod: Pod, node: str) -> None:
    raise AssertionError("nothing is bound")


def allowed(pod: Pod | None, node: str) -> bool:
    return True


async def test_answers_are_plain_data(fake_api: Any) -> None:
    server = fake_api({"spec": {"watts": 400}}, {"metadata": {"name": "r1"}}, {"metadata": {"name": "new"}})
    api = PluginApi(server, allowed, unbound)
    assert await api.get(PATH) == {"spec": {"watts": 400}}
    assert await api.patch(PATH, {"spec": {"watts": 300}}) == {"metadata": {"name": "r1"}}
    assert await api.post("/apis/example.com/v1/racks", {"kind": "Rack"}) == {"metadata": {"name": "new"}}
    assert [(call.verb, call.body) for call in server.calls] == [
        ("GET", None),
        ("PATCH", {"spec": {"watts": 300}}),
        ("POST", {"kind": "Rack"}),
    ]


async def test_objects_are_replaced_and_deleted_and_read_as_they_are_stored(fake_api: Any, refusal: Any) -> None:
    server = fake_api({"metadata": {"name": "r1"}}, {"metadata": {}}, refusal(503), {"kind": "Status"}, b"k8s")
    api = PluginApi(server, allowed, unbound)
    assert await api.put(PATH, {"spec": {"watts": 300}}, pod=POD) == {"metadata": {"name": "r1"}}
    assert await api.put(PATH, b'{"raw": 1}', content_type="application/x") == {"metadata": {}}
    assert await api.delete(PATH, {"preconditions": {"uid": "u"}}, pod=POD) == {"kind": "Status"}
    assert await api.get_bytes(PATH, "application/x") == b"k8s"
    assert server.verbs == ["PUT", "PUT", "DELETE", "DELETE", "GET"]
    assert [call.body for call in server.calls[:2]] == [{"spec": {"watts": 300}}, {"raw": 1}]


async def test_what_the_server_refuses_is_why_the_plugin_failed(fake_api: Any, refusal: Any) -> None:
    api = PluginApi(fake_api(refusal(403, "racks is forbidden")), allowed, unbound)
    with pytest.raises(PluginFailed, match=r"^racks is forbidden$") as caught:
        await api.patch(PATH, {})
    assert isinstance(caught.value, ApiFailed)
    assert caught.value.status == 403


async def test_a_change_is_tried_again_where_that_may_help(fake_api: Any, refusal: Any) -> None:
    server = fake_api(refusal(503), Unreachable("no route"), {"metadata": {}})
    assert await PluginApi(server, allowed, unbound).patch(PATH, {}) == {"metadata": {}}
    assert server.verbs == ["PATCH"] * 3


async def test_what_is_created_is_sent_once(fake_api: Any) -> None:
    server = fake_api(OutcomeUnknown("no answer"))
    with pytest.raises(ApiFailed, match="no answer") as caught:
        await PluginApi(server, allowed, unbound).post(PATH, {})
    assert caught.value.status == 0
    assert server.verbs == ["POST"]


@pytest.mark.parametrize("verb", ["post", "patch", "put", "delete"])
async def test_a_write_that_is_not_wanted_any_more_is_not_sent(fake_api: Any, verb: str) -> None:
    server, asked = fake_api(), []

    def may_write(pod: Pod | None, node: str) -> bool:
        asked.append((pod, node))
        return False

    with pytest.raises(NotAllowed, match="not the leader"):
        await getattr(PluginApi(server, may_write, unbound), verb)(PATH, {}, pod=POD, node="n1")
    assert asked == [(POD, "n1")]
    assert server.calls == []


async def test_namespaces_take_turns(fake_api: Any) -> None:
    server, ended = fake_api(seconds_until_sent=1.0), []

    async def write(api: PluginApi, namespace: str) -> None:
        await api.patch(PATH, {}, pod=make_pod(namespace=namespace))
        ended.append(namespace)

    api = PluginApi(server, allowed, unbound)
    greedy = [asyncio.ensure_future(write(api, "greedy")) for _ in range(5 * MOST_WRITES)]
    await asyncio.sleep(0)
    await write(api, "small")
    assert len(ended) <= 2 * MOST_WRITES
    await asyncio.gather(*greedy)


async def test_a_pod_is_bound_as_by_the_default_binder(fake_api: Any) -> None:
    bound = []

    async def bind(pod: Pod, node: str) -> None:
        bound.append((pod.key, node))

    await PluginApi(fake_api(), allowed, bind).bind(POD, "n1")
    assert bound == [("shop/web", "n1")]
