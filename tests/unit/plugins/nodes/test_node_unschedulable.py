import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import Rejection
from pilotage.plugins.nodes.node_unschedulable import NodeUnschedulable
from pilotage.testing import FakeCluster, Manifest, filter_all, make_node, make_pod

KEY = "node.kubernetes.io/unschedulable"
CORDONED = Rejection("node(s) were unschedulable", preemption_helps=False)
NODE_CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_TAINT)
POD_CHANGED = Event(Resource.TARGET_POD, Action.UPDATE_POD_TOLERATION)

TOLERATED = [
    pytest.param([], False, id="without a toleration"),
    pytest.param([{"operator": "Exists"}], True, id="everything is tolerated"),
    pytest.param([{"key": KEY, "operator": "Equal", "value": "", "effect": "NoSchedule"}], True, id="exactly this"),
    pytest.param([{"key": KEY, "operator": "Equal", "value": "true"}], False, id="another value"),
    pytest.param([{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], False, id="another effect"),
    pytest.param([{"key": "", "operator": "Equal", "value": ""}], True, id="no key and an equal value"),
    pytest.param([{"key": KEY, "operator": "Exists"}], True, id="every effect of the key"),
]


@pytest.mark.parametrize(("tolerations", "fits"), TOLERATED)
def test_filter(tolerations: list[Manifest], fits: bool) -> None:
    cluster = FakeCluster(nodes=[make_node("open"), make_node("closed", unschedulable=True)])
    verdicts = filter_all(NodeUnschedulable(), cluster, make_pod(tolerations=tolerations))
    assert verdicts == {"open": None, "closed": None if fits else CORDONED}


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, False, True, id="a new open node"),
        pytest.param(None, True, False, id="a new cordoned node"),
        pytest.param(True, False, True, id="a node was uncordoned"),
        pytest.param(False, False, False, id="an open node stays open"),
        pytest.param(False, True, False, id="a node was cordoned"),
        pytest.param(True, True, False, id="a cordoned node stays cordoned"),
    ],
)
def test_a_changed_node_helps(before: bool | None, after: bool, helps: bool) -> None:
    old = None if before is None else make_node(unschedulable=before)
    new = make_node(unschedulable=after)
    assert NodeUnschedulable().became_schedulable(make_pod(), NODE_CHANGED, old, new) is helps


@pytest.mark.parametrize(("tolerations", "helps"), TOLERATED)
def test_new_tolerations_help(tolerations: list[Manifest], helps: bool) -> None:
    old, new = make_pod(), make_pod(tolerations=tolerations)
    assert NodeUnschedulable().now_tolerates(old, POD_CHANGED, old, new) is helps


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from([case.values[0] for case in TOLERATED]))
def test_both_forms_agree(cordoned: list[bool], tolerations: list[Manifest]) -> None:
    cluster = FakeCluster(nodes=[make_node(f"n{i}", unschedulable=each) for i, each in enumerate(cordoned)])
    filter_all(NodeUnschedulable(), cluster, make_pod(tolerations=tolerations))
