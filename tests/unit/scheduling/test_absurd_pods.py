"""A pod that asks for absurdly much waits and is told why; nothing is looked at for it, and others do not notice."""

from typing import Any

import pytest

from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import PostFilter, PreFilter
from pilotage.framework.api.verdicts import NoRoom, Verdicts
from pilotage.model.limits import MOST_POD_TERMS
from pilotage.model.pod import Pod
from pilotage.plugins.nodes.node_affinity import NodeAffinity
from pilotage.plugins.nodes.taint_toleration import TaintToleration
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.plugins.topology.pod_topology_spread import PodTopologySpread
from pilotage.scheduling.attempt import POD_LIMITS
from pilotage.scheduling.outcome import UNSCHEDULABLE, Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, make_node, make_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Seen(PreFilter, PostFilter):
    """Notes whom it is asked about."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        SEEN.append(pod.name)

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> NoRoom:
        SEEN.append(f"room for {pod.name}")
        return NoRoom("no room")


SEEN: list[str] = []


def scheduler(*plugins: Any, pods: tuple[Pod, ...] = ()) -> FakeScheduler:
    nodes = [make_node(f"n{i}", cpu=4, memory="8Gi", labels={"host": f"n{i}"}) for i in range(3)]
    return FakeScheduler(*plugins, cluster=FakeCluster(nodes=nodes, pods=list(pods)))


def all_plugins() -> list[Any]:
    return [NodeResourcesFit(), TaintToleration(), NodeAffinity(), PodTopologySpread(), InterPodAffinity()]


def test_its_owner_is_told_the_number_and_the_limit() -> None:
    SEEN.clear()
    outcome = scheduler(Seen()).schedule(make_pod(node_selector={f"k{i}": "v" for i in range(10_000)}))
    assert outcome == Unplaced(
        "0/3 nodes are available: the pod has 10,000 conditions on nodes in nodeSelector and node affinity,"
        " and at most 1,000 are allowed.",
        UNSCHEDULABLE,
        rejected_by=frozenset({POD_LIMITS}),
    )
    assert SEEN == []


def test_no_plugin_is_told_of_it_but_of_the_next() -> None:
    SEEN.clear()
    found = scheduler(Seen())
    found.schedule(make_pod("greedy", requests={f"example.com/r{i}": 1 for i in range(20_000)}))
    assert isinstance(found.schedule(make_pod("modest")), Placed)
    assert SEEN == ["modest"]


def spread(i: int) -> dict[str, Any]:
    return {"topologyKey": f"k{i}", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"requests": {f"example.com/r{i}": 1 for i in range(5000)}}, id="names of resources"),
        pytest.param({"node_selector": {f"k{i}": "v" for i in range(5000)}}, id="keys of nodes"),
        pytest.param({"tolerations": [{"key": f"k{i}", "operator": "Exists"} for i in range(5000)]}, id="tolerations"),
        pytest.param({"spec": {"topologySpreadConstraints": [spread(i) for i in range(5000)]}}, id="constraints"),
        pytest.param({"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": f"k{i}"} for i in range(5000)]}}},
                     id="topologies"),
    ],
)  # fmt: skip
def test_nothing_is_kept_for_it(fields: dict[str, Any]) -> None:
    found = scheduler(*all_plugins())
    found.schedule(make_pod("first"))
    columns = found.cluster.cache.columns.columns
    before = len(columns)
    assert isinstance(found.schedule(make_pod("greedy", **fields)), Unplaced)
    assert len(columns) == before
    assert found.engine.equivalence_cache.size == 1


def test_it_keeps_its_distance_once_it_has_a_node() -> None:
    terms = [{"topologyKey": "host", "labelSelector": {"matchLabels": {"app": f"a{i}"}}} for i in range(1000)]
    shy = make_pod("shy", node="n1", affinity={"podAntiAffinity": {REQUIRED: terms}})
    found = scheduler(*all_plugins(), pods=(shy,))
    places = [found.schedule(make_pod(f"p{i}", cpu="1", labels={"app": "a5"})) for i in range(8)]
    assert {each.node for each in places if isinstance(each, Placed)} == {"n0", "n2"}


def test_it_costs_others_no_columns() -> None:
    found = scheduler(*all_plugins())
    found.schedule(make_pod("first"))
    columns = found.cluster.cache.columns.columns
    before = len(columns)
    terms = [{"topologyKey": f"k{i}", "labelSelector": {}, "namespaceSelector": {}} for i in range(10_000)]
    found.cluster.cache.put_pod(make_pod("shy", node="n1", affinity={"podAntiAffinity": {REQUIRED: terms}}))
    assert isinstance(found.schedule(make_pod("second")), Placed)
    assert len(columns) == before


def test_a_pod_at_the_limit_is_placed() -> None:
    selectors = [{"matchLabels": {"app": f"a{i}"}} for i in range(MOST_POD_TERMS)]
    terms = [{"topologyKey": "host", "labelSelector": each} for each in selectors]
    found = scheduler(*all_plugins())
    assert isinstance(found.schedule(make_pod(affinity={"podAntiAffinity": {REQUIRED: terms}})), Placed)
