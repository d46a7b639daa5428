"""Nodes that are left alone for a while: every hold ends, whatever is done before."""

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kit.tiers import examples
from pilotage.cache import node_holds
from pilotage.cache.node_holds import EVERYBODY, Hold, NodeHolds, twins_of
from pilotage.model.pod import Pod
from pilotage.testing import make_pod

NODES = ("n1", "n2", "n3")


def pod_of(owner: str, cpu: str) -> Pod:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    return make_pod(f"{owner}-{cpu}", cpu=cpu, metadata={"ownerReferences": owners if owner else []})


@pytest.mark.parametrize(
    ("whom", "pod", "is_closed"),
    [
        pytest.param(EVERYBODY, pod_of("", "1"), True, id="everybody stays away"),
        pytest.param(pod_of("", "1").shape, pod_of("web", "1"), True, id="a pod of that shape stays away"),
        pytest.param(pod_of("", "1").shape, pod_of("", "2"), False, id="another shape does not"),
        pytest.param(twins_of(pod_of("web", "1")), pod_of("web", "1"), True, id="a twin stays away"),
        pytest.param(
            twins_of(pod_of("web", "1")), pod_of("db", "1"), False, id="the same shape of another owner does not"
        ),
        pytest.param(
            twins_of(pod_of("web", "1")), pod_of("web", "2"), False, id="another shape of the same owner does not"
        ),
        pytest.param(twins_of(pod_of("web", "1")), pod_of("", "1"), False, id="nobody's pod is no twin"),
        pytest.param("a note", pod_of("web", "1"), False, id="a note keeps nobody off"),
    ],
)
def test_who_stays_away(whom: Any, pod: Pod, is_closed: bool) -> None:
    holds = NodeHolds()
    holds.keep_off(Hold("n1", whom), 10.0)
    assert holds.is_closed_to("n1", pod) is is_closed
    assert holds.closed_to(pod) == ({"n1"} if is_closed else set())
    assert not holds.is_closed_to("n2", pod)


def test_there_are_only_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_holds, "MOST_HOLDS", 2)
    holds = NodeHolds()
    assert [holds.keep_off(Hold(node, EVERYBODY), 10.0) for node in NODES] == [True, True, False]
    assert holds.keep_off(Hold("n1", EVERYBODY), 20.0)  # one that there is may become longer
    assert len(holds) == 2


class Holds(RuleBasedStateMachine):
    """Holds come, grow, shrink and are lifted; a plain dictionary says what should be."""

    def __init__(self) -> None:
        super().__init__()
        self.holds, self.expected, self.now = NodeHolds(), dict[Hold, float](), 0.0
        self.pods = [pod_of("web", "1"), pod_of("web", "2"), pod_of("", "1")]

    whom = st.sampled_from([EVERYBODY, 0, 1, 2, "twins"])

    def _hold(self, node: str, whom: object) -> Hold:
        if whom == "twins":
            return Hold(node, twins_of(self.pods[0]))
        return Hold(node, self.pods[whom].shape if isinstance(whom, int) else whom)

    @rule(node=st.sampled_from(NODES), whom=whom, seconds=st.integers(0, 300))
    def keep_off(self, node: str, whom: object, seconds: int) -> None:
        hold = self._hold(node, whom)
        self.holds.keep_off(hold, self.now + seconds)
        self.expected[hold] = self.now + seconds

    @rule(node=st.sampled_from(NODES), whom=whom)
    def lift(self, node: str, whom: object) -> None:
        hold = self._hold(node, whom)
        assert self.holds.lift(hold) is (self.expected.pop(hold, None) is not None)

    @rule(seconds=st.integers(0, 200))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        due = {hold for hold, until in self.expected.items() if until <= self.now}
        assert set(self.holds.expire(self.now)) == due
        self.expected = {hold: until for hold, until in self.expected.items() if hold not in due}

    @rule()
    def all_end(self) -> None:
        self.now += 300
        self.holds.expire(self.now)
        self.expected.clear()
        assert not self.holds
        assert self.holds.next_end() is None

    @invariant()
    def both_say_the_same(self) -> None:
        assert dict(self.holds) == self.expected
        assert self.holds.next_end() == min(self.expected.values(), default=None)
        for node in NODES:
            assert set(self.holds.on(node)) == {hold for hold in self.expected if hold.node == node}
            for pod in self.pods:
                asked = {Hold(node, EVERYBODY), Hold(node, pod.shape), Hold(node, twins_of(pod))}
                assert self.holds.is_closed_to(node, pod) is bool(asked & self.expected.keys())
                assert (node in self.holds.closed_to(pod)) is bool(asked & self.expected.keys())

    @invariant()
    def nothing_piles_up(self) -> None:
        assert len(self.holds._ends) <= 4 * len(self.expected) + 64


TestHolds = Holds.TestCase
TestHolds.settings = examples(60, stateful_step_count=40)
