"""NodeResourcesFit: pods run on nodes with enough free resources, preferably with the most or the least."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from pilotage.config.documents import At
from pilotage.config.faults import Fault, Stage, invalid
from pilotage.config.resource_names import unqualified
from pilotage.config.types import Item
from pilotage.framework.api.caching import NODE, SHAPE, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.node_changes import enough_of, freed, movable
from pilotage.framework.api.nodes import Bools, Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import Filter, PlacementScore, PreFilter, PreScore, Score, nothing_to_note
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.resource_scoring import Demands, Strategy, demands_of, scores_of
from pilotage.framework.api.scoring_arguments import LEAST, ScoringStrategy
from pilotage.framework.api.verdicts import Rejection, Verdicts
from pilotage.framework.runtime.preemption.shortage import INSUFFICIENT, TOO_MANY_PODS
from pilotage.kinds.devices import IMPLICIT_RESOURCE, DeviceClass
from pilotage.model.amounts import amount as told
from pilotage.model.node import Node
from pilotage.model.pod import Pod, PodShape
from pilotage.model.requests import PODS, is_extended, is_scalar, scored_requests

Wanted = tuple[tuple[str, int], ...]  # resources with amounts above zero

MOST_NODES = 16  # searched for pods that could be moved


class NodeResourcesFit(PreFilter, Filter, PreScore, Score, PlacementScore):
    """Keep pods off nodes with insufficient free resources, and score nodes by their utilization."""

    ignored_resources: tuple[Item, ...] = Field(default=(), exclude_if=lambda given: not given)
    ignored_resource_groups: tuple[Item, ...] = Field(default=(), exclude_if=lambda given: not given)
    scoring_strategy: ScoringStrategy = ScoringStrategy(type=LEAST)

    caching = Caching(NODE, per=SHAPE)
    retry_on = (
        Retry(Resource.ASSIGNED_POD, Action.DELETE, "after_pod_deleted"),
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, "after_node_change"),
        Retry(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE, "after_class_change"),
        Retry(Resource.ASSIGNED_POD, Action.UPDATE_POD_SCALE_DOWN, "after_pod_scaled_down"),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_SCALE_DOWN),
    )

    def faults(self, at: At) -> list[Fault]:
        """Return all errors as one fault, since kube-scheduler only finds them in the plugin's constructor."""
        found = [*self._wrong_names(), *self.scoring_strategy.faults(("scoringStrategy",))]
        texts = list(dict.fromkeys(fault.text for fault in found))
        if not texts:
            return []
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        return [Fault(Stage.PROFILES, text, (*at, *found[0].at))]

    def _wrong_names(self) -> Iterator[Fault]:
        for i, name in enumerate(self.ignored_resources):
            for why in unqualified(name):
                yield invalid(("ignoredResources", i), name, why)
        for i, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                yield invalid(("ignoredResourceGroups", i), group, "resource group name can't contain '/'")
            for why in unqualified(group):
                yield invalid(("ignoredResourceGroups", i), group, why)

    pre_filter = nothing_to_note  # even a pod without requests counts towards the node's pod limit

    def epoch(self, cycle: Cycle) -> int:
        """Return a number that changes with what devices serve for the pod, and with them if they are scored."""
        if not cycle.pod.shape.remember("wants scalars", _wants_scalars):
            return 0
        scored = [each.resource for each in self._demands(cycle.pod)] if self._scored_scalars else ()
        return self.handle.delegation.epoch(scored)

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Rejection | None:
        """Return the insufficient resources of the node."""
        wanted = self._wanted(pod)
        if _shortage(wanted, node) is None:
            return None
        return _shortage(self._undelegated(wanted, node.node), node)

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes."""
        cases: list[tuple[str, Bools, Bools | bool]] = []
        full = nodes.pod_count >= nodes.allowed_pods
        if full.any():
            cases.append((TOO_MANY_PODS, full, False))
        for resource, amount in self._wanted(pod):
            if not nodes.has_resource(resource):
                if not self._is_delegated(resource):
                    cases.append((f"{INSUFFICIENT}{resource}", np.ones(len(nodes), np.bool_), True))
                continue
            allocatable = nodes.allocatable(resource)
            short = allocatable - nodes.requested(resource) < amount
            if short.any() and self._is_delegated(resource):
                short &= allocatable != 0
            if short.any():
                cases.append((f"{INSUFFICIENT}{resource}", short, allocatable < amount))
        return Verdicts.all_reasons(cases) if cases else Verdicts.all_fit(len(nodes))

    pre_score = nothing_to_note  # a pod without requests counts with defaults

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Return the score of the node by the strategy."""
        demands = self._demands(pod)
        if self._scored_scalars:
            node = self.handle.delegation.with_devices_of(node, [each.resource for each in demands])
        return self._strategy.score(demands, node)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        demands = self._demands(pod)
        if self._scored_scalars:
            nodes = self.handle.delegation.with_devices(nodes, [each.resource for each in demands])
        return scores_of(self._strategy, demands, nodes)

    def after_pod_deleted(self, pod: Pod, event: Event, old: Pod, new: None) -> bool:
        """Return whether the deleted pod had a node, or the nomination of one."""
        return bool(old.node_name or old.nominated_node)

    def after_node_change(self, pod: Pod, event: Event, old: Node | None, new: Node) -> bool:
        """Return whether the pod would fit the empty node, and did not before the change."""
        wanted = pod.shape.remember(self.name, _wanted_of)
        checked = self._undelegated(wanted, new)
        # Ignored resources count here, as in kube-scheduler.
        if _shortage(checked, NodeInfo(new)) is not None:
            return False
        if old is None or checked != wanted or new.allowed_pods > old.allowed_pods:
            return True
        return _has_more(wanted, old.allocatable, new.allocatable)

    def after_class_change(self, pod: Pod, event: Event, old: DeviceClass | None, new: DeviceClass) -> bool:
        """Return whether devices may serve a resource of the pod now, because a class is new or names it now."""
        explicit, requests = new.spec.extended_resource_name, pod.requests
        if old is None:
            return f"{IMPLICIT_RESOURCE}{new.metadata.name}" in requests or explicit in requests
        return explicit != old.spec.extended_resource_name and explicit in requests

    def after_pod_scaled_down(self, pod: Pod, event: Event, old: Pod, new: Pod) -> bool:
        """Return whether a placed pod released some of the pod's resources."""
        return bool(new.node_name) and _has_more(pod.shape.remember(self.name, _wanted_of), new.usage, old.usage)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer to lower requests, first where one resource is short, then several, or to move pods off a node."""
        full = nodes.pod_count >= nodes.allowed_pods
        free = {name: self._free(nodes, name, amount) for name, amount in self._wanted(pod)}
        short = {name: free[name] < amount for name, amount in self._wanted(pod) if (free[name] < amount).any()}
        missing = sum((mask.astype(np.int64) for mask in short.values()), np.zeros(len(nodes), np.int64))
        for name, mask in short.items():
            alone = mask & (missing == 1) & ~full
            if alone.any():
                most = int(free[name][alone].max())
                yield from _offered(ask_for_less(pod, {name: most}, _hopeless(cycle.nodes, pod, name)))
        needed = _relative_need(pod, free, len(nodes))
        several = np.flatnonzero((missing > 1) & ~full)
        if len(several):
            place = int(several[np.argmin(needed[several])])
            yield from _offered(
                ask_for_less(pod, {name: int(free[name][place]) for name, mask in short.items() if mask[place]})
            )
        yield from self._room(pod, nodes, needed)

    def _room(self, pod: Pod, nodes: Nodes, needed: NDArray[np.float64]) -> Iterator[Remedy]:
        """Offer to move pods off a node: the least important ones, then the fewest."""
        found: list[tuple[tuple[int, int], Remedy]] = []
        for place in np.argsort(needed, kind="stable")[:MOST_NODES].tolist():
            info = nodes[place]
            wanted = self._undelegated(self._wanted(pod), info.node)
            need = {name: amount - info.free(name) for name, amount in wanted if amount > info.free(name)}
            if len(info.pods) >= info.node.allowed_pods:
                need[PODS] = len(info.pods) - info.node.allowed_pods + 1
            leaving = enough_of(movable(info), need, lambda other: {**other.usage, PODS: 1})
            if leaving:
                found.append(((leaving[-1].priority, len(leaving)), freed(info, leaving)))
        yield from (remedy for _, remedy in sorted(found, key=lambda each: each[0])[:1])

    @cached_property
    def _strategy(self) -> Strategy:
        return self.scoring_strategy.compiled()

    @cached_property
    def _scored_scalars(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.scoring_strategy.resources if is_scalar(each.name))

    # Profiles with other arguments share the shape, so the arguments are part of the keys.

    @cached_property
    def _wanted_question(self) -> str:
        return f"{self.name} wanted {self.ignored_resources} {self.ignored_resource_groups}"

    @cached_property
    def _demands_question(self) -> str:
        return f"{self.name} demands {self.scoring_strategy.resources!r}"

    def _wanted(self, pod: Pod) -> Wanted:
        return pod.shape.remember(self._wanted_question, self._wanted_and_not_ignored)

    def _demands(self, pod: Pod) -> Demands:
        return pod.shape.remember(self._demands_question, self._demands_of)

    def _wanted_and_not_ignored(self, shape: PodShape) -> Wanted:
        return tuple((resource, amount) for resource, amount in _wanted_of(shape) if not self._ignores(resource))

    def _is_delegated(self, resource: str) -> bool:
        """Return whether devices serve a resource on nodes that report none of it."""
        return is_scalar(resource) and self.handle.delegation.serves(resource)

    def _free(self, nodes: Nodes, resource: str, amount: int) -> Ints:
        """Return what is free of a resource on each node; enough where devices serve it."""
        allocatable = nodes.allocatable(resource)
        free: Ints = allocatable - nodes.requested(resource)
        if self._is_delegated(resource):
            free[allocatable == 0] = amount
        return free

    def _undelegated(self, wanted: Wanted, node: Node) -> Wanted:
        """Return what the node itself must have."""
        delegated = {name for name, _ in wanted if not node.allocatable.get(name) and self._is_delegated(name)}
        return tuple(each for each in wanted if each[0] not in delegated) if delegated else wanted

    def _ignores(self, resource: str) -> bool:
        ignored = resource in self.ignored_resources or resource.split("/")[0] in self.ignored_resource_groups
        return ignored and is_extended(resource)

    def _demands_of(self, shape: PodShape) -> Demands:
        return demands_of(scored_requests(shape.spec), self.scoring_strategy.resources)


def _wanted_of(shape: PodShape) -> Wanted:
    first = {"cpu": 0, "memory": 1, "ephemeral-storage": 2}
    wanted = ((resource, amount) for resource, amount in shape.requests.items() if amount > 0)
    return tuple(sorted(wanted, key=lambda each: first.get(each[0], len(first))))


def _wants_scalars(shape: PodShape) -> bool:
    return any(map(is_scalar, shape.requests))


def _shortage(wanted: Wanted, node: NodeInfo) -> Rejection | None:
    allocatable, requested = node.node.allocatable, node.requested
    full = len(node.pods) >= node.node.allowed_pods
    short = [
        (resource, amount)
        for resource, amount in wanted
        if amount > allocatable.get(resource, 0) - requested.get(resource, 0)
    ]
    if not short and not full:
        return None
    reasons = [TOO_MANY_PODS] * full + [f"{INSUFFICIENT}{resource}" for resource, _ in short]
    hopeless = any(amount > allocatable.get(resource, 0) for resource, amount in short)
    return Rejection(*reasons, preemption_helps=not hopeless)


def _relative_need(pod: Pod, free: Mapping[str, Ints], nodes: int) -> NDArray[np.float64]:
    """Return which share of the pod's requests each node lacks, summed over resources."""
    parts = (np.maximum(pod.requests[name] - amounts, 0) / pod.requests[name] for name, amounts in free.items())
    total: NDArray[np.float64] = sum(parts, np.zeros(nodes, np.float64))
    return total


def _hopeless(nodes: Nodes, pod: Pod, resource: str) -> str:
    """Return a message if no node could ever fit the pod."""
    largest = int(nodes.allocatable(resource).max())
    if pod.requests[resource] <= largest:
        return ""
    return f"no node is that large: the largest has {told(resource, largest)}"


def _offered(found: Remedy | None) -> Iterator[Remedy]:
    if found is not None:
        yield found


def _has_more(wanted: Wanted, before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    return any(after.get(resource, 0) > before.get(resource, 0) for resource, _ in wanted)
