from dataclasses import dataclass
from functools import cmp_to_key
from random import Random
from typing import Any

import pytest

from pilotage.model.pod import Pod
from pilotage.plugins.ordering.qos_sort import QOSSort
from pilotage.testing import make_pod

AMOUNTS = {"cpu": "1", "memory": "1Gi"}
CLASSES: dict[str, dict[str, Any]] = {
    "Guaranteed": {"requests": AMOUNTS, "limits": AMOUNTS},
    "Burstable": {"requests": AMOUNTS},
    "BestEffort": {},
}


@dataclass
class Queued:
    pod: Pod
    timestamp: float


def queued(qos: str, priority: int | None = 0, timestamp: float = 0, name: str = "pod") -> Queued:
    return Queued(make_pod(name, priority=priority, **CLASSES[qos]), timestamp)


@pytest.mark.parametrize(
    ("one", "other", "less"),
    [
        pytest.param(queued("BestEffort", 100), queued("Guaranteed", 10), True, id="a higher priority is first"),
        pytest.param(queued("Guaranteed", 10), queued("BestEffort", 100), False, id="a lower one is not"),
        pytest.param(queued("BestEffort"), queued("Guaranteed"), False, id="BestEffort is not before Guaranteed"),
        pytest.param(queued("Burstable"), queued("Guaranteed"), False, id="nor is Burstable"),
        pytest.param(queued("Guaranteed"), queued("Burstable"), True, id="Guaranteed is before Burstable"),
        pytest.param(queued("Burstable"), queued("BestEffort"), True, id="Burstable is before BestEffort"),
        pytest.param(queued("Burstable", None), queued("Guaranteed", 0), False, id="no priority is priority 0"),
        pytest.param(queued("Guaranteed", 0, 9), queued("Burstable", 0, 1), True, id="the class is before the time"),
        pytest.param(queued("Guaranteed", 0, 2), queued("Guaranteed", 0, 1), False, id="who came later is not first"),
        pytest.param(queued("Guaranteed", 0, 1), queued("Guaranteed", 0, 2), True, id="who came earlier is"),
        pytest.param(queued("Guaranteed"), queued("Guaranteed"), False, id="equal pods"),
    ],
)
def test_less(one: Queued, other: Queued, less: bool) -> None:
    assert QOSSort().less(one, other) is less


def test_the_class_that_the_api_server_noted_counts() -> None:
    noted = Queued(make_pod(status={"qosClass": "Guaranteed"}), 9)
    assert QOSSort().less(noted, queued("Burstable"))


def test_the_key_sorts_as_the_comparison_does() -> None:
    random, plugin = Random(7), QOSSort()
    waiting = [
        queued(random.choice([*CLASSES]), random.choice([None, -1, 1]), random.randrange(4), f"p{i}") for i in range(60)
    ]

    def compare(one: Queued, other: Queued) -> int:
        return plugin.less(other, one) - plugin.less(one, other)

    by_comparison = sorted(waiting, key=cmp_to_key(compare))
    assert [each.pod.name for each in by_comparison] == [each.pod.name for each in sorted(waiting, key=plugin.sort_key)]
