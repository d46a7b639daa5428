"""One-line builders of NodeResourceTopologies as plugins see them."""

from collections.abc import Mapping, Sequence

import msgspec

from pilotage.kinds.node_resource_topology import NodeResourceTopology
from pilotage.testing.manifests import Manifest, Quantities


def make_topology(
    name: str,
    *zones: Quantities,
    policy: str | None = "single-numa-node",
    scope: str | None = "container",
    max_zones: int | None = None,
    ids: Sequence[int | str] = (),
    allocatable: Sequence[Quantities] = (),
    costs: Sequence[Mapping[str, int]] = (),
    vectors: Sequence[str] = (),
    attributes: Mapping[str, str] | None = None,
    policies: Sequence[str] = (),
    metadata: Manifest | None = None,
) -> NodeResourceTopology:
    """Return the NodeResourceTopology of a node; zones are given by available resources, and numbered without `ids`."""
    given = {"topologyManagerPolicy": policy, "topologyManagerScope": scope}
    given["topologyManagerMaxNUMANodes"] = None if max_zones is None else str(max_zones)
    manifest = {
        "metadata": {"name": name, **(metadata or {})},
        "topologyPolicies": policies,
        "attributes": _attributes({**given, **(attributes or {})}),
        "zones": [
            _zone(
                ids[place] if ids else place,
                zone,
                allocatable[place] if allocatable else zone,
                costs[place] if costs else {},
                vectors[place] if vectors else "",
            )
            for place, zone in enumerate(zones)
        ],
    }
    return msgspec.convert(manifest, NodeResourceTopology)


def _zone(
    number: int | str, available: Quantities, allocatable: Quantities, costs: Mapping[str, int], vector: str
) -> Manifest:
    resources = [
        {"name": name, "capacity": allocatable[name], "allocatable": allocatable[name], "available": amount}
        for name, amount in available.items()
    ]
    return {
        "name": f"node-{number}" if isinstance(number, int) else number,
        "type": "Node",
        "costs": [{"name": name, "value": value} for name, value in costs.items()],
        "attributes": _attributes({"topology.node.k8s.io/numaplacement-vector": vector or None}),
        "resources": resources,
    }


def _attributes(given: Mapping[str, str | None]) -> list[Manifest]:
    return [{"name": name, "value": value} for name, value in given.items() if value is not None]
