import pytest

from auditor.ledger import Ledger
from auditor.node import node_of
from auditor.pod import pod_of
from auditor.serves import Serves
from auditor.testing import Raw, Step, gone, listed, missed, node, passes, pod, seen, told

DONE: Raw = {"phase": "Succeeded"}
PORT: Raw = {"containers": [{"name": "main", "ports": [{"hostPort": 80}]}]}


def asking(name: str, **requests: str) -> Raw:
    named = {key.replace("__", "/").replace("_", "-"): value for key, value in requests.items()}
    return pod(name, "n1", containers=[{"name": "main", "resources": {"requests": named}}])


@pytest.mark.parametrize(
    ("history", "messages"),
    [
        pytest.param([seen(pod("a", "n1")), seen(pod("b", "n1"))], [], id="two that fit exactly"),
        pytest.param(
            [seen(pod("a", "n1")), seen(pod("b", "n1", cpu="1001m"))], ["cpu: 2001m of 2000m"], id="a little too much"
        ),
        pytest.param([seen(pod("a", "n1", cpu="3500m"))], ["cpu: 3500m of 2000m"], id="one that is too large alone"),
        pytest.param(
            [seen(pod("a", "n1", cpu="3")), seen(pod("b", "n1", cpu="0"))],
            ["cpu: 3000m of 2000m"],
            id="one that asks nothing is not to blame",
        ),
        pytest.param(
            [seen(pod("a", "n1", cpu="2")), seen(pod("a", "n1", cpu="2", status=DONE)), seen(pod("b", "n1", cpu="2"))],
            [],
            id="one that has finished makes room",
        ),
        pytest.param(
            [seen(pod("a", "n1", cpu="2")), gone("a"), seen(pod("b", "n1", cpu="2"))],
            [],
            id="one that is gone makes room",
        ),
        pytest.param(
            [seen(pod("a", "n1", cpu="2", meta={"deletionTimestamp": "x"})), seen(pod("b", "n1"))],
            ["cpu: 3000m of 2000m"],
            id="one that is being deleted still holds its room",
        ),
        pytest.param([seen(pod("a", "n1", cpu="9", status=DONE))], [], id="one that has finished holds nothing"),
        pytest.param([seen(asking("a", memory="9Gi"))], ["memory: 9Gi of 8Gi"], id="memory"),
        pytest.param(
            [seen(asking("a", ephemeral_storage="11Gi"))], ["ephemeral-storage: 11Gi of 10Gi"], id="ephemeral storage"
        ),
        pytest.param(
            [seen(asking("a", example_com__gpu="1"))], ["example-com/gpu: 1 of 0"], id="a resource not offered"
        ),
        pytest.param([seen(asking("a", hugepages_2Mi="4Mi"))], ["hugepages-2Mi: 4Mi of 2Mi"], id="hugepages"),
        pytest.param(
            [seen(pod(name, "n1", cpu="0")) for name in "abcd"], ["pods: 4 of 3"], id="more pods than the node takes"
        ),
        pytest.param(
            [seen(asking("a", cpu="3", memory="9Gi"))], ["cpu: 3000m of 2000m, memory: 9Gi of 8Gi"], id="two at once"
        ),
        pytest.param(
            [seen(pod("a", "n1", **PORT)), seen(pod("b", "n1", **PORT))],
            ["host port TCP 0.0.0.0:80 is used twice"],
            id="a host port twice",
        ),
        pytest.param([seen(pod("a", "n1", **PORT)), seen(pod("b", "n2", **PORT))], [], id="a host port on two nodes"),
        pytest.param(
            [seen(pod("a", "n1", **PORT)), gone("a"), seen(pod("b", "n1", **PORT))], [], id="a host port that was left"
        ),
        pytest.param(
            [seen(pod("a", "n1")), seen(pod("a", "n1", cpu="9"))], [], id="a pod that grows in place does not arrive"
        ),
        pytest.param(
            [seen(pod("a", "n1")), seen(pod("a", "n1", cpu="2")), seen(pod("b", "n1"))],
            ["cpu: 3000m of 2000m"],
            id="a pod that has grown counts with its new size",
        ),
        pytest.param([seen(pod("a", "n9"))], ["there is no node n9"], id="a node nobody saw"),
        pytest.param([seen(pod("a", "n9", status=DONE))], [], id="a finished pod on a node nobody saw"),
        pytest.param(
            [missed(pod("a", "n1", cpu="2")), missed(pod("b", "n1")), listed()],
            ["cpu: 3000m of 2000m"] * 2,
            id="arrivals out of sight are judged together",
        ),
        pytest.param(
            [
                seen(pod("a", "n1", cpu="2")),
                missed(pod("b", "n1", cpu="2")),
                missed(pod("a", "n1", status=DONE)),
                listed(),
            ],
            [],
            id="an end out of sight makes room before an arrival out of sight is judged",
        ),
    ],
)
def test_room(history: list[Step], messages: list[str]) -> None:
    nodes = [seen(node("n1", pods="3", offers={"hugepages-2Mi": "2Mi"})), seen(node("n2"))]
    world = told(nodes + history)
    assert [found.message for found in world.found] == messages


