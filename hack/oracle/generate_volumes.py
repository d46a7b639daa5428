"""Volumes: who may use them where, how many fit, and which are still to be bound."""

from oracle.draw import BETA_REGION, BETA_ZONE, REGION, ZONE, Draw
from oracle.generate_cluster import names_of, nodes, pending, running
from oracle.generate_nodes import Parts
from oracle.scenario import Manifest
from oracle.storage import (
    attachment,
    claim,
    claim_volume,
    csi_driver,
    csi_node,
    in_tree,
    node_affinity_of,
    storage_class,
    terminating,
    volume,
)

DRIVERS = ("disk.example.com", "file.example.com")
EBS = "ebs.csi.aws.com"  # what the old volumes of that cloud are counted as


def volume_restrictions(draw: Draw) -> Parts:
    """Disks that only one pod may use, and claims for one pod alone."""
    cluster = nodes(draw, 2, 5)
    stored: list[Manifest] = []
    for number in range(2):
        bound = claim(f"one-{number}", f"pv-one-{number}", modes=["ReadWriteOncePod"])
        stored += [bound, volume(f"pv-one-{number}", bound)]
    names = ["one-0", "one-1", *(["missing"] if draw.chance(0.15) else [])]
    crowd = [_with_disk(draw, one, names[:2]) for one in running(draw, cluster, 5)]
    pods = [_with_disk(draw, pending(draw, number, namespace="default"), names) for number in range(6)]
    if draw.chance(0.4):
        draw.prioritize(crowd, pods)
    return [*stored, *cluster, *crowd], pods


def node_volume_limits(draw: Draw) -> Parts:
    """Drivers with a limit on attached volumes, counted over claims of every state."""
    cluster = nodes(draw, 2, 5)
    late = storage_class(f"late-{draw.seed}", DRIVERS[0], wait=True)
    now = storage_class(f"now-{draw.seed}", DRIVERS[1])
    stored = [late, now, *_drivers(draw), *_csi_nodes(draw, cluster), *_bound(draw, 8)]
    old = storage_class(f"old-{draw.seed}", "kubernetes.io/aws-ebs", wait=True)
    stored += [old, claim("c-old", storage_class=old)]
    waiting = [claim(f"c-late-{number}", storage_class=late) for number in range(2)]
    attached = [
        attachment(f"attached-{number}", draw.pick(DRIVERS), f"pv-{number}", draw.pick(names_of(cluster)))
        for number in draw.some(range(8), 0, 3)
    ]
    crowd = [
        _with_claims(draw, one, [f"c-{number}" for number in range(8)])
        for one in running(draw, cluster, 7, elsewhere=0)
    ]
    pods = [
        _with_claims(draw, pending(draw, number, namespace="default"), [f"c-{index}" for index in range(8)])
        for number in range(5)
    ]
    for pod in (one for one in (*crowd, *pods) if draw.chance(0.25)):
        inline = {"volumeID": draw.pick(("vol-0", "aws://a/vol-0", "vol-1"))}
        pod["spec"]["volumes"].append({"name": "inline", "awsElasticBlockStore": inline})
    last = _with_claims(draw, pending(draw, 9, namespace="default"), ["c-late-0", "c-late-1", "c-old", "c-1"])
    return [*stored, *waiting, *attached, *cluster, *crowd], [*pods, last]


def volume_zone(draw: Draw) -> Parts:
    """Volumes that live in zones and regions, labelled the old way and the new."""
    cluster = nodes(draw, 3, 7)
    for node in cluster:
        labels = node["metadata"]["labels"]
        if draw.chance(0.3):
            labels[BETA_ZONE] = labels.pop(ZONE, "a")
        if draw.chance(0.2):
            labels[BETA_REGION] = draw.pick(("r1", "r2"))
    stored = []
    for number in range(4):
        bound = claim(f"zoned-{number}", f"pv-{number}")
        stored += [bound, volume(f"pv-{number}", bound, labels=_zones(draw))]
    stored += _unbound_claims(draw)
    names = [one["metadata"]["name"] for one in stored if one["kind"] == "PersistentVolumeClaim"]
    pods = [_with_claims(draw, pending(draw, number, namespace="default"), names[:4]) for number in range(4)]
    pods += [_with_claims(draw, pending(draw, 7, namespace="default"), [*names[4:], "missing"], 1)]
    return [*stored, *cluster, *running(draw, cluster, 3)], pods


