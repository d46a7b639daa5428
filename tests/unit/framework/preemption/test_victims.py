"""Who has to leave one node."""

from collections.abc import Callable, Collection
from typing import Any

import msgspec
import pytest

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.verdicts import PluginFailed, Rejection
from pilotage.framework.runtime.preemption.victims import NO_VICTIMS, Victims, by_importance, select_victims
from pilotage.kinds.disruption import DisruptionBudgets
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.pod import Pod
from pilotage.testing import make_node, make_pod

NOW = 2_000_000_000.0
EARLY, LATE = {"startTime": "2026-01-01T00:00:00Z"}, {"startTime": "2026-01-02T00:00:00Z"}
TOO_SMALL, TOO_LOUD = Rejection("Insufficient cpu"), Rejection("too loud")


class CpuTrial:
    """Asks for cpu alone, and for silence: no two loud pods together if `loud` is given."""

    def __init__(self, pod: Pod, pods: Collection[Pod], cpu: int, loud: Collection[str] = ()) -> None:
        self.info = NodeInfo(make_node("n1", cpu=cpu))
        for each in pods:
            self.info.add_pod(each)
        self.pod = pod
        self.loud = loud
        self.rule: Callable[[NodeInfo, Pod], bool] | None = None
        self.spares_foreign = False
        self.asked = 0
        self.remove: Callable[[Pod], None] = self.info.remove_pod
        self.add: Callable[[Pod], None] = self.info.add_pod

    @property
    def has_rules(self) -> bool:
        return self.rule is not None

    def may_evict(self, pod: Pod) -> bool:
        assert self.rule is not None
        return self.rule(self.info, pod)

    def is_foreign(self, pod: Pod) -> bool:
        return pod.scheduler_name != self.pod.scheduler_name

    def verdict(self) -> Rejection | None:
        self.asked += 1
        if self.info.free("cpu") < self.pod.requests["cpu"]:
            return TOO_SMALL
        return TOO_LOUD if any(pod.name in self.loud for pod in self.info.pods.values()) else None


def small(name: str, priority: int = 0, cpu: int = 1, **fields: Any) -> Pod:
    return make_pod(name, priority=priority, cpu=cpu, **fields)


def names(found: Victims | Rejection) -> list[str]:
    assert isinstance(found, Victims)
    return [pod.name for pod in found.pods]


ONE_PROTECTED = msgspec.convert(
    {
        "metadata": {"name": "pdb", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "foo"}}},
        "status": {"disruptionsAllowed": 1},
    },
    PodDisruptionBudget,
)
FOO = {"app": "foo"}

CASES = [
    pytest.param([small("a", 10)], 1, (), (), None, id="equal priority is never preempted"),
    pytest.param([small("a", 9)], 1, (), (), ["a"], id="a lower one is"),
    pytest.param([small("a", 1), small("b", 2)], 2, (), (), ["a"], id="the less important one leaves"),
    pytest.param(
        [small("a", status=EARLY), small("b", status=LATE)], 2, (), (), ["b"], id="of equals, the one that came last"
    ),
    pytest.param([small("a"), small("b", status=LATE)], 2, (), (), ["a"], id="or that has not started yet"),
    pytest.param(
        [small("big", 1, cpu=2), small("c", 0)], 2, (), (), ["big"], id="a small one may stay where a big one cannot"
    ),
    pytest.param(
        [small("a", 1, labels=FOO), small("b", 2, labels=FOO), small("c", 9)],
        2,
        (),
        (ONE_PROTECTED,),
        ["c", "b"],
        id="a protected pod stays before a more important one",
    ),
    pytest.param(
        [small("a", 1), small("b", 2)], 3, ("b",), (), ["b"], id="another filter objects to the important one"
    ),
    pytest.param(
        [small("a", 1), small("b", 2), small("c", 3)], 3, ("c",), (), ["c"], id="and then the others keep their room"
    ),
]


