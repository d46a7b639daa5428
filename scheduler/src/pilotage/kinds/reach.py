"""The nodes from which storage is accessible, by their labels."""

from functools import lru_cache

from pilotage.kinds.storage import CSIStorageCapacity, PersistentVolume, StorageClass
from pilotage.model.selectors import (
    InvalidSelector,
    LabelMatcher,
    Labels,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    compile_label_selector,
    compile_node_selector_leniently,
)

# Conditions on labels, one of which must hold; an empty list matches no node, None matches every node.
Reach = tuple[LabelMatcher, ...] | None
EVERYWHERE: Reach = None
NOWHERE: Reach = ()


def reaches(reach: Reach, labels: Labels) -> bool:
    """Return whether a node with these labels has access."""
    return reach is None or any(condition.matches(labels) for condition in reach)


def reach_of_volume(volume: PersistentVolume) -> Reach:
    """Return the nodes with access to a volume."""
    affinity = volume.spec.node_affinity
    return reach_of_selector(affinity.required if affinity else None)


@lru_cache(maxsize=65_536)
def reach_of_selector(selector: NodeSelector | None) -> Reach:
    """Return the nodes that a volume's selector allows."""
    if selector is None:
        return EVERYWHERE
    # Volumes select nodes only by labels: the fields of a term are ignored.
    return tuple(term.expressions for term in compile_node_selector_leniently(selector).terms)


def reach_of_class(storage: StorageClass) -> Reach:
    """Return the nodes for which a storage class allows provisioning."""
    if not storage.allowed_topologies:
        return EVERYWHERE
    found = []
    for term in storage.allowed_topologies:
        wanted = (LabelSelectorRequirement(each.key, "In", each.values) for each in term.match_label_expressions)
        if expressions := tuple(wanted):  # an empty term allows nothing
            found += _compiled(LabelSelector(match_expressions=expressions))
    return tuple(found)


def reach_of_capacity(capacity: CSIStorageCapacity) -> Reach:
    """Return the nodes that can use the remaining capacity of a driver."""
    return tuple(_compiled(capacity.node_topology))


def _compiled(selector: LabelSelector | None) -> list[LabelMatcher]:
    try:
        return [compile_label_selector(selector)]
    except InvalidSelector:
        return []