def volume_affinity(draw: Draw) -> Parts:
    """Bound volumes that can be reached only from some nodes."""
    cluster = nodes(draw, 3, 7)
    stored: list[Manifest] = []
    for number in range(4):
        bound = claim(f"local-{number}", f"pv-{number}")
        stored += [bound, volume(f"pv-{number}", bound, affinity=node_affinity_of(draw))]
    names = [f"local-{number}" for number in range(4)]
    pods = [_with_claims(draw, pending(draw, number, namespace="default"), names, 2) for number in range(6)]
    return [*stored, *cluster, *running(draw, cluster, 3)], pods


def _with_disk(draw: Draw, pod: Manifest, claims: list[str]) -> Manifest:
    volumes = [_disk(draw, f"disk-{number}") for number in range(draw.number(0, 2))]
    if pod["metadata"]["namespace"] == "default" and draw.chance(0.45):
        volumes.append(claim_volume("claim", draw.pick(claims)))
    if volumes:
        pod["spec"]["volumes"] = volumes
    return pod


def _disk(draw: Draw, name: str) -> Manifest:
    read_only = {"readOnly": True} if draw.chance(0.5) else {}
    which = draw.pick(("x", "y"))
    monitors = draw.some(("m1", "m2", "m3"), 1, 2)
    target = {"targetPortal": "10.0.0.1:3260", "iqn": f"iqn.2001-04.com.example:{which}", "lun": draw.number(0, 1)}
    sources: tuple[Manifest, ...] = (
        {"gcePersistentDisk": {"pdName": which, **read_only}},
        {"awsElasticBlockStore": {"volumeID": f"vol-{which}", **read_only}},
        {"iscsi": target | read_only},
        {"rbd": {"monitors": monitors, "image": which, "pool": "p", **read_only}},
        {"emptyDir": {}},
    )
    return {"name": name, **draw.pick(sources)}


def _with_claims(draw: Draw, pod: Manifest, names: list[str], most: int = 3) -> Manifest:
    chosen = draw.some(names, 1, most)
    pod["spec"]["volumes"] = [claim_volume(f"v{place}", name) for place, name in enumerate(chosen)]
    if draw.chance(0.1):
        pod["spec"]["volumes"] += [{"name": "nothing", "emptyDir": {}}]
    return pod


def _drivers(draw: Draw) -> list[Manifest]:
    # At most one driver may be missed: of several, kube-scheduler names any.
    demanding = draw.pick((*DRIVERS, ""))
    return [
        csi_driver(name, {"preventPodSchedulingIfMissing": True} if name == demanding else {})
        for name in draw.some(DRIVERS, 1)
    ]


def _csi_nodes(draw: Draw, cluster: list[Manifest]) -> list[Manifest]:
    made = []
    for name in names_of(cluster):
        limits = {driver: draw.pick((None, 0, 1, 1, 2)) for driver in (*DRIVERS, EBS) if draw.chance(0.7)}
        if draw.chance(0.85):
            made.append(csi_node(name, limits))
    return made


def _bound(draw: Draw, count: int) -> list[Manifest]:
    made = []
    for number in range(count):
        bound = claim(f"c-{number}", f"pv-{number}")
        # Two claims may share what is one volume to the driver.
        handle = f"h-{number}" if draw.chance(0.9) else "h-0"
        made += [bound, volume(f"pv-{number}", bound, driver=draw.pick(DRIVERS), handle=handle)]
        if draw.chance(0.2):
            made[-1] = in_tree(made[-1], {"awsElasticBlockStore": {"volumeID": f"vol-{number % 3}"}})
    return made


def _zones(draw: Draw) -> dict[str, str]:
    keys = draw.some((ZONE, REGION, BETA_ZONE, BETA_REGION), 0, 2)
    zones, regions = ("a", "b", "a__b", "c__a", "a____b", "d"), ("r1", "r2", "r1__r2")
    return {key: draw.pick(zones if "zone" in key else regions) for key in keys}


def _unbound_claims(draw: Draw) -> list[Manifest]:
    now = storage_class(f"now-{draw.seed}", DRIVERS[1])
    return [
        now,
        claim("no-class"),
        claim("class-missing", storage_class_name="nowhere"),
        claim("immediate", storage_class=now),
        claim("lost", "pv-gone", phase="Lost"),
        claim("dangling", "pv-gone"),
        terminating(claim("deleting", "pv-0")),
    ]