@pytest.mark.parametrize(("pods", "cpu", "loud", "budgets", "expected"), CASES)
@pytest.mark.parametrize("short", [(), ("cpu",)], ids=["one by one", "by room"])
def test_victims(
    pods: list[Pod],
    cpu: int,
    loud: tuple[str, ...],
    budgets: tuple[PodDisruptionBudget, ...],
    expected: list[str] | None,
    short: tuple[str, ...],
) -> None:
    pod = small("preemptor", 10)
    found = select_victims(CpuTrial(pod, pods, cpu, loud), pod, DisruptionBudgets(budgets), NOW, short)
    if expected is None:
        assert found is NO_VICTIMS
    else:
        assert names(found) == expected


@pytest.mark.parametrize("short", [(), ("cpu",)], ids=["one by one", "by room"])
def test_violations_and_order(short: tuple[str, ...]) -> None:
    pods = [small("a", 1, labels=FOO), small("b", 2, labels=FOO), small("c", 3)]
    pod = small("preemptor", 10, cpu=3)
    found = select_victims(CpuTrial(pod, pods, 3), pod, DisruptionBudgets([ONE_PROTECTED]), NOW, short)
    assert isinstance(found, Victims)
    assert (names(found), found.violations) == (["c", "b", "a"], 1)


def test_what_still_objects_without_them_is_told() -> None:
    pod = small("preemptor", 10, cpu=4)
    trial = CpuTrial(pod, [small("a"), small("b", 10)], 4)
    assert select_victims(trial, pod, DisruptionBudgets(), NOW) == TOO_SMALL


def test_a_node_that_needs_no_victim_is_a_failure() -> None:
    pod = small("preemptor", 10)
    with pytest.raises(PluginFailed, match=r'^expected at least one victim pod on node "n1"$'):
        select_victims(CpuTrial(pod, [small("a")], 4), pod, DisruptionBudgets(), NOW)


def test_room_spares_questions() -> None:
    pod, pods = small("preemptor", 10, cpu=4), [small(f"p{n}") for n in range(20)]
    by_room, in_turn = CpuTrial(pod, pods, 20), CpuTrial(pod, pods, 20)
    one = select_victims(by_room, pod, DisruptionBudgets(), NOW, ("cpu",))
    other = select_victims(in_turn, pod, DisruptionBudgets(), NOW)
    assert one == other
    assert (by_room.asked, in_turn.asked) == (1, 21)


@pytest.mark.parametrize("short", [(), ("cpu",)], ids=["one by one", "by room"])
def test_a_plugin_says_who_can_be_a_victim(short: tuple[str, ...]) -> None:
    pod, pods = small("preemptor", 10), [small("a", 1), small("b", 2), small("c", 20)]
    budgets = DisruptionBudgets()
    spared = select_victims(CpuTrial(pod, pods, 3), pod, budgets, NOW, short, lambda other: other.name == "b")
    assert names(spared) == ["b"]
    higher = select_victims(CpuTrial(pod, pods, 3), pod, budgets, NOW, short, lambda other: other.name == "c")
    assert names(higher) == ["c"]
    assert select_victims(CpuTrial(pod, pods, 3), pod, budgets, NOW, short, lambda _: False) is NO_VICTIMS


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(lambda _node, _pod: True, ["a"], id="a rule that allows all changes nothing"),
        pytest.param(lambda _node, pod: pod.name != "a", ["b"], id="who may not go stays"),
        pytest.param(lambda node, _pod: len(node.pods) > 2, ["a"], id="it is asked as if those before were gone"),
        pytest.param(lambda _node, _pod: False, None, id="nobody may go"),
    ],
)
@pytest.mark.parametrize("short", [(), ("cpu",)], ids=["one by one", "by room"])
def test_rules(rule: Callable[[NodeInfo, Pod], bool], expected: list[str] | None, short: tuple[str, ...]) -> None:
    pod = small("preemptor", 10)
    trial = CpuTrial(pod, [small("a", 1), small("b", 2), small("c", 3)], 3)
    trial.rule = rule
    found = select_victims(trial, pod, DisruptionBudgets(), NOW, short)
    if expected is None:
        assert found is NO_VICTIMS
    else:
        assert names(found) == expected


def test_importance() -> None:
    pods = [small("new", 1), small("late", 1, status=LATE), small("low"), small("early", 1, status=EARLY)]
    assert [pod.name for pod in by_importance(pods, NOW)] == ["early", "late", "new", "low"]
