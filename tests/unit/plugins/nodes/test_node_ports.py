from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import SKIP, Rejection
from pilotage.model.pod import ANY_ADDRESS, Pod
from pilotage.plugins.nodes.node_ports import NodePorts
from pilotage.testing import FakeCluster, Manifest, filter_all, make_node, make_pod

TAKEN = Rejection("node(s) didn't have free ports for the requested pod ports")
POD_DELETED = Event(Resource.ASSIGNED_POD, Action.DELETE)


def port(text: str) -> Manifest:
    """Read a host port like "UDP 10.0.0.1:80"; address and protocol may be left out."""
    *protocol, address = text.split()
    ip, _, number = address.rpartition(":")
    given = {"hostPort": int(number), "hostIP": ip, "protocol": "".join(protocol)}
    return {key: value for key, value in given.items() if value}


def using(*ports: str, **fields: Any) -> Pod:
    return make_pod(host_ports=[port(text) for text in ports], **fields)


CONFLICTS = [
    pytest.param("TCP 10.0.0.1:80", ":80", True, id="every address wants one that is taken on one"),
    pytest.param("TCP 10.0.0.1:80", "10.0.0.2:80", False, id="another address"),
    pytest.param("TCP 10.0.0.1:80", "UDP :80", False, id="another protocol"),
    pytest.param("TCP 10.0.0.1:80", ":::80", False, id="only 0.0.0.0 stands for all addresses"),
    pytest.param("TCP 0.0.0.0:8001", "TCP 127.0.0.1:8001", True, id="one address while all are taken"),
    pytest.param("TCP 0.0.0.0:8001", "UDP 127.0.0.1:8001", False, id="with another protocol"),
    pytest.param(":80", "TCP 0.0.0.0:80", True, id="what is left out is TCP on all addresses"),
    pytest.param(":80", ":81", False, id="another port"),
    pytest.param("10.0.0.1:80", "10.0.0.1:80", True, id="the very same"),
]


@pytest.mark.parametrize(("used", "wanted", "conflict"), CONFLICTS)
def test_filter(used: str, wanted: str, conflict: bool) -> None:
    cluster = FakeCluster(nodes=[make_node("n"), make_node("empty")], pods=[using(used, node="n")])
    expected = {"n": TAKEN if conflict else None, "empty": None}
    assert filter_all(NodePorts(), cluster, using(wanted)) == expected


class NotGoneThrough(dict[Any, Any]):
    """What a pod with thousands of ports uses: it can be asked, and nobody has the time to go through it."""

    def __iter__(self) -> Any:
        raise AssertionError("somebody goes through all ports of a node")


@pytest.mark.parametrize(
    "wanted", [pytest.param(":5", id="everywhere"), pytest.param("10.0.0.1:5", id="on one address")]
)
def test_a_node_with_thousands_of_ports_is_not_gone_through(wanted: str) -> None:
    cluster = FakeCluster(nodes=[make_node("n")], pods=[make_pod(host_ports=range(10, 3000), node="n")])
    node = cluster.nodes[0]
    node.used_ports = NotGoneThrough(node.used_ports)
    assert filter_all(NodePorts(), cluster, using(wanted)) == {"n": None}
    assert filter_all(NodePorts(), cluster, using(wanted.replace(":5", ":50"))) == {"n": TAKEN}


def test_one_of_several_ports_is_enough() -> None:
    cluster = FakeCluster(nodes=[make_node("n")], pods=[using(":80", "UDP :53", node="n")])
    assert filter_all(NodePorts(), cluster, using(":8080", "UDP :53")) == {"n": TAKEN}


def with_init_port(**fields: Any) -> Pod:
    init = {"name": "init", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}], **fields}
    return make_pod(spec={"initContainers": [init]})


def test_ports_of_init_containers_count_only_if_they_keep_running() -> None:
    cluster = FakeCluster(nodes=[make_node("n")], pods=[using(":80", node="n")])
    assert filter_all(NodePorts(), cluster, with_init_port()) is SKIP
    assert filter_all(NodePorts(), cluster, with_init_port(restartPolicy="Always")) == {"n": TAKEN}


def test_a_pod_does_not_conflict_with_itself() -> None:
    cluster = FakeCluster(nodes=[make_node("n")])
    assert filter_all(NodePorts(), cluster, using(":80", "10.0.0.1:80", ":80")) == {"n": None}


def test_pods_without_host_ports_are_not_looked_at() -> None:
    pod = make_pod(spec={"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]})
    assert filter_all(NodePorts(), FakeCluster(nodes=[make_node("n")]), pod) is SKIP


def test_a_pod_that_goes_frees_its_ports() -> None:
    placed = using(":80", node="n")
    cluster = FakeCluster(nodes=[make_node("n")], pods=[placed])
    cluster.remove_pod(placed)
    assert filter_all(NodePorts(), cluster, using(":80")) == {"n": None}


@pytest.mark.parametrize(("used", "wanted", "conflict"), CONFLICTS)
def test_a_deleted_pod_helps_if_it_was_in_the_way(used: str, wanted: str, conflict: bool) -> None:
    assert NodePorts().freed_a_port(using(wanted), POD_DELETED, using(used, node="n"), None) is conflict


@pytest.mark.parametrize(
    ("deleted", "helps"),
    [
        pytest.param(using(":80"), False, id="it was nowhere"),
        pytest.param(using(":80", status={"nominatedNodeName": "n"}), True, id="it was nominated a node"),
        pytest.param(make_pod(node="n"), False, id="it had no host ports"),
    ],
)
def test_a_deleted_pod_helps(deleted: Pod, helps: bool) -> None:
    assert NodePorts().freed_a_port(using(":80"), POD_DELETED, deleted, None) is helps


PORTS = st.builds(
    lambda protocol, ip, number: f"{protocol} {ip}:{number}",
    st.sampled_from(["", "TCP", "UDP"]),
    st.sampled_from(["", ANY_ADDRESS, "10.0.0.1", "10.0.0.2"]),
    st.integers(80, 82),
)


@given(st.lists(st.lists(PORTS, max_size=3), min_size=1, max_size=5), st.lists(PORTS, min_size=1, max_size=3))
def test_both_forms_agree(used: list[list[str]], wanted: list[str]) -> None:
    cluster = FakeCluster(
        nodes=[make_node(f"n{i}") for i in range(len(used))],
        pods=[using(*ports, name=f"p{i}", node=f"n{i}") for i, ports in enumerate(used)],
    )
    filter_all(NodePorts(), cluster, using(*wanted))
