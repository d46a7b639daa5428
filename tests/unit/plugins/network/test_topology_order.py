"""The order in which the parts of an application are placed: six ways to sort, and complaints about descriptions."""

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.kinds.app_network import AppGroupSpec
from pilotage.plugins.network._shared.topology_order import ALGORITHMS, topology_order
from pilotage.testing.network import make_app_group

# Who calls whom: a shop, whose parts are as deep as they are wide.
#    web ──► cart ──► store
#     └────► pay ───► mail
SHOP: dict[str, list[str]] = {"web": ["cart", "pay"], "cart": ["store"], "pay": ["mail"], "store": [], "mail": []}
CHAIN: dict[str, list[str]] = {"p1": ["p2"], "p2": ["p3"], "p3": []}


def spec(talks: Any, algorithm: str = "KahnSort") -> AppGroupSpec:
    return make_app_group("shop", talks, algorithm=algorithm).spec


def sorted_by(algorithm: str, talks: Any) -> str:
    return " ".join(each.selector for each in topology_order(spec(talks, algorithm)).workloads)


@pytest.mark.parametrize(
    ("algorithm", "shop", "chain"),
    [
        pytest.param("KahnSort", "web cart pay store mail", "p1 p2 p3", id="Kahn: level by level"),
        pytest.param("TarjanSort", "web cart store pay mail", "p1 p2 p3", id="Tarjan: branch by branch"),
        pytest.param("ReverseKahn", "mail store pay cart web", "p3 p2 p1", id="Kahn backwards"),
        pytest.param("ReverseTarjan", "mail pay store cart web", "p3 p2 p1", id="Tarjan backwards"),
        pytest.param("AlternateKahn", "web mail cart store pay", "p1 p3 p2", id="Kahn: first, last, second and so on"),
        pytest.param("AlternateTarjan", "web mail cart pay store", "p1 p3 p2", id="Tarjan: first, last, second"),
        pytest.param("Bogus", "web cart pay store mail", "p1 p2 p3", id="anything else is Kahn"),
        pytest.param("", "web cart pay store mail", "p1 p2 p3", id="and so is nothing"),
    ],
)
def test_algorithms(algorithm: str, shop: str, chain: str) -> None:
    assert sorted_by(algorithm, SHOP) == shop
    assert sorted_by(algorithm, CHAIN) == chain


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("talks", "size"),
    [
        pytest.param({}, 0, id="nothing"),
        pytest.param({"a": []}, 1, id="one"),
        pytest.param({"a": [], "b": []}, 2, id="two that do not know each other, of which none is left out"),
        pytest.param({"a": ["c"], "b": ["c"], "c": ["d", "e"], "d": ["e"], "e": []}, 5, id="a diamond"),
    ],
)
def test_every_part_has_one_place(algorithm: str, talks: Any, size: int) -> None:
    order = topology_order(spec(talks, algorithm))
    assert sorted(order.indices.values()) == list(range(1, size + 1))
    assert set(order.indices) == set(talks)


@pytest.mark.parametrize("algorithm", ["KahnSort", "TarjanSort"])
def test_of_equals_the_first_in_the_description_goes_first(algorithm: str) -> None:
    for names in permutations("abcd"):
        assert sorted_by(algorithm, {name: [] for name in names}) == " ".join(names)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=25))
def test_whoever_calls_goes_before_those_that_are_called(calls: list[tuple[int, int]]) -> None:
    # Calls from low to high numbers make no circle, wherever in the description they stand.
    forward = {(min(pair), max(pair)) for pair in calls if pair[0] != pair[1]}
    names = [f"p{i}" for i in (3, 9, 0, 7, 1, 8, 2, 6, 5, 4)]
    talks = {name: [f"p{end}" for start, end in sorted(forward) if f"p{start}" == name] for name in names}
    for algorithm in ("KahnSort", "TarjanSort"):
        order = topology_order(spec(talks, algorithm))
        assert order.complaints == ()
        assert all(order.indices[f"p{start}"] < order.indices[f"p{end}"] for start, end in forward)


