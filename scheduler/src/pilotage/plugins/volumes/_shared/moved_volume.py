"""The data of a claim on a volume that a node can reach, where its own volume is out of reach."""

from collections.abc import Mapping, Sequence

import msgspec

from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.remedies import Difference, NodeName, Remedy
from pilotage.framework.api.spreading import HOSTNAME
from pilotage.kinds.csi_migration import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_SEPARATOR
from pilotage.kinds.storage import PersistentVolume, PersistentVolumeClaim, VolumeNodeAffinity
from pilotage.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from pilotage.plugins.volumes._shared.claim_changes import key_of

OF_PLACES = (ZONE, REGION, BETA_ZONE, BETA_REGION)
LARGE = 15.0  # the size of the change: it costs more than a new node
MOST_SHOWN = 3  # conditions


def moved_volume(claim: PersistentVolumeClaim, volume: PersistentVolume, node: NodeInfo) -> Remedy:
    """Return what an administrator can do with the data of a claim, so that a node reaches it."""
    values = {"claim": key_of(claim), "volume": volume.metadata.name, "node": NodeName(node.name)}
    place = place_of(volume)
    only = " (its volume {volume} is reachable only from {place})" if place else ""
    return Remedy(
        code="moveVolume",
        actor="admin",
        words=f"move the data of the claim {{claim}} to a volume that {{node}} reaches{only}",
        values={**values, "place": place},
        size=LARGE,
        difference=Difference(objects=(_within_reach(volume, node.labels),)),
    )


def where_it_is(claim: PersistentVolumeClaim, volume: PersistentVolume) -> str:
    """Return where the data of a claim is, in a sentence."""
    place = place_of(volume)
    told = f"claim {claim.metadata.name} is bound to volume {volume.metadata.name}"
    return f"{told}, which is reachable only from {place}" if place else told


def place_of(volume: PersistentVolume) -> str:
    """Return from where a volume can be reached, in a few words and without names of nodes; "" if that takes more."""
    wanted: dict[str, tuple[str, ...]] = {}
    affinity = volume.spec.node_affinity and volume.spec.node_affinity.required
    terms = affinity.node_selector_terms if affinity else ()
    if len(terms) == 1:
        wanted = {each.key: each.values for each in terms[0].match_expressions if each.operator == "In"}
    for key in OF_PLACES:
        if (value := volume.metadata.labels.get(key)) is not None:
            wanted.setdefault(key, tuple(value.split(ZONE_SEPARATOR)))
    told = [_told(key, values) for key, values in wanted.items()]
    return ", ".join(dict.fromkeys(told[:MOST_SHOWN]))


def _told(key: str, values: Sequence[str]) -> str:
    if key == HOSTNAME:
        return "one node" if len(values) == 1 else f"{len(values)} nodes"
    return f"{key.rpartition('/')[2]} {' or '.join(values[:MOST_SHOWN])}"


def _within_reach(volume: PersistentVolume, labels: Mapping[str, str]) -> PersistentVolume:
    """Return a volume as it would be if a node with these labels reached it."""
    own = {key: labels[key] for key in OF_PLACES if key in labels and key in volume.metadata.labels}
    others = {key: value for key, value in volume.metadata.labels.items() if key not in OF_PLACES}
    affinity = volume.spec.node_affinity and volume.spec.node_affinity.required
    terms = affinity.node_selector_terms if affinity else ()
    keys = dict.fromkeys(each.key for term in terms for each in term.match_expressions if each.key in labels)
    conditions = tuple(NodeSelectorRequirement(key, "In", (labels[key],)) for key in keys)
    required = NodeSelector((NodeSelectorTerm(conditions),)) if conditions else None
    return msgspec.structs.replace(
        volume,
        metadata=msgspec.structs.replace(volume.metadata, labels={**others, **own}),
        spec=msgspec.structs.replace(
            volume.spec, node_affinity=None if required is None else VolumeNodeAffinity(required)
        ),
    )
