"""What a request may say, and what is said of one that is wrong."""

from typing import Any

import pytest

from pilotage.offline.what_if.node_selectors import selector_in
from pilotage.offline.what_if.request import LARGEST_BODY, Needs, WrongRequest, needs, read, read_body

POD = {"addPods": {"requests": {"cpu": "1"}}}

WRONG: dict[str, tuple[Any, str]] = {
    "no map": ([], "a request is a map with kind: WhatIf and a list of changes"),
    "another kind": ({"kind": "WhatNot"}, "kind: must be 'WhatIf', not the string \"WhatNot\""),
    "an unknown field": ({"change": []}, 'unknown field "change"; did you mean "changes"?'),
    "an unknown change": (
        {"changes": [{"addNode": {"like": "n1"}}]},
        'unknown field "changes[0].addNode"; did you mean "addNodes"?',
    ),
    "an unknown field of a change": (
        {"changes": [{"addNodes": {"lke": "n1"}}]},
        'unknown field "changes[0].addNodes.lke"; did you mean "like"?',
    ),
    "no change at all": ({"changes": [{}]}, "changes[0]: a change has exactly one field; name one, such as addNodes"),
    "two changes in one": (
        {"changes": [{**POD, "cordon": {"nodes": ["n1"]}}]},
        "changes[0]: a change has exactly one field; write addPods and cordon as separate changes",
    ),
    "nodes that nobody names": (
        {"changes": [{"drain": {}}]},
        "changes[0].drain: name nodes, or a selector such as pool=old",
    ),
    "new nodes like nothing": (
        {"changes": [{"addNodes": {}}]},
        "changes[0].addNodes: give either like, the name of a node, or a template",
    ),
    "a template of nothing": (
        {"changes": [{"addNodes": {"template": {}}}]},
        "changes[0].addNodes.template: give its capacity, such as cpu and memory",
    ),
    "a taint of nothing": (
        {"changes": [{"taint": {"nodes": ["n1"]}}]},
        "changes[0].taint: give taints to add, or keys to remove",
    ),
    "a quota of nothing": ({"changes": [{"quota": {"namespace": "a"}}]}, "changes[0].quota: give max or min"),
    "one copy too many": (
        {"changes": [{"addPods": {"copies": 10_001}}]},
        "changes[0].addPods.copies: 10001 are more than 10000; ask for fewer, or use `fill` (`pilotage capacity`) to "
        "find out how many fit",
    ),
    "no copy": (
        {"changes": [{"addPods": {"copies": 0}}]},
        "changes[0].addPods.copies: must be greater than or equal to 1",
    ),
    "an unknown question": (
        {"ask": ["who"]},
        "ask[0]: must be 'placements', 'fill', 'remedies', 'evictions' or 'others'",
    ),
    "all the time in the world": ({"limits": {"seconds": 61}}, "limits.seconds: must be less than or equal to 60"),
}


@pytest.mark.parametrize(("given", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong(given: Any, told: str) -> None:
    with pytest.raises(WrongRequest) as raised:
        read(given)
    assert str(raised.value).startswith(told)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(WrongRequest) as raised:
        read({"changes": [{"drain": {}}, {"cordon": {}}]})
    assert len(raised.value.problems) == 2


def test_a_manifest_is_not_nested_for_ever() -> None:
    deep: Any = {}
    for _ in range(200):
        deep = {"spec": [deep]}
    with pytest.raises(WrongRequest, match="nested more than 100 levels deep"):
        read({"changes": [{"add": {"manifests": [deep]}}]})


def test_a_body_is_bounded_and_json() -> None:
    assert read_body(b'{"changes": []}').changes == []
    for body, told in ((b" " * (LARGEST_BODY + 1), "at most 1048576 are allowed"), (b"{", "the request is not JSON: ")):
        with pytest.raises(WrongRequest, match=told):
            read_body(body)


NEEDED: dict[str, tuple[dict[str, Any], Needs]] = {
    "new pods": ({"changes": [POD]}, Needs(False, False, frozenset({"default"}))),
    "manifests": (
        {"changes": [{"add": {"manifests": [{"metadata": {"namespace": "a"}}, {}]}}]},
        Needs(False, False, frozenset({"a", "default"})),
    ),
    "nodes": ({"changes": [{"drain": {"nodes": ["n1"]}}]}, Needs(True, False, frozenset())),
    "a profile": ({"profile": "batch", "changes": [POD]}, Needs(False, True, frozenset({"default"}))),
    "pods that go": (
        {"changes": [{"evict": {"pods": ["a/b", "c"]}}]},
        Needs(False, False, frozenset({"a", "default"})),
    ),
    "a quota": ({"changes": [{"quota": {"namespace": "q", "max": {"cpu": 1}}}]}, Needs(False, False, frozenset({"q"}))),
}


@pytest.mark.parametrize(("given", "wanted"), NEEDED.values(), ids=NEEDED)
def test_what_must_be_seen(given: dict[str, Any], wanted: Needs) -> None:
    assert needs(read(given)) == wanted


SELECTORS = {
    "a=b": [("a", "In", ("b",))],
    "a==b, c!=d": [("a", "In", ("b",)), ("c", "NotIn", ("d",))],
    "example.com/gpu,!spot": [("example.com/gpu", "Exists", ()), ("spot", "DoesNotExist", ())],
    "zone in (a, b),x notin (c)": [("zone", "In", ("a", "b")), ("x", "NotIn", ("c",))],
    "empty=": [("empty", "In", ("",))],
}


@pytest.mark.parametrize(("text", "wanted"), SELECTORS.items(), ids=SELECTORS)
def test_selectors_as_kubectl_takes_them(text: str, wanted: list[Any]) -> None:
    assert [(each.key, each.operator, each.values) for each in selector_in(text)] == wanted


@pytest.mark.parametrize("text", ["a b", "=a", "a in b", "a=b c", ","])
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(ValueError, match="write it like pool=old"):
        list(selector_in(text))
