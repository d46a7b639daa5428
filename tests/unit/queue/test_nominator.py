from typing import Any

import pytest

from pilotage.model.pod import Pod
from pilotage.queue.nominator import Nominator
from pilotage.testing import make_pod


def nominated(name: str = "a", node: str = "", **fields: Any) -> Pod:
    return make_pod(name, status={"nominatedNodeName": node}, **({"uid": name} | fields))


def everybody(nominator: Nominator, node: str) -> list[str]:
    return [pod.name for pod in nominator.pods_for_node(node)]


@pytest.fixture
def nominator() -> Nominator:
    return Nominator(lambda key: None)


@pytest.mark.parametrize(
    ("status", "given", "expected"),
    [
        pytest.param("n1", None, "n1", id="without a word: the one in the status"),
        pytest.param("", None, None, id="none in the status either"),
        pytest.param("n1", "n2", "n2", id="the one named goes before the status"),
        pytest.param("n1", "", None, id="none is named: the nomination ends"),
        pytest.param("", "n2", "n2", id="the status has not heard of it yet"),
    ],
)
def test_adding(nominator: Nominator, status: str, given: str | None, expected: str | None) -> None:
    pod = nominated(node=status)
    nominator.add(pod, "n0")
    nominator.add(pod, given)
    assert nominator.node_of(pod) == expected
    assert list(nominator.nodes) == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("old", "node", "new", "expected"),
    [
        pytest.param("", "n1", "", "n1", id="neither status has heard of the nomination: it stays"),
        pytest.param("", "n1", "n2", "n2", id="a new status wins"),
        pytest.param("n1", "n1", "", None, id="a status that was cleared wins"),
        pytest.param("n1", "n3", "n2", "n2", id="a status that changed wins"),
        pytest.param("", "", "n2", "n2", id="somebody else node a node"),
        pytest.param("", "", "", None, id="no nomination at all"),
    ],
)
def test_updates(nominator: Nominator, old: str, node: str, new: str, expected: str | None) -> None:
    before, after = nominated(node=old), nominated(node=new)
    nominator.add(before, node)
    nominator.update(before, after)
    assert nominator.node_of(after) == expected


def test_pods_come_in_the_order_of_their_nominations(nominator: Nominator) -> None:
    for name in "abc":
        nominator.add(nominated(name), "n1")
    nominator.add(nominated("a"), "n1")
    assert everybody(nominator, "n1") == ["b", "c", "a"]
    nominator.delete(nominated("b"))
    nominator.delete(nominated("b"))
    assert everybody(nominator, "n1") == ["c", "a"]
    assert everybody(nominator, "n2") == []


def test_pods_in_the_queue_come_as_they_are_now() -> None:
    queued = {"default/a": nominated("a", priority=7)}
    nominator = Nominator(queued.get)
    nominator.add(nominated("a"), "n1")
    assert nominator.pods_for_node("n1") == [queued["default/a"]]


@pytest.mark.parametrize("queued", [None, nominated("a", uid="successor")], ids=["in flight", "a successor waits"])
def test_trap_27_pods_elsewhere_have_no_priority_and_no_needs(queued: Pod | None) -> None:
    nominator = Nominator(lambda key: queued)
    nominator.add(nominated("a", namespace="team", priority=7, cpu="1"), "n1")
    [stub] = nominator.pods_for_node("n1")
    assert (stub.key, stub.uid, stub.priority, stub.requests) == ("team/a", "a", 0, {})
    assert nominator.pods_for_node("n1")[0] is stub


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param(nominated("a"), ["a"], id="a pod that waits"),
        pytest.param(None, [], id="a pod that was deleted"),
        pytest.param(nominated("a").on("n9"), [], id="a pod that was bound"),
    ],
)
def test_nothing_is_nominated_to_pods_that_need_it_no_more(known: Pod | None, expected: list[str]) -> None:
    nominator = Nominator(lambda key: None, lambda key: known)
    nominator.add(nominated("a"), "n1")
    assert everybody(nominator, "n1") == expected
