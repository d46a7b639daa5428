from dataclasses import dataclass
from functools import cmp_to_key
from random import Random

from pilotage.model.pod import Pod
from pilotage.plugins.ordering.priority_sort import PrioritySort
from pilotage.testing import make_pod


@dataclass
class Queued:
    pod: Pod
    timestamp: float


def queued(name: str, priority: int | None, timestamp: float) -> Queued:
    return Queued(make_pod(name, priority=priority), timestamp)


def names(pods: list[Queued]) -> str:
    return " ".join(each.pod.name for each in pods)


def test_priority_goes_before_waiting_time() -> None:
    waiting = [queued("a", 5, 10), queued("b", None, 1), queued("c", 5, 9), queued("d", -1, 0), queued("e", 0, 2)]
    assert names(sorted(waiting, key=PrioritySort().sort_key)) == "c a b e d"


def test_equal_pods_are_not_less_than_each_other() -> None:
    one, other = queued("a", 5, 10), queued("b", 5, 10)
    assert not PrioritySort().less(one, other)
    assert not PrioritySort().less(other, one)


def test_the_key_sorts_as_the_comparison_does() -> None:
    random, plugin = Random(7), PrioritySort()
    waiting = [queued(f"p{i}", random.choice([None, -1, 0, 1]), random.randrange(5)) for i in range(50)]

    def compare(one: Queued, other: Queued) -> int:
        return plugin.less(other, one) - plugin.less(one, other)

    assert names(sorted(waiting, key=cmp_to_key(compare))) == names(sorted(waiting, key=plugin.sort_key))
