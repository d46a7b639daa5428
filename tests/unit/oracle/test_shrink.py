"""A scenario gets as small as it can while it still shows its difference."""

from itertools import count
from typing import Any

from oracle.scenario import Scenario
from oracle.shrink import Shrinker, paths, without


def node(name: str, **spec: Any) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name, "labels": {"zone": "a", "disk": "ssd"}}, "spec": spec}


def pod(name: str, *containers: str) -> dict[str, Any]:
    listed = [{"name": container, "image": "x"} for container in containers]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": listed, "priority": 1}}


CROWDED = Scenario(
    7,
    "mixed",
    objects=[node(f"n{number}", taints=["a", "b"]) for number in range(12)],
    pods=[pod(f"p{number}", "one", "two", "three") for number in range(6)],
)


def names(manifests: list[dict[str, Any]]) -> list[str]:
    return [manifest["metadata"]["name"] for manifest in manifests]


def test_only_what_matters_is_left() -> None:
    def shows_difference(scenario: Scenario) -> bool:
        tainted = [one for one in scenario.objects if "b" in one["spec"].get("taints", [])]
        return "n5" in names(tainted) and "p3" in names(scenario.pods)

    smallest = Shrinker(shows_difference, seconds=60).smallest(CROWDED)
    assert smallest.objects == [{"kind": "Node", "metadata": {"name": "n5"}, "spec": {"taints": ["b"]}}]
    assert smallest.pods == [{"kind": "Pod", "metadata": {"name": "p3"}, "spec": {}}]


def test_two_things_that_matter_together_both_stay() -> None:
    smallest = Shrinker(lambda one: {"n0", "n11"} <= {*names(one.objects)}, seconds=60).smallest(CROWDED)
    assert names(smallest.objects) == ["n0", "n11"]
    assert smallest.pods == []


def test_the_given_scenario_stays_if_all_of_it_matters() -> None:
    assert Shrinker(lambda scenario: scenario == CROWDED, seconds=60).smallest(CROWDED) == CROWDED


def test_it_stops_when_the_time_is_up() -> None:
    ticks = count()
    Shrinker(lambda _: True, seconds=5, clock=lambda: float(next(ticks))).smallest(CROWDED)
    assert next(ticks) < 20


def test_outer_fields_are_tried_before_inner_ones() -> None:
    found = list(paths({"kind": "Pod", "spec": {"list": [{"a": 1}, 2]}}))
    assert found == [("spec", "list"), ("spec", "list", 1), ("spec", "list", 0), ("spec", "list", 0, "a")]


def test_leaving_out_copies() -> None:
    given = pod("p", "one", "two")
    assert without(given, ("spec", "containers", 0))["spec"]["containers"] == [{"name": "two", "image": "x"}]
    assert len(given["spec"]["containers"]) == 2
    assert without(given, ("spec", "nothing", 3)) is given
