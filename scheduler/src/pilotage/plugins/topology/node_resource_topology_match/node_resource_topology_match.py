"""NodeResourceTopologyMatch: a pod goes where its containers fit into NUMA zones, and where they fit best."""

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictBool, StrictStr

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, invalid
from pilotage.config.types import Int64, Section
from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, FollowsPods, PostBind, PreFilter, Reserve, Score
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.scoring_arguments import DEFAULT_RESOURCES, ResourceSpecs
from pilotage.framework.api.verdicts import SKIP_SHAPE, Codes, Filtered, PreFiltered, Rejection, Verdicts
from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.topology.node_resource_topology_match.column_fit import MISFITS, misfits
from pilotage.plugins.topology.node_resource_topology_match.demands import Demand, demand_of
from pilotage.plugins.topology.node_resource_topology_match.fingerprints import published_fingerprint
from pilotage.plugins.topology.node_resource_topology_match.fit import misfit
from pilotage.plugins.topology.node_resource_topology_match.least_numa_nodes import LEAST_NUMA_NODES, FewestZonesScore
from pilotage.plugins.topology.node_resource_topology_match.node_account import (
    ALL,
    AUTODETECT,
    DEDICATED,
    NONE,
    ONLY_EXCLUSIVE,
    ONLY_RESOURCES,
    SHARED,
    Resync,
)
from pilotage.plugins.topology.node_resource_topology_match.over_reserve import OverReserve
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import TopologyManager
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import STALE, View, ZoneColumns
from pilotage.plugins.topology.node_resource_topology_match.zone_remedies import other_policy, smaller
from pilotage.plugins.topology.node_resource_topology_match.zone_scoring import (
    BALANCED,
    LEAST,
    MOST,
    Allocated,
    Balanced,
    WorstZoneScore,
)
from pilotage.plugins.topology.node_resource_topology_match.zone_sources import (
    DiscardReserved,
    ReportedZones,
    Reports,
    ZoneSource,
)
from pilotage.plugins.topology.node_resource_topology_match.zones import ZoneTable

log = logging.getLogger(__name__)

INVALID_DATA = Rejection("invalid node topology data")
NO_TOPOLOGY = Rejection("node(s) had no NodeResourceTopology", preemption_helps=False)  # no eviction creates a report
NO_SIMULATION = "eviction simulation in NRT is not possible:"
REJECTIONS = (*MISFITS, INVALID_DATA, NO_TOPOLOGY)

MOST_NODES = 32  # whose zones are considered for a remedy

STRATEGIES = (LEAST, MOST, BALANCED, LEAST_NUMA_NODES)
DISABLED, ENABLED = "Disabled", "Enabled"


class ZoneScoringStrategy(Section):
    """How the zones of nodes are scored, and how much each resource counts."""

    type: StrictStr = ""
    resources: ResourceSpecs = DEFAULT_RESOURCES


class CacheArguments(Section):
    """When a report about a node is believed, while pods are reserved there."""

    foreign_pods_detect: Annotated[StrictStr, AfterValidator(lambda given: given or ONLY_EXCLUSIVE)] = ONLY_EXCLUSIVE
    resync_method: Annotated[StrictStr, AfterValidator(lambda given: given or AUTODETECT)] = AUTODETECT
    informer_mode: Annotated[StrictStr, AfterValidator(lambda given: given or DEDICATED)] = DEDICATED
    resync_scope: Annotated[StrictStr, AfterValidator(lambda given: given or ALL)] = ALL

    def understood(self) -> Resync:
        """Return the same with valid values; invalid ones are logged."""
        return Resync(
            _word("foreignPodsDetect", self.foreign_pods_detect, (ALL, NONE, ONLY_EXCLUSIVE)),
            _word("resyncMethod", self.resync_method, (AUTODETECT, ALL, ONLY_EXCLUSIVE)),
            _word("informerMode", self.informer_mode, (DEDICATED, SHARED)),
            _word("resyncScope", self.resync_scope, (ALL, ONLY_RESOURCES)),
        )


