"""A spec is judged with the scheduler's own code, in the words of the SchedulerProfile, with all faults at once."""

import sys
from pathlib import Path
from typing import Any

import pytest

from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.framework.api.plugin import Permission, Score
from pilotage.framework.runtime.reading import rights_to_read
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.judge import Judge
from pilotage_operator.plugin_catalogue import judge_with


@pytest.fixture(scope="module")
def judge() -> Judge:
    return Judge(built_in())


def plugins(*entries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"plugins": list(entries), **more}


def selecting(**selector: Any) -> dict[str, Any]:
    return {"nodes": {"selector": selector}}


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        pytest.param(
            plugins({"name": "NodeAffinty"}),
            "UnknownPlugin",
            "spec.plugins[name=NodeAffinty]: unknown plugin; did you mean 'NodeAffinity'?",
            id="a plugin that nobody knows, with the name that was probably meant",
        ),
        pytest.param(
            plugins({"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": "much"}}),
            "Invalid",
            "spec.plugins[name=InterPodAffinity].args.hardPodAffinityWeight: "
            'must be a whole number of 32 bits, not the string "much"',
            id="an argument of the wrong type",
        ),
        pytest.param(
            plugins({"name": "InterPodAffinity", "args": {"hardWeight": 1, "softWeight": 1}}),
            "Invalid",
            'spec.plugins[name=InterPodAffinity].args: unknown field "hardWeight", unknown field "softWeight"; '
            'did you mean "hardPodAffinityWeight"?',
            id="arguments that do not exist",
        ),
        pytest.param(
            plugins({"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": -1}}),
            "Invalid",
            "spec.plugins[name=DefaultPreemption].args.minCandidateNodesPercentage: "
            "Invalid value: -1: not in valid range [0, 100]",
            id="an argument out of bounds",
        ),
        pytest.param(
            plugins({"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}}),
            "Invalid",
            'spec.plugins[name=NodeResourcesFit].args.scoringStrategy.type: Unsupported value: "Most": '
            'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
            id="an argument that only the plugin's constructor refuses",
        ),
        pytest.param(
            plugins({"name": "NodeName", "args": {"strict": True}}),
            "Invalid",
            "spec.plugins[name=NodeName].args: NodeName has no arguments; remove them",
            id="arguments of a plugin that has none",
        ),
        pytest.param(
            plugins({"name": "NodeName", "points": ["score"]}),
            "Invalid",
            "spec.plugins[name=NodeName].points: NodeName does not implement score, only filter, preFilter",
            id="a point at which the plugin takes no part",
        ),
        pytest.param(
            plugins({"name": "NodeName"}, {"name": "NodeName", "enabled": False}),
            "Invalid",
            "spec.plugins[name=NodeName]: the plugin is listed twice; remove one of the entries",
            id="a plugin that is there twice",
        ),
        pytest.param(
            plugins({"name": "ImageLocality", "weight": -1}),
            "Invalid",
            "spec.plugins[name=ImageLocality].weight: input should be greater than or equal to 1, not -1",
            id="a negative weight that was stored all the same",
        ),
        pytest.param(
            plugins({"name": "PrioritySort", "enabled": False}),
            "Invalid",
            'spec.plugins: only one queue sort plugin required for profile with scheduler name "p", but got 0',
            id="nobody sorts the queue",
        ),
        pytest.param(
            {"extenders": [{"urlPrefix": "http://x", "filterVerb": "f", "managedResources": [{"name": "cpu"}]}]},
            "Invalid",
            'spec.extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name; '
            "an extended resource is named like example.com/device",
            id="an extender that the scheduler would not take",
        ),
        pytest.param({"plugin": []}, "Invalid", "spec.plugin: unknown field", id="a field that is not there"),
        pytest.param(
            {"base": "Go"}, "Invalid", "spec.base: input should be 'Kubernetes' or 'None', not 'Go'", id="a word"
        ),
        pytest.param(plugins({"weight": 3}), "Invalid", "spec.plugins[0].name: required", id="a plugin with no name"),
        pytest.param(
            {"sharing": {"spread": 101}},
            "Invalid",
            "spec.sharing.spread: input should be less than or equal to 100, not 101",
            id="a spread of more than everything",
        ),
        pytest.param({"nodes": {}}, "Invalid", "spec.nodes.selector: required", id="own nodes without a word which"),
        pytest.param(
            selecting(matchLabels={"pool!": "batch"}),
            "Invalid",
            'spec.nodes.selector.matchLabels.pool!: Invalid value: {"key":"pool!","operator":"In","values":["batch"]}: '
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
            "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="a label that no node can have",
        ),
        pytest.param(
            selecting(matchExpressions=[{"key": "pool", "operator": "In", "values": ["a b"]}]),
            "Invalid",
            'spec.nodes.selector.matchExpressions[0]: Invalid value: {"key":"pool","operator":"In","values":["a b"]}: '
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used "
            "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            id="a value that no label can have",
        ),
        pytest.param(
            selecting(matchExpressions=[{"key": "pool", "operator": "Gt", "values": ["1"]}]),
            "Invalid",
            "spec.nodes.selector.matchExpressions[0].operator: "
            "input should be 'In', 'NotIn', 'Exists' or 'DoesNotExist', not 'Gt'",
            id="an operator that selectors of labels do not have",
        ),
        pytest.param("text", "Invalid", None, id="a spec that is no map"),
        pytest.param(
            plugins({"name": "NodeAffinity", "args": {"x": "y" * 900_000}}),
            "TooLarge",
            "spec: it has 878 KiB, the limit is 256; shorten the arguments of its plugins",
            id="a body of 900 KB",
        ),
    ],
)
def test_what_is_wrong_is_told(judge: Judge, spec: Any, reason: str, message: str | None) -> None:
    found = judge.judge("p", spec)
    assert [each.reason for each in found.complaints] == [reason]
    assert message is None or [each.message for each in found.complaints] == [message]
    assert not found.can_run