@pytest.mark.parametrize(
    ("history", "rules"),
    [
        pytest.param([seen(pod("a", "n1")), seen(node())], [], id="the node becomes known after the pod"),
        pytest.param([seen(pod("a", "n1", cpu="3")), seen(node())], ["overcommit"], id="and turns out to be small"),
        pytest.param([seen(pod("a", "n1")), passes(20)], ["unknown-node"], id="the node never becomes known"),
        pytest.param(
            [seen(node(cpu="1")), seen(pod("a", "n1", cpu="2")), seen(node(cpu="2"))], [], id="a node that just grew"
        ),
        pytest.param(
            [seen(node(cpu="2")), seen(node(cpu="1")), passes(3), seen(pod("a", "n1", cpu="2"))],
            [],
            id="a node that just shrank",
        ),
        pytest.param(
            [seen(node(cpu="2")), seen(node(cpu="1")), passes(6), seen(pod("a", "n1", cpu="2"))],
            ["overcommit"],
            id="a node that shrank long ago",
        ),
        pytest.param(
            [seen(node(cpu="1")), seen(pod("a", "n1", cpu="2")), passes(20), seen(node(cpu="2"))],
            ["overcommit"],
            id="a node that grew too late",
        ),
        pytest.param(
            [seen(node(cpu="1")), missed(node(cpu="2")), seen(pod("a", "n1", cpu="2")), passes(20)],
            [],
            id="a node whose growth a stalled watch kept back",
        ),
        pytest.param(
            [seen(node(cpu="2")), seen(pod("a", "n1", cpu="2")), passes(9), seen(node(cpu="1")), passes(20)],
            [],
            id="a node that shrinks under its pods",
        ),
        pytest.param(
            [seen(node()), gone("n1", "Node"), passes(2), seen(pod("a", "n1"))], [], id="a node that just went"
        ),
        pytest.param(
            [seen(node()), gone("n1", "Node"), passes(9), seen(pod("a", "n1"))], ["unknown-node"], id="a node long gone"
        ),
        pytest.param(
            [seen(node()), seen(pod("a", "n1", cpu="3")), gone("a"), passes(20)],
            ["overcommit"],
            id="what was too much on arrival stays so when the pod has gone",
        ),
    ],
)
def test_nodes_come_by_another_stream(history: list[Step], rules: list[str]) -> None:
    assert told(history).rules == rules


def test_what_was_there_before_is_counted_but_not_judged() -> None:
    found: list[str] = []
    ledger = Ledger(Serves(), 60, 5, lambda violation: found.append(violation.message), pytest.fail)
    ledger.nodes_listed([node_of(node(), pytest.fail)], 0, 0)
    ledger.pods_listed([pod_of(pod("old", "n1", cpu="3"), pytest.fail)], 0, 0, 0)
    ledger.close(0)
    assert found == []
    ledger.pod_changed(pod_of(pod("new", "n1"), pytest.fail), 1)
    ledger.close(1)
    assert found == ["cpu: 4000m of 2000m"]
