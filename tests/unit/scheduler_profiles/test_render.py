"""What is rendered for a profile: judged by what the scheduler makes of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pilotage.config.catalogue import ExtensionPoint
from pilotage.config.load import Loaded, load
from pilotage.framework.api.plugin import Bind, Filter, QueueSort, Score
from pilotage.plugins.catalogue import PluginCatalogue, built_in
from pilotage.scheduler_profiles.render import configuration, extenders_of, joined_extenders, profile_of
from pilotage.scheduler_profiles.resource import Spec


class OnlySorts(QueueSort):
    """Sorts otherwise."""


class OtherSort(QueueSort, Filter):
    """Sorts otherwise, and filters."""


class OtherBinder(Bind):
    """Binds otherwise."""


class OtherScore(Score):
    """Scores otherwise."""

    settings: dict[str, Any] = Field(default_factory=dict)


@pytest.fixture(scope="module")
def catalogue() -> PluginCatalogue:
    found = built_in()
    for plugin in (OnlySorts, OtherSort, OtherBinder, OtherScore):
        found.add(plugin, "test")
    return found


def loaded(catalogue: PluginCatalogue, **spec: Any) -> Loaded:
    profile = profile_of("p", Spec.model_validate(spec), catalogue)
    return load(configuration([profile], [], "idle"), catalogue)


def points(found: Loaded) -> dict[str, tuple[str, ...]]:
    return {point.value: names for point, names in found.expansions[0].points.items() if names}


def running(found: Loaded) -> set[str]:
    return {name for names in points(found).values() for name in names}


def weights(found: Loaded) -> dict[str, int]:
    return dict(found.expansions[0].weights[ExtensionPoint.SCORE])


def entry(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


DEFAULT = loaded(built_in())


def test_nothing_said_is_the_default_profile(catalogue: PluginCatalogue) -> None:
    assert profile_of("p", Spec(), catalogue) == {"schedulerName": "p"}


def test_a_disabled_plugin_is_taken_out(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, plugins=[entry("ImageLocality", enabled=False, weight=5)])
    assert running(DEFAULT) - running(found) == {"ImageLocality"}


def test_a_weight_replaces_that_of_the_base_in_its_place(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, plugins=[entry("NodeAffinity", weight=7)])
    assert points(found) == points(DEFAULT)
    assert weights(found) == weights(DEFAULT) | {"NodeAffinity": 7}


def test_arguments_alone_leave_the_weight_as_it_is(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, plugins=[entry("NodeResourcesFit", args={"scoringStrategy": {"type": "MostAllocated"}})])
    assert weights(found) == weights(DEFAULT)
    args = {each.name: each.args for each in found.config.profiles[0].plugin_config}
    assert args["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"


def test_arguments_of_a_disabled_plugin_wait(catalogue: PluginCatalogue) -> None:
    spec = Spec.model_validate({"plugins": [entry("NodeAffinity", enabled=False, args={"x": 1})]})
    assert "pluginConfig" not in profile_of("p", spec, catalogue)


def test_another_plugin_comes_beside_the_default_ones(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, plugins=[entry("OtherScore", weight=4)])
    assert running(found) - running(DEFAULT) == {"OtherScore"}
    assert weights(found)["OtherScore"] == 4


def test_points_are_the_only_ones(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, plugins=[entry("NodeAffinity", points=["score"])])
    where = [point for point, names in points(found).items() if "NodeAffinity" in names]
    assert where == ["score"]
    assert weights(found)["NodeAffinity"] == weights(DEFAULT)["NodeAffinity"]


def test_points_with_a_weight(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, plugins=[entry("NodeAffinity", points=["filter", "score"], weight=9)])
    assert weights(found)["NodeAffinity"] == 9
    assert sorted(point for point, names in points(found).items() if "NodeAffinity" in names) == ["filter", "score"]


def test_from_nothing_there_is_what_every_scheduler_needs(catalogue: PluginCatalogue) -> None:
    assert points(loaded(catalogue, base="None")) == {"queueSort": ("PrioritySort",), "bind": ("DefaultBinder",)}


def test_from_nothing_with_plugins(catalogue: PluginCatalogue) -> None:
    found = loaded(catalogue, base="None", plugins=[entry("OtherScore"), entry("OtherBinder")])
    assert points(found) == {"queueSort": ("PrioritySort",), "bind": ("OtherBinder",), "score": ("OtherScore",)}


@pytest.mark.parametrize("base", ["Kubernetes", "None"])
@pytest.mark.parametrize(
    ("entries", "sorter", "filters"),
    [
        pytest.param([entry("OnlySorts")], "OnlySorts", False, id="another plugin replaces PrioritySort"),
        pytest.param(
            [entry("OtherSort"), entry("PrioritySort")],
            "PrioritySort",
            True,
            id="unless PrioritySort is named itself",
        ),
        pytest.param(
            [entry("OtherSort", points=["filter"])], "PrioritySort", True, id="or the other takes no part in sorting"
        ),
        pytest.param(
            [entry("OtherSort"), entry("PrioritySort", enabled=False)],
            "OtherSort",
            True,
            id="PrioritySort may be disabled by name too",
        ),
        pytest.param([entry("OtherSort", points=["queueSort"])], "OtherSort", False, id="sorting only"),
    ],
)
def test_one_plugin_sorts_the_queue(
    catalogue: PluginCatalogue, base: str, entries: list[dict[str, Any]], sorter: str, filters: bool
) -> None:
    found = points(loaded(catalogue, base=base, plugins=entries))
    assert found["queueSort"] == (sorter,)
    assert ("OtherSort" in found.get("filter", ())) == filters


def test_a_plugin_that_does_more_than_sort_leaves_the_order_to_prioritysort(catalogue: PluginCatalogue) -> None:
    found = points(loaded(catalogue, plugins=[entry("OtherSort")]))
    assert found["queueSort"] == ("PrioritySort",)
    assert "OtherSort" in found["filter"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param([], [entry("OtherSort"), entry("PrioritySort")], id="by default, and because it is named"),
        pytest.param(
            [entry("OtherSort"), entry("PrioritySort", enabled=False)],
            [entry("OtherSort", points=["queueSort"])],
            id="as a whole, and only sorting",
        ),
    ],
)
def test_profiles_that_sort_alike_can_run_together(
    catalogue: PluginCatalogue, one: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    specs = {"p": Spec.model_validate({"plugins": one}), "q": Spec.model_validate({"plugins": other})}
    profiles = [profile_of(name, spec, catalogue) for name, spec in specs.items()]
    alone = [load(configuration([profile], [], "idle"), catalogue).expansions[0].points for profile in profiles]
    together = load(configuration(profiles, [], "idle"), catalogue)
    assert [each.points for each in together.expansions] == alone


def test_no_profile_is_one_that_no_pod_asks_for(catalogue: PluginCatalogue) -> None:
    found = load(configuration([], [], "idle.pilot"), catalogue)
    assert [profile.scheduler_name for profile in found.config.profiles] == ["idle.pilot"]
    [plugins] = [{name for names in each.points.values() for name in names} for each in found.expansions]
    assert plugins == {"PrioritySort", "DefaultBinder"}


def test_profiles_are_sorted_by_the_name_of_the_scheduler(catalogue: PluginCatalogue) -> None:
    profiles = [profile_of(name, Spec(), catalogue) for name in ("b", "a", "C")]
    found = load(configuration(profiles, [], "idle"), catalogue)
    assert [profile.scheduler_name for profile in found.config.profiles] == ["C", "a", "b"]
    assert configuration(profiles, [], "idle") == configuration(reversed(profiles), [], "idle")


def test_extenders_are_one_list_in_which_each_is_once(catalogue: PluginCatalogue) -> None:
    one = {"urlPrefix": "http://one", "filterVerb": "f", "httpTimeout": "3s", "enableHTTPS": False}
    two = {"urlPrefix": "https://two", "prioritizeVerb": "p", "weight": 2, "tlsConfig": {"serverName": "x"}}
    specs = [Spec.model_validate({"extenders": listed}) for listed in ([one], [two, one])]
    joined = joined_extenders(extenders_of(spec) for spec in specs)
    found = load(configuration([{"schedulerName": "a"}], joined, "idle"), catalogue).config.extenders
    assert [each.url_prefix for each in found] == ["http://one", "https://two"]
    assert str(found[0].http_timeout) == "3s"
    assert found[1].tls_config is not None
    assert found[1].tls_config.server_name == "x"


SCORING = built_in()
SCORING.add(OtherScore, "test")
# Surrogates alone are no text, and YAML has no way to write what JSON never lets in.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from(
    ["no", "on", "~", "1:30", "014", "2026-01-01", "0x1f", "1e3", ".inf", "=", "<<", "- a", "#", "&a", "*a"]
)


@given(st.dictionaries(texts | words, values | words, min_size=1, max_size=4))
def test_arguments_reach_the_scheduler_as_they_are(args: dict[str, Any]) -> None:
    arguments = [{"name": "OtherScore", "args": {"settings": args}}]
    plugins = {"multiPoint": {"enabled": [{"name": "OtherScore"}]}}
    profile = {"schedulerName": "p", "plugins": plugins, "pluginConfig": arguments}
    found = load(configuration([profile], [], "idle"), SCORING).config.profiles[0].plugin_config
    assert next(each.args for each in found if each.name == "OtherScore")["settings"] == args
