"""Which plugins run where, in which order and with which weight."""

from collections.abc import Collection

import pytest

from pilotage.config.catalogue import Catalogue, ExtensionPoint, ReadArguments
from pilotage.config.defaults import DEFAULT_MULTI_POINT
from pilotage.config.expansion import Expansion, expand, merged
from pilotage.config.types import Plugins, Profile

FIRST, SECOND = ExtensionPoint.FILTER, ExtensionPoint.SCORE


KNOWN = {
    "Queue": (ExtensionPoint.QUEUE_SORT,),
    "Queue2": (ExtensionPoint.QUEUE_SORT,),
    "Binder": (ExtensionPoint.BIND,),
    "A": (FIRST, SECOND),
    "B": (FIRST, SECOND),
    "C": (FIRST, SECOND, ExtensionPoint.PLACEMENT_SCORE),
    "OnlyFilter": (FIRST,),
    "Places": (ExtensionPoint.PLACEMENT_GENERATE,),
    "Places2": (ExtensionPoint.PLACEMENT_GENERATE,),
}


class Few:
    """A queue, a binder, and some plugins that filter and score."""

    def names(self) -> Collection[str]:
        return KNOWN.keys()

    def of(self, scheduler_name: str) -> Catalogue:
        return self

    def points(self, plugin: str) -> Collection[ExtensionPoint]:
        return KNOWN[plugin]

    def arguments(self, plugin: str) -> ReadArguments | None:
        return None


def names(text: str) -> list[dict[str, object]]:
    """`A=2 B` is plugin A of weight 2 and plugin B."""
    parts = [word.partition("=") for word in text.split()]
    return [{"name": name, **({"weight": int(weight)} if weight else {})} for name, _, weight in parts]


def sets(**texts: str) -> Plugins:
    """`filter="A -B"` enables A and disables B."""
    written = {
        point: {
            "enabled": names(" ".join(word for word in text.split() if word[0] != "-")),
            "disabled": names(" ".join(word[1:] for word in text.split() if word[0] == "-")),
        }
        for point, text in texts.items()
    }
    return Plugins.model_validate(written)


def few(**texts: str) -> Expansion:
    """Expand sets that stand on their own, with a queue and a binder added."""
    texts["multiPoint"] = f"Queue Binder {texts.get('multiPoint', '')}"
    return expand(Profile.model_validate({"schedulerName": "s"}).model_copy(update={"plugins": sets(**texts)}), Few())


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        pytest.param("", "A=3 B C=2", id="nothing said: the defaults"),
        pytest.param("D", "A=3 B C=2 D", id="a new one goes to the end"),
        pytest.param("A=7", "A=7 B C=2", id="a default named again keeps its place"),
        pytest.param("A", "A B C=2", id="and loses its weight if none is said"),
        pytest.param("-A", "B C=2", id="a default disabled"),
        pytest.param("-A A=5", "B C=2 A=5", id="disabled and enabled moves to the end"),
        pytest.param("-*", "", id="all disabled"),
        pytest.param("-* C A", "C A", id="all disabled, two in a new order"),
        pytest.param("C D A", "A B C D", id="the user's order does not move defaults"),
        pytest.param("A=1 A=2", "A=2 B C=2 A=1", id="twice: the last replaces, the first stays to be found out"),
    ],
)
def test_merged(user: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = sets(multiPoint="A=3 B C=2").multi_point
    monkeypatch.setattr("pilotage.config.expansion.DEFAULT_MULTI_POINT", defaults)
    found = merged(sets(multiPoint=user)).multi_point
    assert [plugin.model_dump() for plugin in found.enabled] == [
        p.model_dump() for p in sets(bind=expected).bind.enabled
    ]


def test_what_is_disabled_stays_known_without_its_weight() -> None:
    found = merged(sets(filter="-A=3 -*")).filter
    assert [(plugin.name, plugin.weight) for plugin in found.disabled] == [("A", 0), ("*", 0)]


def test_nothing_said_is_the_default_profile() -> None:
    assert merged(Plugins()).multi_point == DEFAULT_MULTI_POINT


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param({"multiPoint": "A B"}, "A B", id="multiPoint alone"),
        pytest.param({"filter": "B A"}, "B A", id="the point alone"),
        pytest.param({"multiPoint": "A B", "filter": "B"}, "B A", id="who is named at the point goes first"),
        pytest.param({"multiPoint": "A B", "filter": "C"}, "A B C", id="who is named there only goes last"),
        pytest.param({"multiPoint": "A B", "filter": "C B"}, "B A C", id="both"),
        pytest.param({"multiPoint": "A B C", "filter": "C A"}, "C A B", id="in the order of the point"),
        pytest.param({"multiPoint": "A B", "filter": "-A"}, "B", id="disabled at the point"),
        pytest.param({"multiPoint": "A B", "filter": "-*"}, "", id="all disabled at the point"),
        pytest.param({"multiPoint": "A B", "filter": "-* C B"}, "C B", id="all disabled, some enabled"),
        pytest.param({"multiPoint": "A B", "filter": "-B B C"}, "A B C", id="enabled beats disabled, and goes last"),
        pytest.param({"multiPoint": "A OnlyFilter"}, "A OnlyFilter", id="who knows no other point is here"),
        pytest.param({"multiPoint": "A", "score": "OnlyFilter -*"}, "A", id="another point changes nothing"),
    ],
)
def test_order(texts: dict[str, str], expected: str) -> None:
    assert few(**texts).points[FIRST] == tuple(expected.split())


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param({"multiPoint": "A=3 B"}, {"A": 3, "B": 1}, id="no weight is 1"),
        pytest.param({"multiPoint": "A=3", "score": "A=5"}, {"A": 5}, id="the point's word counts"),
        pytest.param({"multiPoint": "A=3", "score": "A"}, {"A": 1}, id="even if it says none"),
        pytest.param({"multiPoint": "A=3", "score": "A=0"}, {"A": 1}, id="or zero"),
        pytest.param({"multiPoint": "A=3 B=2", "score": "-A"}, {"B": 2}, id="who does not score has none"),
        pytest.param({"score": "-* A=-3", "multiPoint": ""}, {"A": -3}, id="a negative one, alone"),
    ],
)
def test_weights(texts: dict[str, str], expected: dict[str, int]) -> None:
    found = few(**texts)
    assert not found.complaints
    assert found.weights[ExtensionPoint.SCORE] == expected


