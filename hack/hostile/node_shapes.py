"""Nodes as a compromised kubelet may describe itself."""

from random import Random

from hostile.shapes import Shape
from pilotage.testing import Manifest, node_manifest


def _node(**fields: object) -> Manifest:
    return node_manifest("hostile-node", fake=False, **fields)  # type: ignore[arg-type]


def _labels(size: int, _random: Random) -> list[Manifest]:
    return [_node(labels={f"label-{i}": "v" for i in range(size)})]


def _taints(size: int, _random: Random) -> list[Manifest]:
    return [_node(taints=[{"key": f"taint-{i}", "value": "v", "effect": "PreferNoSchedule"} for i in range(size)])]


def _resources(size: int, _random: Random) -> list[Manifest]:
    return [_node(allocatable={f"example.com/r{i}": "1" for i in range(size)})]


def _images(size: int, _random: Random) -> list[Manifest]:
    node = _node()
    node["status"]["images"] = [{"names": [f"image-{i}"], "sizeBytes": 9_223_372_036_854_775_807} for i in range(size)]
    return [node]


def _attached(size: int, _random: Random) -> list[Manifest]:
    node = _node()
    node["status"]["volumesAttached"] = [{"name": f"v{i}", "devicePath": ""} for i in range(size)]
    return [node]


def _huge(size: int, _random: Random) -> list[Manifest]:
    return [_node(cpu="100P", memory="8Ei", pods=2**31 - 1, allocatable={"ephemeral-storage": "8E"})] * min(size, 1)


def _features(size: int, _random: Random) -> list[Manifest]:
    node = _node()
    node["status"]["declaredFeatures"] = [f"Feature{i}" for i in range(size)]
    return [node]


def _drivers(size: int, _random: Random) -> list[Manifest]:
    drivers = [{"name": f"d{i}.example.com", "nodeID": "n", "allocatable": {"count": 1}} for i in range(size)]
    metadata = {"name": "node-0"}
    return [{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}]


def _zones(size: int, _random: Random) -> list[Manifest]:
    amounts = [{"name": "cpu", "capacity": "8E", "allocatable": "8E", "available": "8E"}]
    zones = [{"name": f"node-{i}", "type": "Node", "resources": amounts} for i in range(size)]
    return [
        {
            "apiVersion": "topology.node.k8s.io/v1alpha2",
            "kind": "NodeResourceTopology",
            "metadata": {"name": "node-0"},
            "topologyPolicies": ["SingleNUMANodeContainerLevel"],
            "zones": zones,
        }
    ]


SHAPES = [
    Shape("node: labels", 40_000, _labels),
    Shape("node: taints", 15_000, _taints),
    Shape("node: extended resources", 20_000, _resources),
    Shape("node: images", 15_000, _images),
    Shape("node: attached volumes", 30_000, _attached),
    Shape("node: 100P of cpu", 1, _huge, is_short=True),
    Shape("node: features", 40_000, _features),
    Shape("node: drivers", 12_000, _drivers),
    Shape("node: zones", 8_000, _zones, plugins=("NodeResourceTopologyMatch",)),
]
