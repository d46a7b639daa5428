"""What helps a pod on nodes that its volumes rule out: the data elsewhere, a smaller claim, or more storage."""

from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import islice

import msgspec
import numpy as np

from pilotage.framework.api.nodes import Bools, NodeInfo, Nodes
from pilotage.framework.api.objects import Objects
from pilotage.framework.api.remedies import Change, Difference, NodeName, Remedy, Target
from pilotage.kinds.reach import Reach
from pilotage.kinds.storage import (
    SELECTED_NODE,
    PersistentVolumeClaim,
    StorageClass,
    TopologyRequirement,
    TopologyTerm,
)
from pilotage.kinds.volume_matching import size_of
from pilotage.model.quantity import NANOS, Form, from_value
from pilotage.plugins.volumes._shared.claim_changes import claim_remedy, key_of, with_size, with_spec
from pilotage.plugins.volumes._shared.moved_volume import moved_volume
from pilotage.plugins.volumes._shared.unusable_claims import volume_to_create, volume_to_restore
from pilotage.plugins.volumes.volume_binding.delayed_claims import DelayedClaim, volume_limit
from pilotage.plugins.volumes.volume_binding.ranking import within_reach
from pilotage.plugins.volumes.volume_binding.volume_choice import VolumeChoice

MOST_CLAIMS = 8  # of a pod that are looked at
MOST_VOLUMES = 2000  # of a class, up to which other sizes and modes are looked for
MOST_ASKED = 32  # volumes for which it is asked which nodes reach them


def bound_elsewhere(claims: Sequence[PersistentVolumeClaim], choice: VolumeChoice, nodes: Nodes) -> Iterator[Remedy]:
    """Yield what helps where a volume that is bound already is out of reach, or gone."""
    masks: list[Bools] = []
    for claim, bound in zip(claims[:MOST_CLAIMS], choice.bound, strict=False):
        if bound.volume is None:
            yield volume_to_restore(claim)
            return
        masks.append(~within_reach(bound.reach, nodes))
    number = np.sum(masks, axis=0) if masks else np.zeros(len(nodes), np.int64)
    for claim, bound, out_of_reach in zip(claims, choice.bound, masks, strict=False):
        places = np.flatnonzero(out_of_reach & (number == 1))
        if len(places) and bound.volume is not None:
            yield moved_volume(claim, bound.volume, nodes[int(places[0])])


def unbound(choice: VolumeChoice, nodes: Nodes, objects: Objects) -> Iterator[Remedy]:
    """Yield what helps where no volume can be found or provisioned for a claim that waits for the pod."""
    delayed = choice.delayed[:MOST_CLAIMS]
    wanting = [each for each in delayed if each.selected is not None or not _served(each, nodes).any()]
    for each in wanting:
        if each.selected is not None:
            yield _let_go(each.claim, each.selected)
        else:
            yield from _for_claim(each, nodes, objects)
    if not wanting:  # each of them could have a volume, but not all of them together
        yield from (volume_to_create(each.claim) for each in delayed[-1:] if not each.provisioning.possible)


def _served(delayed: DelayedClaim, nodes: Nodes) -> Bools:
    """Mark the nodes where a volume can be found or provisioned for a claim, apart from the pod's other claims."""
    ranking, provisioning = delayed.suitable.ranking, delayed.provisioning
    found: Bools = ranking.best(nodes)[:, 0] != ranking.none
    made = _provisionable(delayed, nodes)
    if provisioning.limited:
        made &= provisioning.ranking.best(nodes)[:, 0] != provisioning.ranking.none
    return found | made


def _provisionable(delayed: DelayedClaim, nodes: Nodes) -> Bools:
    """Mark the nodes for which the class provisions, whatever is left there."""
    return within_reach(delayed.provisioning.reach if delayed.provisioning.possible else (), nodes)


def _for_claim(delayed: DelayedClaim, nodes: Nodes, objects: Objects) -> Iterator[Remedy]:
    claim = delayed.claim
    if delayed.volumes_of_class <= MOST_VOLUMES:
        yield from _smaller(delayed, nodes)
        yield from _other_mode(delayed, nodes)
    if not delayed.provisioning.possible:
        yield volume_to_create(claim)
    elif not _provisionable(delayed, nodes).any():
        yield from _more_topologies(objects.get(StorageClass, claim.class_name), nodes[0])
    else:
        yield _more_storage(claim)


