from typing import Any

import pytest

from pilotage.framework.api.plugin import PreEnqueue
from pilotage.framework.api.verdicts import SKIP
from pilotage.model.pod import Pod
from pilotage.queue.gated import Gates
from pilotage.queue.queued_pod import QueuedPod
from pilotage.testing import make_pod


class Odd(PreEnqueue):
    """Answer what no gate should."""

    def pre_enqueue(self, pod: Pod) -> Any:
        return SKIP


def test_open_gates_let_a_pod_pass(world: Any) -> None:
    queued = QueuedPod(make_pod("a"), 0)
    assert not Gates(lambda pod: [world.gate, world.door]).keep_out(queued)
    assert not queued.is_gated
    assert queued.unschedulable_plugins == set()


def test_the_first_gate_that_is_shut_is_noted(world: Any) -> None:
    queued = QueuedPod(make_pod("a"), 0)
    world.gate.shut("a", "waiting for scheduling gates: [x]")
    assert Gates(lambda pod: [world.gate, world.door]).keep_out(queued)
    assert (queued.gating_plugin, queued.gating_reason) == ("Gate", "waiting for scheduling gates: [x]")
    assert queued.unschedulable_plugins == {"Gate"}
    assert world.door.asked == []


def test_the_gate_that_was_shut_is_asked_first(world: Any) -> None:
    queued, gates = QueuedPod(make_pod("a"), 0), Gates(lambda pod: [world.gate, world.door])
    world.door.shut("a")
    assert gates.keep_out(queued)
    assert gates.keep_out(queued)
    assert (world.gate.asked, world.door.asked) == (["a"], ["a", "a"])
    world.door.open()
    world.gate.shut("a")
    assert gates.keep_out(queued)
    assert queued.gating_plugin == "Gate"
    assert queued.unschedulable_plugins == {"Gate", "Door"}


def test_past_the_gates_nobody_is_noted(world: Any) -> None:
    queued, gates = QueuedPod(make_pod("a"), 0), Gates(lambda pod: [world.gate])
    world.gate.shut("a")
    gates.keep_out(queued)
    world.gate.open()
    assert not gates.keep_out(queued)
    assert (queued.gating_plugin, queued.gating_reason) == (None, "")
    # As in kube-scheduler: who once kept the pod out can still be told what helps it.
    assert queued.unschedulable_plugins == {"Gate"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("no quota object"), "no quota object"), (ValueError(), "ValueError()")],
)
def test_a_gate_that_fails_is_shut(world: Any, error: Exception, reason: str, caplog: pytest.LogCaptureFixture) -> None:
    queued = QueuedPod(make_pod("a"), 0)
    world.gate.shut("a", error)
    gates = Gates(lambda pod: [world.gate])
    assert gates.keep_out(queued)
    assert gates.keep_out(queued)
    assert (queued.gating_plugin, queued.gating_reason) == ("Gate", reason)
    # Once is enough: it may fail for thousands of pods.
    assert caplog.text.count("plugin Gate failed at PreEnqueue of pod default/a") == 1


def test_any_other_answer_keeps_the_pod_out() -> None:
    queued = QueuedPod(make_pod("a"), 0)
    assert Gates(lambda pod: [Odd()]).keep_out(queued)
    assert queued.gating_reason == "unexpected answer SKIP"


def test_gates_are_those_of_the_profile(world: Any) -> None:
    gates = Gates(lambda pod: [world.gate] if pod.scheduler_name == "batch" else [])
    world.gate.shut("a")
    assert not gates.keep_out(QueuedPod(make_pod("a"), 0))
    assert gates.keep_out(QueuedPod(make_pod("a", scheduler="batch"), 0))
