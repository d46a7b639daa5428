"""Volumes of pods, as in the API."""

from typing import Any

from msgspec import Struct, field


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
    """A disk of Ceph; the API's short field names are kept."""

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
    """A disk with a single id: Cinder and Portworx."""

    volume_id: str = field(default="", name="volumeID")


class CSIDisk(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a CSI driver; inline volumes have no handle."""

    driver: str = ""
    volume_handle: str = ""


class ImageSource(Struct, frozen=True, gc=False, rename="camel"):
    """An image that is mounted as a volume."""

    reference: str = ""


class Volume(Struct, frozen=True, gc=False, rename="camel"):
    """A volume of a pod; sources that scheduling does not use (secrets, ...) leave all fields empty."""

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
        """Return whether scheduling uses the volume; the API server adds one with a random name to most pods."""
        return self != Volume(self.name)
