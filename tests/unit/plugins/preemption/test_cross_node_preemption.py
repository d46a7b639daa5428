"""CrossNodePreemption: victims on several nodes at once, no more than needed, and no longer than allowed."""

from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from pilotage.config.defaults import DEFAULT_PLUGINS
from pilotage.config.faults import Stage
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.plugin import EvictionRule, PreFilter
from pilotage.framework.api.verdicts import NoRoom, Verdicts
from pilotage.kinds.workloads import DisruptionStatus, LabelSelectorSpec, PodDisruptionBudget
from pilotage.model.metadata import Metadata
from pilotage.model.pod import Pod
from pilotage.model.selectors import LabelSelector
from pilotage.plugins.pods.inter_pod_affinity import InterPodAffinity
from pilotage.plugins.preemption.cross_node_preemption import CrossNodePreemption
from pilotage.plugins.preemption.default_preemption import DefaultPreemption
from pilotage.plugins.resources.node_resources_fit import NodeResourcesFit
from pilotage.plugins.topology.pod_topology_spread import PodTopologySpread
from pilotage.scheduling.outcome import Placed, Unplaced
from pilotage.testing import FakeCluster, FakeScheduler, Manifest, make_node, make_pod

AT = ("profiles", 0, "pluginConfig", 1, "args")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
WEB = {"app": "web"}
EVICTED = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]}
GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


def spread(key: str = ZONE) -> Manifest:
    wish = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [wish | {"labelSelector": {"matchLabels": WEB}}]}


def away(key: str = ZONE, **labels: str) -> Manifest:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels or WEB}}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def pod_on(node: str, name: str, **fields: Any) -> Pod:
    defaults: dict[str, Any] = {"labels": WEB, "priority": 0, "cpu": 1}
    return make_pod(name, node=node, **(defaults | fields))


def nodes_of(**zones: str) -> list[Any]:
    return [make_node(name.replace("_", "-"), cpu=4, labels={ZONE: zone}) for name, zone in zones.items()]


TWO_ZONES = {"node_a": "zone1", "node_b": "zone1", "node_x": "zone2"}
FULL = make_pod("pod-x", node="node-x", cpu=4, priority=1000)
A, B = pod_on("node-a", "pod-a"), pod_on("node-b", "pod-b")


def high(**spec: Any) -> Pod:
    return make_pod("high", labels=WEB, priority=100, cpu=1, spec=spec)


def scheduler_of(
    pods: Iterable[Pod], *more: Any, zones: dict[str, str] | None = None, objects: Iterable[Any] = (), **arguments: Any
) -> tuple[FakeScheduler, CrossNodePreemption]:
    cluster = FakeCluster(nodes_of(**(zones or TWO_ZONES)), pods, objects)
    plugin = CrossNodePreemption.of(arguments)
    plugin._clock = lambda: 0.0
    filters = (NodeResourcesFit(), PodTopologySpread(), InterPodAffinity())
    return FakeScheduler(*filters, *more, plugin, cluster=cluster), plugin


def candidates(scheduler: FakeScheduler, plugin: CrossNodePreemption, pod: Pod) -> dict[str, list[str]] | NoRoom:
    """Return the victims for each node that could be freed."""
    attempt = scheduler.attempt(pod)
    attempt.run_pre_filter()
    assert len(attempt.feasible()) == 0
    assert attempt.entry is not None
    found = plugin.candidates(attempt.cycle, pod, Verdicts(attempt.codes, attempt.entry.rejections), 0.0)
    return found if isinstance(found, NoRoom) else {each.node: [pod.name for pod in each.pods] for each in found}


def names(outcome: object) -> set[str]:
    assert isinstance(outcome, Unplaced)
    return {key.removeprefix("default/") for key in outcome.victims}


# ----------------------------------------------------------------------------------------------------------- the vector


@pytest.mark.parametrize(
    "wish",
    [
        pytest.param(spread(), id="a topology spread constraint on zones"),
        pytest.param(away(), id="required anti-affinity to a zone"),
    ],
)
def test_pods_on_two_nodes_go_for_a_pod_that_wants_their_zone(wish: Manifest) -> None:
    scheduler, plugin = scheduler_of([A, B, FULL])
    found = candidates(scheduler, plugin, high(**wish))
    assert isinstance(found, dict)
    assert {node: set(victims) for node, victims in found.items()} == {
        "node-a": {"pod-a", "pod-b"},
        "node-b": {"pod-a", "pod-b"},
    }