def test_the_two_points_that_score_have_weights_of_their_own() -> None:
    found = few(multiPoint="C=4", placementScore="C=7")
    assert found.weights == {ExtensionPoint.SCORE: {"C": 4}, ExtensionPoint.PLACEMENT_SCORE: {"C": 7}}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param({"filter": "Nobody"}, ['FilterPlugin "Nobody" does not exist'], id="unknown at a point"),
        pytest.param({"multiPoint": "Nobody"}, ['PreFilterPlugin "Nobody" does not exist'], id="unknown everywhere"),
        pytest.param(
            {"multiPoint": "Nobody", "preFilter": "-*"},
            ['FilterPlugin "Nobody" does not exist'],
            id="unknown, found at the first point that is expanded",
        ),
        pytest.param(
            {"score": "Binder"}, ['plugin "Binder" does not extend ScorePlugin plugin'], id="at a wrong point"
        ),
        pytest.param({"filter": "A A"}, ['plugin "A" already registered as "FilterPlugin"'], id="twice at a point"),
        pytest.param(
            {"multiPoint": "A A"},
            ['plugin "A" already registered as "FilterPlugin"', 'plugin "A" already registered as "ScorePlugin"'],
            id="twice everywhere",
        ),
        pytest.param(
            {"multiPoint": "A A", "filter": "A", "score": "A"}, [], id="twice everywhere, overridden everywhere"
        ),
        pytest.param(
            {"filter": "Nobody", "score": "Binder"},
            ['FilterPlugin "Nobody" does not exist', 'plugin "Binder" does not extend ScorePlugin plugin'],
            id="all at once",
        ),
        pytest.param(
            {"queueSort": "-*"},
            ['only one queue sort plugin required for profile with scheduler name "s", but got 0'],
            id="no queue",
        ),
        pytest.param(
            {"queueSort": "Queue2"},
            ['only one queue sort plugin required for profile with scheduler name "s", but got 2'],
            id="two queues",
        ),
        pytest.param(
            {"bind": "-*"}, ['at least one bind plugin is needed for profile with scheduler name "s"'], id="no binder"
        ),
        pytest.param(
            {"placementGenerate": "Places Places2"},
            ['at most one placement generate plugin is allowed for profile with scheduler name "s"'],
            id="two who make places",
        ),
        pytest.param(
            {"score": "A=-1 B"},
            ["score plugins: total score of Score plugins could overflow"],
            id="a negative weight before another",
        ),
        pytest.param({"score": "A=2 B=-1 C"}, [], id="a negative weight that others outweigh"),
    ],
)
def test_complaints(texts: dict[str, str], expected: list[str]) -> None:
    assert [complaint.text for complaint in few(**texts).complaints] == expected


# The table of the specification, from upstream's own tests of its defaults.
FILTERS = (
    "NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
    "NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity DynamicResources NodeDeclaredFeatures"
)


DEFAULT_PROFILE = {
    "preEnqueue": "SchedulingGates DynamicResources DefaultPreemption",
    "queueSort": "PrioritySort",
    "preFilter": FILTERS,
    "filter": FILTERS,
    "postFilter": "DynamicResources DefaultPreemption",
    "podGroupPostFilter": "DynamicResources DefaultPreemption",
    "preScore": "TaintToleration NodeAffinity NodeResourcesFit VolumeBinding PodTopologySpread InterPodAffinity "
    "NodeResourcesBalancedAllocation",
    "score": "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 "
    "InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1",
    "reserve": "VolumeBinding DynamicResources",
    "permit": "",
    "preBind": "VolumeBinding DynamicResources",
    "bind": "DefaultBinder",
    "postBind": "",
    "placementGenerate": "",
    "placementScore": "NodeResourcesFit=1",
}


@pytest.mark.parametrize("where", ExtensionPoint, ids="what runs by default at {}".format)
def test_the_default_profile(where: ExtensionPoint, in_tree: Catalogue) -> None:
    found = expand(Profile().model_copy(update={"plugins": merged(Plugins())}), in_tree)
    weights = found.weights.get(where, {})
    shown = [f"{name}={weights[name]}" if weights else name for name in found.points[where]]
    assert shown == DEFAULT_PROFILE[where].split()
