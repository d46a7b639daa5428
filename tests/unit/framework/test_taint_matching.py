"""Taints over many nodes must say what they say about each node alone."""

from hypothesis import given
from hypothesis import strategies as st

from pilotage.framework.api.nodes import Nodes
from pilotage.framework.api.taint_matching import tolerates_all, untolerated_preferences
from pilotage.model.tolerations import Toleration, count_untolerated_preferences, first_untolerated
from pilotage.testing import FakeCluster, Manifest, make_node

FORBIDDEN = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
EVICTED = {"key": "gpu", "value": "yes", "effect": "NoExecute"}
DISLIKED = {"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"}


def nodes(*taints: list[Manifest]) -> Nodes:
    return FakeCluster(nodes=[make_node(f"n{i}", taints=each) for i, each in enumerate(taints)]).nodes


def test_only_taints_that_forbid_keep_a_pod_away() -> None:
    assert tolerates_all((), nodes([], [FORBIDDEN], [EVICTED], [DISLIKED])).tolist() == [True, False, False, True]


def test_every_forbidding_taint_must_be_tolerated() -> None:
    one = (Toleration("gpu", "Exists", effect="NoSchedule"),)
    assert tolerates_all(one, nodes([FORBIDDEN], [FORBIDDEN, EVICTED])).tolist() == [True, False]


def test_only_taints_that_dislike_are_counted() -> None:
    some = nodes([], [DISLIKED, FORBIDDEN], [DISLIKED, DISLIKED | {"key": "ssd"}])
    assert untolerated_preferences((), some).tolist() == [0, 1, 2]
    assert untolerated_preferences((Toleration("gpu", "Exists"),), some).tolist() == [0, 0, 1]


def test_one_node_of_many() -> None:
    some = nodes(*([FORBIDDEN | {"value": str(i)}] for i in range(50)))
    tolerations = (Toleration("gpu", "Equal", "7"),)
    assert tolerates_all(tolerations, some.take(some.slots[7:8])).tolist() == [True]
    assert tolerates_all(tolerations, some.take(some.slots[8:9])).tolist() == [False]
    assert tolerates_all(tolerations, some).sum() == 1


TEXTS, EFFECTS = st.sampled_from(["", "a", "b"]), ["NoSchedule", "NoExecute", "PreferNoSchedule"]
TAINTS = st.fixed_dictionaries({"key": TEXTS, "value": TEXTS, "effect": st.sampled_from(EFFECTS)})
TOLERATIONS = st.builds(
    Toleration, TEXTS, st.sampled_from(["", "Equal", "Exists", "Lt", "?"]), TEXTS, st.sampled_from(["", *EFFECTS])
)


@given(st.lists(st.lists(TAINTS, max_size=3), min_size=1, max_size=6), st.lists(TOLERATIONS, max_size=3))
def test_as_one_by_one(taints: list[list[Manifest]], tolerations: list[Toleration]) -> None:
    everywhere = nodes(*taints)
    for some in (everywhere, everywhere.take(everywhere.slots[::2])):
        forbidden = [first_untolerated(node.taints, tolerations) for node in some]
        assert tolerates_all(tolerations, some).tolist() == [taint is None for taint in forbidden]
        disliked = [count_untolerated_preferences(node.taints, tolerations) for node in some]
        assert untolerated_preferences(tolerations, some).tolist() == disliked
