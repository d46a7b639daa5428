"""Disruption budgets, charged victim by victim."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.kinds.disruption import Budget, DisruptionBudgets, NamespaceBudgets
from pilotage.kinds.workloads import PodDisruptionBudget
from pilotage.model.selectors import LabelSelector, compile_label_selector
from pilotage.testing import make_pod

FOO = {"matchLabels": {"app": "foo"}}


def budget(
    selector: Any = FOO, *, allowed: int = 0, disrupted: tuple[str, ...] = (), namespace: str = "default"
) -> PodDisruptionBudget:
    document = {
        "metadata": {"name": "pdb", "namespace": namespace},
        "spec": {"selector": selector},
        "status": {"disruptionsAllowed": allowed, "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z")},
    }
    return msgspec.convert(document, PodDisruptionBudget)


def violating(budgets: list[PodDisruptionBudget], pods: dict[str, dict[str, str]]) -> list[str]:
    victims = [make_pod(name, labels=labels) for name, labels in pods.items()]
    found, others = DisruptionBudgets(budgets).split(victims)
    assert [pod for pod in victims if pod not in found] == others
    return [pod.name for pod in found]


PAIR = {"a": {"app": "foo"}, "b": {"app": "foo"}}


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        pytest.param([], [], id="without budgets nobody is protected"),
        pytest.param([budget(allowed=2)], [], id="the budget allows both"),
        pytest.param([budget(allowed=1)], ["b"], id="the budget allows one, the second violates it"),
        pytest.param([budget(allowed=0)], ["a", "b"], id="the budget allows none"),
        pytest.param([budget(allowed=1, disrupted=("b",))], [], id="a pod on its way out is not charged"),
        pytest.param([budget(allowed=1, disrupted=("a",))], [], id="nor does it use the budget up for others"),
        pytest.param([budget(namespace="other")], [], id="a budget counts in its own namespace"),
        pytest.param([budget({"matchLabels": {"app": "bar"}})], [], id="a budget for other pods"),
        pytest.param(
            [budget({"matchLabels": {f"k{i}": "v" for i in range(5000)}})],
            ["a", "b"],
            id="a selector that is absurdly long protects all pods",
        ),
        pytest.param([budget({})], [], id="an empty selector protects nothing"),
        pytest.param([budget(None)], [], id="neither does an absent one"),
        pytest.param(
            [budget({"matchExpressions": [{"key": "app", "operator": "Near", "values": ["foo"]}]})],
            [],
            id="nor one that is wrong",
        ),
        pytest.param(
            [budget(allowed=0), budget(allowed=1)], ["a", "b"], id="the first budget that is overdrawn is enough"
        ),
        pytest.param([budget(allowed=1), budget(allowed=0)], ["a", "b"], id="every budget must allow it"),
    ],
)
def test_two_victims(budgets: list[PodDisruptionBudget], expected: list[str]) -> None:
    assert violating(budgets, PAIR) == expected


def test_a_pod_without_labels_is_never_protected() -> None:
    absent = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    assert violating([budget(absent)], {"bare": {}, "other": {"x": "y"}}) == ["other"]


def test_budgets_after_an_overdrawn_one_are_not_charged() -> None:
    both, only_first = {"a": "1", "b": "1"}, {"a": "1"}
    first, second = budget({"matchLabels": {"a": "1"}}, allowed=0), budget({"matchLabels": {"b": "1"}}, allowed=1)
    assert violating([first, second], {"x": both, "y": {"b": "1"}}) == ["x"]
    assert violating([second, first], {"x": both, "y": {"b": "1"}}) == ["x", "y"]
    assert violating([first, second], {"x": only_first, "y": both, "z": {"b": "1"}}) == ["x", "y"]


def test_each_split_begins_with_full_budgets() -> None:
    budgets = DisruptionBudgets([budget(allowed=1)])
    victims = [make_pod("a", labels={"app": "foo"})]
    assert budgets.split(victims) == budgets.split(victims) == ([], victims)


EXPRESSIONS = st.builds(
    lambda key, operator, values: {
        "key": key,
        "operator": operator,
        **({"values": values} if "n" in operator[-2:] else {}),
    },
    st.sampled_from("ab"),
    st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
    st.lists(st.sampled_from("xy"), min_size=1, max_size=2, unique=True),
)
SELECTORS = st.fixed_dictionaries(
    {},
    optional={
        "matchLabels": st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy")),
        "matchExpressions": st.lists(EXPRESSIONS, max_size=2),
    },
)
LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), min_size=1)


@given(st.lists(st.tuples(SELECTORS, st.integers(0, 2)), max_size=4), st.lists(LABELS, max_size=5))
def test_it_is_what_asking_every_budget_about_every_pod_says(
    selectors: list[tuple[Any, int]], labels: list[dict[str, str]]
) -> None:
    budgets = [budget(selector, allowed=allowed) for selector, allowed in selectors]
    pods = {f"p{number}": each for number, each in enumerate(labels)}
    left, expected = [allowed for _, allowed in selectors], []
    for name, found in pods.items():
        for place, each in enumerate(budgets):
            selector = each.spec.selector
            matcher = None if selector is None else compile_label_selector(selector)
            if matcher is not None and not matcher.empty and matcher.matches(found):
                left[place] -= 1
                if left[place] < 0:
                    expected.append(name)
                    break
    assert violating(budgets, pods) == expected


def test_of_thousands_of_budgets_only_those_are_asked_that_may_count_for_a_pod() -> None:
    asked: list[str] = []

    class Counted:
        empty = False

        def __init__(self, name: str) -> None:
            self.name = name

        def matches(self, labels: Any) -> bool:
            asked.append(self.name)
            return True

    many = NamespaceBudgets()
    for number in range(5_000):
        selector = msgspec.convert({"matchLabels": {"app": f"a{number}"}}, LabelSelector)
        many.add(selector, Budget(Counted(str(number)), 0, ()))  # type: ignore[arg-type]
    for _ in range(3):
        assert [place for place, _ in many.about({"app": "a7", "other": "x"})] == [7]
    assert asked == ["7"]
