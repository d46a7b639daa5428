"""Claims that are bound only when their pod is placed."""

import json

from oracle.draw import NODE_LABELS, ZONE, Draw
from oracle.generate_cluster import names_of, nodes, pending, running
from oracle.generate_nodes import Parts
from oracle.scenario import OWNED_CLAIMS, Manifest
from oracle.storage import (
    NO_PROVISIONER,
    SELECTED,
    capacity,
    claim,
    claim_volume,
    csi_driver,
    node_affinity_of,
    storage_class,
    volume,
)

DRIVER = "disk.example.com"
SIZES = ("1Gi", "2Gi", "5Gi", "9Gi", "20Gi")


def static_volumes(draw: Draw) -> Parts:
    """Volumes that wait for a claim, each of another size so that the choice is never arbitrary."""
    cluster = nodes(draw, 3, 7)
    provisioner = NO_PROVISIONER if draw.chance(0.7) else DRIVER
    late = storage_class(f"late-{draw.seed}", provisioner, wait=True)
    claims = [_late_claim(draw, number, late, names_of(cluster)) for number in range(6)]
    free = [_free_volume(draw, number, late, names_of(cluster), claims) for number in range(draw.number(4, 9))]
    pods = [_pod(draw, number, claims) for number in range(4)]
    return [late, *free, *claims, *cluster, *running(draw, cluster, 3)], pods


def provisioned_volumes(draw: Draw) -> Parts:
    """Volumes that a driver makes where it has room."""
    cluster = nodes(draw, 3, 7)
    late = storage_class(f"late-{draw.seed}", DRIVER, wait=True, topologies=_topologies(draw))
    driver = csi_driver(DRIVER, {"storageCapacity": True} if draw.chance(0.8) else {})
    claims = [_late_claim(draw, number, late, names_of(cluster)) for number in range(6)]
    stored = [late, *([driver] if draw.chance(0.9) else []), *_capacities(draw, late), *claims]
    return [*stored, *cluster, *running(draw, cluster, 3)], [_pod(draw, number, claims) for number in range(4)]


def ephemeral_volumes(draw: Draw) -> Parts:
    """Claims that belong to one pod: not there yet, there, or there and another's."""
    cluster = nodes(draw, 2, 5)
    now = storage_class(f"now-{draw.seed}", DRIVER)
    objects = [now, *cluster, *running(draw, cluster, 3)]
    pods = [_ephemeral(draw, number, now) for number in range(3)]
    foreign = [_its_claim(pod, bound_to="pv-foreign") for pod in pods[:1] if draw.chance(0.5)]
    pods[1]["metadata"]["annotations"] = {OWNED_CLAIMS: json.dumps([_its_claim(pods[1], bound_to="pv-own")])}
    owned = volume("pv-own", _its_claim(pods[1]), storage_class=now, affinity=node_affinity_of(draw))
    return [*objects, *foreign, owned], pods


def _late_claim(draw: Draw, number: int, late: Manifest, names: list[str]) -> Manifest:
    notes = {SELECTED: draw.pick(names)} if draw.chance(0.08) else {}
    spec: Manifest = {}
    if draw.chance(0.15):
        spec["selector"] = {"matchLabels": {"disk": draw.pick(("ssd", "hdd"))}}
    if draw.chance(0.1):
        spec["volumeMode"] = "Block"
    mode = draw.pick(("ReadWriteOnce", "ReadWriteOnce", "ReadWriteMany"))
    size = draw.pick(SIZES[:3]) if draw.chance(0.7) else "100Mi"
    return claim(f"late-{number}", size=size, modes=[mode], storage_class=late, annotations=notes, **spec)


def _free_volume(draw: Draw, number: int, late: Manifest, names: list[str], claims: list[Manifest]) -> Manifest:
    size = f"{(number + 1) * draw.pick((1000, 1900))}Mi"
    # Never two for one claim: either of them might be taken.
    bound = claims[number] if number < len(claims) and draw.chance(0.15) else None
    affinity = node_affinity_of(draw, names) if draw.chance(0.75) else None
    labels = {"disk": draw.pick(("ssd", "hdd"))}
    phase = draw.pick(("Available",) * 8 + ("Released", "Pending"))
    made = volume(f"pv-{number}", bound, size=size, labels=labels, affinity=affinity, storage_class=late, phase=phase)
    if draw.chance(0.1):
        made["spec"]["volumeMode"] = "Block"
    if draw.chance(0.15):
        made["spec"]["accessModes"] = ["ReadWriteOnce"]
    return made


def _pod(draw: Draw, number: int, claims: list[Manifest]) -> Manifest:
    pod = pending(draw, number, ("full-volumes",), namespace="default")
    own = claims[2 * number :][:2]
    # A claim that an earlier pod had says where it is wanted, and only there can it be.
    chosen = draw.some(own if own and draw.chance(0.8) else claims, 1, 2)
    pod["spec"]["volumes"] = [claim_volume(f"v{place}", one["metadata"]["name"]) for place, one in enumerate(chosen)]
    return pod


def _topologies(draw: Draw) -> list[Manifest]:
    if draw.chance(0.75):
        return []
    key = draw.pick((ZONE, "rack"))
    expression = {"key": key, "values": sorted(draw.some(NODE_LABELS[key], 1, 2))}
    return [{"matchLabelExpressions": [expression]}]


def _capacities(draw: Draw, late: Manifest) -> list[Manifest]:
    name = late["metadata"]["name"]
    made = []
    # One object a zone: which of several is taken would be arbitrary.
    for zone in NODE_LABELS[ZONE]:
        topology = {"matchLabels": {ZONE: zone}} if draw.chance(0.9) else None
        amount = draw.pick((*SIZES, "13Gi", "100Gi"))
        largest = draw.pick((None, None, None, "1500Mi", "3Gi"))
        if draw.chance(0.9):
            made.append(capacity(f"capacity-{zone}", name, topology, amount, largest))
    if draw.chance(0.1):
        made.append(capacity("capacity-nowhere", name, {"matchLabels": {ZONE: "nowhere"}}, "1Ti", None))
    return made


def _ephemeral(draw: Draw, number: int, now: Manifest) -> Manifest:
    pod = pending(draw, number, namespace="default")
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    template = {"spec": spec | {"storageClassName": now["metadata"]["name"]}}
    pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
    return pod


def _its_claim(pod: Manifest, bound_to: str = "") -> Manifest:
    return claim(f"{pod['metadata']['name']}-scratch", bound_to)
