"""What would allow the kubelet to align a pod: a smaller request, or another policy on a node."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from pilotage.framework.api.lower_requests import ask_for_less
from pilotage.framework.api.nodes import NodeInfo
from pilotage.framework.api.remedies import Change, Difference, NodeName, Remedy
from pilotage.kinds.node_resource_topology import NodeResourceTopology, TopologyAttribute
from pilotage.model.pod import Pod
from pilotage.plugins.topology.node_resource_topology_match.demands import Demand, Part
from pilotage.plugins.topology.node_resource_topology_match.topology_manager import POD
from pilotage.plugins.topology.node_resource_topology_match.zones import ZoneTable

BEST_EFFORT = "best-effort"


def smaller(pod: Pod, demand: Demand, tables: Mapping[str, ZoneTable]) -> Iterator[Remedy]:
    """Yield the largest request of each resource that fits in one zone of any node, if lower than the present one."""
    for part in (demand.pod, *demand.containers):
        for resource, amount in part.requests.items():
            found = [
                _most(table, part, resource)
                for table in tables.values()
                if (table.manager.scope == POD) == (part is demand.pod)
            ]
            most = max(found, default=0)
            if 0 < most < amount:
                remedy = ask_for_less(pod, {resource: pod.requests[resource] - (amount - most)})
                if remedy is not None:
                    yield replace(remedy, words=f"{remedy.words}, which fits in one NUMA zone")


def _most(table: ZoneTable, part: Part, resource: str) -> int:
    """Return the largest amount of a resource in a zone with enough of all others."""
    places = range(len(table.available.get(resource, ())))
    others = [(name, amount) for name, amount in part.requests.items() if name != resource and name in table.available]
    fitting = [place for place in places if all(table.available[name][place] >= amount for name, amount in others)]
    return max((table.available[resource][place] for place in fitting), default=0)


def other_policy(info: NodeInfo, report: NodeResourceTopology) -> Remedy:
    """Return a node whose kubelet accepts pods that it cannot align."""
    attributes = tuple(each for each in report.attributes if each.name != "topologyManagerPolicy")
    policy = TopologyAttribute("topologyManagerPolicy", BEST_EFFORT)
    changed = msgspec.structs.replace(report, topology_policies=(), attributes=(*attributes, policy))
    return Remedy(
        code="otherTopologyPolicy",
        actor="admin",
        words="set the topology manager policy of the kubelet on {node} to {to}",
        values={"node": NodeName(info.name), "to": BEST_EFFORT},
        changes=(Change("topologyManagerPolicy", "single-numa-node", BEST_EFFORT),),
        size=2.0,
        difference=Difference(objects=(changed,)),
    )
