"""The kinds of objects that a scheduler looks at, and where the API server has them."""

from dataclasses import dataclass

from oracle.scenario import Manifest


@dataclass(frozen=True)
class Kind:
    """Where objects of one kind live."""

    name: str
    group_version: str
    resource: str
    namespaced: bool = True
    # The server keeps the status of a new object of this kind only if it is written by itself.
    own_status: bool = False

    @property
    def root(self) -> str:
        """The path of all objects of the kind."""
        prefix = "/api" if "/" not in self.group_version else "/apis"
        return f"{prefix}/{self.group_version}/{self.resource}"

    @property
    def group(self) -> str:
        """The API group; the core has no name."""
        return self.group_version.split("/")[0] if "/" in self.group_version else ""

    def collection(self, namespace: str | None) -> str:
        """The path of the objects in a namespace."""
        if not self.namespaced:
            return self.root
        head, _, resource = self.root.rpartition("/")
        return f"{head}/namespaces/{namespace or 'default'}/{resource}"

    def path(self, manifest: Manifest) -> str:
        """The path of one object."""
        metadata = manifest["metadata"]
        return f"{self.collection(metadata.get('namespace'))}/{metadata['name']}"


# In the order of creation: what a scheduler must know before nodes, then nodes, then pods.
KINDS = {
    kind.name: kind
    for kind in (
        Kind("Namespace", "v1", "namespaces", namespaced=False),
        Kind("Service", "v1", "services"),
        Kind("ReplicationController", "v1", "replicationcontrollers"),
        Kind("ReplicaSet", "apps/v1", "replicasets"),
        Kind("StatefulSet", "apps/v1", "statefulsets"),
        Kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets", own_status=True),
        Kind("StorageClass", "storage.k8s.io/v1", "storageclasses", namespaced=False),
        Kind("CSIDriver", "storage.k8s.io/v1", "csidrivers", namespaced=False),
        Kind("CSINode", "storage.k8s.io/v1", "csinodes", namespaced=False),
        Kind("CSIStorageCapacity", "storage.k8s.io/v1", "csistoragecapacities"),
        Kind("PersistentVolume", "v1", "persistentvolumes", namespaced=False, own_status=True),
        Kind("PersistentVolumeClaim", "v1", "persistentvolumeclaims", own_status=True),
        Kind("VolumeAttachment", "storage.k8s.io/v1", "volumeattachments", namespaced=False),
        Kind("DeviceClass", "resource.k8s.io/v1", "deviceclasses", namespaced=False),
        Kind("ResourceSlice", "resource.k8s.io/v1", "resourceslices", namespaced=False),
        Kind("DeviceTaintRule", "resource.k8s.io/v1", "devicetaintrules", namespaced=False),
        Kind("ResourceClaim", "resource.k8s.io/v1", "resourceclaims", own_status=True),
        Kind("Node", "v1", "nodes", namespaced=False),
        Kind("Pod", "v1", "pods", own_status=True),
    )
}
ORDER = {name: place for place, name in enumerate(KINDS)}
