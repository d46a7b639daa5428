"""What can help a pod that NetworkOverhead rejected."""

from typing import Any

import pytest

from pilotage.framework.api.events import POD_PLACED, Action, Event, Resource
from pilotage.framework.api.objects import Kind
from pilotage.kinds.app_network import AppGroup, NetworkTopology
from pilotage.kinds.elastic_quota import ElasticQuota
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.network.network_overhead import NetworkOverhead
from pilotage.queue.active import by_priority
from pilotage.queue.scheduling_queue import SchedulingQueue
from pilotage.testing import FakeCluster, handle_of, make_pod
from pilotage.testing.network import make_app_group, make_member, make_network_topology, make_node_at

WEST, EAST = "us-west-1", "us-east-1"
HERE, THERE = make_node_at("n1", WEST, "Z1"), make_node_at("n5", EAST, "Z3")
TOPOLOGY = make_network_topology(regions={(WEST, EAST): 20})
CHEAP = make_network_topology(regions={(WEST, EAST): 1})
BASIC = make_app_group("basic", {"p1": ["p2"], "p2": ["p3"], "p3": []})
AMPLE = make_app_group("basic", {"p1": {"p2": 100}, "p2": {"p3": 100}, "p3": []})
ORDERED = make_app_group("basic", {"p1": ["p2"], "p2": ["p3"], "p3": []}, order={"p1": 1})
OTHER = make_app_group("other", {"p1": ["p2"]})
ELSEWHERE = make_app_group("basic", {"p1": ["p2"]}, namespace="elsewhere")


def member(workload: str, node: str | None = None, group: str = "basic", **fields: Any) -> Pod:
    return make_member(fields.pop("name", f"{workload}-of-{group}"), group, workload, node=node, **fields)


def knowing(*objects: Kind) -> tuple[NetworkOverhead, FakeCluster]:
    """Return the plugin on a cluster in which a p2 is in the east."""
    plugin, nodes = NetworkOverhead(), FakeCluster([HERE, THERE], [member("p2", "n5", name="placed")], objects)
    plugin.start(handle_of(nodes))
    nodes.cache.follow(plugin)
    return plugin, nodes


def hinted(method: str, old: Any, new: Any, *, pod: Pod | None = None, objects: tuple[Kind, ...] = (BASIC,)) -> bool:
    hint = getattr(knowing(*objects)[0], method)
    answer = hint(pod or member("p1"), Event(Resource.NODE, Action.ADD), old, new)
    assert isinstance(answer, bool)
    return answer


@pytest.mark.parametrize(
    ("old", "new", "there", "helps"),
    [
        pytest.param(None, BASIC, BASIC, True, id="it came"),
        pytest.param(BASIC, AMPLE, AMPLE, True, id="more is allowed"),
        pytest.param(BASIC, ORDERED, ORDERED, False, id="only its status is new"),
        pytest.param(None, OTHER, BASIC, False, id="another application came"),
        pytest.param(None, ELSEWHERE, BASIC, False, id="one of its name came where nobody looks"),
        pytest.param(BASIC, None, None, False, id="it went"),
        pytest.param(BASIC, None, AMPLE, True, id="it went, and another is found now"),
    ],
)
def test_a_changed_application(old: AppGroup | None, new: AppGroup | None, there: AppGroup | None, helps: bool) -> None:
    assert hinted("after_app_group", old, new, objects=() if there is None else (there,)) is helps


@pytest.mark.parametrize(
    ("pod", "old", "new", "there", "helps"),
    [
        pytest.param(member("p1"), None, TOPOLOGY, TOPOLOGY, True, id="it came"),
        pytest.param(member("p1"), TOPOLOGY, CHEAP, CHEAP, True, id="other costs"),
        pytest.param(member("p1"), TOPOLOGY, TOPOLOGY, TOPOLOGY, False, id="nothing that counts"),
        pytest.param(member("p1"), TOPOLOGY, None, None, False, id="it went"),
        pytest.param(member("p1"), None, make_network_topology("x"), TOPOLOGY, False, id="another topology"),
        pytest.param(make_pod(), None, TOPOLOGY, TOPOLOGY, False, id="a pod of no application"),
    ],
)
def test_changed_costs(
    pod: Pod, old: NetworkTopology | None, new: NetworkTopology | None, there: NetworkTopology | None, helps: bool
) -> None:
    objects = (BASIC,) if there is None else (BASIC, there)
    assert hinted("after_network_topology", old, new, pod=pod, objects=objects) is helps


