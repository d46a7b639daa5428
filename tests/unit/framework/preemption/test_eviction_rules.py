"""Plugins that have a say in who is evicted: all are asked, and one that fails spoils no more than the attempt."""

from typing import Any

import pytest

from pilotage.framework.cycle import Cycle
from pilotage.framework.plugin import EvictionRule, PreFilter
from pilotage.framework.preemption.eviction_rules import may_evict, objection
from pilotage.framework.runner import CycleFailed
from pilotage.framework.verdicts import SKIP, PreFiltered, Rejection
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