def test_everything_is_told_at_once(judge: Judge) -> None:
    found = judge.judge(
        "p",
        plugins(
            {"name": "Coschedulling"},
            {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": "much"}},
            {"name": "DefaultPreemption", "args": {"minCandidateNodesPercentage": -1}},
            {"name": "NodeAffinity", "weight": 0},
            percentageOfNodesToScore=400,
        ),
    )
    places = [each.message.partition(": ")[0] for each in found.complaints]
    assert sorted(places) == [
        "spec.percentageOfNodesToScore",
        "spec.plugins[name=Coschedulling]",
        "spec.plugins[name=DefaultPreemption].args.minCandidateNodesPercentage",
        "spec.plugins[name=InterPodAffinity].args.hardPodAffinityWeight",
        "spec.plugins[name=NodeAffinity].weight",
    ]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(None, id="no spec at all"),
        pytest.param({}, id="an empty one"),
        pytest.param({"base": "None"}, id="nothing but what every scheduler needs"),
        pytest.param(plugins({"name": "ImageLocality", "enabled": False, "weight": 3}), id="a toggle"),
        pytest.param(plugins({"name": "Priority", "weight": 10}), id="a plugin beside the default ones"),
    ],
)
def test_what_can_run_is_accepted(judge: Judge, spec: Any) -> None:
    found = judge.judge("p", spec)
    assert found.complaints == ()
    assert found.can_run
    assert found.scheduler_name == "p"
    assert found.points["queueSort"] == ("PrioritySort",)


@pytest.mark.parametrize(
    ("args", "needs_it"),
    [
        pytest.param({}, True, id="asks the metrics API"),
        pytest.param({"metricProvider": {"type": "Prometheus"}}, False, id="asks Prometheus"),
        pytest.param({"watcherAddress": "http://w:2020"}, False, id="asks a load-watcher"),
    ],
)
def test_node_metrics_must_be_served_and_allowed_only_for_a_plugin_that(
    judge: Judge, args: dict[str, Any], needs_it: bool
) -> None:
    found = judge.judge("p", plugins({"name": "TargetLoadPacking", "args": args}))
    assert found.complaints == ()
    assert (("TargetLoadPacking", Permission("metrics.k8s.io", "nodes", ("list",))) in found.needs) is needs_it


