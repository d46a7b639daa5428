"""NetworkOverhead: places dependent workloads close to each other, by network costs."""

import logging
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, StrictStr

from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.plugin import Filter, FollowsPods, PreFilter, Score
from pilotage.framework.api.scoring import MAX_SCORE
from pilotage.framework.api.verdicts import SKIP, SKIP_KIND, Filtered, PluginFailed, PreFiltered, Rejection, Verdicts
from pilotage.kinds.app_network import AppGroup, NetworkTopology
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.network._shared.app_groups import (
    APP_GROUP,
    DEFAULT_NAMESPACES,
    NAMESPACES_HELP,
    GroupMembers,
    Namespaces,
    app_group_of,
    first_found,
    limits_of,
    not_understood,
    searched,
    workload_of,
)
from pilotage.plugins.network._shared.costs import NetworkCosts, place_of
from pilotage.plugins.network.network_overhead.traffic import Limits, Tally, Traffic

log = logging.getLogger(__name__)

USER_DEFINED = "UserDefined"
DEFAULT_TOPOLOGY = "nt-default"
ANY_CHANGE = Action.ADD | Action.UPDATE | Action.DELETE


class NetworkOverhead(PreFilter, Filter, Score, FollowsPods):
    """Keep a pod off nodes that violate too many network cost limits of its dependencies, and prefer low costs."""

    namespaces: Namespaces = Field(default=DEFAULT_NAMESPACES, description=NAMESPACES_HELP)
    weights_name: Annotated[StrictStr, AfterValidator(lambda given: given or USER_DEFINED)] = Field(
        default=USER_DEFINED, description="The set of costs to use; the operator computes NetperfCosts."
    )
    network_topology_name: Annotated[StrictStr, AfterValidator(lambda given: given or DEFAULT_TOPOLOGY)] = Field(
        default=DEFAULT_TOPOLOGY, description="The NetworkTopology with the costs."
    )

    caching = Caching(CLUSTER)
    idle_when_skipped = True
    reads = (AppGroup, NetworkTopology)
    retry_on = (
        Retry(AppGroup, ANY_CHANGE, "after_app_group"),
        Retry(NetworkTopology, ANY_CHANGE, "after_network_topology"),
        Retry(Resource.NODE, Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL, "after_node"),
        Retry(Resource.ASSIGNED_POD, Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL, "after_pod"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_LABEL, "after_own_labels"),
    )

    def __post_init__(self) -> None:
        """Start with empty state."""
        super().__post_init__()
        self._members = GroupMembers()
        # The costs of each topology in use; its problems are logged when they are computed.
        self._costs: dict[str, tuple[NetworkTopology, NetworkCosts]] = {}

    def pod_placed(self, pod: Pod) -> None:
        """Add a pod."""
        self._members.add(pod)

    def pod_left(self, pod: Pod) -> None:
        """Remove a pod."""
        self._members.remove(pod)

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Find the pods that this one depends on, and the maximum costs."""
        if not app_group_of(pod):
            return SKIP_KIND
        group = self._group(cycle.objects, pod)  # 1. the AppGroup
        if group is None:
            return self._missing_group(cycle.objects, pod)
        limits = limits_of(group.spec, workload_of(pod))  # 2. the dependencies
        if not limits:
            return SKIP_KIND
        if not any(workload in limits for workload, _, _ in self._placed(cycle.objects, pod, group)):
            return SKIP
        topology = self._topology(cycle.objects, pod)  # 3. the costs
        if topology is None:
            return self._missing_topology(cycle.objects, pod)
        traffic = Traffic(limits, self._costs_of(topology))  # 4. the nodes of dependencies
        self._fill(traffic, cycle, pod, group)
        cycle.notes[self.name] = traffic
        return None

    def add_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Count another pod."""
        self._change(cycle, pod, other, node, 1)

    def remove_pod(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo) -> None:
        """Stop counting a pod."""
        self._change(cycle, pod, other, node, -1)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node from which more dependencies are violated than satisfied."""
        tally = self._traffic(cycle).at(node)
        return _too_far(node, tally) if tally.violated > tally.satisfied else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all such nodes, each with its own reason."""
        satisfied, violated, _ = (nodes.at(column) for column in self._traffic(cycle).over(cycle.nodes))
        places = np.flatnonzero(violated > satisfied)
        codes = np.zeros(len(nodes), np.uint16)
        codes[places] = np.arange(1, len(places) + 1)
        rejected = zip(places.tolist(), satisfied[places].tolist(), violated[places].tolist(), strict=True)
        return Verdicts(codes, [_too_far(nodes[place], Tally(kept, broken)) for place, kept, broken in rejected])

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the total cost to all dependencies from a node; 0 without any."""
        traffic: Traffic | None = cycle.notes.get(self.name)
        return 0 if traffic is None else traffic.at(node).cost

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        traffic: Traffic | None = cycle.notes.get(self.name)
        return 0 if traffic is None else nodes.at(traffic.over(cycle.nodes).cost)

    def normalize(self, cycle: Cycle, pod: Pod, nodes: Nodes, scores: Ints) -> Ints:
        """Make the lowest cost best and the highest worst; equal costs are all best, and all stay 0 without any."""
        lowest, highest = int(scores.min()), int(scores.max())
        if lowest == highest:
            return np.full_like(scores, MAX_SCORE if highest else 0)
        return MAX_SCORE - (scores - lowest) * MAX_SCORE // (highest - lowest)

    # ---------------------------------------------------------------------------------------------- queueing hints

    def after_app_group(self, pod: Pod, event: Event, old: AppGroup | None, new: AppGroup | None) -> bool:
        """Return whether an AppGroup of the pod was added or changed, or is found in another namespace."""
        return self._concerns(pod, app_group_of(pod), old, new) and (
            new is not None or self._group(self.handle.objects, pod) is not None
        )

    def after_network_topology(
        self, pod: Pod, event: Event, old: NetworkTopology | None, new: NetworkTopology | None
    ) -> bool:
        """Return whether the costs were added or changed, or are found in another namespace."""
        return self._concerns(pod, self.network_topology_name, old, new) and (
            new is not None or self._topology(self.handle.objects, pod) is not None
        )

    def after_node(self, pod: Pod, event: Event, old: Node | None, new: Node | None) -> bool:
        """Return whether a node was added, moved, or deleted with pods that the pod depends on."""
        if not self._limits(pod):
            return False
        if old is not None and new is not None:
            return place_of(old.labels) != place_of(new.labels)
        return old is None or old.name in self._members.nodes_of(app_group_of(pod))

    def after_pod(self, pod: Pod, event: Event, old: Pod | None, new: Pod | None) -> bool:
        """Return whether a dependency of the pod was added, deleted, or changed its workload."""
        before, after = (each is not None and self._talks_to(pod, each) for each in (old, new))
        if old is not None and new is not None and before and after:
            return workload_of(old) != workload_of(new)
        return before or after

    def after_own_labels(self, pod: Pod, event: Event, old: Pod, new: Pod) -> bool:
        """Return whether the pod's AppGroup or workload has changed."""
        return (app_group_of(old), workload_of(old)) != (app_group_of(new), workload_of(new))

    def _concerns(
        self, pod: Pod, name: str, old: AppGroup | NetworkTopology | None, new: AppGroup | NetworkTopology | None
    ) -> bool:
        """Return whether an object is looked up for the pod, and more than its status has changed."""
        changed = old if new is None else new
        if not app_group_of(pod) or changed is None or changed.metadata.name != name:
            return False
        if changed.metadata.namespace not in searched(pod.namespace, self.namespaces):
            return False
        return old is None or new is None or old.spec != new.spec

    def _talks_to(self, pod: Pod, other: Pod) -> bool:
        return app_group_of(other) == app_group_of(pod) and workload_of(other) in self._limits(pod)

    def _limits(self, pod: Pod) -> dict[str, Limits]:
        group = self._group(self.handle.objects, pod) if app_group_of(pod) else None
        return {} if group is None else limits_of(group.spec, workload_of(pod))

    # ------------------------------------------------------------------------------------------------- looking up

    def _group(self, objects: Objects, pod: Pod) -> AppGroup | None:
        return first_found(objects, AppGroup, app_group_of(pod), searched(pod.namespace, self.namespaces))

    def _topology(self, objects: Objects, pod: Pod) -> NetworkTopology | None:
        where = searched(pod.namespace, self.namespaces)
        return first_found(objects, NetworkTopology, self.network_topology_name, where)

    def _costs_of(self, topology: NetworkTopology) -> NetworkCosts:
        namespace = topology.metadata.namespace
        known = self._costs.get(namespace)
        if known is not None and known[0] is topology:
            return known[1]
        costs = NetworkCosts(topology, self.weights_name)
        for complaint in costs.complaints[:3]:  # the first few are enough
            text = "NetworkTopology %s/%s: %s; costs that it does not contain count as unknown"
            log.warning(text, namespace, topology.metadata.name, complaint)
        # The costs of each topology in use; its problems are logged when they are computed.
        self._costs[namespace] = topology, costs
        return costs

    def _fill(self, traffic: Traffic, cycle: Cycle, pod: Pod, group: AppGroup) -> None:
        """Add all placed pods of the same AppGroup, in all namespaces."""
        for workload, node, count in self._placed(cycle.objects, pod, group):
            # Pods of a deleted node will be deleted as well.
            if (info := cycle.nodes.find(node)) is not None:
                traffic.change(workload, info, count)

    def _placed(self, objects: Objects, pod: Pod, group: AppGroup) -> Iterator[tuple[str, str, int]]:
        """Yield workload, node and number of the placed pods of the pod's AppGroup."""
        name = app_group_of(pod)
        for namespace, members in self._members.of(name).items():
            # A different AppGroup may have the same name.
            if first_found(objects, AppGroup, name, searched(namespace, self.namespaces)) is group:
                for (workload, node), count in members.items():
                    yield workload, node, count

    def _change(self, cycle: Cycle, pod: Pod, other: Pod, node: NodeInfo, by: int) -> None:
        if self._group(cycle.objects, other) is self._group(cycle.objects, pod):
            self._traffic(cycle).change(workload_of(other), node, by)

    def _traffic(self, cycle: Cycle) -> Traffic:
        found: Traffic | None = cycle.notes.get(self.name)
        if found is None:  # the profile enables the plugin at filter but not at preFilter
            raise PluginFailed("not eligible due to failed to read from cycleState")
        return found

    def _missing_group(self, objects: Objects, pod: Pod) -> Rejection:
        remedy = f"remove the label {APP_GROUP} from the pod"
        return self._missing(objects, AppGroup, app_group_of(pod), pod, remedy)

    def _missing_topology(self, objects: Objects, pod: Pod) -> Rejection:
        remedy = f"name another in the argument networkTopologyName of {self.name}"
        return self._missing(objects, NetworkTopology, self.network_topology_name, pod, remedy)

    def _missing(
        self, objects: Objects, kind: type[AppGroup | NetworkTopology], name: str, pod: Pod, remedy: str
    ) -> Rejection:
        where = searched(pod.namespace, self.namespaces)
        if broken := not_understood(objects, kind, name, where):
            return Rejection(f"{broken}; correct it, or {remedy}", preemption_helps=False)
        text = f'{kind.__name__} "{name}" not found in {_named(where)}: create it, or {remedy}'
        return Rejection(text, preemption_helps=False)


def _named(namespaces: tuple[str, ...]) -> str:
    return f"namespace{'s' if len(namespaces) > 1 else ''} {', '.join(namespaces)}"


def _too_far(node: NodeInfo, tally: Tally) -> Rejection:
    text = "does not meet several network requirements from Workload dependencies"
    return Rejection(f"Node {node.name} {text}: Satisfied: {tally.satisfied} Violated: {tally.violated}")