def _let_go(claim: PersistentVolumeClaim, node: str) -> Remedy:
    annotations = {key: value for key, value in claim.metadata.annotations.items() if key != SELECTED_NODE}
    changed = msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations=annotations))
    patch = {"metadata": {"annotations": {SELECTED_NODE: None}}}
    return claim_remedy(
        "dropSelectedNode",
        "remove the annotation {annotation} from the claim {claim}: its volume is to be provisioned for {node}",
        claim,
        changed,
        patch,
        Change(f"metadata.annotations.{SELECTED_NODE}", node, None),
        {"annotation": SELECTED_NODE, "node": NodeName(node)},
    )


def _smaller(delayed: DelayedClaim, nodes: Nodes) -> Iterator[Remedy]:
    """Yield the largest size that a volume or the space for one has, where that is less than the claim asks for."""
    claim, wanted = delayed.claim, size_of(delayed.claim.requested)
    any_size = delayed.like(with_size(claim, "0"))
    suitable, provisioning = any_size.suitable, any_size.provisioning
    sizes = [size_of(volume.capacity) for volume in suitable.volumes]
    found = [_largest_within(nodes, sizes, suitable.reaches, wanted)]
    if provisioning.limited:
        limits = [(volume_limit(each) or 0) * NANOS for each in provisioning.capacities]
        there = nodes.take(_provisionable(delayed, nodes))
        found.append(_largest_within(there, limits, provisioning.reaches, wanted))
    if (largest := max(found)) < NANOS:
        return
    before, size = str(claim.requested), str(from_value(largest // NANOS, Form.BINARY))
    yield claim_remedy(
        "smallerClaim",
        "ask for {to} instead of {from} in the claim {claim}",
        claim,
        with_size(claim, size),
        {"spec": {"resources": {"requests": {"storage": size}}}},
        Change("spec.resources.requests.storage", before, size),
        {"from": before, "to": size},
        1 - largest / wanted,
    )


def _largest_within(nodes: Nodes, sizes: Sequence[int], all_reaches: Sequence[Reach], less_than: int) -> int:
    """Return the largest size below another one that any of some nodes reaches; 0 for none."""
    smaller = [(size, place) for place, size in enumerate(sizes) if size < less_than]
    for size, place in nlargest(MOST_ASKED, smaller):
        if within_reach(all_reaches[place], nodes).any():
            return size
    return 0


def _other_mode(delayed: DelayedClaim, nodes: Nodes) -> Iterator[Remedy]:
    """Yield the access mode of a volume that is suitable otherwise."""
    claim = delayed.claim
    suitable = delayed.like(with_spec(claim, access_modes=())).suitable
    pairs = islice(zip(suitable.volumes, suitable.reaches, strict=True), MOST_ASKED)
    volume = next((volume for volume, reach in pairs if within_reach(reach, nodes).any()), None)
    if volume is None or not volume.spec.access_modes:
        return
    before, after = ", ".join(claim.spec.access_modes), volume.spec.access_modes[0]
    yield claim_remedy(
        "otherAccessMode",
        "ask for the access mode {to} instead of {from} in the claim {claim}",
        claim,
        with_spec(claim, access_modes=(after,)),
        {"spec": {"accessModes": [after]}},
        Change("spec.accessModes", before, after),
        {"from": before, "to": after},
    )


def _more_topologies(storage: StorageClass | None, info: NodeInfo) -> Iterator[Remedy]:
    """Yield a storage class that may provision where a node is, too."""
    if storage is None or not storage.allowed_topologies:
        return
    keys = [each.key for each in storage.allowed_topologies[0].match_label_expressions]
    if not all(key in info.labels for key in keys):
        return
    term = TopologyTerm(tuple(TopologyRequirement(key, (info.labels[key],)) for key in keys))
    terms = (*storage.allowed_topologies, term)
    place = ", ".join(f"{key.rpartition('/')[2]} {info.labels[key]}" for key in keys)
    yield Remedy(
        code="allowTopology",
        actor="admin",
        words="allow volumes of the storage class {class} in {place}",
        values={"class": storage.metadata.name, "place": place},
        changes=(Change("allowedTopologies", len(terms) - 1, len(terms), "terms"),),
        target=Target("StorageClass", storage.metadata.name, patch_type="merge", group=StorageClass.api.group),
        patch={"allowedTopologies": msgspec.to_builtins(terms)},
        difference=Difference(objects=(msgspec.structs.replace(storage, allowed_topologies=terms),)),
    )


def _more_storage(claim: PersistentVolumeClaim) -> Remedy:
    return Remedy(
        code="moreStorage",
        actor="admin",
        words="add storage for the class {class}: none of the nodes that would do otherwise has {size} left "
        "for the claim {claim}",
        values={"claim": key_of(claim), "class": claim.class_name, "size": str(claim.requested)},
        untried="the driver has not reported it yet",
    )