def test_the_rights_of_all_plugins_are_collected(judge: Judge) -> None:
    needs = judge.judge("p", {}).needs
    plugins_there = [built_in().construct(each.name, {}) for each in DEFAULT_PLUGINS]
    assert {*needs} == {
        (each.name, right) for each in plugins_there for right in (*rights_to_read(each), *each.needed())
    }
    assert ("DefaultPreemption", Permission("", "pods", ("delete",))) in needs
    without = judge.judge("p", plugins({"name": "DefaultPreemption", "enabled": False})).needs
    assert "DefaultPreemption" not in [plugin for plugin, _ in without]


def test_a_nest_of_maps_is_no_surprise(judge: Judge) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert [each.reason for each in judge.judge("p", deep).complaints] == ["Invalid"]
    while deep:  # a nest this deep must be taken apart by hand
        deep = deep.pop("a")


def test_a_plugin_that_raises_while_it_is_made_is_a_fault_of_the_profile() -> None:
    class Brittle(Score):
        """Breaks."""

        size: int = 1

        def __post_init__(self) -> None:
            if self.size > 1:
                raise RuntimeError("too big")

    catalogue = built_in()
    catalogue.add(Brittle, "test")
    judge = Judge(catalogue)
    assert judge.judge("p", plugins({"name": "Brittle"})).complaints == ()
    found = judge.judge("p", plugins({"name": "Brittle", "args": {"size": 2}})).complaints
    assert [each.reason for each in found] == ["Invalid"]
    assert "too big" in found[0].message


def test_a_broken_file_in_the_plugin_folder_is_told_where_its_plugin_is_missing(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import nothing_of_this_name\n")
    found = judge_with([tmp_path]).judge("p", plugins({"name": "Mine"})).complaints
    assert "nothing_of_this_name" in found[0].message


def test_plugins_of_a_folder_are_known(tmp_path: Path) -> None:
    code = Path("examples/plugins/name_score.py").read_text()
    (tmp_path / "name_score.py").write_text(code)
    assert judge_with([tmp_path]).judge("p", plugins({"name": "NameScore"})).complaints == ()


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        pytest.param(
            "NodeAffinty",
            ["spec.plugins[name=NodeAffinty]: unknown plugin; did you mean 'NodeAffinity'?"],
            id="with a name that is almost that of a plugin, it is probably a slip",
        ),
        pytest.param("RackPower", [], id="with a name of its own, its file may be gone"),
    ],
)
def test_a_plugin_that_nobody_knows_stops_nothing_where_it_is_disabled(name: str, messages: list[str]) -> None:
    verdict = Judge(built_in()).judge("p", plugins({"name": name, "enabled": False}))
    assert [each.message for each in verdict.complaints] == messages
    assert verdict.can_run


@pytest.mark.parametrize(
    ("needed", "told"),
    [
        pytest.param(lambda self: 1 / 0, "ZeroDivisionError: division by zero", id="it raises"),
        pytest.param(lambda self: sys.exit("enough"), "SystemExit: enough", id="it exits"),
        pytest.param(lambda self: None, "TypeError: 'NoneType' object is not iterable", id="it says nothing"),
        pytest.param(lambda self: ["pods"], "TypeError: str 'pods' is not a Permission", id="it says a word"),
    ],
)
def test_a_plugin_that_cannot_say_what_it_needs_stops_its_own_profile_alone(needed: Any, told: str) -> None:
    catalogue = built_in()
    unsure = type("Unsure", (Score,), {"needed": needed, "score": lambda self, *_: 0, "__module__": __name__})
    catalogue.add(unsure, "unsure.py")
    judge = Judge(catalogue)
    found = judge.judge("p", plugins({"name": "Unsure"}))
    assert [(each.reason, each.message) for each in found.complaints] == [
        ("BrokenPlugin", f"spec.plugins: cannot determine the permissions of Unsure: {told}")
    ]
    assert not found.can_run
    assert found.scheduler_name == "p"
    assert judge.judge("q", {}).complaints == ()
