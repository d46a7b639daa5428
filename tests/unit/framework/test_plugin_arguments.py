"""The names of a plugin's arguments: Python's in Python, the configuration's in a configuration."""

from typing import Any

import pytest

from pilotage.config.types import Int64, Section
from pilotage.framework.api.plugin import Score
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
    assert plugin.model_dump(by_alias=True) == {"maxCost": 20, "nodePrices": {"perHour": 3}}


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
    assert catalogue.construct("CheapNodes", {"maxCost": 20}).model_dump() == CheapNodes(max_cost=20).model_dump()
    with pytest.raises(BrokenPlugin, match="max_cost: Extra inputs are not permitted"):
        catalogue.construct("CheapNodes", {"max_cost": 20})
