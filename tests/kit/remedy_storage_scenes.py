"""Scenes about volumes: claims that are unusable, volumes that are elsewhere, disks and claims that others have."""

from collections.abc import Mapping, Sequence
from typing import Any

from kit.remedy_scene import ZONE, Scene, node, pod
from kit.remedy_world import Manifest

NO_PROVISIONER = "kubernetes.io/no-provisioner"
PROVISIONER = "disks.example.com"
ONCE, SHARED, ONE_POD = "ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"
USES_DATA = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
TWO_ZONES = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})]


def volume(name: str = "pv", size: str = "1Gi", within: Mapping[str, str] | None = None, **spec: Any) -> Manifest:
    """Return a volume that nodes with some labels reach."""
    terms = [
        {"matchExpressions": [{"key": key, "operator": "In", "values": [value]} for key, value in within.items()]}
        for within in ([within] if within else [])
    ]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    source = {"hostPath": {"path": f"/{name}"}} if "csi" not in spec else {}
    required = {"capacity": {"storage": size}, "accessModes": [ONCE], "storageClassName": "", **source}
    metadata = {"name": name, "labels": {}}
    status = {"phase": "Available"}
    spec = {**required, **affinity, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": status}


def zonal(manifest: Manifest, zone: str) -> Manifest:
    """Return a volume that carries its zone as a label, too."""
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {ZONE: zone}}}


def claim(
    name: str = "data", bound_to: str = "", size: str = "1Gi", *, modes: Sequence[str] = (ONCE,), of_class: str = ""
) -> Manifest:
    """Return a claim; one that names a volume is bound to it."""
    spec = {
        "storageClassName": of_class,
        "accessModes": list(modes),
        "resources": {"requests": {"storage": size}},
        **({"volumeName": bound_to} if bound_to else {}),
    }
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound_to else {}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    status = {"phase": "Bound" if bound_to else "Pending"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def storage_class(name: str, provisioner: str = NO_PROVISIONER, mode: str = "WaitForFirstConsumer") -> Manifest:
    """Return a storage class."""
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**about, "provisioner": provisioner, "volumeBindingMode": mode}


def driver_on(name: str, driver: str, count: int) -> Manifest:
    """Return how many volumes of a driver a node can have."""
    drivers = [{"name": driver, "nodeID": name, "topologyKeys": [], "allocatable": {"count": count}}]
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}
    return {**about, "spec": {"drivers": drivers}}


def disk(name: str) -> Manifest:
    """Return the part of a spec with a disk that only one pod can use."""
    return {"volumes": [{"name": "d", "awsElasticBlockStore": {"volumeID": name}}]}


