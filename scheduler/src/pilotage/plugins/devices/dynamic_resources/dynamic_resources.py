"""DynamicResources: rejects pods with resource claims, because Pilotage does not allocate devices yet."""

from collections.abc import Iterator

from pilotage.config.documents import At
from pilotage.config.durations import Duration
from pilotage.config.faults import Fault, invalid
from pilotage.framework.api.cycle import Cycle
from pilotage.framework.api.events import Action, Event, Resource, Retry
from pilotage.framework.api.nodes import NodeInfo, Nodes
from pilotage.framework.api.plugin import (
    Filter,
    PodGroupPostFilter,
    PostFilter,
    PreBind,
    PreEnqueue,
    PreFilter,
    Reserve,
    Score,
)
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
from pilotage.kinds.devices import DeviceClass, ResourceClaim
from pilotage.model.pod import Pod

SECOND = Duration.parse("1s")
SEEN = "seen"  # the note of a cycle in which pre_filter was called
NO_ROOM = NoRoom("", keeps_nomination=True)


class DynamicResources(PreEnqueue, PreFilter, Filter, PostFilter, Score, Reserve, PreBind, PodGroupPostFilter):
    """Keep pods with resource claims pending, because Pilotage does not allocate devices; kube-scheduler does."""

    # None is the same as absent; kube-scheduler has pointers here.
    filter_timeout: Duration | None = Duration.parse("10s")
    binding_timeout: Duration | None = Duration.parse("10m")

    # Nodes and slices do not matter, because devices are not allocated.
    idle_when_skipped = True
    retry_on = (
        Retry(Resource.TARGET_POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, "claims_are_made"),
        Retry(Resource.RESOURCE_CLAIM, Action.ADD | Action.UPDATE, "got_its_claim"),
        Retry(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE),
    )
    reads = (ResourceClaim, DeviceClass)
    no_arguments = "got args of type <nil>, want *{}Args"

    def faults(self, at: At) -> list[Fault]:
        """Return the errors in the time-outs."""
        found = []
        if self.filter_timeout is not None and self.filter_timeout < 0:
            found.append(invalid((*at, "filterTimeout"), str(self.filter_timeout), "must be zero or positive"))
        if self.binding_timeout is not None and self.binding_timeout < SECOND:
            found.append(invalid((*at, "bindingTimeout"), str(self.binding_timeout), "must be at least 1 second"))
        return found

    def pre_enqueue(self, pod: Pod) -> Filtered:
        """Gate the pod until every claim exists."""
        return self._missing(pod) if pod.spec.resource_claims else None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> PreFiltered:
        """Skip pods without claims, and reject all others."""
        cycle.notes[self.name] = SEEN
        return self._rejection(pod) or SKIP

    def filter(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> Filtered:
        """Reject every node for a pod with claims."""
        return self._rejection(pod)

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> Verdicts:
        """Reject all nodes for a pod with claims."""
        fits = Verdicts.all_fit(len(nodes))
        rejection = self._rejection(pod)
        return fits if rejection is None else Verdicts(fits.codes + 1, (rejection,))

    def post_filter(self, cycle: Cycle, pod: Pod, verdicts: Verdicts) -> NoRoom:
        """Deallocate nothing; like kube-scheduler's plugin, fail if pre_filter was not called."""
        if self.name not in cycle.notes:
            raise PluginFailed("not found")
        return NO_ROOM

    def score(self, cycle: Cycle, pod: Pod, node: NodeInfo) -> int:
        """Prefer no node."""
        return 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: Nodes) -> int:
        """Prefer no node."""
        return 0

    def reserve(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Reserve nothing, and reject pods with claims."""
        return self._rejection(pod)

    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node: str) -> Skip | None:
        """Skip pods without claims."""
        return SKIP if self._rejection(pod) is None else None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node: str) -> Filtered:
        """Prepare nothing, and reject pods with claims."""
        return self._rejection(pod)

    def claims_are_made(self, pod: Pod, event: Event, old: Pod | None, new: Pod) -> bool:
        """Return whether every claim of the pod has a name now."""
        return _unnamed(new) is None

    def got_its_claim(self, pod: Pod, event: Event, old: ResourceClaim | None, new: ResourceClaim) -> bool:
        """Return whether the claim belongs to the pod, is not being deleted, and is new or newly allocated."""
        if new.metadata.namespace != pod.namespace or new.metadata.name not in _names(pod):
            return False
        return new.metadata.deletion_timestamp is None and (old is None or old.status != new.status)

    def _rejection(self, pod: Pod) -> Rejection | None:
        """Return why a pod with claims cannot be placed."""
        if not pod.spec.resource_claims:
            return None
        return self._missing(pod) or self._unserved(pod) or _unallocated(pod)

    def _missing(self, pod: Pod) -> Rejection | None:
        """Return which claim of the pod is missing, or belongs to another pod."""
        unnamed = _unnamed(pod)
        if unnamed is not None:
            return unnamed
        for entry, name in zip(pod.spec.resource_claims, _names(pod), strict=True):
            claim = None if name is None else self.handle.objects.get(ResourceClaim, name, pod.namespace)
            if name is None:
                continue
            if claim is None:
                return _hopeless(f'could not find ResourceClaim "{pod.namespace}/{name}"')
            if claim.metadata.deletion_timestamp is not None:
                return _hopeless(f'resourceclaim "{name}" is being deleted')
            owner = claim.metadata.controller
            if entry.resource_claim_name is None and (owner is None or owner.uid != pod.uid):
                text = f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)"
                return _hopeless(text)
        return None

    def _unserved(self, pod: Pod) -> Rejection | None:
        """Return which request of an unallocated claim names a missing device class."""
        for name in filter(None, _names(pod)):
            claim = self.handle.objects.get(ResourceClaim, name, pod.namespace)
            if claim is None or claim.status.allocation is not None:
                continue
            for request, device_class in _classes(claim):
                if self.handle.objects.get(DeviceClass, device_class) is None:
                    return _hopeless(f"request {request}: device class {device_class} does not exist")
        return None


def _classes(claim: ResourceClaim) -> Iterator[tuple[str, str]]:
    """Yield the requests of a claim, each with its device class."""
    for request in claim.spec.devices.requests:
        if request.exactly is not None:
            yield request.name, request.exactly.device_class_name
        for choice in request.first_available:
            yield f"{request.name}/{choice.name}", choice.device_class_name


def _hopeless(text: str) -> Rejection:
    return Rejection(text, preemption_helps=False)


def _names(pod: Pod) -> list[str | None]:
    """Return the names of the pod's claims; None for a template that needs no claim."""
    made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    return [claim.resource_claim_name or made.get(claim.name) for claim in pod.spec.resource_claims]


def _unnamed(pod: Pod) -> Rejection | None:
    """Return why a claim of the pod has no name."""
    for claim in pod.spec.resource_claims:
        if claim.resource_claim_name is not None:
            continue
        if claim.resource_claim_template_name is None:
            text = f'pod "{pod.key}", spec.resourceClaim "{claim.name}": none of the supported fields are set'
            return _hopeless(text)
        if not any(status.name == claim.name for status in pod.status.resource_claim_statuses):
            return _hopeless(f'pod "{pod.key}": ResourceClaim not created yet')
    return None


def _unallocated(pod: Pod) -> Rejection | None:
    """Return that the pod's claims are not allocated."""
    claims = ", ".join(f'"{pod.namespace}/{name}"' for name in _names(pod) if name is not None)
    if not claims:
        return None
    text = f"cannot allocate ResourceClaim {claims}: this scheduler does not allocate devices yet"
    return _hopeless(f"{text}; give the pod to kube-scheduler with its schedulerName")
