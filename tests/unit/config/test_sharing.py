"""What is said to the engine: read strictly, and never taken for a plugin."""

from typing import Any

import pytest

from pilotage.config.catalogue import Catalogue
from pilotage.config.faults import InvalidConfiguration
from pilotage.config.load import Loaded, load
from pilotage.config.sharing import NODES, SHARING, own_nodes_in, sharing_in, with_victims
from pilotage.model.go_text import as_json


def loaded(in_tree: Catalogue, name: str, args: Any) -> Loaded:
    entry = {"name": name, "args": args}
    document = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return load(as_json(document | {"profiles": [{"pluginConfig": [entry]}]}), in_tree)


def test_without_a_word_it_guards_spreads_a_little_and_has_all_nodes(in_tree: Catalogue) -> None:
    (profile,) = load(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration", in_tree
    ).config.profiles
    sharing = sharing_in(profile.plugin_config)
    assert (sharing.guard, sharing.spread, sharing.victims) == (True, 5, None)
    assert own_nodes_in(profile.plugin_config).matcher() is None


def test_what_is_said_is_followed_and_no_advice_given(in_tree: Catalogue) -> None:
    found = loaded(in_tree, SHARING, {"guard": False, "spread": 0, "victims": ["*"]})
    sharing = sharing_in(found.config.profiles[0].plugin_config)
    assert (sharing.guard, sharing.spread, sharing.victims) == (False, 0, ("*",))
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("selector", "labels", "is_own"),
    [
        pytest.param({"matchLabels": {"pool": "batch"}}, {"pool": "batch"}, True, id="a label as it should be"),
        pytest.param({"matchLabels": {"pool": "batch"}}, {"pool": "web"}, False, id="another value"),
        pytest.param(
            {"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["web"]}]}, {}, True, id="no label"
        ),
        pytest.param(
            {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]},
            {"a": "1"},
            False,
            id="one of two conditions",
        ),
    ],
)
def test_own_nodes_are_those_that_meet_all_conditions(
    in_tree: Catalogue, selector: dict[str, Any], labels: dict[str, str], is_own: bool
) -> None:
    found = loaded(in_tree, NODES, {"selector": selector})
    matcher = own_nodes_in(found.config.profiles[0].plugin_config).matcher()
    assert matcher is not None
    assert matcher.matches(labels) == is_own


@pytest.mark.parametrize(
    ("entries", "served", "victims"),
    [
        pytest.param([], ["a", "b"], ["a", "b"], id="the pods of all that are served"),
        pytest.param([], ["a", "default-scheduler"], ["*"], id="everybody's, beside the cluster's own scheduler"),
        pytest.param([["c"]], ["a", "b"], ["a", "b", "c"], id="those that are named, too"),
        pytest.param([["*"]], ["a"], ["*", "a"], id="everybody's, as it says"),
        pytest.param(["c"], ["a"], "c", id="what cannot be read stays"),
    ],
)
def test_a_profile_that_is_taken_alone_evicts_whom_it_evicts_beside_the_others(
    entries: list[Any], served: list[str], victims: Any
) -> None:
    config = [{"name": SHARING, "args": {"victims": each}} for each in entries]
    (found,) = with_victims({"schedulerName": "a", "pluginConfig": config}, served)["pluginConfig"]
    assert found["args"]["victims"] == victims


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        pytest.param(SHARING, {"spred": 5}, 'unknown field "spred"; did you mean "spread"?', id="a typing error"),
        pytest.param(
            SHARING, {"spread": -1}, "spread: Invalid value: -1: not in valid range [0, 100]", id="too little"
        ),
        pytest.param(
            SHARING, {"victims": [""]}, "must be the name of a scheduler, or * for all", id="nobody's victims"
        ),
        pytest.param(SHARING, [], "it must be a map", id="no map"),
        pytest.param(NODES, {"selector": {"matchLabels": {"": "x"}}}, "name part must be non-empty", id="no label"),
        pytest.param(
            NODES,
            {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "for 'in', 'notin' operators, values set can't be empty",
            id="one of no values",
        ),
        pytest.param(
            NODES,
            {"selector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}},
            'Unsupported value: "Gt": supported values: "In", "NotIn", "Exists", "DoesNotExist"',
            id="an operator of other selectors",
        ),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(in_tree: Catalogue, name: str, args: Any, told: str) -> None:
    with pytest.raises(InvalidConfiguration) as refused:
        loaded(in_tree, name, args)
    assert told in str(refused.value)
    assert all(fault.at[:4] == ("profiles", 0, "pluginConfig", 0) for fault in refused.value.faults)
