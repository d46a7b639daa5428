import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import Rejection
from pilotage.plugins.nodes.taint_toleration import TaintToleration
from pilotage.testing import FakeCluster, Manifest, filter_all, make_node, make_pod, raw_scores, score_all

TAINTED = Rejection("node(s) had untolerated taint(s)", preemption_helps=False)
NODE_CHANGED = Event(Resource.NODE, Action.UPDATE_NODE_TAINT)


def taint(text: str) -> Manifest:
    """Read a taint as kubectl writes it."""
    label, _, effect = text.partition(":")
    key, _, value = label.partition("=")
    return {"key": key, "value": value, "effect": effect}


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> Manifest:
    return {"key": key, "operator": operator, "value": value, "effect": effect}


FORBIDDEN = "dedicated=user1:NoSchedule"


@pytest.mark.parametrize(
    ("taints", "tolerations", "fits"),
    [
        pytest.param([], [], True, id="a node without taints"),
        pytest.param([FORBIDDEN], [], False, id="a taint and no toleration"),
        pytest.param(
            [FORBIDDEN], [toleration("dedicated", "", "user1", "NoSchedule")], True, id="no operator means Equal"
        ),
        pytest.param([FORBIDDEN], [toleration("dedicated", "Equal", "user2")], False, id="another value"),
        pytest.param(
            [FORBIDDEN], [toleration("dedicated", "Exists", "", "PreferNoSchedule")], False, id="another effect"
        ),
        pytest.param(["dedicated=user1:PreferNoSchedule"], [], True, id="a wish forbids nothing"),
        pytest.param(["a=b:NoExecute"], [], False, id="NoExecute forbids too"),
        pytest.param(["a:NoSchedule", "b:NoSchedule"], [toleration("a", "Exists")], False, id="one of two tolerated"),
        pytest.param(["sla=999:NoSchedule"], [toleration("sla", "Gt", "950")], False, id="comparisons are off"),
        pytest.param(["a=:NoSchedule"], [toleration("", "Equal", "")], True, id="no key: one value of every key"),
    ],
)
def test_filter(taints: list[str], tolerations: list[Manifest], fits: bool) -> None:
    cluster = FakeCluster(nodes=[make_node("n", taints=[taint(each) for each in taints])])
    assert filter_all(TaintToleration(), cluster, make_pod(tolerations=tolerations)) == {"n": None if fits else TAINTED}


def cluster_with(*counts: int) -> FakeCluster:
    """Return nodes that ask pods to stay away for so many reasons."""
    wishes = [[taint(f"t{i}:PreferNoSchedule") for i in range(count)] for count in counts]
    return FakeCluster(nodes=[make_node(name, taints=each) for name, each in zip("abcd", wishes, strict=False)])


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        pytest.param((0, 1, 3), {"a": 100, "b": 67, "c": 0}, id="fewer are better"),
        pytest.param((0, 0, 0), {"a": 100, "b": 100, "c": 100}, id="no taint anywhere is best everywhere"),
        pytest.param((0, 1, 2), {"a": 100, "b": 50, "c": 0}, id="in proportion to the worst"),
        pytest.param((2, 2), {"a": 0, "b": 0}, id="equally bad nodes"),
    ],
)
def test_scores(counts: tuple[int, ...], scores: dict[str, int]) -> None:
    assert score_all(TaintToleration(), cluster_with(*counts), make_pod()) == scores


def test_tolerated_wishes_do_not_count() -> None:
    pod = make_pod(tolerations=[toleration("t0", "Exists"), toleration("t1", "Exists", "", "PreferNoSchedule")])
    assert raw_scores(TaintToleration(), cluster_with(0, 1, 2, 4), pod) == {"a": 0, "b": 0, "c": 0, "d": 2}


def test_a_toleration_of_another_effect_does_not_cover_a_wish() -> None:
    pod = make_pod(tolerations=[toleration("t0", "Exists", "", "NoSchedule")])
    assert raw_scores(TaintToleration(), cluster_with(0, 1), pod) == {"a": 0, "b": 1}


def test_forbidding_taints_do_not_enter_the_score() -> None:
    cluster = FakeCluster(nodes=[make_node("a", taints=[taint("x:NoSchedule"), taint("y:NoExecute")])])
    pod = make_pod(tolerations=[toleration("", "Exists")])
    assert raw_scores(TaintToleration(), cluster, pod) == {"a": 0}


def test_only_nodes_that_are_left_set_the_scale() -> None:
    assert score_all(TaintToleration(), cluster_with(0, 1, 3), make_pod(), {"a", "b"}) == {"a": 100, "b": 0}


@pytest.mark.parametrize(
    ("before", "after", "helps"),
    [
        pytest.param(None, [], True, id="a new node without taints"),
        pytest.param(None, [FORBIDDEN], False, id="a new node with a taint"),
        pytest.param([FORBIDDEN], [], True, id="the taint was removed"),
        pytest.param([FORBIDDEN], ["x:PreferNoSchedule"], True, id="the taint became a wish"),
        pytest.param([], [], False, id="the node was fine before"),
        pytest.param([FORBIDDEN], ["x:NoExecute"], False, id="another taint instead"),
    ],
)
def test_a_changed_node_helps(before: list[str] | None, after: list[str], helps: bool) -> None:
    old = None if before is None else make_node(taints=[taint(each) for each in before])
    new = make_node(taints=[taint(each) for each in after])
    assert TaintToleration().became_tolerable(make_pod(), NODE_CHANGED, old, new) is helps


def test_new_tolerations_always_help() -> None:
    (retry,) = [each for each in TaintToleration.retry_on if each.resource is Resource.TARGET_POD]
    assert (retry.action, retry.hint) == (Action.UPDATE_POD_TOLERATION, None)


TAINTS = st.sampled_from([taint(f"{key}=v:{effect}") for key in "ab" for effect in ("NoSchedule", "PreferNoSchedule")])
TOLERATIONS = st.builds(
    toleration, st.sampled_from(["", "a", "b"]), st.sampled_from(["Exists", ""]), st.sampled_from(["", "v"])
)


@given(st.lists(st.lists(TAINTS, max_size=3), min_size=1, max_size=6), st.lists(TOLERATIONS, max_size=2))
def test_both_forms_agree(taints: list[list[Manifest]], tolerations: list[Manifest]) -> None:
    cluster = FakeCluster(nodes=[make_node(f"n{i}", taints=each) for i, each in enumerate(taints)])
    pod = make_pod(tolerations=tolerations)
    filter_all(TaintToleration(), cluster, pod)
    score_all(TaintToleration(), cluster, pod)
