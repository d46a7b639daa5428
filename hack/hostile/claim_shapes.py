"""Claims, volumes and what describes storage."""

from random import Random

from hostile.pod_shapes import HOSTILE
from hostile.shapes import Shape
from pilotage.testing import Manifest, pod_manifest

SLOW = "slow"  # a class whose driver never answers


def _class(name: str, **fields: object) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
        **fields,
    }


def _claim(name: str, storage: str = "1Gi") -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": SLOW, "resources": {"requests": {"storage": storage}}}
    metadata = {"name": name, "namespace": HOSTILE}
    status = {"phase": "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def _volume(number: int, terms: int = 0) -> Manifest:
    spec: Manifest = {
        "capacity": {"storage": f"{number + 1}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": SLOW,
        "csi": {"driver": "csi.example.com", "volumeHandle": f"v{number}"},
    }
    if terms:
        found = [{"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(terms)]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": found}}
    metadata, status = {"name": f"pv-{number}"}, {"phase": "Available"}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": status}


def _pod(name: str, *claims: str) -> Manifest:
    volumes = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": claim}} for i, claim in enumerate(claims)]
    return pod_manifest(name, namespace=HOSTILE, cpu="10m", spec={"volumes": volumes})


def _storage(_size: int, _random: Random) -> list[Manifest]:
    return [_class(SLOW)]


def _slow_driver(size: int, _random: Random) -> list[Manifest]:
    claims = [_claim(f"claim-{i}") for i in range(size)]
    return [*claims, *(_pod(f"waits-{i}", f"claim-{i}") for i in range(size))]


def _many_claims(size: int, _random: Random) -> list[Manifest]:
    names = [f"claim-{i}" for i in range(size)]
    return [*map(_claim, names), _pod("all-of-them", *names)]


def _choice(size: int, _random: Random) -> list[Manifest]:
    names = [f"claim-{i}" for i in range(100)]
    return [*(_volume(i) for i in range(size)), *map(_claim, names), _pod("chooses", *names)]


def _far_volumes(size: int, _random: Random) -> list[Manifest]:
    return [_volume(0, size), _claim("claim"), _pod("far", "claim")]


def _topologies(size: int, _random: Random) -> list[Manifest]:
    terms = [{"matchLabelExpressions": [{"key": f"k{i}", "values": ["v"]}]} for i in range(size)]
    claim = _claim("claim")
    claim["spec"]["storageClassName"] = "far"
    return [_class("far", allowedTopologies=terms), claim, _pod("far", "claim")]


def _capacities(size: int, _random: Random) -> list[Manifest]:
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "csi.example.com"},
        "spec": {"storageCapacity": True},
    }
    found = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": f"c{i}", "namespace": HOSTILE},
            "storageClassName": SLOW,
            "nodeTopology": {"matchLabels": {f"k{i}": "v"}},
            "capacity": "1Ti",
        }
        for i in range(size)
    ]
    return [driver, *found, _claim("claim"), _pod("asks", "claim")]


def _attachments(size: int, _random: Random) -> list[Manifest]:
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": f"a{i}"},
            "spec": {
                "attacher": "csi.example.com",
                "nodeName": "node-0",
                "source": {"persistentVolumeName": f"pv-{i}"},
            },
        }
        for i in range(size)
    ]


SHAPES = [
    Shape("pods that wait for a slow driver", 600, _slow_driver, _storage, is_short=True),
    Shape("pod: claims that exist", 2_000, _many_claims, _storage),
    Shape("pod: 100 claims, many volumes", 3_000, _choice, _storage),
    Shape("volume: terms of node affinity", 15_000, _far_volumes, _storage),
    Shape("class: topologies", 15_000, _topologies, _storage),
    Shape("storage capacities", 5_000, _capacities, _storage),
    Shape("attachments", 10_000, _attachments, _storage),
]
