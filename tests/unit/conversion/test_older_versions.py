"""Configurations of older versions in v1: the same plugins at the same points, with the same weights and arguments."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.expansion import Expansion, expand, merged
from pilotage.config.types import KubeSchedulerConfiguration, Plugins, Profile
from pilotage.conversion.notes import Notes
from pilotage.conversion.older_defaults import default_plugins
from pilotage.conversion.older_types import OlderConfiguration, Version
from pilotage.conversion.plugin_sets import as_multi_point, merged_lists
from pilotage.conversion.to_v1 import to_v1
from pilotage.plugins.catalogue import built_in

CATALOGUE = built_in()
FILTER, SCORE, POST_FILTER = ExtensionPoint.FILTER, ExtensionPoint.SCORE, ExtensionPoint.POST_FILTER
DEFAULT = expand(Profile(scheduler_name="p", plugins=merged(Plugins())), CATALOGUE)


def named(*names: str, **weights: int) -> list[dict[str, Any]]:
    return [*({"name": name} for name in names), *({"name": name, "weight": n} for name, n in weights.items())]


def converted(
    version: Version, profile: dict[str, Any], **more: Any
) -> tuple[Profile, KubeSchedulerConfiguration, Notes]:
    notes = Notes("file")
    older = OlderConfiguration.model_validate({"profiles": [profile], **more})
    config = to_v1(older, version, CATALOGUE, notes)
    return config.profiles[0], config, notes


def ran(profile: Profile) -> Expansion:
    found = expand(profile.model_copy(update={"plugins": merged(profile.plugins)}), CATALOGUE)
    assert not found.complaints
    return found


def arguments(profile: Profile) -> dict[str, Any]:
    return {entry.name: entry.args for entry in profile.plugin_config}


OLD = pytest.mark.parametrize("version", [Version.V1BETA1, Version.V1BETA2], ids=str)
EVERY = pytest.mark.parametrize("version", list(Version), ids=str)


@OLD
def test_without_a_word_the_default_plugins_have_the_weights_of_their_time(version: Version) -> None:
    profile, _, notes = converted(version, {})
    found = ran(profile)
    assert found.points == DEFAULT.points
    changed = {name: weight for name, weight in found.weights[SCORE].items() if weight != DEFAULT.weights[SCORE][name]}
    assert changed == {"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1}
    assert any("since v1beta3 they are 3, 2 and 2" in text for text in notes.told)


def test_without_a_word_v1beta3_is_v1() -> None:
    profile, _, notes = converted(Version.V1BETA3, {})
    assert (profile, notes.told) == (
        Profile(scheduler_name="default-scheduler", plugins=Plugins(), plugin_config=()),
        [],
    )


def test_v1beta1_avoided_nodes_by_annotation_unless_told_otherwise() -> None:
    said = "(NodePreferAvoidPods), and no plugin does that now"
    _, _, notes = converted(Version.V1BETA1, {})
    assert any(said in text for text in notes.told)
    _, _, quiet = converted(Version.V1BETA1, {"plugins": {"score": {"disabled": named("NodePreferAvoidPods")}}})
    assert not any(said in text for text in quiet.told)


@OLD
def test_a_weight_of_ones_own_stays(version: Version) -> None:
    profile, _, notes = converted(version, {"plugins": {"score": {"enabled": named(NodeAffinity=7)}}})
    assert ran(profile).weights[SCORE]["NodeAffinity"] == 7
    assert any("the weights of TaintToleration, InterPodAffinity are those of" in text for text in notes.told)


@OLD
def test_a_default_plugin_that_is_out_at_its_points_is_out(version: Version) -> None:
    profile, _, _ = converted(version, {"plugins": {"score": {"disabled": named("ImageLocality")}}})
    assert profile.plugins.multi_point.disabled_names == {"ImageLocality"}


@OLD
def test_one_that_is_out_at_one_point_stays_at_the_others(version: Version) -> None:
    profile, _, _ = converted(version, {"plugins": {"score": {"disabled": named("InterPodAffinity")}}})
    at = {point.value for point in ExtensionPoint if "InterPodAffinity" in ran(profile).points[point]}
    assert at == {"preFilter", "filter", "preScore"}


@OLD
def test_without_any_filter_of_their_time_there_is_none_that_came_later(version: Version) -> None:
    profile, _, _ = converted(version, {"plugins": {"filter": {"disabled": named("*"), "enabled": named("NodePorts")}}})
    found = ran(profile)
    assert found.points[FILTER] == ("NodePorts",)
    assert not any("DynamicResources" in names for names in found.points.values())


@OLD
def test_a_plugin_that_is_named_at_all_its_points_is_named_once(version: Version) -> None:
    points = {"preFilter": "NetworkOverhead", "filter": "NetworkOverhead"}
    sets = {point: {"enabled": named(name)} for point, name in points.items()}
    profile, _, _ = converted(version, {"plugins": {**sets, "score": {"enabled": named(NetworkOverhead=5)}}})
    assert {plugin.name: plugin.weight for plugin in profile.plugins.multi_point.enabled}["NetworkOverhead"] == 5
    assert profile.plugins.filter == Plugins().filter


def test_a_point_that_prepares_another_comes_with_it() -> None:
    sets = {point: {"enabled": named("NodeResourceTopologyMatch")} for point in ("filter", "score")}
    profile, _, _ = converted(Version.V1BETA1, {"plugins": sets})
    at = {point.value for point in ExtensionPoint if "NodeResourceTopologyMatch" in ran(profile).points[point]}
    assert at == {"preFilter", "filter", "score"}


def test_a_point_that_a_plugin_does_without_is_told() -> None:
    sets = {point: {"enabled": named("Coscheduling")} for point in ("preFilter", "permit", "reserve", "postBind")}
    profile, _, notes = converted(Version.V1BETA1, {"plugins": sets})
    assert profile.plugins.post_bind == Plugins().post_bind
    assert "file: default-scheduler: Coscheduling: it needs no postBind here" in notes.told


# ------------------------------------------------------------------------------------------------ plugins that are gone


@pytest.mark.parametrize(
    ("plugins", "weight", "args"),
    [
        pytest.param({}, 1, {}, id="least allocated, by default"),
        pytest.param({"disabled": named("NodeResourcesLeastAllocated")}, 0, {}, id="none"),
        pytest.param(
            {
                "disabled": named("NodeResourcesLeastAllocated"),
                "enabled": named(NodeResourcesMostAllocated=5),
            },
            5,
            {"scoringStrategy": {"type": "MostAllocated"}},
            id="most allocated in its place",
        ),
        pytest.param({"disabled": named("*"), "enabled": named(NodeResourcesLeastAllocated=3)}, 3, {}, id="alone"),
        pytest.param(
            {"enabled": named(NodeResourcesMostAllocated=5)},
            5,
            {"scoringStrategy": {"type": "MostAllocated"}},
            id="of both, the one with more weight",
        ),
    ],
)
def test_resource_scores_of_v1beta1_are_strategies(plugins: dict[str, Any], weight: int, args: dict[str, Any]) -> None:
    profile, _, _ = converted(Version.V1BETA1, {"plugins": {"score": plugins}})
    found = ran(profile)
    assert ("NodeResourcesFit" in found.points[SCORE], found.weights[SCORE].get("NodeResourcesFit", 0)) == (
        weight > 0,
        weight,
    )
    assert "NodeResourcesFit" in found.points[FILTER]
    assert arguments(profile).get("NodeResourcesFit", {}) == args


def test_two_strategies_at_once_have_no_counterpart() -> None:
    _, _, notes = converted(Version.V1BETA1, {"plugins": {"score": {"enabled": named(NodeResourcesMostAllocated=5)}}})
    assert any(text.endswith("NodeResourcesLeastAllocated has no equivalent") for text in notes.told)


def test_arguments_of_a_strategy_go_with_it() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    ratio = {"shape": shape, "resources": [{"name": "example.com/gpu", "weight": 3}]}
    profile, _, _ = converted(
        Version.V1BETA1,
        {
            "plugins": {
                "score": {
                    "disabled": named("NodeResourcesLeastAllocated"),
                    "enabled": named("RequestedToCapacityRatio"),
                }
            },
            "pluginConfig": [
                {"name": "RequestedToCapacityRatio", "args": ratio},
                {"name": "NodeResourcesFit", "args": {"ignoredResources": ["example.com/x"]}},
            ],
        },
    )
    assert arguments(profile) == {
        "NodeResourcesFit": {
            "scoringStrategy": {
                "type": "RequestedToCapacityRatio",
                "resources": [{"name": "example.com/gpu", "weight": 3}],
                "requestedToCapacityRatio": {"shape": shape},
            },
            "ignoredResources": ["example.com/x"],
        }
    }


@pytest.mark.parametrize("version", [Version.V1BETA2, Version.V1BETA3], ids=str)
def test_a_strategy_that_is_disabled_where_it_was_no_plugin_goes_on(version: Version) -> None:
    disabled = named("NodeResourcesLeastAllocated", "NodeResourcesBalancedAllocation")
    profile, _, notes = converted(version, {"plugins": {"score": {"disabled": disabled}}})
    assert "NodeResourcesFit" in ran(profile).points[SCORE]
    assert "NodeResourcesBalancedAllocation" not in ran(profile).points[SCORE]
    assert any("so nothing was disabled, and NodeResourcesFit scores" in text for text in notes.told)


@EVERY
@pytest.mark.parametrize(
    ("plugin", "point", "told"),
    [
        ("SelectorSpread", "score", "it was removed: PodTopologySpread"),
        ("NodePreferAvoidPods", "score", "it was removed: taint the nodes"),
        ("ServiceAffinity", "filter", "it was removed: give the pods a podAffinity"),
        ("NodeLabel", "filter", "it was removed: NodeAffinity keeps pods"),
        ("EBSLimits", "filter", "it was removed: NodeVolumeLimits counts its volumes"),
        ("CinderLimits", "filter", "it was removed: NodeVolumeLimits counts its volumes"),
    ],
)
def test_what_does_the_work_of_plugins_that_are_gone(version: Version, plugin: str, point: str, told: str) -> None:
    profile, _, notes = converted(version, {"plugins": {point: {"enabled": named(plugin)}}})
    found = ran(profile)
    assert found.points[FILTER].count("NodeVolumeLimits") == 1
    assert any(f"default-scheduler: {plugin}: {told}" in text for text in notes.told)
    assert not any(plugin in names for names in found.points.values())


@pytest.mark.parametrize(
    ("plugin", "told"),
    [
        ("SelectorSpread", "{defaultingType: List, defaultConstraints: []}"),
        ("AzureDiskLimits", "NodeVolumeLimits counts"),
    ],
)
def test_what_goes_on_though_its_plugin_was_disabled(plugin: str, told: str) -> None:
    _, _, notes = converted(Version.V1BETA3, {"plugins": {"multiPoint": {"disabled": named(plugin)}}})
    assert any(told in text for text in notes.told)


def test_node_label_becomes_an_affinity_of_all_pods() -> None:
    given = {"presentLabels": ["disk"], "absentLabels": ["old"], "presentLabelsPreference": ["fast"]}
    profile, _, notes = converted(
        Version.V1BETA1,
        {
            "plugins": {"filter": {"enabled": named("NodeLabel")}},
            "pluginConfig": [{"name": "NodeLabel", "args": given}],
        },
    )
    expressions = [{"key": "disk", "operator": "Exists"}, {"key": "old", "operator": "DoesNotExist"}]
    terms = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    assert arguments(profile) == {"NodeAffinity": {"addedAffinity": affinity}}
    assert any("NodeLabel: presentLabelsPreference has no equivalent" in text for text in notes.told)


def test_node_label_without_who_does_its_work_is_wrong() -> None:
    sets = {"filter": {"disabled": named("*"), "enabled": named("NodeLabel", "NodeName")}}
    entry = {"name": "NodeLabel", "args": {"presentLabels": ["disk"]}}
    _, _, notes = converted(Version.V1BETA1, {"plugins": sets, "pluginConfig": [entry]})
    assert len(notes.wrong) == 1
    assert "so nothing keeps pods on these nodes: enable it at filter" in notes.wrong[0]


def test_node_label_that_is_not_enabled_becomes_nothing() -> None:
    entry = {"name": "NodeLabel", "args": {"presentLabels": ["disk"]}}
    profile, _, notes = converted(Version.V1BETA1, {"pluginConfig": [entry]})
    assert arguments(profile) == {}
    assert any("the arguments of NodeLabel are dropped too" in text for text in notes.told)


# ------------------------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("plugin", "args", "left", "told"),
    [
        (
            "Coscheduling",
            {"permitWaitingTimeSeconds": 10, "kubeConfigPath": "/x", "kubeMaster": "y"},
            {"permitWaitingTimeSeconds": 10},
            "Coscheduling: kubeConfigPath is left out: the scheduler's own connection to the cluster is used",
        ),
        (
            "Coscheduling",
            {"deniedPGExpirationTimeSeconds": 3},
            {},
            "Coscheduling: deniedPGExpirationTimeSeconds is left out: podGroupBackoffSeconds sets",
        ),
        ("CapacityScheduling", {"kubeConfigPath": "/x"}, {}, "CapacityScheduling: kubeConfigPath is left out"),
        (
            "NodeResourceTopologyMatch",
            {
                "kubeconfigpath": "/x",
                "masteroverride": "y",
                "namespaces": ["z"],
                "scoringStrategy": {"type": "MostAllocated"},
            },
            {"scoringStrategy": {"type": "MostAllocated"}},
            "namespaces is left out: NodeResourceTopology is cluster-scoped now",
        ),
        (
            "SySched",
            {"sySchedCRDNamespace": "a", "sySchedFullCRDName": "b"},
            {"defaultProfileNamespace": "a", "defaultProfileName": "b"},
            "SySched: sySchedFullCRDName is defaultProfileName now",
        ),
        (
            "TargetLoadPacking",
            {"metricProvider": {"type": "Prometheus", "address": "https://p"}},
            {"metricProvider": {"type": "Prometheus", "address": "https://p"}},
            "TargetLoadPacking: scheduler-plugins accepted any certificate of Prometheus",
        ),
        ("NodeName", {"x": 1}, {}, "NodeName: x is left out: there is no such argument here"),
        (
            "ImageLocality",
            {"apiVersion": "kubescheduler.config.k8s.io/v1beta2", "kind": "ImageLocalityArgs"},
            {},
            "",
        ),
    ],
)
def test_arguments_of_older_plugins(plugin: str, args: dict[str, Any], left: dict[str, Any], told: str) -> None:
    profile, _, notes = converted(Version.V1BETA2, {"pluginConfig": [{"name": plugin, "args": args}]})
    assert arguments(profile) == {plugin: left}
    assert any(told in text for text in notes.told)


def test_default_constraints_of_v1beta1_were_a_list_without_a_word() -> None:
    constraints = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
    entry = {"name": "PodTopologySpread", "args": {"defaultConstraints": constraints}}
    profile, _, _ = converted(Version.V1BETA1, {"pluginConfig": [entry]})
    assert arguments(profile)["PodTopologySpread"]["defaultingType"] == "List"


# ---------------------------------------------------------------------------------------------- outside of the profiles


def test_what_v1_has_stays() -> None:
    _, config, notes = converted(
        Version.V1BETA2, {}, parallelism=8, leaderElection={"leaderElect": False}, podMaxBackoffSeconds=20
    )
    assert (config.parallelism, config.leader_election.leader_elect, config.pod_max_backoff_seconds) == (8, False, 20)
    assert not any("left out" in text for text in notes.told)


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ({"healthzBindAddress": "0.0.0.0:10251"}, "healthzBindAddress is left out: health and metrics are served"),
        ({"metricsBindAddress": ""}, "metricsBindAddress is left out: health and metrics are served"),
        ({"featureGates": {"X": True}}, "featureGates is left out: all gates have kube-scheduler's defaults"),
        ({"leaderElection": {"resourceLock": "endpointsleases"}}, "endpointsleases was removed: leases is used"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)
def test_what_v1_has_not_is_told(field: dict[str, Any], told: str) -> None:
    _, config, notes = converted(Version.V1BETA1, {}, **field)
    assert any(told in text for text in notes.told)
    assert config.leader_election.resource_lock in ("", "leases")


def test_preemption_that_was_off_for_all() -> None:
    profile, _, _ = converted(Version.V1BETA1, {}, disablePreemption=True)
    assert "DefaultPreemption" not in ran(profile).points[POST_FILTER]


def test_unreserve_is_part_of_reserve() -> None:
    profile, _, notes = converted(Version.V1BETA1, {"plugins": {"unreserve": {"enabled": named("Coscheduling")}}})
    assert "Coscheduling" in ran(profile).points[ExtensionPoint.RESERVE]
    assert any("plugins.unreserve is part of reserve now: Coscheduling" in text for text in notes.told)


def test_a_multi_point_before_its_time_is_taken_as_today() -> None:
    sets = {"multiPoint": {"enabled": named("PodState"), "disabled": named("ImageLocality")}}
    profile, _, notes = converted(Version.V1BETA2, {"plugins": sets})
    assert ran(profile).weights[SCORE].keys() - DEFAULT.weights[SCORE].keys() == {"PodState"}
    assert "ImageLocality" not in ran(profile).weights[SCORE]
    assert any("plugins.multiPoint exists only since v1beta3" in text for text in notes.told)


# --------------------------------------------------------------------------------------------- any sets, point by point

POINTS = [point for point in default_plugins(Version.V1BETA2) if point != ExtensionPoint.QUEUE_SORT]
BEFORE = {point: [plugin.name for plugin in plugins] for point, plugins in default_plugins(Version.V1BETA2).items()}


@st.composite
def plugin_sets(draw: st.DrawFn) -> Plugins:
    """Sets that a scheduler of that time ran: each plugin at points that it has, and who binds."""
    sets = {}
    for point in POINTS:
        known = [name for name in CATALOGUE.names() if point in CATALOGUE.points(name)]
        before = [name for name in known if name in BEFORE[point] or name not in DEFAULT_NAMES]
        off = draw(st.lists(st.sampled_from([*BEFORE[point], "*"]), unique=True, max_size=2))
        on = draw(st.lists(st.sampled_from(before), unique=True, max_size=3))
        if point == ExtensionPoint.BIND:
            off = []
        weights = {name: draw(st.integers(0, 9)) if point == SCORE else 0 for name in on}
        sets[point.value] = {
            "enabled": [{"name": name, "weight": weight} for name, weight in weights.items()],
            "disabled": named(*off),
        }
    return Plugins.model_validate(sets)


DEFAULT_NAMES = {name for names in DEFAULT.points.values() for name in names}


@examples(300)
@given(plugin_sets())
def test_who_took_part_in_v1beta2_takes_part_in_v1(plugins: Plugins) -> None:
    wanted = merged_lists(plugins, default_plugins(Version.V1BETA2))
    found = ran(Profile(scheduler_name="p", plugins=as_multi_point(plugins, Version.V1BETA2, CATALOGUE)))
    for point in POINTS:
        names = [plugin.name for plugin in wanted[point]]
        # Some prepare at more points today, and some are new: all of that time are where they were, and nowhere else.
        assert [name for name in names if name not in found.points[point]] == []
        more = set(found.points[point]) - set(names)
        assert not more & set(BEFORE[point])
        if point in (FILTER, SCORE):
            assert not {name for name in more if name not in DEFAULT_NAMES}
    weights = {plugin.name: plugin.weight or 1 for plugin in wanted[SCORE]}
    assert {name: found.weights[SCORE][name] for name in weights} == weights
