"""Gangs that are too large, too many, or too different."""

from random import Random

from hostile.pod_shapes import HOSTILE
from hostile.shapes import Shape
from pilotage.model.gangs import GROUP_LABEL, MIN_LABEL, NAME_LABEL
from pilotage.testing import Manifest, node_manifest, pod_manifest

PLUGINS = ("Coscheduling",)
FULL = 60  # nodes that only low pods fill


def _labels(gang: str, least: int) -> dict[str, str]:
    return {NAME_LABEL: gang, MIN_LABEL: str(least)}


def _one_gang(size: int, _random: Random) -> list[Manifest]:
    return [pod_manifest(f"g{i}", namespace=HOSTILE, cpu="10m", labels=_labels("gang", size)) for i in range(size)]


def _too_large(size: int, _random: Random) -> list[Manifest]:
    return [pod_manifest(f"g{i}", namespace=HOSTILE, cpu="33", labels=_labels("gang", size)) for i in range(size)]


def _different(size: int, _random: Random) -> list[Manifest]:
    labels = _labels("gang", size)
    return [pod_manifest(f"g{i}", namespace=HOSTILE, cpu=f"{i + 1}m", labels=labels) for i in range(size)]


def _preempting(size: int, _random: Random) -> list[Manifest]:
    wants = {"priority": 1000, "nodeSelector": {"pool": "full"}}
    labels = _labels("gang", size)
    return [pod_manifest(f"g{i}", namespace=HOSTILE, cpu="1", labels=labels, spec=wants) for i in range(size)]


def full_nodes(_size: int, _random: Random) -> list[Manifest]:
    """Return nodes that only unimportant pods fill."""
    nodes = [
        node_manifest(f"full-{i}", fake=False, cpu="16", memory="256Gi", labels={"pool": "full"}) for i in range(FULL)
    ]
    low = [
        pod_manifest(f"low-{i}-{j}", namespace=HOSTILE, cpu="1", node=f"full-{i}", spec={"priority": -10})
        for i in range(FULL)
        for j in range(16)
    ]
    return [*nodes, *low]


def _many_gangs(size: int, _random: Random) -> list[Manifest]:
    return [pod_manifest(f"g{i}", namespace=HOSTILE, cpu="10m", labels=_labels(f"gang-{i}", 2)) for i in range(size)]


def _groups(size: int, _random: Random) -> list[Manifest]:
    groups = [
        {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": f"group-{i}", "namespace": HOSTILE},
            "spec": {"minMember": 2_000_000_000, "minResources": {"cpu": "8E"}},
        }
        for i in range(size)
    ]
    pods = [
        pod_manifest(f"g{i}", namespace=HOSTILE, cpu="10m", labels={GROUP_LABEL: f"group-{i % max(size, 1)}"})
        for i in range(100)
    ]
    return [*groups, *pods]


def _resources_of_group(size: int, _random: Random) -> list[Manifest]:
    spec = {"minMember": 1, "minResources": {f"example.com/r{i}": "1" for i in range(size)}}
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "group", "namespace": HOSTILE},
        "spec": spec,
    }
    return [group, pod_manifest("member", namespace=HOSTILE, cpu="10m", labels={GROUP_LABEL: "group"})]


SHAPES = [
    Shape("gang of alike pods", 1_001, _one_gang, plugins=PLUGINS),
    Shape("gang that does not fit", 1_001, _too_large, plugins=PLUGINS),
    Shape("gang of differing pods", 3_000, _different, plugins=PLUGINS),
    Shape("gang that preempts", 1_001, _preempting, full_nodes, plugins=PLUGINS, is_short=True),
    Shape("gangs that wait for a member", 3_000, _many_gangs, plugins=PLUGINS),
    Shape("groups that want everything", 3_000, _groups, plugins=PLUGINS),
    Shape("resources of a group", 20_000, _resources_of_group, plugins=PLUGINS),
]
