import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.verdicts import SKIP, OnlyNodes, Rejection
from pilotage.plugins.nodes.node_name import NodeName
from pilotage.testing import FakeCluster, filter_all, make_node, make_pod

OTHER = Rejection("node(s) didn't match the requested node name", preemption_helps=False)


def cluster(count: int = 2) -> FakeCluster:
    return FakeCluster(nodes=[make_node(name) for name in "abcdef"[:count]])


def test_a_pod_that_names_a_node_leaves_only_that_one() -> None:
    pod = make_pod(node="a")
    assert NodeName().pre_filter(cluster().cycle(pod), pod) == OnlyNodes(frozenset({"a"}))


@pytest.mark.parametrize(
    ("node", "verdicts"),
    [
        pytest.param("a", {"a": None, "b": OTHER}, id="only the named node fits"),
        pytest.param("gone", {"a": OTHER, "b": OTHER}, id="no node fits if the named one is gone"),
        pytest.param(None, SKIP, id="a pod that names none is not looked at"),
    ],
)
def test_filter(node: str | None, verdicts: object) -> None:
    assert filter_all(NodeName(), cluster(), make_pod(node=node)) == verdicts


def test_all_nodes_fit_even_if_the_plugin_is_asked_about_a_pod_that_names_none() -> None:
    some, pod = cluster(), make_pod()
    verdicts = NodeName().filter_nodes(some.cycle(pod), pod, some.nodes)
    assert [verdicts[place] for place in range(2)] == [None, None]
    assert [NodeName().filter(some.cycle(pod), pod, node) for node in some.nodes] == [None, None]


@given(st.integers(1, 6), st.sampled_from("abcdefg"))
def test_both_forms_agree(count: int, node: str) -> None:
    filter_all(NodeName(), cluster(count), make_pod(node=node))
