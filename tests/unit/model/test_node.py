"""A node with absurdly many taints: nobody goes there, but who tolerates everything."""

from pilotage.model.limits import MOST_TAINTS
from pilotage.model.tolerations import NO_SCHEDULE, Taint, Toleration, first_untolerated
from pilotage.testing import make_node


def taints(number: int) -> list[dict[str, str]]:
    return [{"key": f"k{i}", "effect": "PreferNoSchedule"} for i in range(number)]


def test_taints_that_are_many_are_all_there() -> None:
    assert len(make_node(taints=taints(MOST_TAINTS)).taints) == MOST_TAINTS


def test_one_taint_stands_for_too_many() -> None:
    node = make_node(taints=taints(10_000))
    assert node.taints == (Taint("pilotage.dev/too-many-taints", "10000", NO_SCHEDULE),)
    assert first_untolerated(node.taints, [Toleration(f"k{i}", "Exists") for i in range(10_000)]) is not None
    assert first_untolerated(node.taints, [Toleration("", "Exists")]) is None