@pytest.mark.parametrize(
    ("pod", "old", "new", "helps"),
    [
        pytest.param(member("p1"), None, make_node_at("n9"), True, id="a new node"),
        pytest.param(member("p3"), None, make_node_at("n9"), False, id="a new node, for a pod without dependencies"),
        pytest.param(member("p1"), HERE, make_node_at("n1", WEST, "Z2"), True, id="another zone"),
        pytest.param(member("p1"), HERE, make_node_at("n1", EAST, "Z1"), True, id="another region"),
        pytest.param(member("p1"), HERE, make_node_at("n1", WEST, "Z1", cpu=9), False, id="something else"),
        pytest.param(member("p1"), THERE, None, True, id="the node of a partner went"),
        pytest.param(member("p1"), HERE, None, False, id="a node without a partner went"),
    ],
)
def test_a_changed_node(pod: Pod, old: Node | None, new: Node | None, helps: bool) -> None:
    assert hinted("after_node", old, new, pod=pod) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, member("p2", "n1"), True, id="a partner came"),
        pytest.param(member("p2", "n1"), None, True, id="a partner went"),
        pytest.param(None, member("p3", "n1"), False, id="a part came that it does not talk to"),
        pytest.param(None, member("p2", "n1", group="other"), False, id="a part of another application came"),
        pytest.param(member("p3", "n1"), member("p2", "n1"), True, id="a pod became a partner"),
        pytest.param(member("p2", "n1"), member("p3", "n1"), True, id="a partner became something else"),
        pytest.param(member("p2", "n1"), member("p2", "n1", labels={"x": "y"}), False, id="a partner as before"),
        pytest.param(None, make_pod(node="n1"), False, id="a pod of no application came"),
    ],
)
def test_a_changed_pod(old: Pod | None, new: Pod | None, helps: bool) -> None:
    assert hinted("after_pod", old, new) is helps


def test_without_the_application_no_node_and_no_pod_helps() -> None:
    assert not hinted("after_pod", None, member("p2", "n1"), objects=())
    assert not hinted("after_node", None, make_node_at("n9"), objects=())


@pytest.mark.parametrize(
    ("new", "helps"),
    [
        (member("p2"), True),
        (member("p1", group="other"), True),
        (make_pod(), True),
        (member("p1", labels={"x": "y"}), False),
    ],
    ids=["another part", "another application", "of no application any more", "another label"],
)
def test_its_own_labels(new: Pod, helps: bool) -> None:
    assert hinted("after_own_labels", member("p1"), new) is helps


@pytest.mark.parametrize(
    ("resource", "action", "waited_for"),
    [
        (AppGroup, Action.ADD, True),
        (AppGroup, Action.UPDATE, True),
        (NetworkTopology, Action.ADD, True),
        (NetworkTopology, Action.UPDATE, True),
        (Resource.NODE, Action.ADD, True),
        (Resource.NODE, Action.UPDATE_NODE_LABEL, True),
        (Resource.NODE, Action.UPDATE_NODE_TAINT, False),
        (Resource.NODE, Action.UPDATE_NODE_ALLOCATABLE, False),
        (Resource.ASSIGNED_POD, Action.ADD, True),
        (Resource.ASSIGNED_POD, Action.DELETE, True),
        (Resource.ASSIGNED_POD, Action.UPDATE_POD_LABEL, True),
        (Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN, False),
        (Resource.TARGET_POD, Action.UPDATE_POD_LABEL, True),
        (Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION, False),
        (Resource.UNSCHEDULED_POD, Action.ADD, False),
        (ElasticQuota, Action.ADD, False),
    ],
)
def test_what_is_waited_for(resource: Resource, action: Action, waited_for: bool) -> None:
    assert any(retry.matches(Event(resource, action)) for retry in NetworkOverhead.retry_on) is waited_for


def test_a_pod_waits_for_its_application_and_for_nothing_else() -> None:
    plugin, nodes = knowing(TOPOLOGY)
    retries = {"default-scheduler": [(plugin, retry) for retry in plugin.retry_on]}
    clock = iter(range(10_000)).__next__
    queue = SchedulingQueue(by_priority, lambda _: (), retries, lambda: float(clock()))
    queue.add(member("p1"))
    taken = queue.pop()
    assert taken is not None
    queue.add_unschedulable(taken, {plugin.name})

    for event, new in (
        (POD_PLACED, member("p2", "n1", name="partner")),
        (Event(Resource.NODE, Action.ADD), make_node_at("n9", WEST, "Z1")),
        (Event(NetworkTopology, Action.UPDATE), make_network_topology("other")),
        (Event(AppGroup, Action.ADD), OTHER),
    ):
        queue.move_all(event, None, new)
        assert queue.pending().unschedulable == 1
    nodes.cache.objects.put(BASIC)
    queue.move_all(Event(AppGroup, Action.ADD), None, BASIC)
    assert queue.pending().unschedulable == 0
