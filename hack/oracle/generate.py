"""Generates scenarios: the seed alone decides everything."""

from collections.abc import Callable
from dataclasses import replace

from oracle import (
    generate_affinity,
    generate_binding,
    generate_claims,
    generate_devices,
    generate_nodes,
    generate_preemption,
    generate_resources,
    generate_spread,
    generate_volumes,
)
from oracle.draw import Draw
from oracle.generate_cluster import names_of, nodes, pending, running
from oracle.generate_nodes import Parts
from oracle.scenario import Manifest, Scenario


def mixed(draw: Draw) -> Parts:
    """A bit of everything at once."""
    cluster = nodes(draw, 3, 10, taints=0.25, unschedulable=0.1, tight=draw.chance(0.3))
    crowd = [_embellished(draw, one, 0.25) for one in running(draw, cluster, 14)]
    profiles = (
        "most-allocated",
        "capacity-ratio",
        "spread-by-list",
        "added-affinity",
        "strong-affinity",
        "own-weights",
    )
    pods = [_wishful(draw, pending(draw, number, profiles), names_of(cluster)) for number in range(7)]
    if draw.chance(0.5):
        draw.prioritize(crowd, pods)
    return [*cluster, *crowd], pods


# A plugin that never shows here: NodeName. Only a pod that has a node could meet it, and such a pod is not scheduled.
SUBJECTS: dict[str, Callable[[Draw], Parts]] = {
    "SchedulingGates": generate_nodes.scheduling_gates,
    "NodeUnschedulable": generate_nodes.node_unschedulable,
    "TaintToleration": generate_nodes.taint_toleration,
    "NodeAffinity": generate_nodes.node_affinity,
    "NodePorts": generate_nodes.node_ports,
    "NodeResourcesFit": generate_resources.node_resources_fit,
    "resized pods": generate_resources.resized_pods,
    "NodeResourcesBalancedAllocation": generate_resources.balanced_allocation,
    "ImageLocality": generate_nodes.image_locality,
    "PodTopologySpread": generate_spread.topology_spread,
    "default spreading": generate_spread.default_spread,
    "InterPodAffinity": generate_affinity.inter_pod_affinity,
    "VolumeRestrictions": generate_volumes.volume_restrictions,
    "NodeVolumeLimits": generate_volumes.node_volume_limits,
    "VolumeZone": generate_volumes.volume_zone,
    "bound volumes": generate_volumes.volume_affinity,
    "VolumeBinding": generate_binding.static_volumes,
    "provisioned volumes": generate_binding.provisioned_volumes,
    "ephemeral volumes": generate_binding.ephemeral_volumes,
    "NodeDeclaredFeatures": generate_nodes.node_declared_features,
    "DynamicResources": generate_claims.dynamic_resources,
    "devices of nodes": generate_devices.node_devices,
    "pools of devices": generate_devices.device_pools,
    "devices of the network": generate_devices.network_devices,
    "constraints on devices": generate_devices.device_constraints,
    "alternative devices": generate_devices.device_alternatives,
    "all devices": generate_devices.all_devices,
    "tainted devices": generate_devices.device_taints,
    "partitioned devices": generate_devices.device_counters,
    "shared devices": generate_devices.shared_devices,
    "allocated claims": generate_devices.allocated_claims,
    "shared claims": generate_devices.shared_claims,
    "extended resources of devices": generate_devices.extended_resources,
    "failing expressions": generate_devices.device_expressions,
    "devices and more": generate_devices.devices_and_more,
    "DefaultPreemption": generate_preemption.default_preemption,
    "preemption beyond room": generate_preemption.preemption_beyond_room,
    "nominated pods": generate_preemption.nominated_pods,
    "no nodes": generate_nodes.empty_cluster,
    "mixed": mixed,
}
# Of these a test runs more: what they cover is large, and no two of them meet the same rules.
DEVICE_SUBJECTS = tuple(name for name, made in SUBJECTS.items() if made.__module__ == generate_devices.__name__)


def scenario(seed: int) -> Scenario:
    """The scenario of a seed; neighbouring seeds have different subjects."""
    subject = list(SUBJECTS)[seed % len(SUBJECTS)]
    draw = Draw(seed)
    objects, pods = SUBJECTS[subject](draw)
    return replace(Scenario(seed, subject), objects=generate_nodes.without_shared_ports(objects), pods=pods)


def seeds_of(subject: str, count: int, start: int = 0) -> list[int]:
    """The first seeds of a subject."""
    place = list(SUBJECTS).index(subject)
    first = start + (place - start) % len(SUBJECTS)
    return [first + number * len(SUBJECTS) for number in range(count)]


def _wishful(draw: Draw, pod: Manifest, names: list[str]) -> Manifest:
    if draw.chance(0.5):
        pod["spec"]["tolerations"] = generate_nodes.tolerations(draw)
    if draw.chance(0.35):
        generate_nodes.affine(draw, pod, names)
    return _embellished(draw, pod, 0.35)


def _embellished(draw: Draw, pod: Manifest, probability: float) -> Manifest:
    for embellish in (
        generate_affinity.with_pod_affinity,
        generate_spread.spread_pod,
        generate_nodes.with_ports,
        generate_nodes.with_images,
        generate_resources.with_more_requests,
    ):
        if draw.chance(probability):
            embellish(draw, pod)
    return pod
