"""The names of a plugin's arguments: Python's in Python, the configuration's in a configuration."""

from typing import Any

import pytest

from pilotage.config.types import Int64, Section
from pilotage.framework.api.arguments import Arguments
from pilotage.framework.api.caching import NODE, POD, SHAPE, STATIC, Caching
from pilotage.framework.api.plugin import Filter, Score
from pilotage.plugins.catalogue import BrokenPlugin, PluginCatalogue


class Prices(Section):
    """What things cost."""

    per_hour: Int64 = 1


class CheapNodes(Score):
    """Prefer cheap nodes."""

    max_cost: Int64 = 10
    node_prices: Prices = Prices()


def test_a_test_constructs_it_with_the_names_of_its_fields() -> None:
    plugin = CheapNodes(max_cost=20, node_prices=Prices(per_hour=3))
    assert (plugin.max_cost, plugin.node_prices.per_hour) == (20, 3)
    assert plugin.args.model_dump(by_alias=True) == {"maxCost": 20, "nodePrices": {"perHour": 3}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param({"max_cost": 20}, ['unknown field "max_cost"'], id="an argument"),
        pytest.param(
            {"nodePrices": {"per_hour": 3}}, ['unknown field "nodePrices.per_hour"'], id="a field inside of one"
        ),
        pytest.param({"maxCost": 20, "nodePrices": {"perHour": 3}}, [], id="none, with those of the configuration"),
    ],
)
def test_a_configuration_knows_none_of_these_names(given: dict[str, Any], told: list[str]) -> None:
    assert [fault.text for fault in CheapNodes.read_arguments(given, ()).faults] == told


def test_nor_does_the_catalogue_that_constructs_it() -> None:
    catalogue = PluginCatalogue()
    catalogue.add(CheapNodes, "here")
    assert catalogue.construct("CheapNodes", {"maxCost": 20}).args == CheapNodes(max_cost=20).args
    with pytest.raises(BrokenPlugin, match="max_cost: Extra inputs are not permitted"):
        catalogue.construct("CheapNodes", {"max_cost": 20})


class CheapRacks(Filter, Score):
    """Prefer cheap racks."""

    class Args(Arguments):
        """What racks may cost."""

        max_cost: Int64 = 10
        node_prices: Prices = Prices()

    args: Args = Args()


class CheapestRacks(CheapRacks):
    """Prefer cheap racks, with one argument more."""

    least_cost: Int64 = 1


def test_arguments_may_be_a_class_of_their_own() -> None:
    plugin = CheapRacks(args=CheapRacks.Args(max_cost=20))
    assert plugin.args.max_cost == 20
    assert CheapRacks.of({"maxCost": 20, "nodePrices": {"perHour": 3}}).args.node_prices.per_hour == 3
    assert CheapRacks().args == CheapRacks.Args()
    assert not hasattr(plugin, "max_cost")


def test_they_may_be_given_by_name_all_the_same() -> None:
    by_name: Any = CheapRacks  # mypy knows of `args` alone
    assert by_name(max_cost=20).args == CheapRacks.Args(max_cost=20)
    with pytest.raises(ValueError, match="most_cost"):
        by_name(most_cost=20)


def test_what_is_wrong_with_them_is_told_in_the_same_words() -> None:
    given = {"maxCost": "many", "nodePrices": {"perDay": 3}}
    assert CheapRacks.read_arguments(given, ("args",)).faults == CheapNodes.read_arguments(given, ("args",)).faults
    assert len(CheapRacks.read_arguments(given, ()).faults) == 2


def test_a_plugin_has_the_arguments_of_its_bases() -> None:
    found = CheapestRacks.of({"maxCost": 20, "leastCost": 2})
    assert isinstance(found.args, CheapRacks.Args)
    assert (found.args.max_cost, found.least_cost) == (20, 2)


def test_arguments_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        CheapRacks().args.max_cost = 3


def test_ordinary_attributes_are_no_arguments() -> None:
    class Keeps(Score):
        most = 3
        _kept: int = 0

        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            self.seen: list[str] = []

    one, other = Keeps(), Keeps()
    one.seen.append("web")
    one._kept = 1
    assert (other.seen, other._kept, Keeps.Args.model_fields) == ([], 0, {})


def test_arguments_stand_in_one_place() -> None:
    with pytest.raises(TypeError, match="Both has arguments in Args and as fields"):

        class Both(Score):
            class Args(Arguments):
                one: int = 1

            other: int = 2


@pytest.mark.parametrize(
    ("declared", "depends_on", "same_for_shape"),
    [
        pytest.param({"caching": Caching(STATIC, per=SHAPE)}, STATIC, True, id="one declaration"),
        pytest.param({"caching": Caching(NODE)}, NODE, False, id="one declaration, for each pod"),
        pytest.param({"depends_on": NODE, "same_for_shape": True}, NODE, True, id="two older ones"),
    ],
)
def test_what_answers_depend_on_is_said_either_way(declared: Any, depends_on: Any, same_for_shape: bool) -> None:
    plugin: Any = type("Remembered", (Score,), declared)
    assert (plugin.depends_on, plugin.same_for_shape) == (depends_on, same_for_shape)
    assert plugin.caching == Caching(depends_on, SHAPE if same_for_shape else POD)
    derived: Any = type("Derived", (plugin,), {"caching": Caching(STATIC)})
    assert derived.depends_on is STATIC