STORAGE_SCENES = [
    Scene(
        "a claim whose volume is in a zone that is full",
        [*TWO_ZONES, pod("a", "n2", cpu="3"), zonal(volume(within={ZONE: "b"}), "b"), claim(bound_to="pv")],
        {"cpu": "2", "spec": USES_DATA},
        "ask for cpu 1 instead of 2: fits on n2",
        ("move default/a off n2", "add one more node like n2 (b)"),
    ),
    Scene(
        "a claim whose volume carries another zone as a label",
        [TWO_ZONES[0], zonal(volume(), "b"), claim(bound_to="pv")],
        {"spec": USES_DATA},
        "move the data of the claim default/data to a volume that n1 reaches "
        "(its volume pv is reachable only from zone b)",
    ),
    Scene(
        "a claim whose volume is on a node that is gone",
        [node("n1"), volume(within={"kubernetes.io/hostname": "n9"}), claim(bound_to="pv")],
        {"spec": USES_DATA},
        "move the data of the claim default/data to a volume that n1 reaches "
        "(its volume pv is reachable only from one node)",
    ),
    Scene(
        "a claim whose volume names another zone both as a label and in its node affinity",
        [
            TWO_ZONES[0],
            node("n2", labels={ZONE: "b"}, cpu="1", taints=[{"key": "x", "effect": "NoSchedule"}]),
            zonal(volume(within={ZONE: "b"}), "b"),
            claim(bound_to="pv"),
        ],
        {"cpu": "2", "spec": USES_DATA},
        "move the data of the claim default/data to a volume that n1 reaches "
        "(its volume pv is reachable only from zone b)",
    ),
    Scene(
        "volumes that are too small for the claim",
        [
            *TWO_ZONES,
            storage_class("small-disks"),
            volume("pv-a", "5Gi", {ZONE: "a"}, storageClassName="small-disks"),
            volume("pv-c", "6Gi", {ZONE: "c"}, storageClassName="small-disks"),
            claim(size="10Gi", of_class="small-disks"),
        ],
        {"spec": USES_DATA},
        "ask for 5Gi instead of 10Gi in the claim default/data: fits on n1",
        (
            "create a PersistentVolume of at least 10Gi with access mode ReadWriteOnce in the storage class "
            "small-disks for the claim default/data (not tried: the volume does not exist yet)",
        ),
    ),
    Scene(
        "space that is too small for the claim",
        [
            *TWO_ZONES,
            storage_class("network-disks", PROVISIONER),
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIDriver",
                "metadata": {"name": PROVISIONER},
                "spec": {"storageCapacity": True},
            },
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSIStorageCapacity",
                "metadata": {"name": "a", "namespace": "default"},
                "storageClassName": "network-disks",
                "capacity": "5Gi",
                "nodeTopology": {"matchLabels": {ZONE: "a"}},
            },
            claim(size="10Gi", of_class="network-disks"),
        ],
        {"spec": USES_DATA},
        "ask for 5Gi instead of 10Gi in the claim default/data: fits on n1",
        (
            "add storage for the class network-disks: none of the nodes that would do otherwise has 10Gi left "
            "for the claim default/data (not tried: the driver has not reported it yet)",
        ),
        live="none",  # no one provisions here
    ),
    Scene(
        "volumes with another access mode",
        [
            *TWO_ZONES,
            storage_class("mode-disks"),
            volume(storageClassName="mode-disks"),
            claim(of_class="mode-disks", modes=[SHARED]),
        ],
        {"spec": USES_DATA},
        "ask for the access mode ReadWriteOnce instead of ReadWriteMany in the claim default/data: "
        "fits on 2 nodes, such as n1",
    ),
    Scene(
        "a claim for which there is no volume at all",
        [*TWO_ZONES, storage_class("no-disks"), claim(of_class="no-disks")],
        {"spec": USES_DATA},
        "create a PersistentVolume of at least 1Gi with access mode ReadWriteOnce in the storage class no-disks "
        "for the claim default/data (not tried: the volume does not exist yet)",
    ),
    Scene(
        "a claim that a storage class cannot serve where the nodes are",
        [
            *TWO_ZONES,
            {
                **storage_class("far-disks", PROVISIONER),
                "allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["c"]}]}],
            },
            claim(of_class="far-disks"),
        ],
        {"spec": USES_DATA},
        "allow volumes of the storage class far-disks in zone a: fits on n1",
        live="none",  # no one provisions here
    ),
    Scene(
        "a claim that names a storage class that does not exist",
        [
            *TWO_ZONES,
            storage_class("fast-disks"),
            volume(storageClassName="fast-disks"),
            claim(of_class="fast-disk"),
        ],
        {"spec": USES_DATA},
        "name the storage class fast-disks instead of fast-disk in the claim default/data: fits on 2 nodes, such as n1",
        (
            "create the StorageClass fast-disk, which the claim default/data names "
            "(not tried: the class does not exist yet)",
        ),
    ),
    Scene(
        "a claim that waits for a volume on a node that is gone",
        [
            *TWO_ZONES,
            storage_class("late-disks", PROVISIONER),
            {
                **claim(of_class="late-disks"),
                "metadata": {
                    "name": "data",
                    "namespace": "default",
                    "annotations": {"volume.kubernetes.io/selected-node": "n9"},
                },
            },
        ],
        {"spec": USES_DATA},
        "remove the annotation volume.kubernetes.io/selected-node from the claim default/data: "
        "its volume is to be provisioned for n9: fits on 2 nodes, such as n1",
        live="none",  # no one provisions here
    ),
    Scene(
        "a claim that has to be bound first, by a provisioner",
        [*TWO_ZONES, storage_class("soon-disks", PROVISIONER, "Immediate"), claim(of_class="soon-disks")],
        {"spec": USES_DATA},
        "wait until disks.example.com has provisioned a volume for the claim default/data; "
        "its events say what is missing (not tried: the volume does not exist yet)",
        live="none",  # no one provisions here
    ),
    Scene(
        "a claim without a class, which an administrator has to serve",
        [*TWO_ZONES, claim()],
        {"spec": USES_DATA},
        "create a PersistentVolume of at least 1Gi with access mode ReadWriteOnce without a storage class "
        "for the claim default/data (not tried: the volume does not exist yet)",
    ),
    Scene(
        "a claim whose volume does not exist",
        [*TWO_ZONES, claim(bound_to="pv")],
        {"spec": USES_DATA},
        "restore the PersistentVolume pv, or create the claim default/data again: it is bound to that volume "
        "(not tried: the volume does not exist)",
        live="none",  # the claim is Lost there, which the next scene has
    ),
    Scene(
        "a claim that has lost its volume",
        [*TWO_ZONES, {**claim(bound_to="pv"), "status": {"phase": "Lost"}}],
        {"spec": USES_DATA},
        "restore the PersistentVolume pv, or create the claim default/data again: it is bound to that volume "
        "(not tried: the volume does not exist)",
        live="none",  # what is lost cannot be restored here
    ),
    Scene(
        "a claim that does not exist, with a name like that of another one",
        [*TWO_ZONES, volume(), claim("date", bound_to="pv")],
        {"spec": USES_DATA},
        "use the claim date instead of data: fits on 2 nodes, such as n1",
        ("create the PersistentVolumeClaim default/data (not tried: what it would ask for is not known)",),
    ),
    Scene(
        "a claim for one pod that another pod uses",
        [
            node("n1"),
            volume(accessModes=[ONE_POD]),
            claim(bound_to="pv", modes=[ONE_POD]),
            pod("a", "n1", spec=USES_DATA),
        ],
        {"spec": USES_DATA},
        "delete default/a: only one pod at a time can use the claim data: fits on n1",
    ),
    Scene(
        "a disk that another pod uses",
        [node("n1"), pod("a", "n1", spec=disk("vol-1"))],
        {"spec": disk("vol-1")},
        "move default/a off n1",
        ("add one more node like n1",),
    ),
    Scene(
        "a node with as many volumes as its driver can attach",
        [
            node("n1"),
            driver_on("n1", PROVISIONER, 1),
            *(
                volume(f"pv-{each}", csi={"driver": PROVISIONER, "volumeHandle": f"pv-{each}"})
                for each in ("data", "other")
            ),
            claim("data", bound_to="pv-data"),
            claim("other", bound_to="pv-other"),
            pod("a", "n1", spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "other"}}]}),
        ],
        {"spec": USES_DATA},
        "move default/a off n1",
        ("add one more node like n1",),
    ),
]
