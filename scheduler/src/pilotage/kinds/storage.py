"""Claims for storage, their volumes, and provisioners."""

from msgspec import Struct

from pilotage.kinds.kube_object import KubeObject
from pilotage.model.selectors import LabelSelector, NodeSelector
from pilotage.model.volumes import AWSDisk, AzureDisk, CSIDisk, GCEDisk, NamedDisk

BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
STORAGE = "storage"


class Request(Struct, frozen=True, gc=False, rename="camel"):
    """The storage requests of a claim."""

    requests: dict[str, str | int | float] = {}


class ClaimSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a claim."""

    access_modes: tuple[str, ...] = ()
    resources: Request = Request()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The phase of a claim."""

    phase: str = ""


class PersistentVolumeClaim(KubeObject, group="", version="v1", plural="persistentvolumeclaims", in_kubernetes=True):
    """A claim for storage."""

    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def class_name(self) -> str:
        """Return the storage class; the legacy annotation takes precedence over the field."""
        return self.metadata.annotations.get(BETA_STORAGE_CLASS, self.spec.storage_class_name or "")

    @property
    def is_bound(self) -> bool:
        """Return whether the claim is fully bound, not merely names a volume."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations

    @property
    def requested(self) -> str | int | float:
        """Return the requested storage, as written."""
        return self.spec.resources.requests.get(STORAGE, 0)


class ObjectReference(Struct, frozen=True, gc=False, rename="camel"):
    """A reference to another object by its name."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class VolumeNodeAffinity(Struct, frozen=True, gc=False, rename="camel"):
    """The nodes with access to a volume."""

    required: NodeSelector | None = None


class VolumeSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The spec of a volume."""

    capacity: dict[str, str | int | float] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIDisk | None = None
    gce_persistent_disk: GCEDisk | None = None
    aws_elastic_block_store: AWSDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: NamedDisk | None = None
    portworx_volume: NamedDisk | None = None


class VolumeStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The phase of a volume."""

    phase: str = ""


class PersistentVolume(
    KubeObject, group="", version="v1", plural="persistentvolumes", scope="Cluster", in_kubernetes=True
):
    """A piece of storage."""

    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def class_name(self) -> str:
        """Return the storage class; the legacy annotation takes precedence over the field."""
        return self.metadata.annotations.get(BETA_STORAGE_CLASS, self.spec.storage_class_name)

    @property
    def capacity(self) -> str | int | float:
        """Return the capacity of the volume, as written."""
        return self.spec.capacity.get(STORAGE, 0)


class TopologyRequirement(Struct, frozen=True, gc=False, rename="camel"):
    """A label with its allowed values."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Requirements that must all hold."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(
    KubeObject, group="storage.k8s.io", version="v1", plural="storageclasses", scope="Cluster", in_kubernetes=True
):
    """A kind of storage, and its provisioner."""

    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class VolumeLimit(Struct, frozen=True, gc=False, rename="camel"):
    """The maximum number of a driver's volumes on a node."""

    count: int | None = None


class CSINodeDriver(Struct, frozen=True, gc=False, rename="camel"):
    """A driver that runs on a node."""

    name: str = ""
    allocatable: VolumeLimit | None = None


class CSINodeSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, group="storage.k8s.io", version="v1", plural="csinodes", scope="Cluster", in_kubernetes=True):
    """What CSI drivers reported about a node."""

    spec: CSINodeSpec = CSINodeSpec()

    @property
    def limits(self) -> dict[str, int]:
        """Return the maximum number of volumes of each driver on the node, without drivers that have no limit."""
        return {
            driver.name: driver.allocatable.count
            for driver in self.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }

    @property
    def migrated_plugins(self) -> frozenset[str]:
        """Return the in-tree plugins whose volumes CSI drivers serve on the node."""
        return frozenset(self.migrated_plugins_text.split(","))

    @property
    def migrated_plugins_text(self) -> str:
        """Return the same, as written."""
        return self.metadata.annotations.get(MIGRATED_PLUGINS, "")

    def has_driver(self, driver: str) -> bool:
        """Return whether a driver runs on the node."""
        return any(each.name == driver for each in self.spec.drivers)


class CSIDriverSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The settings of a driver for the scheduler."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(
    KubeObject, group="storage.k8s.io", version="v1", plural="csidrivers", scope="Cluster", in_kubernetes=True
):
    """A CSI driver."""

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(
    KubeObject, group="storage.k8s.io", version="v1", plural="csistoragecapacities", in_kubernetes=True
):
    """The remaining capacity of a driver in a part of the cluster."""

    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
    node_topology: LabelSelector | None = None


class AttachmentSource(Struct, frozen=True, gc=False, rename="camel"):
    """The volume that is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The volume, the node and the attacher."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(
    KubeObject, group="storage.k8s.io", version="v1", plural="volumeattachments", scope="Cluster", in_kubernetes=True
):
    """A volume that is attached to a node, or about to be."""

    spec: AttachmentSpec = AttachmentSpec()
