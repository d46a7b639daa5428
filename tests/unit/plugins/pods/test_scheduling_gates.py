from pilotage.framework.api.events import Action, Event, Resource
from pilotage.framework.api.verdicts import Rejection
from pilotage.plugins.pods.scheduling_gates import SchedulingGates
from pilotage.testing import make_pod


def test_gates_are_named_in_order() -> None:
    waiting = Rejection("waiting for scheduling gates: [foo bar]", preemption_helps=False)
    assert SchedulingGates().pre_enqueue(make_pod(gates=["foo", "bar"])) == waiting


def test_a_pod_without_gates_passes() -> None:
    assert SchedulingGates().pre_enqueue(make_pod()) is None


def test_only_the_end_of_the_last_gate_helps() -> None:
    (retry,) = SchedulingGates.retry_on
    assert retry.matches(Event(Resource.TARGET_POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED))
    assert not retry.matches(Event(Resource.TARGET_POD, Action.UPDATE_POD_LABEL))