class Victims:
    """The pods that are removed in a what-if, by uid."""

    def __init__(self, pods: dict[str, Pod] | None = None) -> None:
        self.pods = pods or {}

    def clone(self) -> "Victims":
        """Return a copy that can change."""
        return Victims(dict(self.pods))


class NodeResourceTopologyMatch(PreFilter, Filter, Score, Reserve, PostBind, FollowsPods):
    """Keep pods off nodes whose kubelet could not align them to a NUMA zone, and prefer the best fit in zones."""

    scoring_strategy: ZoneScoringStrategy = Field(
        default=ZoneScoringStrategy(type=LEAST), description="How nodes are scored, and how much each resource counts."
    )
    cache_resync_period_seconds: Int64 = Field(
        default=0, description="Above 0, what pods will take is subtracted until a report accounts for them."
    )
    discard_reserved_nodes: StrictBool = Field(
        default=False, description="Whether a node is left alone while a pod is on its way there."
    )
    cache: CacheArguments = Field(
        default=CacheArguments(), description="When a report is believed while pods are reserved."
    )
    preemption_mode: Annotated[StrictStr, AfterValidator(lambda given: given or DISABLED)] = Field(
        default=DISABLED, description="Enabled works out which zones an eviction would free."
    )
    require_topology: StrictBool = Field(
        default=False, description="Whether a node without a NodeResourceTopology is rejected."
    )

    caching = Caching(NODE, per=SHAPE)
    reads = (NodeResourceTopology,)
    retry_on = (
        Retry(NodeResourceTopology, Action.ADD | Action.UPDATE | Action.DELETE, "after_report"),
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, "after_node"),
        Retry(Resource.ASSIGNED_POD, Action.ADD, "after_pod_came"),
        Retry(Resource.ASSIGNED_POD, Action.DELETE, "after_pod_went"),
    )

    def __post_init__(self) -> None:
        """Choose where the zones of nodes are looked up."""
        super().__post_init__()
        self._zones: ZoneSource = ReportedZones()
        self._columns = ZoneColumns()
        self._reports = Reports()
        self._renewals = 0  # of all reports at once
        if self.discard_reserved_nodes:
            self._zones = DiscardReserved()
        elif self.cache_resync_period_seconds > 0:
            self._zones = OverReserve(self.cache.understood())

    def faults(self, at: At) -> list[Fault]:
        """Return everything that is wrong as one fault, as only the constructor of the original plugin finds it."""
        found = list(self._wrong())
        texts = [fault.text for fault in found]
        if not texts:
            return []
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return [Fault(Stage.PROFILES, text, (*at, *found[0].at), found[0].hint)]

    def _wrong(self) -> Iterator[Fault]:
        kind, at = self.scoring_strategy.type, ("scoringStrategy", "type")
        if kind not in STRATEGIES:
            yield invalid(
                at, kind, "invalid ScoringStrategyType", f"write {_alternatives(STRATEGIES)}", named_type=True
            )
        if self.preemption_mode not in (DISABLED, ENABLED):
            hint = f"write {DISABLED} or {ENABLED}"
            yield invalid(("preemptionMode",), self.preemption_mode, "invalid PreemptionMode", hint, named_type=True)

    def epoch(self, cycle: Cycle) -> int:
        """Return how often more became known about unchanged nodes."""
        return self._zones.changes

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Skip pods without exclusive resources of zones; for the others, prepare for a what-if."""
        if demand_of(pod).is_free:
            return SKIP_SHAPE
        if self._simulates:
            cycle.notes[self.name] = Victims()
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Add back a pod that was removed in a what-if."""
        if (note := cycle.notes.get(self.name)) is not None:
            note.pods.pop(other.uid, None)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Remove a pod in a what-if."""
        if (note := cycle.notes.get(self.name)) is not None:
            note.pods[other.uid] = other

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node where a container fits into no zone."""
        demand = demand_of(pod)
        if demand.is_free:
            return None
        if (reason := cycle.objects.troubles(NodeResourceTopology).get(node.name)) is not None:
            return _not_understood(reason)
        self._zones.serves(pod.scheduler_name)
        rejection = self._verdict(demand, self._zones.view(cycle.objects, node.name), node)
        victims = _victims(cycle, self.name)
        if not victims:
            return rejection
        return self._without(demand, cycle, node, list(victims.values()), rejection)

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes."""
        demand = demand_of(pod)
        if demand.is_free:
            return Verdicts.all_fit(len(nodes))
        if _victims(cycle, self.name):
            return super().filter_nodes(cycle, pod, nodes)
        columns = self._refreshed(cycle, pod)
        codes = misfits(demand, columns, nodes)
        codes[columns.stale[nodes.slots]] = REJECTIONS.index(INVALID_DATA) + 1
        if self.require_topology:
            codes[~columns.reported[nodes.slots]] = REJECTIONS.index(NO_TOPOLOGY) + 1
        return _except(cycle.objects.troubles(NodeResourceTopology), nodes, codes)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer a request that fits in one zone, or another policy on a node."""
        infos = [nodes[place] for place in range(min(MOST_NODES, len(nodes)))]
        views = {info.name: self._zones.view(cycle.objects, info.name) for info in infos}
        tables = {name: view for name, view in views.items() if isinstance(view, ZoneTable)}
        yield from smaller(pod, demand_of(pod), tables)
        for info in infos:
            report = cycle.objects.get(NodeResourceTopology, info.name)
            if report is not None:
                yield other_policy(info, report)
                return

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return how well the zones of the node fit; every node is best for a pod without exclusive cores."""
        demand = demand_of(pod)
        if not demand.guaranteed:
            return MAX_SCORE
        self._zones.serves(pod.scheduler_name)
        zones = self._zones.view(cycle.objects, node.name)
        return self._strategy.score(demand, zones) if isinstance(zones, ZoneTable) else 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        demand = demand_of(pod)
        if not demand.guaranteed:
            return MAX_SCORE
        columns = self._refreshed(cycle, pod)
        scores = self._strategy.scores(demand, columns, nodes.slots)
        if scores is None:
            return super().score_nodes(cycle, pod, nodes)
        return np.where(columns.reported[nodes.slots] & ~columns.stale[nodes.slots], scores, 0)

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Reserve what the pod will use."""
        self._zones.reserve(pod, node)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Release it."""
        self._zones.unreserve(pod, node)

    def post_bind(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Record that the pod is bound."""
        self._zones.bound(pod, node)

    def pod_placed(self, pod: Pod) -> None:
        """Record a pod on a node, whoever placed it."""
        self._zones.placed(pod)

    def pod_left(self, pod: Pod) -> None:
        """Release what was reserved for it."""
        self._zones.left(pod)

    def after_report(
        self, pod: Pod, event: Event, old: NodeResourceTopology | None, new: NodeResourceTopology | None
    ) -> bool:
        """Return whether a report changed so that the pod could fit."""
        if new is None:
            return not self.require_topology
        if old is not None and _says_the_same(old, new):
            return False
        if old is not None and TopologyManager.of(old) != TopologyManager.of(new):
            return True
        demand, zones = demand_of(pod), ZoneTable.of(new)
        everything = {name: 1 for part in (*demand.containers, demand.pod) for name in part.requests}
        return misfit(demand, zones, everything) is None

    def after_node(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether a node was added, or has a new resource that the pod requests."""
        wanted = [name for name, amount in demand_of(pod).pod.requests.items() if amount > 0]
        if any(new.allocatable.get(name, 0) <= 0 for name in wanted):
            return False
        return old is None or any(old.allocatable.get(name, 0) <= 0 for name in wanted)

    def after_pod_came(self, pod: Pod, event: Event, old: Pod | None, new: Pod) -> bool:
        """Return whether more may be known of a node now that a pod has arrived there."""
        return self._zones.came(new)

    def after_pod_went(self, pod: Pod, event: Event, old: Pod, new: Pod | None) -> bool:
        """Return whether more may be known of a node now that a pod has gone; what it used is freed by a report."""
        return self._zones.went(old)

    def _verdict(self, demand: Demand, zones: View, node: NodeInfo) -> Filtered:
        if zones is STALE:
            return INVALID_DATA
        if isinstance(zones, ZoneTable):
            return misfit(demand, zones, node.allocatable)
        return NO_TOPOLOGY if self.require_topology else None

    def _without(
        self, demand: Demand, cycle: Cycle, node: NodeInfo, victims: list[Pod], rejection: Rejection | None
    ) -> Filtered:
        """Return the verdict with some pods removed; `rejection` is the one with them."""
        zones = self._zones.evicted(cycle.objects, node.name, victims)
        if not isinstance(zones, str):
            return self._verdict(demand, zones, node)
        return rejection and Rejection(NO_SIMULATION + zones)  # a pod that fits as it is needs nothing freed

    def _refreshed(self, cycle: Cycle, pod: Pod) -> ZoneColumns:
        zones, objects = self._zones, cycle.objects
        zones.serves(pod.scheduler_name)
        renewed = self._reports.renewed(objects)
        if renewed is None:
            self._renewals += 1
        else:
            zones.touched.update(renewed)
        if not self._columns.is_of(cycle.nodes):
            self._columns = ZoneColumns(cycle.nodes)
        state = self._renewals, zones.changes, cycle.nodes.static_version
        self._columns.refresh(cycle.nodes, lambda name: zones.view(objects, name), state, zones.touched)
        return self._columns

    @property
    def _simulates(self) -> bool:
        return self.preemption_mode == ENABLED and isinstance(self._zones, OverReserve)

    @cached_property
    def _strategy(self) -> WorstZoneScore | FewestZonesScore:
        kind = self.scoring_strategy.type
        if kind == LEAST_NUMA_NODES:
            return FewestZonesScore()
        strategy = Balanced() if kind == BALANCED else Allocated(most=kind == MOST)
        return WorstZoneScore(strategy, {each.name: each.weight for each in self.scoring_strategy.resources})


def _except(troubles: Mapping[str, str], nodes: Nodes, codes: Codes) -> Verdicts:
    """Reject the nodes whose reports cannot be decoded, and the others as their codes say."""
    reasons = {reason: code for code, reason in enumerate(dict.fromkeys(troubles.values()), len(REJECTIONS) + 1)}
    for place, node in enumerate(nodes) if troubles else ():
        if (reason := troubles.get(node.name)) is not None:
            codes[place] = reasons[reason]
    return Verdicts(codes, (*REJECTIONS, *map(_not_understood, reasons)) if reasons else REJECTIONS)


def _not_understood(reason: str) -> Rejection:
    return Rejection(f"node(s) had a NodeResourceTopology that cannot be decoded: {reason}", preemption_helps=False)


def _victims(cycle: Cycle, plugin: str) -> dict[str, Pod]:
    note = cycle.notes.get(plugin)
    return {} if note is None else note.pods


def _says_the_same(old: NodeResourceTopology, new: NodeResourceTopology) -> bool:
    return (
        old.zones == new.zones
        and old.attributes == new.attributes
        and old.topology_policies == new.topology_policies
        and published_fingerprint(old) == published_fingerprint(new)
    )


def _word(field: str, given: str, known: tuple[str, ...]) -> str:
    """Return a known value, or the original's default for unknown ones."""
    if given in known:
        return given
    log.warning(
        "NodeResourceTopologyMatch: cache.%s: %.80r is not %s; it counts as %s",
        field,
        given,
        _alternatives(known),
        known[0],
    )
    return known[0]


def _alternatives(words: tuple[str, ...]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
