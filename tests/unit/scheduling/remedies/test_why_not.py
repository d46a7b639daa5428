"""Why a pod is not on a node."""

import pytest

from pilotage import app
from pilotage.offline.simulation import Simulation
from pilotage.testing import make_node, make_pod


def played() -> Simulation:
    simulated = app.simulation(app.configured(None).profiles())
    for found in (
        make_node("n1", cpu="4", memory="16Gi"),
        make_node("n2", cpu="4", memory="16Gi"),
        make_node("n3", cpu="1"),
        make_pod("old", node="n1", cpu="2", memory="8Gi"),
    ):
        simulated.add(found)
    return simulated


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ("n1", "n1 loses to n2 by 50: NodeResourcesFit -50"),
        ("n2", "n2 is the best node"),
        ("n3", "n3 is rejected by NodeResourcesFit: Insufficient cpu (wants 2, 1 of 1 free)"),
        ("n4", "there is no node n4"),
    ],
    ids=["worse", "best", "does not fit", "unknown"],
)
def test_of_a_pod_that_waits(node: str, text: str) -> None:
    assert played().why_not(make_pod("web", cpu="2", memory="8Gi"), node).text == text


def test_of_a_pod_that_has_a_node_and_counts_as_if_it_had_none() -> None:
    simulated = played()
    web = make_pod("web", cpu="2", memory="8Gi", node="n1")
    simulated.add(web)
    found = simulated.why_not(web, "n2")
    assert found.text == "n2 is now better than n1 by 50: NodeResourcesFit +50"
    assert (found.other, found.behind, dict(found.by_plugin)) == ("n1", -50, {"NodeResourcesFit": 50})
    assert simulated.why_not(web, "n1").text == "it is on n1"
