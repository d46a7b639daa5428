"""Plugins that have a say in who is evicted: all are asked, and one that fails spoils no more than the attempt."""

from collections.abc import Sequence
from typing import Any

import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import EvictionRule, PreFilter
from pilotage.framework.api.verdicts import SKIP, Nominated, NoRoom, PreFiltered, Rejection, Verdicts
from pilotage.framework.runtime.fence import CycleFailed
from pilotage.framework.runtime.preemption.eviction_rules import (
    enough_leave,
    evictions_began,
    evictions_cancelled,
    may_evict,
    objection,
)
from pilotage.model.pod import Pod
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.outcome import Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod


class Spares(EvictionRule, PreFilter):
    """Lets nobody go whose name it knows, and objects if it is told to."""

    names: tuple[str, ...] = ()
    objects: str = ""
    fails: bool = False

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        return SKIP  # a rule counts all the same

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        if self.fails:
            raise ValueError("no idea")
        return victim.name not in self.names

    def objection(self, cycle: Cycle, pod: Pod) -> Rejection | None:
        return Rejection(self.objects) if self.objects else None


class Waits(EvictionRule, PreFilter):
    """Says that enough leave already, or fails."""

    answer: Any = None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        return SKIP

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        return True

    def enough_leave(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> Nominated | NoRoom | None:
        if isinstance(self.answer, Exception):
            raise self.answer
        found: Nominated | NoRoom | None = self.answer
        return found

    def evictions_began(self, preemptor: Pod, victims: Sequence[Pod]) -> None:
        raise ValueError("no idea")

    def evictions_cancelled(self, victims: Sequence[Pod]) -> None:
        raise ValueError("no idea")


class SparesToo(Spares):
    """Another one."""


def evicted(*rules: EvictionRule) -> Unplaced:
    pods = [make_pod(name, cpu=1, node="n1", priority=i) for i, name in enumerate("abc")]
    cluster = FakeCluster([make_node("n1", cpu=3)], pods)
    found = FakeScheduler(NodeResourcesFit(), *rules, DefaultPreemption(), cluster=cluster).schedule(
        make_pod("high", cpu=1, priority=9)
    )
    assert isinstance(found, Unplaced)
    return found


@pytest.mark.parametrize(
    ("rules", "victims"),
    [
        pytest.param([], ("default/a",), id="without rules"),
        pytest.param([Spares(names=("a",))], ("default/b",), id="one who is spared"),
        pytest.param([Spares(names=("a",)), SparesToo(names=("b",))], ("default/c",), id="by two plugins"),
        pytest.param([Spares(names=("a", "b", "c"))], (), id="all are"),
        pytest.param([Spares(objects="in vain")], (), id="it would be in vain"),
    ],
)
def test_whom_a_plugin_spares(rules: list[Any], victims: tuple[str, ...]) -> None:
    assert evicted(*rules).victims == victims


def test_what_a_plugin_objects_is_told() -> None:
    assert evicted(Spares(objects="in vain")).message.endswith("preemption: 0/1 nodes are available: 1 in vain.")


def test_a_rule_that_fails_is_named() -> None:
    cycle = FakeCluster().cycle(make_pod())
    with pytest.raises(CycleFailed, match=r'running the eviction rule of plugin "Spares": .*no idea'):
        may_evict([Spares(fails=True)], cycle, make_pod())
    assert objection([Spares(objects="x")], cycle) == Rejection("x", plugin="Spares")
    assert 'running the eviction rule of plugin "Spares"' in evicted(Spares(fails=True)).message


@pytest.mark.parametrize(
    ("answer", "nominate", "victims", "told"),
    [
        pytest.param(None, "n1", ("default/a",), "preempting 1 victims", id="not enough leave: one more has to go"),
        pytest.param(NoRoom("they leave", keeps_nomination=True), None, (), "cpu. they leave", id="enough leave"),
        pytest.param(Nominated("n1", (), "they leave"), "n1", (), "cpu. they leave", id="enough leave on a node"),
        pytest.param(ValueError("no idea"), None, (), 'plugin "Waits": ValueError: no idea', id="nobody knows"),
    ],
)
def test_nobody_is_asked_to_make_room_if_enough_leave(
    answer: object, nominate: str | None, victims: tuple[str, ...], told: str
) -> None:
    """Otherwise one that sees no need, or no way, to evict anybody would clears the nomination."""
    found = evicted(Waits(answer=answer))
    assert (found.nominate, found.victims) == (nominate, victims)
    assert told in found.message


def test_the_first_that_says_so_is_heard() -> None:
    cycle, verdicts = FakeCluster().cycle(make_pod()), Verdicts.all_fit(0)
    assert enough_leave([Spares(), Waits(answer=NoRoom("a")), Waits(answer=NoRoom("b"))], cycle, verdicts) == NoRoom(
        "a"
    )


def test_one_that_cannot_take_note_of_evictions_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    evictions_began([Waits(), Spares()], make_pod(), [])
    evictions_cancelled([Waits(), Spares()], [])
    assert len(caplog.records) == 2
