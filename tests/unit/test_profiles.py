"""From a configuration to plugins that are ready to run."""

import pytest

from pilotage.config.load import load
from pilotage.plugins.catalogue import built_in
from pilotage.profiles import Profile, build_profiles

CATALOGUE = built_in()
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def profiles(text: str = "") -> dict[str, Profile]:
    return build_profiles(load(HEAD + text, CATALOGUE), CATALOGUE)


def names(plugins: tuple[object, ...]) -> list[str]:
    return [type(plugin).__name__ for plugin in plugins]


def test_the_default_profile_has_the_plugins_of_kube_scheduler_in_their_order() -> None:
    plugin_set = profiles()["default-scheduler"].plugin_set
    assert names(plugin_set.queue_sort) == ["PrioritySort"]
    assert names(plugin_set.filter)[:5] == [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
    ]
    assert names(plugin_set.post_filter) == ["DynamicResources", "DefaultPreemption"]
    assert names(plugin_set.bind) == ["DefaultBinder"]
    weights = {name: plugin_set.weights[name] for name in ("TaintToleration", "NodeAffinity", "ImageLocality")}
    assert weights == {"TaintToleration": 3, "NodeAffinity": 2, "ImageLocality": 1}


def test_a_plugin_is_one_object_wherever_it_takes_part_and_another_in_each_profile() -> None:
    both = profiles("profiles: [{schedulerName: a}, {schedulerName: b}]")
    one, other = both["a"].plugin_set, both["b"].plugin_set
    found = {id(plugin) for plugin in (*one.pre_filter, *one.filter, *one.score) if plugin.name == "NodeResourcesFit"}
    assert len(found) == 1
    assert not {id(plugin) for plugin in one.plugins().values()} & {id(plugin) for plugin in other.plugins().values()}


def test_arguments_reach_their_plugin() -> None:
    text = """
profiles:
- pluginConfig:
  - name: InterPodAffinity
    args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs, hardPodAffinityWeight: 7}
"""
    [plugin] = [
        each for each in profiles(text)["default-scheduler"].plugin_set.filter if each.name == "InterPodAffinity"
    ]
    assert getattr(plugin, "hard_pod_affinity_weight", None) == 7


def test_weights_and_order_of_a_profile() -> None:
    text = """
profiles:
- plugins:
    multiPoint: {disabled: [{name: "*"}]}
    queueSort: {enabled: [{name: PrioritySort}]}
    bind: {enabled: [{name: DefaultBinder}]}
    filter: {enabled: [{name: NodePorts}, {name: NodeName}]}
    score: {enabled: [{name: ImageLocality, weight: 9}, {name: NodeAffinity}]}
"""
    plugin_set = profiles(text)["default-scheduler"].plugin_set
    assert names(plugin_set.filter) == ["NodePorts", "NodeName"]
    assert not plugin_set.pre_filter
    assert plugin_set.weights == {"ImageLocality": 9, "NodeAffinity": 1}


@pytest.mark.parametrize(
    ("text", "percentage"),
    [
        pytest.param("", 0, id="none is 0, which leaves it to the scheduler"),
        pytest.param("percentageOfNodesToScore: 30", 30, id="of all profiles"),
        pytest.param("percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 50}]", 50, id="its own"),
        pytest.param("percentageOfNodesToScore: 30\nprofiles: [{percentageOfNodesToScore: 0}]", 0, id="its own 0"),
    ],
)
def test_the_percentage_of_nodes_to_score(text: str, percentage: int) -> None:
    assert profiles(text)["default-scheduler"].percentage_of_nodes_to_score == percentage
