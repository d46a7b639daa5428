"""One-line builders of AppGroups and NetworkTopologies."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pilotage.kinds.app_network import AppGroup, NetworkTopology
from pilotage.model.node import Node
from pilotage.model.pod import Pod
from pilotage.plugins.network._shared.app_groups import APP_GROUP, WORKLOAD
from pilotage.plugins.network._shared.costs import REGION, ZONE
from pilotage.testing.objects import make_node, make_pod

Talks = Mapping[str, Sequence[str] | Mapping[str, int]]
Costs = Mapping[tuple[str, str], int]  # symmetric, unless both directions are given


def make_app_group(
    name: str,
    talks: Talks,
    *,
    namespace: str = "default",
    algorithm: str = "KahnSort",
    order: Mapping[str, int] | None = None,
    created: str | None = None,
) -> AppGroup:
    """Return an AppGroup: the dependencies of each workload, optionally with maximum costs, and their order."""
    workloads = [_part(selector, others) for selector, others in talks.items()]
    status = [{"workload": _workload(each), "index": index} for each, index in sorted((order or {}).items())]
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created, "resourceVersion": "1"}
    spec = {"numMembers": len(workloads), "topologySortingAlgorithm": algorithm, "workloads": workloads}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"topologyOrder": status}}, AppGroup)


def make_network_topology(
    name: str = "nt-default",
    *,
    namespace: str = "default",
    regions: Costs | None = None,
    zones: Costs | None = None,
    weights: str = "UserDefined",
    config_map: str = "netperf",
) -> NetworkTopology:
    """Return a NetworkTopology with the costs between regions and between zones."""
    lists = [_listed(REGION, regions or {}), _listed(ZONE, zones or {})]
    spec = {"configmapName": config_map, "weights": [{"name": weights, "topologyList": lists}]}
    metadata = {"name": name, "namespace": namespace, "resourceVersion": "1"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, NetworkTopology)


def make_member(name: str, group: str, workload: str, **fields: Any) -> Pod:
    """Return a pod of an AppGroup; the fields are those of `make_pod`."""
    return make_pod(name, labels=member_labels(group, workload) | fields.pop("labels", {}), **fields)


def member_labels(group: str, workload: str) -> dict[str, str]:
    """Return the labels of a pod of an AppGroup, without empty ones."""
    return {key: value for key, value in ((APP_GROUP, group), (WORKLOAD, workload)) if value}


def make_node_at(name: str, region: str = "", zone: str = "", **fields: Any) -> Node:
    """Return a node in a zone of a region; the fields are those of `make_node`."""
    labels = {REGION: region, ZONE: zone}
    return make_node(name, labels={key: value for key, value in labels.items() if value}, **fields)


def _workload(selector: str) -> dict[str, str]:
    # A different name, so that tests notice if one is used for the other.
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"{selector}-deployment", "selector": selector}


def _part(selector: str, others: Sequence[str] | Mapping[str, int]) -> dict[str, Any]:
    dependencies: list[dict[str, Any]] = [{"workload": _workload(each)} for each in others]
    if isinstance(others, Mapping):
        for dependency, limit in zip(dependencies, others.values(), strict=True):
            dependency["maxNetworkCost"] = limit
    return {"workload": _workload(selector), "dependencies": dependencies}


def _listed(key: str, costs: Costs) -> dict[str, Any]:
    both = {(end, start): cost for (start, end), cost in costs.items()} | dict(costs)
    origins = [
        {
            "origin": origin,
            "costList": [
                {"destination": end, "networkCost": cost} for (start, end), cost in both.items() if start == origin
            ],
        }
        for origin in dict.fromkeys(start for start, _ in both)
    ]
    return {"topologyKey": key, "originList": origins}
