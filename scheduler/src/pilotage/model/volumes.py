"""Volumes of pods and the storage objects behind them, as the API has them."""

from typing import Any

from msgspec import Struct, field

from pilotage.model.metadata import Metadata
from pilotage.model.selectors import LabelSelector, NodeSelector

BETA_STORAGE_CLASS = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD = "ReadWriteOncePod"
STORAGE = "storage"


class ClaimSource(Struct, frozen=True, gc=False, rename="camel"):
    """A claim that a pod uses by its name."""

    claim_name: str = ""
    read_only: bool = False


class GCEDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A disk of Google Cloud."""

    pd_name: str = ""
    read_only: bool = False
    partition: int = 0


class AWSDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A disk of Amazon."""

    volume_id: str = field(default="", name="volumeID")
    read_only: bool = False


class ISCSIDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A disk reached by iSCSI."""

    iqn: str = ""
    read_only: bool = False


class RBDImage(Struct, frozen=True, gc=False, rename="camel"):
    """A disk of Ceph; the API's short names are kept where it has them."""

    monitors: tuple[str, ...] = ()
    pool: str = ""
    image: str = ""
    read_only: bool = False


class AzureDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A disk of Azure."""

    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    kind: str | None = None


class NamedDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A disk that is known by one id: Cinder and Portworx."""

    volume_id: str = field(default="", name="volumeID")


class CSIDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a CSI driver; pods that name the driver inline have no handle."""

    driver: str = ""
    volume_handle: str = ""


class ImageSource(Struct, frozen=True, gc=False, rename="camel"):
    """An image that is mounted as a volume."""

    reference: str = ""


class Volume(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod; sources that scheduling does not look at (secrets, ...) leave all fields empty."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None
    gce_persistent_disk: GCEDisk | None = None
    aws_elastic_block_store: AWSDisk | None = None
    iscsi: ISCSIDisk | None = None
    rbd: RBDImage | None = None
    azure_disk: AzureDisk | None = None
    cinder: NamedDisk | None = None
    portworx_volume: NamedDisk | None = None
    azure_file: dict[str, Any] | None = None
    vsphere_volume: dict[str, Any] | None = None
    csi: CSIDisk | None = None
    image: ImageSource | None = None

    @property
    def has_known_source(self) -> bool:
        """Tell whether scheduling looks at the volume; the API server gives most pods one more, named at random."""
        return self != Volume(self.name)


class Request(Struct, frozen=True, gc=False, rename="camel"):
    """How much storage a claim asks for."""

    requests: dict[str, str | int | float] = {}


class ClaimSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a claim asks for."""

    access_modes: tuple[str, ...] = ()
    resources: Request = Request()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    """How far a claim has come."""

    phase: str = ""


class PersistentVolumeClaim(Struct, gc=False, rename="camel"):
    """A claim for storage."""

    metadata: Metadata
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def class_name(self) -> str:
        """Return the storage class; the old annotation goes before the field."""
        return self.metadata.annotations.get(BETA_STORAGE_CLASS, self.spec.storage_class_name or "")

    @property
    def is_bound(self) -> bool:
        """Tell whether the claim has its volume for good; one that only names a volume has not."""
        return bool(self.spec.volume_name) and BIND_COMPLETED in self.metadata.annotations

    @property
    def requested(self) -> str | int | float:
        """Return how much storage is asked for, as it was written."""
        return self.spec.resources.requests.get(STORAGE, 0)


class ObjectReference(Struct, frozen=True, gc=False, rename="camel"):
    """Another object, by its name."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class VolumeNodeAffinity(Struct, frozen=True, gc=False, rename="camel"):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class VolumeSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a volume is."""

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
    """How far a volume has come."""

    phase: str = ""


class PersistentVolume(Struct, gc=False, rename="camel"):
    """A piece of storage."""

    metadata: Metadata
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()

    @property
    def class_name(self) -> str:
        """Return the storage class; the old annotation goes before the field."""
        return self.metadata.annotations.get(BETA_STORAGE_CLASS, self.spec.storage_class_name)

    @property
    def capacity(self) -> str | int | float:
        """Return how much the volume holds, as it was written."""
        return self.spec.capacity.get(STORAGE, 0)


class TopologyRequirement(Struct, frozen=True, gc=False, rename="camel"):
    """A label and the values that are allowed for it."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Struct, frozen=True, gc=False, rename="camel"):
    """Requirements that must all hold."""

    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Struct, gc=False, rename="camel"):
    """A kind of storage, and who makes it."""

    metadata: Metadata
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class VolumeLimit(Struct, frozen=True, gc=False, rename="camel"):
    """How many volumes of a driver a node can have."""

    count: int | None = None


class CSINodeDriver(Struct, frozen=True, gc=False, rename="camel"):
    """A driver that runs on a node."""

    name: str = ""
    allocatable: VolumeLimit | None = None


class CSINodeSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Struct, gc=False, rename="camel"):
    """What CSI drivers told about a node."""

    metadata: Metadata
    spec: CSINodeSpec = CSINodeSpec()

    @property
    def limits(self) -> dict[str, int]:
        """Return how many volumes of each driver the node can have; drivers without a limit are not in it."""
        return {
            driver.name: driver.allocatable.count
            for driver in self.spec.drivers
            if driver.allocatable is not None and driver.allocatable.count is not None
        }

    @property
    def migrated_plugins(self) -> frozenset[str]:
        """Return the plugins of old whose volumes CSI drivers serve on the node."""
        return frozenset(self.migrated_plugins_text.split(","))

    @property
    def migrated_plugins_text(self) -> str:
        """Return the same as it was written."""
        return self.metadata.annotations.get(MIGRATED_PLUGINS, "")

    def has_driver(self, driver: str) -> bool:
        """Tell whether a driver runs on the node."""
        return any(each.name == driver for each in self.spec.drivers)


class CSIDriverSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What a driver wants from the scheduler."""

    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Struct, gc=False, rename="camel"):
    """A CSI driver."""

    metadata: Metadata
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Struct, gc=False, rename="camel"):
    """How much a driver can still make in a part of the cluster."""

    metadata: Metadata
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
    node_topology: LabelSelector | None = None


class AttachmentSource(Struct, frozen=True, gc=False, rename="camel"):
    """The volume that is attached."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Which volume is attached to which node, and by whom."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachment(Struct, gc=False, rename="camel"):
    """A volume that is attached to a node, or about to be."""

    metadata: Metadata
    spec: AttachmentSpec = AttachmentSpec()
