"""Devices for claims that nobody waits for: the cluster is in use before anything is measured."""

from random import Random
from typing import Any

import msgspec

from bench.live.api import Api
from bench.live.objects import Write
from localcluster.errors import Problem
from pilotage.kinds.devices import Allocation, DeviceClass, ResourceClaim, ResourceSlice
from pilotage.model.node import Node, NodeObject
from pilotage.plugins.devices.dynamic_resources.allocator import Allocator
from pilotage.plugins.devices.dynamic_resources.inventory import Inventory
from pilotage.plugins.devices.dynamic_resources.outcomes import Solution
from pilotage.plugins.devices.dynamic_resources.usage import Usage

GROUP = "/apis/resource.k8s.io/v1"
LONG_AGO = "2026-01-01T00:00:00Z"


async def allocate(api: Api, place: str) -> None:
    """Give every claim of a namespace devices of a random node, as upstream does."""
    claims = await _all(api, f"{GROUP}/namespaces/{place}/resourceclaims", ResourceClaim)
    if not claims:
        return
    inventory, usage = Inventory(), Usage()
    for found in await _all(api, f"{GROUP}/resourceslices", ResourceSlice):
        inventory.slice_changed(None, found)
    classes = {found.metadata.name: found for found in await _all(api, f"{GROUP}/deviceclasses", DeviceClass)}
    nodes = [Node(found) for found in await _all(api, "/api/v1/nodes", NodeObject)]
    allocator = Allocator(inventory, usage, classes.get, None)
    draw = Random(0)  # noqa: S311 - every contestant gets the same cluster
    writes = []
    for claim in claims:
        allocation = _chosen(allocator, claim, draw.sample(nodes, len(nodes)))
        usage.take(claim.metadata.uid, allocation)
        writes.append(_write(claim, allocation))
    await api.create([[write] for write in writes], lambda _: None)


def _chosen(allocator: Allocator, claim: ResourceClaim, nodes: list[Node]) -> Allocation:
    ask = allocator.ask([claim])
    for node in nodes:
        if isinstance(ask.on_node(node), Solution):
            return ask.allocations(node)[0]
    raise Problem(f"No node has devices for claim {claim.metadata.namespace}/{claim.metadata.name}")


def _write(claim: ResourceClaim, allocation: Allocation) -> Write:
    path = f"{GROUP}/namespaces/{claim.metadata.namespace}/resourceclaims/{claim.metadata.name}/status"
    timed = msgspec.structs.replace(allocation, allocation_timestamp=LONG_AGO)
    return Write("PATCH", path, msgspec.json.encode({"status": {"allocation": timed}}))


async def _all(api: Api, path: str, kind: type[Any]) -> list[Any]:
    answer = await api.send(Write("GET", path, b""))
    return [msgspec.convert(item, kind) for item in msgspec.json.decode(answer.body)["items"]]
