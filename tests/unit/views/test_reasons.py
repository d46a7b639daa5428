"""Codes and tiers of reasons, and what pods that wait for the same have in common."""

import pytest

from pilotage.framework.api.verdicts import Rejection
from pilotage.plugins.catalogue import BUILT_IN, built_in
from pilotage.scheduling.outcome import SCHEDULER_ERROR
from pilotage.views.reasons import CODES, main_code, summary

CPU = Rejection("Insufficient cpu", plugin="NodeResourcesFit")
TAINT = Rejection("node(s) had untolerated taint(s)", plugin="TaintToleration")
CORDONED = Rejection("node(s) were unschedulable", plugin="NodeUnschedulable")
OTHER = Rejection("no", plugin="SomebodyElses")


@pytest.mark.parametrize(
    ("reason", "counted", "plugins", "code"),
    [
        pytest.param("", [(CPU, 1), (TAINT, 9)], (), ("InsufficientResources", "wait"), id="wait comes first"),
        pytest.param("", [(CORDONED, 9), (TAINT, 1)], (), ("UntoleratedTaint", "owner"), id="then owner"),
        pytest.param("", [(CORDONED, 1)], (), ("NodeCordoned", "admin"), id="then admin"),
        pytest.param("", [(OTHER, 2), (CPU, 1)], (), ("RejectedByPlugin", "wait"), id="within a tier the most nodes"),
        pytest.param(SCHEDULER_ERROR, [(CPU, 1)], (), ("SchedulerError", "scheduler"), id="an error"),
        pytest.param("", [], ("Coscheduling",), ("GangNotComplete", "wait"), id="no node was evaluated"),
        pytest.param("", [], (), ("NoNodes", "admin"), id="no nodes"),
    ],
)
def test_the_code_of_an_attempt(
    reason: str, counted: list[tuple[Rejection, int]], plugins: tuple[str, ...], code: tuple[str, str]
) -> None:
    assert main_code(reason, counted, plugins) == code


def test_every_code_belongs_to_an_existing_plugin() -> None:
    ours = {entry.plugin.name for entry in built_in() if entry.origin == BUILT_IN}
    stand_ins = {"PodLimits", "RaceGuard", "NodesOfProfile"}
    assert set(CODES) - ours - stand_ins == set()


@pytest.mark.parametrize(
    ("message", "counted", "key", "text"),
    [
        pytest.param(
            "long", [(TAINT, 1), (CPU, 2)], "", "Insufficient cpu, node(s) had untolerated taint(s)", id="many"
        ),
        pytest.param("of a plugin", [], "", "of a plugin", id="no node was evaluated"),
        pytest.param("pod web-1 lacks a sibling", [], "shop/web-1", "pod lacks a sibling", id="its own name"),
        pytest.param("Pod shop/web-1 is over", [], "shop/web-1", "Pod is over", id="its own name and namespace"),
    ],
)
def test_pods_that_wait_for_the_same_thing_have_one_text(
    message: str, counted: list[tuple[Rejection, int]], key: str, text: str
) -> None:
    assert summary(message, counted, key) == text