def test_all_victims_are_told_and_where_they_are() -> None:
    scheduler, _ = scheduler_of([A, B, FULL])
    outcome = scheduler.schedule(high(**spread()))
    assert isinstance(outcome, Unplaced)
    assert outcome.nominate == "node-a"
    assert (names(outcome), outcome.other_nodes) == ({"pod-a", "pod-b"}, ("node-b",))
    assert outcome.message.endswith(
        "preemption: found a potential placement for pod on node node-a, preempting 2 victims"
    )


def test_evictions_on_one_node_alone_do_not_help() -> None:
    cluster = FakeCluster(nodes_of(**TWO_ZONES), [A, B, FULL])
    filters = (NodeResourcesFit(), PodTopologySpread(), InterPodAffinity())
    outcome = FakeScheduler(*filters, DefaultPreemption(), cluster=cluster).schedule(high(**spread()))
    assert names(outcome) == set()


def test_the_pod_fits_once_they_are_gone() -> None:
    scheduler, _ = scheduler_of([A, B, FULL])
    pod = high(**spread())
    outcome = scheduler.schedule(pod)
    assert names(outcome) == {"pod-a", "pod-b"}
    for victim in (A, B):
        scheduler.cluster.remove_pod(victim)
    assert isinstance(scheduler.schedule(pod.with_nominated_node("node-a")), Placed)


# -------------------------------------------------------------------------------------------------------- who has to go


@pytest.mark.parametrize(
    ("pods", "wish", "victims"),
    [
        pytest.param([A, B, pod_on("node-b", "c", labels={})], away(), {"pod-a", "pod-b"}, id="nobody else goes"),
        pytest.param([A, pod_on("node-b", "pod-b", priority=100)], away(), set(), id="nobody, if one must stay"),
        pytest.param([A, pod_on("node-b", "pod-b", namespace="else")], away(), {"pod-a"}, id="other namespaces stay"),
        pytest.param(
            [pod_on("node-b", "shy", labels={}, spec=away())], {}, {"shy"}, id="one that shuns the pod from afar goes"
        ),
        pytest.param(
            [pod_on("node-a", "big", cpu=4, labels={}), pod_on("node-b", "big-b", cpu=4, labels={}), A, B],
            away(),
            {"pod-a", "pod-b", "big"},
            id="with those whose room is needed",
        ),
    ],
)
def test_who_has_to_go(pods: list[Pod], wish: Manifest, victims: set[str]) -> None:
    scheduler, _ = scheduler_of([*pods, FULL])
    assert names(scheduler.schedule(high(**wish))) == victims


def test_the_least_important_pods_go_and_no_more_than_needed() -> None:
    zone1 = [pod_on("node-a", f"a{i}", priority=i) for i in range(3)]
    zone2 = [pod_on("node-x", "x0", cpu=1, priority=200), make_pod("x1", node="node-x", cpu=3, priority=200)]
    scheduler, _ = scheduler_of([*zone1, pod_on("node-b", "b9", priority=9), *zone2])
    # One of the four may stay: with the new one there are two then, and one in the other zone.
    assert names(scheduler.schedule(high(**spread()))) == {"a0", "a1", "a2"}


def test_budgets_are_spared_if_possible() -> None:
    budget = PodDisruptionBudget(
        Metadata("pdb", "default"), LabelSelectorSpec(LabelSelector(match_labels=WEB)), DisruptionStatus(0)
    )
    zones = {"node_a": "zone1", "node_b": "zone1", "node_y": "zone3"}
    shy = pod_on("node-y", "shy", labels={}, spec=away())
    scheduler, _ = scheduler_of([A, B, shy], zones=zones, objects=[budget])
    outcome = scheduler.schedule(high(**away()))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, names(outcome)) == ("node-y", {"shy"})


