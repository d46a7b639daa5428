"""Pods with too much of something: one that waits, one that has a node already, or many."""

from random import Random

from hostile.affinity_features import AFFINITY_FEATURES
from hostile.pod_features import FEATURES, Feature
from hostile.shapes import LARGEST, Make, Shape
from hostile.stored_object import wire
from pilotage.testing import Manifest, node_manifest, pod_manifest

ALL_FEATURES: dict[str, tuple[Feature, int]] = {**FEATURES, **AFFINITY_FEATURES}
HOSTILE = "hostile"  # the namespace
EVERYBODY = AFFINITY_FEATURES["hard anti-affinity to everybody, a key each"][0]
TAINTED = 200  # nodes


def fitting(feature: Feature, pod: Manifest, size: int, random: Random) -> int:
    """Add so much of a feature to a pod, or as much as an API server stores; returns how much that was."""
    while True:
        trial = {**pod, "metadata": dict(pod["metadata"]), "spec": _copied(pod["spec"])}
        feature(trial, size, random)
        sent = wire(trial)
        stored = len(sent) - 5 * sent.count(b"\\u003c")  # as the client wrote it
        if size <= 1 or stored <= LARGEST:
            pod.update(trial)
            return size
        size = min(size * 9 // 10, size * LARGEST // stored)


def _copied(value: Manifest) -> Manifest:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def hostile_pod(name: str, features: tuple[tuple[Feature, int], ...], random: Random, node: str = "") -> Manifest:
    """Return a pod with all of these features."""
    pod = pod_manifest(name, namespace=HOSTILE, cpu="10m", labels={"app": "hostile"}, node=node or None)
    for feature, size in features:
        fitting(feature, pod, size, random)
    return pod


def pods(feature: Feature, count: int, node: str = "") -> Make:
    """Return a function that creates this number of pods."""

    def make(size: int, random: Random) -> list[Manifest]:
        return [hostile_pod(f"hostile-{i}", ((feature, size),), random, node) for i in range(count)]

    return make


def _tainted_nodes(_size: int, _random: Random) -> list[Manifest]:
    taints = [[{"key": "dedicated", "value": f"team-{i}", "effect": "NoSchedule"}] for i in range(TAINTED)]
    return [node_manifest(f"tainted-{i}", fake=False, taints=taint) for i, taint in enumerate(taints)]


def _many_gone(size: int, _random: Random) -> list[Manifest]:
    return [pod_manifest(f"p{i}", namespace=HOSTILE, cpu="9999", labels={"n": str(i)}) for i in range(size)]


def _different(size: int, _random: Random) -> list[Manifest]:
    return [pod_manifest(f"p{i}", namespace=HOSTILE, cpu=f"{i}n", labels={"n": str(i)}) for i in range(1, size)]


# One of each cause that once blocked the loop for seconds.
SHORT = {
    "names of resources times init containers",
    "extended resources",
    "soft spread constraints, a key each",
    "hard anti-affinity to everybody, a key each",
}

SHAPES = [
    *(
        Shape(f"pod: {name}", size, pods(feature, 1), is_short=name in SHORT)
        for name, (feature, size) in ALL_FEATURES.items()
    ),
    *(Shape(f"placed pod: {name}", size, pods(feature, 1, "node-0")) for name, (feature, size) in ALL_FEATURES.items()),
    Shape("pod: tolerations, nodes with a taint each", 10_000, pods(FEATURES["tolerations"][0], 1), _tainted_nodes),
    Shape("placed pod: 1,100 keys", 1_100, pods(EVERYBODY, 1, "node-0"), is_short=True),
    Shape("9 pods: text of a megabyte and a half", 1_450_000, pods(FEATURES["text of a megabyte and a half"][0], 9)),
    Shape("2,000 pods that fit nowhere", 2_000, _many_gone),
    Shape("2,000 pods, no two alike", 2_000, _different),
]
