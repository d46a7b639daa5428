"""What a NetworkTopology says about measured latencies, and what it leaves alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from pilotage.kinds.app_network import NetworkTopology
from pilotage.plugins.network._shared.costs import REGION, ZONE, NetworkCosts, Place
from pilotage.testing.network import make_node_at
from pilotage_operator.controllers.network_topologies import StoredNetworkTopology, decide
from pilotage_operator.controllers.outcome import Outcome

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)
WRITTEN = "2026-05-04T12:00:00Z"
# Two zones in the west, three in the east, one in the north, and a node that says nothing.
NODES = [
    make_node_at("w1", "west", "Z1"),
    make_node_at("w2", "west", "Z2"),
    make_node_at("e3", "east", "Z3"),
    make_node_at("e4", "east", "Z4"),
    make_node_at("e4b", "east", "Z4"),
    make_node_at("e5", "east", "Z5"),
    make_node_at("n6", "north", "Z6"),
    make_node_at("bare"),
    make_node_at("ip-10-0-0-1.example.com", "west", "Z1"),
    make_node_at("a.destination.b", "west", "Z2"),
]
USER = {
    "name": "UserDefined",
    "topologyList": [
        {"topologyKey": ZONE, "originList": [{"origin": "Z9"}, {"origin": "Z1", "costList": []}]},
    ],
}
Ways = dict[tuple[str, str], int]


def key(start: str, end: str) -> str:
    return f"netperf.p90.latency.milliseconds.origin.{start}.destination.{end}"


def measured(*values: tuple[str, str, Any]) -> dict[str, str]:
    return {key(start, end): str(value) for start, end, value in values}


def stored(*weights: Any, status: Any = None) -> StoredNetworkTopology:
    metadata = {"name": "nt-default", "namespace": "net", "generation": 3}
    spec = {"configmapName": "netperf", "weights": list(weights)}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status or {}}, StoredNetworkTopology)


def costs(outcome: Outcome, topology_key: str) -> Ways:
    (entry,) = [each for each in outcome.spec["weights"] if each["name"] == "NetperfCosts"]
    (listed,) = [each for each in entry["topologyList"] if each["topologyKey"] == topology_key]
    return {
        (origin["origin"], cost["destination"]): cost["networkCost"]
        for origin in listed["originList"]
        for cost in origin["costList"]
    }


def both(ways: Ways) -> Ways:
    return ways | {(end, start): cost for (start, end), cost in ways.items()}


def said(outcome: Outcome) -> tuple[str, str, str]:
    (condition,) = outcome.status["conditions"]
    return condition["status"], condition["reason"], condition["message"]


@pytest.mark.parametrize(
    ("values", "regions", "zones"),
    [
        pytest.param([("w1", "e3", 20)], both({("west", "east"): 20}), {}, id="two regions, and no zones across them"),
        pytest.param([("w1", "w2", 5)], {}, both({("Z1", "Z2"): 5}), id="two zones of a region"),
        pytest.param(
            [("w1", "w2", 5), ("w2", "w1", 7)], {}, {("Z1", "Z2"): 5, ("Z2", "Z1"): 7}, id="each direction by itself"
        ),
        pytest.param(
            [("w1", "e3", 20), ("e3", "n6", 30)],
            both({("west", "east"): 20, ("east", "north"): 30, ("west", "north"): 50}),
            {},
            id="regions that nobody measured, by way of a third",
        ),
        pytest.param(
            [("w1", "e3", 20), ("e3", "n6", 30), ("w1", "n6", 90)],
            both({("west", "east"): 20, ("east", "north"): 30, ("west", "north"): 50}),
            {},
            id="a detour that is shorter",
        ),
        pytest.param(
            [("e3", "e4", 1), ("e4", "e5", 2)],
            {},
            both({("Z3", "Z4"): 1, ("Z4", "Z5"): 2, ("Z3", "Z5"): 3}),
            id="zones by way of a third",
        ),
        pytest.param(
            [("e3", "e4", 9), ("e3", "e4b", 1), ("e4", "e3", 9), ("e4b", "e3", 3)],
            {},
            {("Z3", "Z4"): 1, ("Z4", "Z3"): 3},
            id="of several measurements the middle one, here the lower of two",
        ),
        pytest.param([("e4", "e4b", 3)], {}, {}, id="within a zone"),
        pytest.param([("w1", "bare", 3), ("bare", "w1", 3)], {}, {}, id="with a node that is nowhere"),
        pytest.param([("w1", "e3", 0)], both({("west", "east"): 0}), {}, id="no latency at all"),
        pytest.param([("w1", "e3", " 20\n")], both({("west", "east"): 20}), {}, id="white space around a number"),
        pytest.param([("ip-10-0-0-1.example.com", "w2", 4)], {}, both({("Z1", "Z2"): 4}), id="a name with dots in it"),
        pytest.param(
            [("a.destination.b", "w1", 4), ("w1", "a.destination.b", 4)],
            {},
            both({("Z1", "Z2"): 4}),
            id="a name with the word between two names in it",
        ),
    ],
)
def test_costs_are_the_shortest_paths(values: list[tuple[str, str, Any]], regions: Ways, zones: Ways) -> None:
    outcome = decide(stored(), measured(*values), NODES, NOW)
    assert (costs(outcome, REGION), costs(outcome, ZONE)) == (regions, zones)


@pytest.mark.parametrize(("one_cost", "other_cost"), [(3, 8), (8, 3)])
def test_zones_of_one_name_in_two_regions_cost_the_more_of_both(one_cost: int, other_cost: int) -> None:
    nodes = [make_node_at(f"{region}-{zone}", region, zone) for region in ("x", "y") for zone in ("a", "b")]
    outcome = decide(stored(), measured(("x-a", "x-b", one_cost), ("y-a", "y-b", other_cost)), nodes, NOW)
    assert costs(outcome, ZONE) == both({("a", "b"): 8})


def test_the_whole_result() -> None:
    outcome = decide(stored(USER), measured(("w1", "e3", 20), ("w1", "w2", 5)), NODES, NOW)
    ways = [
        {"topologyKey": REGION, "originList": [one("east", "west", 20), one("west", "east", 20)]},
        {"topologyKey": ZONE, "originList": [one("Z1", "Z2", 5), one("Z2", "Z1", 5)]},
    ]
    assert outcome.spec == {"weights": [USER, {"name": "NetperfCosts", "topologyList": ways}]}
    assert outcome.status == {
        "nodeCount": 3,
        "weightCalculationTime": WRITTEN,
        "observedGeneration": 3,
        "conditions": [
            {
                "type": "Calculated",
                "status": "True",
                "reason": "Measured",
                "message": "3 nodes were measured",
                "lastTransitionTime": WRITTEN,
                "observedGeneration": 3,
            }
        ],
    }
    assert outcome.again is None


def one(origin: str, destination: str, cost: int) -> dict[str, Any]:
    return {"origin": origin, "costList": [{"destination": destination, "networkCost": cost}]}


def test_what_is_written_is_what_the_scheduler_reads() -> None:
    outcome = decide(stored(USER), measured(("w1", "e3", 20), ("w1", "w2", 5)), NODES, NOW)
    topology = msgspec.convert({"metadata": {"name": "nt-default"}, "spec": outcome.spec}, NetworkTopology)
    found = NetworkCosts(topology, "NetperfCosts")
    assert found.complaints == []
    assert found.between(Place("west", "Z1"), Place("west", "Z2")) == 5
    assert found.between(Place("west", "Z1"), Place("east", "Z1")) == 20


def test_weights_of_others_are_not_touched_and_keep_their_places() -> None:
    old, mine = {"name": "NetperfCosts", "topologyList": []}, {"name": "Mine", "topologyList": []}
    outcome = decide(stored(USER, old, mine), measured(("w1", "e3", 20)), NODES, NOW)
    weights = outcome.spec["weights"]
    assert [each["name"] for each in weights] == ["UserDefined", "NetperfCosts", "Mine"]
    assert (weights[0], weights[2]) == (USER, mine)


def test_the_same_measurements_change_nothing() -> None:
    values = measured(("w1", "e3", 20), ("w1", "w2", 5))
    first = decide(stored(USER), values, NODES, NOW)
    again = stored(*first.spec["weights"], status=first.status)
    second = decide(again, dict(reversed(values.items())), NODES[::-1], NOW + timedelta(days=1))
    assert (second.spec, second.status) == ({}, first.status)


@pytest.mark.parametrize(
    ("minutes", "waits"), [(4, True), (5, False)], ids=["too soon after the last ones", "five minutes after them"]
)
def test_new_costs_come_at_most_every_five_minutes(minutes: int, waits: bool) -> None:
    first = decide(stored(), measured(("w1", "e3", 20)), NODES, NOW)
    again = stored(*first.spec["weights"], status=first.status)
    second = decide(again, measured(("w1", "e3", 21)), NODES, NOW + timedelta(minutes=minutes))
    if waits:
        assert second == Outcome({}, again=NOW + timedelta(minutes=5))
    else:
        assert costs(second, REGION) == both({("west", "east"): 21})
        assert second.status["weightCalculationTime"] == "2026-05-04T12:05:00Z"


@pytest.mark.parametrize(
    ("data", "reason", "told"),
    [
        pytest.param(
            None,
            "ConfigMapNotFound",
            "ConfigMap net/netperf not found: without it there are no measurements, and NetperfCosts stay unchanged",
            id="no ConfigMap",
        ),
        pytest.param(
            {}, "NothingMeasured", "ConfigMap net/netperf has no latency between two nodes", id="an empty one"
        ),
        pytest.param({"notes": "20"}, "NothingMeasured", "has no latency", id="other keys, of which nobody speaks"),
        pytest.param(
            measured(("w1", "gone", 20)), "NothingMeasured", "is ignored: no such nodes", id="an unknown node"
        ),
        pytest.param({key("w1", "")[:-1]: "20"}, "NothingMeasured", "is ignored: no such nodes", id="half a key"),
        pytest.param(
            measured(("w1", "e3", "fast")), "NothingMeasured", "'fast' is not an integer (milliseconds)", id="a word"
        ),
        pytest.param(measured(("w1", "e3", "1.5")), "NothingMeasured", "'1.5' is not an integer", id="a fraction"),
        pytest.param(measured(("w1", "e3", "-1")), "NothingMeasured", "'-1' is not an integer", id="below zero"),
        pytest.param(measured(("w1", "e3", "9" * 4000)), "NothingMeasured", "is not an integer", id="an absurd number"),
        pytest.param(
            measured(("w1", "e3", "٣")), "NothingMeasured", "is not an integer", id="digits of another script"
        ),
    ],
)
def test_nothing_to_calculate_is_told_and_old_costs_stay(data: Any, reason: str, told: str) -> None:
    old = {"name": "NetperfCosts", "topologyList": []}
    outcome = decide(stored(USER, old, status={"nodeCount": 4, "weightCalculationTime": WRITTEN}), data, NODES, NOW)
    assert outcome.spec == {}
    assert set(outcome.status) == {"observedGeneration", "conditions"}
    status, why, message = said(outcome)
    assert (status, why) == ("False", reason)
    assert told in message


def test_measurements_that_cannot_be_used_do_not_spoil_the_others() -> None:
    bad = [(f"gone-{i}", "w1", 5) for i in range(20)]
    outcome = decide(stored(), measured(("w1", "e3", 20), ("e3", "w1", "?"), *bad), NODES, NOW)
    assert costs(outcome, REGION) == both({("west", "east"): 20})
    status, _, message = said(outcome)
    assert status == "True"
    assert message.startswith(
        "2 nodes were measured; netperf.p90.latency.milliseconds.origin.e3.destination.w1 is ignored"
    )
    assert message.endswith("; and 18 more")


def test_an_empty_object_is_no_error() -> None:
    topology = msgspec.convert({"metadata": {"name": "nt-default"}}, StoredNetworkTopology)
    outcome = decide(topology, None, [], NOW)
    assert said(outcome)[1] == "ConfigMapNotFound"
