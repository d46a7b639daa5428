"""A node that others have used since it was chosen: looked at again before the bind, and as it is sent."""

import asyncio
from typing import Any

import pytest

from kit.live_core import LiveCore, One
from pilotage.model.kubelet_rejection import KubeletRejection
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.testing import make_pod

pytestmark = pytest.mark.looptime


def with_port(name: str, port: int, address: str = "", **fields: Any) -> Pod:
    ports = [{"containerPort": 1, "hostPort": port, "hostIP": address}]
    return make_pod(name, uid=name, spec={"containers": [{"name": "c", "ports": ports}]}, **fields)


def foreign(name: str, **fields: Any) -> Pod:
    return make_pod(name, uid=name, node="n1", scheduler="another", **fields)


async def held_up(pod: Pod, *plugins: Any, **node: Any) -> tuple[LiveCore, "asyncio.Future[None]"]:
    """Choose a node for a pod, whose bind then has to wait for something."""
    ready = asyncio.get_running_loop().create_future()
    live = LiveCore(One(answers={"pre_bind": ready}), *plugins)
    live.add_node("n1", **node)
    live.create(pod)
    await live.settle()
    assert live.place(pod) == "binding"
    return live, ready


NEEDS = {"cpu": "600m"}


@pytest.mark.parametrize(
    ("pod", "others", "node", "result", "why"),
    [
        pytest.param(NEEDS, [], {}, "unchanged", "", id="nobody came"),
        pytest.param(NEEDS, [{"cpu": "400m"}], {}, "fits", "", id="somebody came, and both fit"),
        pytest.param(NEEDS, [{"cpu": "500m"}], {}, "full", "Insufficient cpu", id="too little cpu is left"),
        pytest.param({}, [{}], {"allocatable": {"pods": "1"}}, "full", "Too many pods", id="too many pods"),
        pytest.param({"memory": "600Mi"}, [{"cpu": "2"}], {}, "fits", "", id="too little of what it does not ask for"),
    ],
)
async def test_what_others_have_taken(
    pod: dict[str, Any], others: list[dict[str, Any]], node: dict[str, Any], result: str, why: str
) -> None:
    mine = make_pod("a", uid="a", **pod)
    live, ready = await held_up(mine, **node)
    for place, fields in enumerate(others):
        live.create(foreign(f"x{place}", **fields))
    ready.set_result(None)
    await live.settle()
    assert live.core.bindings.bind_check.results == {result: 1}
    assert live.api.binds == ([] if why else [("a", "n1")])
    assert live.place(mine) == ("backoff" if why else "nowhere")
    if why:
        assert live.api.events[-1][-1] == f'node "n1" has changed: {why}'


@pytest.mark.parametrize(
    ("other", "is_taken"),
    [
        pytest.param(("80", ""), True, id="the same port"),
        pytest.param(("80", "10.0.0.1"), True, id="the same port at one address"),
        pytest.param(("81", ""), False, id="another port"),
    ],
)
async def test_a_port_that_others_have_taken(other: tuple[str, str], is_taken: bool) -> None:
    live, ready = await held_up(with_port("a", 80), NodePorts())
    live.create(with_port("x", int(other[0]), other[1], node="n1", scheduler="another"))
    ready.set_result(None)
    await live.settle()
    assert live.api.binds == ([] if is_taken else [("a", "n1")])


async def test_ports_at_different_addresses_are_no_objection() -> None:
    live, ready = await held_up(with_port("a", 80, "10.0.0.1"), NodePorts())
    live.create(with_port("x", 80, "10.0.0.2", node="n1", scheduler="another"))
    ready.set_result(None)
    await live.settle()
    assert live.api.binds == [("a", "n1")]


async def test_what_the_profile_ignores_is_no_objection() -> None:
    gpu = {"example.com/gpu": "1"}
    live, ready = await held_up(make_pod("a", uid="a", requests=gpu), allocatable=gpu)
    for plugin in live.core.engines["default-scheduler"].runner.plugin_set.filter:
        if isinstance(plugin, NodeResourcesFit):
            plugin.__dict__["ignored_resources"] = ("example.com/gpu",)
            plugin.__dict__.pop("_wanted_question", None)
    live.create(foreign("x", requests=gpu))
    ready.set_result(None)
    await live.settle()
    assert live.api.binds == [("a", "n1")]


async def test_only_one_of_two_has_to_go() -> None:
    ready = asyncio.get_running_loop().create_future()
    live = LiveCore(One(answers={"pre_bind": lambda: asyncio.shield(ready)}))
    live.add_node("n1", cpu="1")
    live.create(*(make_pod(name, uid=name, cpu="400m") for name in "ab"))
    await live.settle()
    live.create(foreign("x", cpu="500m"))
    ready.set_result(None)
    await live.settle()
    assert len(live.api.binds) == 1
    assert live.core.bindings.bind_check.results == {"full": 1, "fits": 1}


async def test_a_node_that_has_rejected_pods_since() -> None:
    live, ready = await held_up(make_pod("a", uid="a", cpu="100m"))
    live.core.guard.rejected(make_pod("b", uid="b", node="n1"), KubeletRejection("OutOfcpu", "cpu"))
    ready.set_result(None)
    await live.settle()
    assert live.api.binds == []
    assert live.core.bindings.bind_check.results == {"held": 1}
    assert live.api.events[-1][-1] == 'node "n1" has rejected pods since it was chosen'
    await asyncio.sleep(4)
    await live.settle()
    assert live.api.binds == [("a", "n1")]


async def test_a_profile_without_the_guard_looks_as_kube_scheduler_does() -> None:
    live, ready = await held_up(make_pod("a", uid="a", cpu="600m"))
    live.core.engines["default-scheduler"].guard = False
    live.create(foreign("x", cpu="500m"))
    ready.set_result(None)
    await live.settle()
    assert live.api.binds == [("a", "n1")]
    assert live.core.bindings.bind_check.results == {}


async def test_a_request_that_waits_for_a_connection_is_looked_at_as_it_is_sent() -> None:
    pod = make_pod("a", uid="a", cpu="600m")
    live, ready = await held_up(pod)
    look = live.core.bindings.bind_check
    assert look.still_fits(pod, "n1")
    live.create(foreign("x", cpu="500m"))
    assert not look.still_fits(pod, "n1")
    assert look.still_fits(make_pod("b", uid="b"), "n1")  # nobody that is under way
    ready.set_result(None)
    await live.settle()
    assert look.still_fits(pod, "n1")  # nothing is kept of it
