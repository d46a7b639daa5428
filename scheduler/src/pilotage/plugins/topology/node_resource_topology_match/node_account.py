"""The account of one node's zones: a report, and the pods that it may not account for.

       placed by this scheduler                 accounted for by a report, or deleted
──────────────────────────────> reserved ──────────────────────────────────────────> settled
       placed by another scheduler              the same
──────────────────────────────> stranger ──────────────────────────────────────────> settled
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.model.pod import Pod
from pilotage.model.requests import Requests
from pilotage.plugins.topology.node_resource_topology_match.exclusive import (
    exclusive_requests,
    is_exclusive,
    lasting_containers,
)
from pilotage.plugins.topology.node_resource_topology_match.fingerprints import (
    METHOD_ATTRIBUTE,
    WITH_EXCLUSIVE_RESOURCES,
    attribute,
    fingerprint,
    published_fingerprint,
)
from pilotage.plugins.topology.node_resource_topology_match.placement import ContainerName, Placement, placement_of
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import TopologyManager
from pilotage.plugins.topology.node_resource_topology_match.zone_columns import STALE, View
from pilotage.plugins.topology.node_resource_topology_match.zones import ZoneTable

log = logging.getLogger(__name__)

ALL, NONE, ONLY_EXCLUSIVE, AUTODETECT = "All", "None", "OnlyExclusiveResources", "Autodetect"
SHARED, DEDICATED, ONLY_RESOURCES = "Shared", "Dedicated", "OnlyResources"

CANNOT_SIMULATE: Final = "cannot process eviction simulation"
NO_RESOURCES: Final = f"no resources to add, {CANNOT_SIMULATE}"
TOO_MUCH: Final = "resource release request exceeds NUMA allocatable"


class Resync(NamedTuple):
    """The rules for trusting a report."""

    foreign_pods: str = ONLY_EXCLUSIVE  # which pods of other schedulers invalidate a report
    method: str = AUTODETECT  # which pods a fingerprint includes
    informer: str = DEDICATED  # which pods an agent can see
    scope: str = ALL  # whether any report updates the kubelet's configuration


class Reservation(NamedTuple):
    """The future usage of a pod, and the report at that time, which cannot account for it."""

    amounts: Requests
    since: NodeResourceTopology | None


class Account:
    """The account of one node."""

    def __init__(self, name: str, rules: Resync) -> None:
        self._name = name
        self._rules = rules
        self._known: dict[str, Pod] = {}  # pods on the node, by uid
        self._reserved: dict[str, Reservation] = {}  # pods that the report may not account for
        self._parting: dict[str, Pod] = {}  # pods that have left, or are about to be placed again
        self._strangers: dict[str, Pod] = {}  # placed by another scheduler since the report
        self._stranger_left = False
        self._report: NodeResourceTopology | None = None  # the trusted report
        self._zones = ZoneTable(TopologyManager())  # its zones
        self._newest: NodeResourceTopology | None = None
        self._changed = True
        self._warned = False
        self._view: View = None

    def placed(self, pod: Pod) -> None:
        """Add a pod; one of this scheduler that the API server does not have on the node yet is reserved."""
        before = self._parting.pop(pod.uid, None)
        self._known[pod.uid] = pod
        self._changed = True
        if not pod.spec.node_name:
            self.reserve(pod)
        elif before is None and self._rules.foreign_pods != NONE and pod.uid not in self._reserved:
            self._strangers[pod.uid] = pod

    def left(self, pod: Pod) -> None:
        """Remove a pod, unless it is placed again before the next check."""
        if self._known.pop(pod.uid, None) is not None:
            self._parting[pod.uid] = pod
            self._changed = True

    def reserve(self, pod: Pod) -> None:
        """Subtract the pod's demand from the zones."""
        if any(pod.usage.values()):
            self._reserved[pod.uid] = Reservation(pod.usage, self._newest)
            self._changed = True

    def unreserve(self, uid: str) -> None:
        """Release it."""
        self._changed |= self._reserved.pop(uid, None) is not None

    def recheck(self) -> None:
        """Recompute everything at the next check."""
        self._changed = True

    @property
    def is_open(self) -> bool:
        """Return whether a change of pods can change the account."""
        return self._is_unsettled or bool(self._parting) or self._report is not self._newest

    @property
    def is_empty(self) -> bool:
        """Return whether no pod is on the node."""
        return not self._known

    def view(self, newest: NodeResourceTopology | None, ours: set[str]) -> View:
        """Return the zones with the amounts that are certainly free."""
        if self._changed or newest is not self._newest:
            self._newest, self._changed = newest, False
            self._bury(ours)
            if newest is None:
                self._report = None
            self._view = None if newest is None else self._settled(newest, ours)
        return self._view

    def evicted(self, victims: Sequence[Pod], newest: NodeResourceTopology, ours: set[str]) -> View | str:
        """Return the zones without some pods, or why they are unknown."""
        zones = self.view(newest, ours)
        if not isinstance(zones, ZoneTable):
            return zones
        gone = {pod.uid for pod in victims}
        settled = [pod for pod in victims if pod.uid not in self._reserved]
        bare = self._managed(newest)
        placement = self._placement(newest, bare.available)
        released = list(_released(settled, placement or {}, bare.available))
        if not released and gone.isdisjoint(self._reserved):
            return zones if not placement else NO_RESOURCES
        freed = bare.more(released)
        if freed is None:
            return TOO_MUCH
        return freed.less(_total(held.amounts for uid, held in self._reserved.items() if uid not in gone))

    def _bury(self, ours: set[str]) -> None:
        """Forget pods that have left."""
        reported = self._zones.available
        for uid, pod in self._parting.items():
            self._strangers.pop(uid, None)
            if self._reserved.pop(uid, None) is None and self._is_stranger(pod, reported, ours):
                self._stranger_left = True
        self._parting.clear()

    def _settled(self, newest: NodeResourceTopology, ours: set[str]) -> View:
        if self._report is None:
            self._believe(newest)
        reported = self._zones.available
        self._strangers = {uid: pod for uid, pod in self._strangers.items() if self._is_stranger(pod, reported, ours)}
        if self._is_unsettled and (accounted := self._accounted(newest)) is not None:
            self._believe(newest)
            self._stranger_left = False
            # If a pod was recreated with the same name, a report may account for the first one.
            self._reserved = {
                uid: held for uid, held in self._reserved.items() if uid not in accounted or held.since is newest
            }
            self._strangers = {uid: pod for uid, pod in self._strangers.items() if uid not in accounted}
        if not self._is_unsettled:
            self._believe(newest)  # it is newer, and the older one lacks no pod
        if self._strangers or self._stranger_left:
            return STALE
        return self._managed(newest).less(_total(held.amounts for held in self._reserved.values()))

    @property
    def _is_unsettled(self) -> bool:
        return bool(self._reserved or self._strangers or self._stranger_left)

    def _believe(self, report: NodeResourceTopology) -> None:
        if self._report is not report:
            self._report, self._zones = report, ZoneTable.of(report)

    def _managed(self, newest: NodeResourceTopology) -> ZoneTable:
        """Return the trusted zones with the kubelet's current configuration."""
        if self._rules.scope == ONLY_RESOURCES or self._report is newest:
            return self._zones
        return self._zones.managed(TopologyManager.of(newest))

    def _accounted(self, topology: NodeResourceTopology) -> set[str] | None:
        """Return the pods that a report accounts for, if all of them are known."""
        wanted = published_fingerprint(topology)
        if not wanted:
            self._warn()
            return None
        only_exclusive = self._rules.method == ONLY_EXCLUSIVE or (
            self._rules.method == AUTODETECT and attribute(topology, METHOD_ATTRIBUTE) == WITH_EXCLUSIVE_RESOURCES
        )
        reported = ZoneTable.of(topology).available if only_exclusive else {}
        for pods in self._candidates():
            counted = [pod for pod in pods if not only_exclusive or is_exclusive(pod, reported.keys())]
            if fingerprint((pod.namespace, pod.name) for pod in counted) == wanted:
                return {pod.uid for pod in pods}
        return None

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            text = "NodeResourceTopology %s has no fingerprint of pods: what is reserved there stays reserved"
            log.warning(text, self._name)

    def _candidates(self) -> list[list[Pod]]:
        """Return the sets of pods that an agent may see: the running ones, and all."""
        everyone = list(self._known.values())
        if self._rules.informer == SHARED:
            running = [pod for pod in everyone if pod.status.phase == "Running"]
        else:
            running = [pod for pod in everyone if pod.status.phase not in ("", "Pending")]
        return [running, everyone] if len(running) < len(everyone) else [everyone]

    def _placement(self, newest: NodeResourceTopology, reported: Mapping[str, object]) -> Placement | None:
        for pods in self._candidates():
            placement = placement_of(newest, _exclusive_containers(pods, reported))
            if placement:
                return placement
        return None

    def _is_stranger(self, pod: Pod, reported: Mapping[str, object], ours: set[str]) -> bool:
        if self._rules.foreign_pods == NONE or pod.scheduler_name in ours:
            return False
        return self._rules.foreign_pods != ONLY_EXCLUSIVE or is_exclusive(pod, reported.keys())


def _released(
    victims: Iterable[Pod], placement: Placement, reported: Mapping[str, object]
) -> Iterator[tuple[int, Requests]]:
    for pod in victims:
        for container in lasting_containers(pod):
            zone = placement.get((pod.namespace, pod.name, container.name))
            amounts = exclusive_requests(pod, container, reported.keys())
            if zone is not None and amounts:
                yield zone, amounts


def _exclusive_containers(pods: Iterable[Pod], reported: Mapping[str, object]) -> list[ContainerName]:
    return [
        (pod.namespace, pod.name, container.name)
        for pod in pods
        for container in lasting_containers(pod)
        if exclusive_requests(pod, container, reported.keys())
    ]


def _total(several: Iterable[Requests]) -> Requests:
    total: Requests = {}
    for amounts in several:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total