CIRCLE = "workloads depend on each other in a circle ({}): the order is that of spec.workloads"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("talks", "ring"),
    [
        pytest.param({"b": ["a"], "a": ["b"], "c": []}, "b -> a -> b", id="two that call each other"),
        pytest.param({"a": ["b"], "b": ["c"], "c": ["a"]}, "a -> b -> c -> a", id="three"),
        pytest.param({"x": ["a"], "a": ["b"], "b": ["a", "y"], "y": []}, "a -> b -> a", id="with others around it"),
        pytest.param(
            {"a": ["b"], "b": ["y", "a"], "y": ["z"], "z": []}, "a -> b -> a", id="from which a chain leads away"
        ),
        pytest.param({"y": [], "b": ["a"], "a": ["y", "b"]}, "b -> a -> b", id="behind which somebody is called"),
    ],
)
def test_a_circle_is_told_and_the_order_is_that_of_the_description(algorithm: str, talks: Any, ring: str) -> None:
    order = topology_order(spec(talks, algorithm))
    assert list(order.indices) == list(talks)
    assert order.complaints == (("DependencyCycle", CIRCLE.format(ring)),)


UNKNOWN_SORT = (
    'spec.topologySortingAlgorithm "Bogus" is unknown: KahnSort is used; there are KahnSort, TarjanSort, ReverseKahn, '
    "ReverseTarjan, AlternateKahn, AlternateTarjan"
)


@pytest.mark.parametrize(
    ("talks", "algorithm", "order", "complaints"),
    [
        pytest.param(CHAIN, "KahnSort", "p1 p2 p3", [], id="nothing is wrong"),
        pytest.param(
            {},
            "KahnSort",
            "",
            [("NoWorkloads", "spec.workloads is empty: list the parts of the application")],
            id="no workloads",
        ),
        pytest.param(CHAIN, "Bogus", "p1 p2 p3", [("UnknownAlgorithm", UNKNOWN_SORT)], id="an unknown algorithm"),
        pytest.param(
            {"a": ["b", "z"], "b": []},
            "KahnSort",
            "a b",
            [("UnknownDependency", 'workload "a" depends on "z", which spec.workloads does not have')],
            id="an unknown dependency",
        ),
        pytest.param(
            {"a": ["b", ""], "b": []},
            "KahnSort",
            "a b",
            [("UnknownDependency", 'workload "a" depends on "", which spec.workloads does not have')],
            id="a dependency without a selector",
        ),
        pytest.param(
            {"a": ["a", "b"], "b": ["b"]},
            "TarjanSort",
            "a b",
            [
                ("SelfDependency", 'workload "a" depends on itself, which is ignored'),
                ("SelfDependency", 'workload "b" depends on itself, which is ignored'),
            ],
            id="self dependencies",
        ),
        pytest.param(
            {"": ["a"], "a": []},
            "KahnSort",
            "a",
            [
                (
                    "MissingSelector",
                    "spec.workloads[0].workload.selector is empty: give the value that the label of its pods has",
                )
            ],
            id="a workload without a selector has no place",
        ),
    ],
)
def test_what_is_wrong_is_told(talks: Any, algorithm: str, order: str, complaints: list[tuple[str, str]]) -> None:
    found = topology_order(spec(talks, algorithm))
    assert " ".join(each.selector for each in found.workloads) == order
    assert list(found.complaints) == complaints


def test_two_workloads_with_one_selector_count_as_one() -> None:
    first, second = spec({"c": [], "a": ["b"], "b": []}), spec({"a": ["c"]})
    both = AppGroupSpec(3, "KahnSort", (*first.workloads, *second.workloads))
    found = topology_order(both)
    assert [each.selector for each in found.workloads] == ["a", "c", "b"]
    assert list(found.complaints) == [
        ("DuplicateSelector", 'spec.workloads[3] has the selector "a" of another: the two count as one')
    ]


def test_a_long_circle_makes_no_endless_message() -> None:
    names = [f"a-workload-with-a-long-name-{i}" for i in range(2000)]
    found = topology_order(spec({name: [names[i - 1]] for i, name in enumerate(names)}))
    assert len(found.complaints[0].message) < 700
