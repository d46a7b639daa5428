"""DynamicResources: places pods where the devices of their claims are free, and allocates them."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from pilotage.config.documents import At
from pilotage.config.durations import Duration
from pilotage.config.faults import Fault, invalid
from pilotage.framework.api.caching import CLUSTER, Caching
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.handle import OFFLINE_API, Handle
from pilotage.framework.api.nodes import Ints, NodeInfo, Nodes
from pilotage.framework.api.plugin import (
    ConcludesInMemory,
    Filter,
    PodGroupPostFilter,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    Reserve,
    Score,
)
from pilotage.framework.api.remedies import Remedy
from pilotage.framework.api.scoring import by_maximum
from pilotage.framework.api.verdicts import (
    SKIP,
    Filtered,
    NoRoom,
    PluginFailed,
    PreFiltered,
    Rejection,
    Skip,
    Verdicts,
)
from pilotage.framework.runtime.reading import permission_on
from pilotage.kinds.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from pilotage.kinds.kube_object import KubeObject
from pilotage.model.pod import Pod
from pilotage.plugins.devices.dynamic_resources.allocator import Allocator
from pilotage.plugins.devices.dynamic_resources.binding_conditions import preparation
from pilotage.plugins.devices.dynamic_resources.claim_bodies import as_allocated, is_only_for
from pilotage.plugins.devices.dynamic_resources.claim_changes import ClaimUsers, helps
from pilotage.plugins.devices.dynamic_resources.claim_checks import unserved
from pilotage.plugins.devices.dynamic_resources.claims_writing import ClaimsInMemory, ClaimsWriting
from pilotage.plugins.devices.dynamic_resources.concluding import conclude
from pilotage.plugins.devices.dynamic_resources.device_classes import DeviceClasses
from pilotage.plugins.devices.dynamic_resources.device_cycle import DeviceCycle, SettledClaim
from pilotage.plugins.devices.dynamic_resources.device_remarks import remark_of
from pilotage.plugins.devices.dynamic_resources.device_remedies import fewer_devices, missing_classes
from pilotage.plugins.devices.dynamic_resources.device_world import FOLLOWED, DeviceWorld, world_of
from pilotage.plugins.devices.dynamic_resources.extended_claims import is_special_of, owner_of_special
from pilotage.plugins.devices.dynamic_resources.extended_devices import ExtendedDevices
from pilotage.plugins.devices.dynamic_resources.extended_requests import extended_demand
from pilotage.plugins.devices.dynamic_resources.extended_search import ExtendedSearch
from pilotage.plugins.devices.dynamic_resources.node_verdicts import failing, verdict, verdicts
from pilotage.plugins.devices.dynamic_resources.outcomes import Solution
from pilotage.plugins.devices.dynamic_resources.pod_claims import claim_id, claims_of, hopeless, key_of

SEEN = "seen"  # the note of a cycle in which pre_filter had nothing to do, or has rejected the pod
SECOND = Duration.parse("1s")
FILTER_TIMEOUT, BINDING_TIMEOUT = Duration.parse("10s"), Duration.parse("10m")
TRY_AGAIN = 30.0  # seconds after a deallocation, in case that its write fails

NO_ROOM = NoRoom("", keeps_nomination=True)
DEALLOCATED = "deallocation of ResourceClaim completed"
DELETED = "deletion of ResourceClaim completed"

ANY_CHANGE = Action.ADD | Action.UPDATE


class DynamicResources(
    PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind, PodGroupPostFilter, ConcludesInMemory
):
    """Place a pod where the devices that its claims request are free, and allocate them."""

    # None is the same as absent; kube-scheduler has pointers here.
    filter_timeout: Duration | None = FILTER_TIMEOUT
    binding_timeout: Duration | None = BINDING_TIMEOUT

    caching = Caching(CLUSTER)  # the allocator remembers results itself, for all pods with equal claims
    idle_when_skipped = True
    retry_on = (
        Retry(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, "claims_are_made"),
        Retry(
            Resource.RESOURCE_CLAIM, Action.ADD | Action.UPDATE | Action.DELETE, "claim_changed", only_pods="pods_of"
        ),
        Retry(Resource.RESOURCE_SLICE, ANY_CHANGE),
        Retry(Resource.DEVICE_CLASS, ANY_CHANGE),
        Retry(DeviceTaintRule, ANY_CHANGE | Action.DELETE, "rule_changed"),
    )
    reads = (ResourceClaim, ResourceSlice, DeviceClass, DeviceTaintRule)
    permissions = (
        permission_on(ResourceClaim, "get", "patch", "update", "create", "delete"),
        permission_on(ResourceClaim, "patch", "update", part="status"),
        permission_on(ResourceClaim, "patch", "update", part="binding"),
    )
    no_arguments = "got args of type <nil>, want *{}Args"
    normalize = by_maximum

    def __post_init__(self) -> None:
        """Start without a cluster."""
        super().__post_init__()
        self._join(world_of(self.handle.objects))
        self._users = ClaimUsers(None)
        self._writing: ClaimsInMemory | ClaimsWriting = ClaimsInMemory(self.handle, self._claims)

    def start(self, handle: Handle) -> None:
        """Join the other profiles, whose devices are the same, and prepare to write claims."""
        super().start(handle)
        world = world_of(handle.objects)
        self._join(world)
        for kind in FOLLOWED:
            handle.on_change(kind, partial(world.noticed, handle.objects))
        served = ExtendedDevices(self._classes, world, handle.objects)
        handle.delegation.begin(served)
        handle.at_end(partial(handle.delegation.end, served))
        if handle.api is OFFLINE_API:
            self._writing = ClaimsInMemory(handle, world.claims)
            handle.at_end(world.claims.forget_decisions)  # the next simulation of the cluster starts anew
            return
        self._users = ClaimUsers(handle.find_pod)
        self._writing = ClaimsWriting(handle, world, self._binding_seconds)

    def _join(self, world: DeviceWorld) -> None:
        self._world, self._claims = world, world.claims
        self._classes = DeviceClasses(self.handle.objects)
        find_class = partial(self.handle.objects.get, DeviceClass)
        timeout = FILTER_TIMEOUT if self.filter_timeout is None else self.filter_timeout
        self._allocator = Allocator(world.inventory, world.usage, find_class, timeout.seconds or None)

    @property
    def _binding_seconds(self) -> float:
        return (BINDING_TIMEOUT if self.binding_timeout is None else self.binding_timeout).seconds

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the time-outs."""
        found = []
        if self.filter_timeout is not None and self.filter_timeout < 0:
            found.append(invalid((*at, "filterTimeout"), str(self.filter_timeout), "must be zero or positive"))
        if self.binding_timeout is not None and self.binding_timeout < SECOND:
            found.append(invalid((*at, "bindingTimeout"), str(self.binding_timeout), "must be at least 1 second"))
        return found

    # ------------------------------------------------------------------------------------------ before any node

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Gate the pod until every claim exists."""
        if not pod.spec.resource_claims:
            return None
        found = self._claims_of(pod)
        return found if isinstance(found, Rejection) else None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Sort the claims: those with devices, and those to search for; reject the pod if a claim cannot be used."""
        cycle.notes[self.name] = SEEN
        demand = extended_demand(pod, self._classes)
        if not pod.spec.resource_claims and demand is None:
            return SKIP
        claims = self._claims_of(pod)
        if isinstance(claims, Rejection):
            return claims
        if not claims and demand is None:
            return SKIP
        settled: list[SettledClaim] = []
        unallocated: list[ResourceClaim] = []
        for claim in claims:
            if (found := self._settled(claim, pod)) is not None:
                settled.append(found)
            elif (problem := self._unusable(claim)) is not None:
                return problem
            else:
                unallocated.append(claim)
        if demand is not None:
            leftover = self._world.special_claims.of(pod, self._claims.find)
            search = ExtendedSearch(pod, demand, unallocated, self._allocator)
            cycle.notes[self.name] = DeviceCycle(claims, settled, search, leftover)
        else:
            cycle.notes[self.name] = DeviceCycle(
                claims, settled, self._allocator.ask(unallocated) if unallocated else None
            )
        return None

    def _claims_of(self, pod: Pod) -> list[ResourceClaim] | Rejection:
        self._users.note(pod)
        self._world.catch_up(self.handle.objects)
        return claims_of(pod, self._claims.find)

    def _settled(self, claim: ResourceClaim, pod: Pod) -> SettledClaim | None:
        """Return a claim that has devices, or is about to get them together with this pod."""
        allocation = claim.status.allocation
        if allocation is not None:
            prepared = preparation(claim, self.handle.clock(), self._binding_seconds)
            return SettledClaim.of(claim, allocation, is_unusable=bool(prepared.problem))
        flight = self._claims.flight(claim_id(claim))
        if flight is None or not self._writing.may_use(flight, pod):
            return None
        return SettledClaim.of(claim, flight.allocation, is_pending=True)

    def _unusable(self, claim: ResourceClaim) -> Rejection | None:
        """Return why no devices can be searched for a claim."""
        if self._claims.is_undecided(claim_id(claim)):
            return hopeless(f"resource claim {key_of(claim)} is in the process of being allocated")
        return unserved(claim, self.handle.objects)

    # ------------------------------------------------------------------------------------------ nodes

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject a node without the devices, or where the devices of a claim cannot be used."""
        state = _state(cycle)
        return None if state is None else verdict(state, node)

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Return the same for many nodes; the first node with an error fails the attempt, as in kube-scheduler."""
        state = _state(cycle)
        return Verdicts.all_fit(len(nodes)) if state is None else verdicts(state, nodes)

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> NoRoom:
        """Free a claim that some node cannot use and that no other pod uses; fail if pre_filter was not called."""
        if self.name not in cycle.notes:
            raise PluginFailed("not found")
        state = _state(cycle)
        if state is None:
            return NO_ROOM
        if state.leftover is not None:
            cycle.try_again_at(self.handle.clock() + TRY_AGAIN)
            return NoRoom(DELETED, keeps_nomination=True, follow_up=partial(self._writing.delete, state.leftover, pod))
        for claim in state.claims:
            if claim_id(claim) in state.unavailable and is_only_for(claim, pod):
                cycle.try_again_at(self.handle.clock() + TRY_AGAIN)
                return NoRoom(
                    DEALLOCATED, keeps_nomination=True, follow_up=partial(self._writing.deallocate, claim, pod)
                )
        return NO_ROOM

    def remark(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> str:
        """Return for each request how many devices there are on the node, and why they cannot be used."""
        state = _state(cycle)
        return "" if state is None else remark_of(state, node)

    def remedies(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Iterator[Remedy]:
        """Offer fewer devices, tolerations, or the classes that are missing."""
        state = _state(cycle)
        if state is not None:
            yield from fewer_devices(state, pod, nodes, self._world.inventory)
        elif not isinstance(claims := self._claims_of(pod), Rejection):
            yield from missing_classes(claims, self.handle.objects)

    # ------------------------------------------------------------------------------------------ scores

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Prefer nodes where requests get their first alternatives."""
        state = _state(cycle)
        if state is None or state.ask is None:
            return 0
        with failing():
            found = state.ask.on_node(node.node)
        return found.score + state.settled_score() if isinstance(found, Solution) else 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Ints | int:
        """Return the same for many nodes."""
        state = _state(cycle)
        if state is None or state.ask is None:
            return 0
        scores: Ints = state.ask.raw_scores(nodes) + state.settled_score()
        return scores

    # ------------------------------------------------------------------------------------------ the chosen node

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Take the devices of the node, in memory."""
        state, info = _state(cycle), cycle.nodes.find(node)
        if state is None:
            return None
        chosen = [(each.claim, each.allocation) for each in state.settled if each.is_pending]
        if state.ask is not None:
            if info is None:
                raise PluginFailed("claim allocation not found for node")
            with failing():
                found = state.ask.allocations(info.node)
            chosen += zip(state.searched_on(info.node), found, strict=True)
            if isinstance(state.ask, ExtendedSearch):
                state.mappings = state.ask.mappings(info.node)
        for claim, allocation in chosen:
            self._claims.start(claim, allocation, pod)
        state.chosen = chosen
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node: str) -> None:
        """Release the devices, and withdraw what is written: the devices of a claim stay, for the next attempt."""
        state = _state(cycle)
        if state is None:
            return
        chosen, state.chosen = state.chosen, []
        for claim, allocation in chosen:
            freed = self._claims.release(claim_id(claim), pod.uid)
            if freed and state.is_binding:  # otherwise nobody was told that they are taken
                self.handle.announce(as_allocated(claim, allocation), claim)
        self._writing.withdraw(state, pod)

    def as_reserved(self, found: KubeObject) -> KubeObject:
        """Return a claim as it will be once the pods are bound that reserve it; anything else as it is."""
        return self._claims.as_decided(found) if isinstance(found, ResourceClaim) else found

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Skip pods without claims."""
        state = _state(cycle)
        if state is None:
            return SKIP
        state.is_binding = True
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Write the claims, and wait until their devices are prepared."""
        state = _state(cycle)
        if state is not None:
            await self._writing.bind(state, pod, node)
        return None

    def concluded(self, cycle: Cycle, pod: Pod) -> Sequence[ResourceClaim]:
        """Return the pod's claims with their devices, which are the claims' own from now on."""
        state = _state(cycle)
        return [] if state is None else conclude(state, pod, self._claims)

    # ------------------------------------------------------------------------------------------ hints

    def claims_are_made(self, pod: Pod, event: Event, old: Pod | None, new: Pod) -> bool:
        """Return whether every claim of the pod exists now and can be used."""
        return not isinstance(self._claims_of(new), Rejection)

    def claim_changed(self, pod: Pod, event: Event, old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
        """Return whether devices are free now, or a claim of the pod has changed."""
        self._world.catch_up(self.handle.objects)
        if new is None and old is not None and is_special_of(old, pod):
            return True
        return helps(pod, old, new, self._claims.find)

    def pods_of(self, old: ResourceClaim | None, new: ResourceClaim | None) -> Collection[str] | None:
        """Return which pods a change of a claim can help, or None for all."""
        found = self._users.concerned(old, new)
        return owner_of_special(old) if new is None and found is not None else found

    def rule_changed(self, pod: Pod, event: Event, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> bool:
        """Return whether a rule taints other devices now; its status only counts evictions."""
        return old is None or new is None or old.spec != new.spec


def _state(cycle: Cycle) -> DeviceCycle | None:
    """Return the claims of the cycle's pod, if it has any that can be used."""
    note = cycle.notes.get(DynamicResources.name)
    return note if isinstance(note, DeviceCycle) else None
