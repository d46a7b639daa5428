"""Profiles of a configuration as specs: shortest where that will do, and always the same plugins at the same points."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.tiers import examples
from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.expansion import expand, merged
from pilotage.config.types import Plugins, Profile
from pilotage.conversion.effective_plugins import complaints_about, unknown_plugins
from pilotage.conversion.profile_specs import compared, spec_of
from pilotage.plugins.catalogue import built_in
from pilotage.scheduler_profiles.render import profile_of
from pilotage.scheduler_profiles.resource import Point, Spec

CATALOGUE = built_in()
ON, OFF = "enabled", "disabled"


def profile(plugins: dict[str, Any], **more: Any) -> Profile:
    return Profile.model_validate({"schedulerName": "p", "plugins": plugins, **more})


def named(*names: str, **weights: int) -> list[dict[str, Any]]:
    return [*({"name": name} for name in names), *({"name": name, "weight": n} for name, n in weights.items())]


@pytest.mark.parametrize(
    ("plugins", "entries"),
    [
        pytest.param({}, [], id="the default plugins"),
        pytest.param({"multiPoint": {ON: named("Priority")}}, [{"name": "Priority"}], id="one more"),
        pytest.param({"multiPoint": {ON: named(Priority=7)}}, [{"name": "Priority", "weight": 7}], id="with a weight"),
        pytest.param(
            {"score": {ON: named("PodState")}}, [{"name": "PodState"}], id="one more, at the point that it has"
        ),
        pytest.param(
            {"score": {ON: named(Priority=3)}},
            [{"name": "Priority", "weight": 3, "points": ["score"]}],
            id="one more, at one of its points",
        ),
        pytest.param(
            {"multiPoint": {OFF: named("ImageLocality")}},
            [{"name": "ImageLocality", "enabled": False}],
            id="one less",
        ),
        pytest.param(
            {"score": {OFF: named("ImageLocality")}},
            [{"name": "ImageLocality", "enabled": False}],
            id="one less, at the only point that it has",
        ),
        pytest.param(
            {"score": {OFF: named("NodeResourcesFit")}},
            [{"name": "NodeResourcesFit", "points": ["preFilter", "filter"]}],
            id="a default plugin that scores no more",
        ),
        pytest.param(
            {"multiPoint": {ON: named(NodeAffinity=9)}},
            [{"name": "NodeAffinity", "weight": 9}],
            id="a default plugin with another weight",
        ),
        pytest.param(
            {"queueSort": {ON: named("QOSSort"), OFF: named("*")}},
            [{"name": "QOSSort"}],
            id="another order of the queue",
        ),
        pytest.param(
            {"multiPoint": {ON: named("Coscheduling")}}, [{"name": "Coscheduling"}], id="who could sort, and does not"
        ),
        pytest.param(
            {"multiPoint": {ON: named("Coscheduling"), OFF: named("PrioritySort")}},
            [{"name": "Coscheduling"}, {"name": "PrioritySort", "enabled": False}],
            id="who could sort, and does",
        ),
        pytest.param(
            {"multiPoint": {ON: named("Mine")}, "filter": {ON: named("Yours")}, "score": {ON: named(Yours=2)}},
            [{"name": "Mine"}, {"name": "Yours", "weight": 2, "points": ["filter", "score"]}],
            id="plugins that nobody knows",
        ),
    ],
)
def test_what_is_different(plugins: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    given = profile(plugins)
    spec = spec_of(given, CATALOGUE)
    by_name = {entry["name"]: entry for entry in spec.get("plugins", ())}
    assert by_name == {entry["name"]: entry for entry in entries}
    assert compared(given, spec, CATALOGUE).is_same


def test_arguments_stand_with_their_plugin() -> None:
    given = profile({}, pluginConfig=[{"name": "NodeAffinity", "args": {"addedAffinity": {}}}])
    assert spec_of(given, CATALOGUE)["plugins"] == [{"name": "NodeAffinity", "args": {"addedAffinity": {}}}]


def test_the_share_of_nodes_stays() -> None:
    assert spec_of(profile({}, percentageOfNodesToScore=30), CATALOGUE) == {"percentageOfNodesToScore": 30}


def test_what_is_said_to_the_engine_stays() -> None:
    spec = {"sharing": {"spread": 0, "guard": True}, "nodes": {"selector": {"matchLabels": {"pool": "batch"}}}}
    rendered = profile_of("p", Spec.model_validate(spec), CATALOGUE)
    assert spec_of(Profile.model_validate(rendered), CATALOGUE) == spec


@pytest.mark.parametrize(
    ("plugins", "order"),
    [
        pytest.param(
            {"multiPoint": {ON: named("CapacityScheduling")}, "postFilter": {ON: named("CapacityScheduling")}},
            ("CapacityScheduling", "DynamicResources", "DefaultPreemption"),
            id="another one goes before the default ones",
        ),
        pytest.param(
            {"score": {OFF: named("DynamicResources")}},
            ("DynamicResources", "DefaultPreemption"),
            id="a default one that names its points stays where it was",
        ),
    ],
)
def test_the_first_that_makes_room_stays_the_first(plugins: dict[str, Any], order: tuple[str, ...]) -> None:
    given = profile(plugins)
    spec = spec_of(given, CATALOGUE)
    made = Profile.model_validate(profile_of("p", Spec.model_validate(spec), CATALOGUE))
    for each in (given, made):
        found = expand(each.model_copy(update={"plugins": merged(each.plugins)}), CATALOGUE)
        assert found.points[ExtensionPoint.POST_FILTER] == order
    assert compared(given, spec, CATALOGUE).is_same


def test_an_order_that_differs_is_told() -> None:
    given = profile({"score": {OFF: named("TaintToleration")}})
    found = compared(given, spec_of(given, CATALOGUE), CATALOGUE)
    assert (found.is_same, [point for point, _, _ in found.reordered]) == (True, ["filter"])


def test_what_no_scheduler_runs() -> None:
    given = profile({"queueSort": {OFF: named("*")}})
    assert complaints_about(given, CATALOGUE) == [
        'only one queue sort plugin required for profile with scheduler name "p", but got 0'
    ]


def test_plugins_that_nobody_knows() -> None:
    assert unknown_plugins(profile({"score": {ON: named("Mine", "PodState")}}), CATALOGUE) == ["Mine"]


@st.composite
def plugin_sets(draw: st.DrawFn) -> Plugins:
    """Sets of any points, from few plugins so that they meet often."""
    names = draw(st.lists(st.sampled_from(sorted(CATALOGUE.names())), min_size=2, max_size=6, unique=True))
    sets = {"multiPoint": _set(draw, names)}
    for point in draw(st.lists(st.sampled_from(list(Point)), unique=True, max_size=4)):
        fit = [name for name in names if ExtensionPoint(point.value) in CATALOGUE.points(name)]
        sets[point.value] = _set(draw, fit)
    return Plugins.model_validate(sets)


def _set(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    on = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
    weights = {name: draw(st.integers(0, 5)) for name in on}
    off = draw(st.lists(st.sampled_from([*names, "*"]), unique=True, max_size=2))
    return {ON: [{"name": name, "weight": weight} for name, weight in weights.items()], OFF: named(*off)}


@examples(400)
@given(plugin_sets())
def test_a_spec_comes_to_what_its_profile_comes_to(plugins: Plugins) -> None:
    given = Profile(scheduler_name="p", plugins=plugins)
    assume(not complaints_about(given, CATALOGUE))
    found = compared(given, spec_of(given, CATALOGUE), CATALOGUE)
    assert found.is_same
    assert not {"postFilter", "bind"} & {point for point, _, _ in found.reordered}
