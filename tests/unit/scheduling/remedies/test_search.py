"""The search itself: how much it does, that it leaves no trace, and that it bears whatever happens meanwhile."""

from collections.abc import Iterator
from typing import Any

import pytest

from pilotage import app
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.node_matching import match_required
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter
from pilotage.framework.api.remedies import Difference, Remedy
from pilotage.framework.api.verdicts import Filtered, Rejection
from pilotage.model.pod import Pod
from pilotage.offline.simulation import Simulation
from pilotage.plugins.nodes.node_affinity import selector_remedies
from pilotage.plugins.nodes.node_affinity.node_affinity import NodeAffinity
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.scheduling.remedies import Remedies, search, search_at_once
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod
from pilotage.testing.cluster import Nominations

NODES = 200


def crowded() -> Simulation:
    simulated = app.simulation(app.configured(None).profiles())
    for number in range(NODES):
        taints = [{"key": "gpu", "effect": "NoSchedule"}] if number % 5 == 0 else []
        simulated.add(make_node(f"n{number}", cpu="4", labels={"zone": "ab"[number % 2]}, taints=taints))
        simulated.add(make_pod(f"p{number}", node=f"n{number}", cpu="2", labels={"app": f"a{number % 7}"}))
    return simulated


WAITING = {
    "too large": {"cpu": "3"},
    "too large, and for a label that no node has": {"cpu": "3", "node_selector": {"disk": "nvme"}},
    "too large by far": {"cpu": "300", "memory": "900Gi"},
}


def of(simulated: Simulation) -> tuple[Any, Any, Any]:
    return simulated.cache, simulated.engines["default-scheduler"], simulated.queue.nominator


@pytest.mark.parametrize("fields", WAITING.values(), ids=WAITING)
def test_it_takes_few_tries_and_many_turns(fields: dict[str, Any]) -> None:
    steps, turns = search(*of(crowded()), make_pod("web", **fields)), 0
    while True:
        try:
            next(steps)
            turns += 1
        except StopIteration as end:
            found: Remedies = end.value
            break
    assert found.remedies
    assert len(found.remedies) <= 5
    assert 0 < found.tries <= 20
    assert turns >= found.tries  # each try has a turn of its own


def test_it_leaves_no_trace() -> None:
    simulated = crowded()
    cache, engine, nominations = of(simulated)
    before = _state(simulated)
    assert search_at_once(cache, engine, nominations, make_pod("web", cpu="3")).remedies
    assert _state(simulated) == before
    assert engine.equivalence_cache.size == 0
    assert not any(number for _, _, number in engine.runner.timings.calls())


def _state(simulated: Simulation) -> object:
    cache = simulated.cache
    nodes = [(info.name, info.slot, info.node, sorted(info.pods), dict(info.requested)) for info in cache.nodes()]
    return nodes, cache.sizes(), cache.placed.terms_version


def test_nodes_may_come_and_go_at_every_turn() -> None:
    simulated = crowded()
    cache, engine, nominations = of(simulated)
    steps, gone = search(cache, engine, nominations, make_pod("web", cpu="3")), 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Remedies = end.value
            break
        cache.remove_node(f"n{gone}")
        gone += 1
        cache.put_node(make_node(f"new-{gone}", cpu="4", taints=[{"key": "x", "effect": "NoSchedule"}]))
    assert found.remedies[0].text.startswith("ask for cpu 2 instead of 3: fits on ")


class Rack(Filter):
    """Rejects, and offers what it is told."""

    offered: Any = ()

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        return Rejection("the rack is full")

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        if isinstance(self.offered, Exception):
            raise self.offered
        yield from self.offered


class Silent(Filter):
    """Rejects, and offers nothing."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        return Rejection("not today")


def texts(*plugins: Any) -> list[str]:
    cluster = FakeCluster([make_node("n1"), make_node("n2")])
    engine = FakeScheduler(*plugins, cluster=cluster).engine
    found = search_at_once(cluster.cache, engine, Nominations(cluster), make_pod("web"))
    return [remedy.text for remedy in found.remedies]


def test_a_plugin_that_offers_nothing_is_quoted() -> None:
    assert texts(NodeResourcesFit(), Silent()) == [
        "resolve what Silent reports: not today: fits on 2 nodes, such as n1"
    ]


def test_what_a_plugin_of_somebody_else_offers_is_tried_first() -> None:
    agrees = Remedy(code="open", actor="owner", words="open it", difference=Difference(agreeing=frozenset({"Rack"})))
    useless = Remedy(code="wish", actor="owner", words="wish for it", difference=Difference())
    assert texts(NodeResourcesFit(), Rack(offered=(useless, agrees))) == ["open it: fits on 2 nodes, such as n1"]


def test_a_plugin_that_fails_offers_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert texts(Rack(offered=RuntimeError("oh"))) == [
        "resolve what Rack reports: the rack is full: fits on 2 nodes, such as n1"
    ]
    assert "Rack failed in remedies" in caplog.text


def test_nothing_helps_against_two_plugins_that_offer_nothing() -> None:
    cluster = FakeCluster([make_node("n1")])
    engine = FakeScheduler(Silent(), Rack(), cluster=cluster).engine
    found = search_at_once(cluster.cache, engine, Nominations(cluster), make_pod("web"))
    assert (found.remedies, found.note) == ((), "no single change helps, and no two of those that were tried")


CONDITION = {"operator": "In", "values": ["x"]}


@pytest.mark.parametrize("number", [24, 25, 1000])
@pytest.mark.parametrize("form", ["labels", "one term", "terms"])
def test_each_condition_on_nodes_is_evaluated_once(form: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod may have a thousand conditions: to leave out each in turn took a quarter of a minute at 5,000 nodes."""
    conditions = [{"key": f"k{each}", **CONDITION} for each in range(number)]
    terms = [conditions] if form == "one term" else [[each] for each in conditions]
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    selector = {f"k{each}": "x" for each in range(number)}
    pod = make_pod("web", node_selector=selector) if form == "labels" else make_pod("web", affinity=affinity)
    calls: list[int] = []

    def counting(wanted: Any, nodes: Nodes) -> Any:
        calls.append(len(nodes))
        return match_required(wanted, nodes)

    monkeypatch.setattr(selector_remedies, "match_required", counting)
    cluster = FakeCluster([make_node("n1"), make_node("n2")])
    engine = FakeScheduler(NodeAffinity(), cluster=cluster).engine
    found = search_at_once(cluster.cache, engine, Nominations(cluster), pod)
    # The conditions of the pod, and again where the priorities of pods in the way are looked up.
    assert len(calls) <= (2 * number if number <= 24 else 0)
    if number > 24:
        told = f"remove the nodeSelector and the required node affinity (they have {number} conditions)"
        assert found.remedies[0].text == f"{told}: fits on 2 nodes, such as n1"
