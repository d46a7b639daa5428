"""What counts as tested."""

from oracle.coverage import REJECTING, SCORING, Coverage, reasons_in
from oracle.decision import Decision
from oracle.scenario import Scenario

SCENARIO = Scenario(1, "mixed")


def test_a_plugin_that_was_never_seen_to_act_is_untested() -> None:
    assert Coverage().untested() == {
        *(f"{name} rejects" for name in REJECTING),
        *(f"{name} scores" for name in SCORING),
        "DefaultPreemption evicts",
    }


def test_a_rejection_and_a_score_that_tells_nodes_apart_are_tests() -> None:
    coverage = Coverage()
    scores = {"ImageLocality": {"a": 1, "b": 2}, "NodeAffinity": {"a": 1, "b": 1}}
    coverage.see(SCENARIO, Decision("p", node="b", scores=scores))
    coverage.see(SCENARIO, Decision("p", rejectors=frozenset({"NodePorts"}), nominated="a", victims=frozenset("r")))
    assert {"NodePorts rejects", "ImageLocality scores", "DefaultPreemption evicts"}.isdisjoint(coverage.untested())
    assert "NodeAffinity scores" in coverage.untested()


def test_the_reasons_of_a_message_are_told_apart() -> None:
    message = (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    assert {"Insufficient cpu", "node(s) were unschedulable", "Preemption is not helpful for scheduling"} <= {
        *reasons_in(message)
    }