class Protects(PreFilter, EvictionRule):
    """Spares pod-b."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        return None

    def may_evict(self, cycle: Cycle, pod: Pod, victim: Pod) -> bool:
        return victim.name != "pod-b"


def test_whom_another_plugin_spares_stays() -> None:
    scheduler, _ = scheduler_of([A, B, FULL], Protects())
    assert names(scheduler.schedule(high(**away()))) == set()


def test_nobody_goes_for_a_pod_that_never_preempts() -> None:
    scheduler, _ = scheduler_of([A, B, FULL])
    outcome = scheduler.schedule(high(**away(), preemptionPolicy="Never"))
    assert isinstance(outcome, Unplaced)
    assert outcome.message.endswith("cross-node preemption: not eligible due to preemptionPolicy=Never.")


# ----------------------------------------------------------------------------------------------- while they are leaving


@pytest.mark.parametrize("more", [(), (DefaultPreemption(),)], ids=["alone", "beside DefaultPreemption"])
def test_while_the_victims_leave_nobody_else_is_evicted(more: tuple[Any, ...]) -> None:
    going = [pod_on(f"node-{i}", f"pod-{i}", metadata=GONE, status=EVICTED) for i in "ab"]
    third = pod_on("node-z", "pod-z", priority=-5)
    scheduler, _ = scheduler_of([*going, FULL, third], *more, zones=TWO_ZONES | {"node_z": "zone3"})
    outcome = scheduler.schedule(high(**away()).with_nominated_node("node-a"))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, names(outcome)) == ("node-a", {"pod-a", "pod-b"})


def test_the_nomination_stands_until_the_last_has_left() -> None:
    going = pod_on("node-b", "pod-b", metadata=GONE, status=EVICTED)
    scheduler, _ = scheduler_of([going, FULL])
    outcome = scheduler.schedule(high(**away()).with_nominated_node("node-a"))
    assert isinstance(outcome, Unplaced)
    assert (outcome.nominate, names(outcome)) == ("node-a", {"pod-b"})


def test_nobody_is_evicted_beside_a_pod_that_is_leaving_another_node() -> None:
    scheduler, plugin = scheduler_of([A, pod_on("node-b", "pod-b", metadata=GONE), FULL])
    found = candidates(scheduler, plugin, high(**away()))
    assert isinstance(found, dict)
    assert {node: set(victims) for node, victims in found.items()} == {"node-b": {"pod-a", "pod-b"}}


# ----------------------------------------------------------------------------------------------------------- its limits


def test_it_stops_when_the_time_is_over_and_says_so() -> None:
    scheduler, plugin = scheduler_of([A, B, FULL], maxSeconds=3)
    plugin._clock = count().__next__  # each look at the clock takes a second
    outcome = scheduler.schedule(high(**away()))
    assert isinstance(outcome, Unplaced)
    assert outcome.message.endswith(
        "cross-node preemption: 0/3 nodes are available: 3 the search for victims timed out."
    )
    assert names(outcome) == set()


def test_what_was_found_until_then_counts() -> None:
    scheduler, plugin = scheduler_of([A, B, FULL], maxSeconds=5)
    plugin._clock = count().__next__
    found = candidates(scheduler, plugin, high(**away()))
    assert isinstance(found, dict)
    assert list(found) == ["node-a"]


def test_the_next_search_begins_where_the_last_one_ended() -> None:
    scheduler, plugin = scheduler_of([A, B, FULL], maxSeconds=5)
    ticks = count()
    plugin._clock = ticks.__next__
    first = candidates(scheduler, plugin, high(**away()))
    second = candidates(scheduler, plugin, high(**away()))
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    assert (list(first), list(second)) == (["node-a"], ["node-b"])


def test_of_too_many_pods_it_tries_the_least_important() -> None:
    scheduler, _ = scheduler_of([A, B, FULL], maxCandidatePods=1)
    assert names(scheduler.schedule(high(**away()))) == set()
    scheduler, _ = scheduler_of([A, B, FULL], maxCandidatePods=2)
    assert names(scheduler.schedule(high(**away()))) == {"pod-a", "pod-b"}


def test_what_is_said_when_nothing_helps() -> None:
    scheduler, _ = scheduler_of([pod_on("node-a", "pod-a", priority=100), FULL])
    outcome = scheduler.schedule(high(**away()))
    assert isinstance(outcome, Unplaced)
    assert outcome.message.endswith(
        "cross-node preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."
    )


def test_it_is_in_no_default_profile() -> None:
    assert "CrossNodePreemption" not in {plugin.name for plugin in DEFAULT_PLUGINS}


def test_defaults() -> None:
    read = CrossNodePreemption.read_arguments({}, AT)
    assert (read.value, read.faults) == ({"maxCandidatePods": 100, "maxSeconds": 0.05}, ())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        pytest.param(
            {"maxCandidatePods": 0}, "maxCandidatePods: Invalid value: 0: not in valid range [1, inf)", id="no pods"
        ),
        pytest.param({"maxSeconds": 0}, "maxSeconds: Invalid value: 0.0: not in valid range (0, inf)", id="no time"),
    ],
)
def test_faults(given: dict[str, object], told: str) -> None:
    fault = CrossNodePreemption.read_arguments(given, AT).faults[0]
    assert fault.stage is Stage.VALIDATION
    assert fault.text == f"profiles[0].pluginConfig[1].args.{told}"
