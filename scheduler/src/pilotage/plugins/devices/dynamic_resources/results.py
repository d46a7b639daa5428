"""What is written into claims: the devices that were found on a node, their configuration, and who can use them."""

from collections.abc import Iterable, Sequence
from uuid import uuid4

from msgspec import structs

from pilotage.kinds.devices import (
    FROM_CLAIM,
    FROM_CLASS,
    AllocatedConfiguration,
    AllocatedDevice,
    AllocatedDevices,
    Allocation,
    DeviceToleration,
    ResourceClaim,
)
from pilotage.model.node import Node
from pilotage.model.selectors import (
    NAME_FIELD,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
)
from pilotage.plugins.devices.dynamic_resources.claim_plans import Alternative, ClaimPlan, Classes
from pilotage.plugins.devices.dynamic_resources.outcomes import AllocationFailed, Pick
from pilotage.plugins.devices.dynamic_resources.pools import PoolView
from pilotage.plugins.devices.dynamic_resources.slice_facts import SliceFacts


def allocation_of(
    claim: ResourceClaim,
    plan: ClaimPlan,
    picks: Sequence[Pick],
    views: Sequence[PoolView],
    node: Node,
    classes: Classes,
) -> Allocation:
    """Return what a claim gets on a node, without the time."""
    places = [_located(views, pick.place) for pick in picks]
    results = tuple(_result(plan, pick, *place) for pick, place in zip(picks, places, strict=True))
    devices = AllocatedDevices(results, _configuration(claim, plan, picks, classes))
    return Allocation(devices, _node_selector(claim, places, node))


def _located(views: Sequence[PoolView], place: int) -> tuple[SliceFacts, int]:
    for view in views:
        if place < view.shape.size:
            return view.piece_at(place)
        place -= view.shape.size
    raise IndexError(place)


def _result(plan: ClaimPlan, pick: Pick, piece: SliceFacts, place: int) -> AllocatedDevice:
    alternative = plan.requests[pick.request].alternatives[pick.alternative]
    kind = piece.kinds[place]
    is_share = pick.share is not None
    amounts = zip(kind.capacities, pick.share or (), strict=True) if is_share else ()
    return AllocatedDevice(
        request=alternative.name,
        driver=piece.key[0],
        pool=piece.key[1],
        device=piece.names[place],
        admin_access=True if alternative.is_admin else None,
        tolerations=tuple(map(_defaulted, alternative.tolerations)),
        binding_conditions=kind.device.binding_conditions or (),
        binding_failure_conditions=kind.device.binding_failure_conditions or (),
        share_id=str(uuid4()) if is_share else None,
        consumed_capacity={capacity.name: str(amount) for capacity, amount in amounts},
    )


def _defaulted(toleration: DeviceToleration) -> DeviceToleration:
    return toleration if toleration.operator else structs.replace(toleration, operator="Equal")


def _configuration(
    claim: ResourceClaim, plan: ClaimPlan, picks: Sequence[Pick], classes: Classes
) -> tuple[AllocatedConfiguration, ...]:
    """Return the configurations of classes, then those of the claim; a list of all requests is left out."""
    chosen = _chosen(plan, picks)
    names = [each.name for each in chosen]
    users: dict[str, list[str]] = {}
    for each in chosen:
        users.setdefault(each.device_class, []).append(each.name)
    found = []
    for class_name, requests in users.items():
        device_class = classes(class_name)
        configs = () if device_class is None else device_class.spec.config
        concerned = _unless_all(requests, plan, names)
        found += [AllocatedConfiguration(FROM_CLASS, concerned, config.opaque) for config in configs]
    known = {request.name for request in plan.requests} | set(names)
    found += [
        AllocatedConfiguration(FROM_CLAIM, _unless_all(config.requests, plan, names), config.opaque)
        for config in claim.spec.devices.config
        if not config.requests or known.intersection(config.requests)
    ]
    return tuple(found)


def _chosen(plan: ClaimPlan, picks: Sequence[Pick]) -> list[Alternative]:
    ways = {pick.request: pick.alternative for pick in picks}
    return [request.alternatives[ways.get(number, 0)] for number, request in enumerate(plan.requests)]


def _unless_all(requests: Sequence[str], plan: ClaimPlan, names: Sequence[str]) -> tuple[str, ...]:
    pairs = zip(plan.requests, names, strict=True)
    covers = all(request.name in requests or name in requests for request, name in pairs)
    return () if covers else tuple(requests)


def _node_selector(claim: ResourceClaim, places: Iterable[tuple[SliceFacts, int]], node: Node) -> NodeSelector | None:
    fields: dict[tuple[str, str, tuple[str, ...]], NodeSelectorRequirement] = {}
    labels: dict[tuple[str, str, tuple[str, ...]], NodeSelectorRequirement] = {}
    for piece, place in places:
        device, spec = piece.spec.devices[place], piece.spec
        is_per_device = bool(spec.per_device_node_selection)
        if spec.node_name or device.binds_to_node or (is_per_device and device.node_name):
            return only_node(node.name)
        selector = device.node_selector if is_per_device else spec.node_selector
        if selector is None:
            continue
        terms = selector.node_selector_terms
        if len(terms) != 1:
            text = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationFailed(f"create NodeSelector for claim {claim.metadata.name}: {text}")
        for found, wanted in ((fields, terms[0].match_fields), (labels, terms[0].match_expressions)):
            for each in wanted:
                found.setdefault(_canonical(each), each)
    if not fields and not labels:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(labels.values()), tuple(fields.values())),))


def only_node(name: str) -> NodeSelector:
    """Return the selector of one node."""
    return NodeSelector((NodeSelectorTerm(match_fields=(NodeSelectorRequirement(NAME_FIELD, "In", (name,)),)),))


def _canonical(requirement: NodeSelectorRequirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, tuple(sorted(set(requirement.values)))
