"""Why a pod fits nowhere, counted."""

import numpy as np
import pytest

from pilotage.framework.api.verdicts import Rejection, Verdicts
from pilotage.framework.runtime.runner import PreFilterResult
from pilotage.scheduling.diagnosis import Diagnosis

CPU = Rejection("Insufficient cpu", plugin="NodeResourcesFit")
BOTH = Rejection("Insufficient cpu", "Insufficient memory", preemption_helps=False, plugin="NodeResourcesFit")
TAINT = Rejection("node(s) had untolerated taint(s)", preemption_helps=False, plugin="TaintToleration")
SOON = Rejection("waiting", pending=True, plugin="Gang")
UNUSED = Rejection("of another pod", plugin="Other")


def about(*rejections: Rejection | None, before: PreFilterResult | None = None) -> Diagnosis:
    """Return what is known if each node got one of these verdicts."""
    distinct = list(dict.fromkeys([UNUSED, *(each for each in rejections if each is not None)]))
    codes = [0 if each is None else distinct.index(each) + 1 for each in rejections]
    return Diagnosis(Verdicts(np.array(codes, np.uint16), distinct), before or PreFilterResult())


@pytest.mark.parametrize(
    ("diagnosis", "after", "message"),
    [
        pytest.param(about(CPU, CPU, TAINT), "", "2 Insufficient cpu", id="reasons are counted"),
        pytest.param(
            about(BOTH, CPU), "", "1 Insufficient memory, 2 Insufficient cpu.", id="each of several reasons counts"
        ),
        pytest.param(
            about(*[CPU] * 10, TAINT, TAINT),
            "",
            "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint(s).",
            id="and they are sorted as texts",
        ),
        pytest.param(
            about(CPU), "preemption: no", "0/1 nodes are available: 1 Insufficient cpu. preemption: no", id="with more"
        ),
        pytest.param(about(), "", "0/0 nodes are available:", id="no nodes"),
        pytest.param(about(Rejection()), "none", "0/1 nodes are available: none", id="no reasons"),
    ],
)
def test_message(diagnosis: Diagnosis, after: str, message: str) -> None:
    assert message in diagnosis.message(after)


def test_a_rejection_before_any_node_is_told_alone() -> None:
    before = PreFilterResult(rejection=Rejection("a", "b", plugin="First"))
    assert about(CPU, CPU, before=before).message("after") == "0/2 nodes are available: a, b. after"


def test_plugins_are_those_that_rejected_a_node_or_named_nodes() -> None:
    diagnosis = about(CPU, BOTH, SOON, None, before=PreFilterResult(restricting=["NodeAffinity"]))
    assert diagnosis.rejected_by() == {"NodeResourcesFit", "Gang", "NodeAffinity"}
    assert diagnosis.pending() == {"Gang"}


def test_nobody_is_to_blame_for_a_rejection_without_a_plugin() -> None:
    assert about(Rejection("none left")).rejected_by() == frozenset()
