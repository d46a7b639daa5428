"""Volumes of in-tree plugins, translated for the CSI drivers that replaced them."""

import re
from typing import NamedTuple

from msgspec.structs import replace

from pilotage.kinds.storage import PersistentVolume
from pilotage.model.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from pilotage.model.volumes import AWSDisk, AzureDisk, CSIDisk, GCEDisk, NamedDisk, Volume

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
ZONE_SEPARATOR = "__"
UNSPECIFIED = "UNSPECIFIED"


class Untranslatable(ValueError):
    """A volume that cannot be translated, with Kubernetes' message."""


class Migration(NamedTuple):
    """An in-tree plugin, and the driver that replaced it."""

    plugin: str
    driver: str
    topology_key: str = ""  # the driver's node label for zones


Disk = GCEDisk | AWSDisk | AzureDisk | NamedDisk

# By the field of the plugin's volume source.
MIGRATIONS = {
    "aws_elastic_block_store": Migration("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "gce_persistent_disk": Migration("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "azure_disk": Migration("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    "cinder": Migration("kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    "portworx_volume": Migration("kubernetes.io/portworx-volume", "pxd.portworx.com"),
}
# Kubernetes can translate these, but kube-scheduler does not.
UNCOUNTED = {
    "azure_file": Migration("kubernetes.io/azure-file", "file.csi.azure.com"),
    "vsphere_volume": Migration("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
}
DRIVERS = {migration.plugin: migration.driver for migration in MIGRATIONS.values()}
UNCOUNTED_PLUGINS = frozenset(migration.plugin for migration in UNCOUNTED.values())


def is_migratable(volume: Volume) -> bool:
    """Return whether an inline volume belongs to an in-tree plugin."""
    return driver_of(volume) is not None


def driver_of(volume: Volume) -> str | None:
    """Return the driver that serves an inline volume of an in-tree plugin."""
    migrations = (MIGRATIONS | UNCOUNTED).items()
    return next((migration.driver for field, migration in migrations if getattr(volume, field) is not None), None)


def migration_of(volume: PersistentVolume) -> Migration | None:
    """Return the migration of a volume of an in-tree plugin, or None for any other volume."""
    return _found(volume.spec)[0]


def translated_inline(volume: Volume) -> CSIDisk | None:
    """Return an inline volume translated for its driver, None if no driver counts it, or raise Untranslatable."""
    migration, disk = _found(volume)
    return None if migration is None or disk is None else CSIDisk(migration.driver, _handle(disk, {}))


def translated(volume: PersistentVolume) -> CSIDisk | None:
    """Return a volume translated for its driver, None if no driver counts it, or raise Untranslatable."""
    migration, disk = _found(volume.spec)
    if migration is None or disk is None:
        return None
    return CSIDisk(migration.driver, _handle(disk, volume.metadata.labels))


def _found(source: object) -> tuple[Migration | None, Disk | None]:
    for field, migration in MIGRATIONS.items():
        disk = getattr(source, field)
        if disk is not None:
            return migration, disk
    return None, None


def _handle(disk: Disk, labels: dict[str, str]) -> str:
    match disk:
        case AWSDisk():
            return _aws_handle(disk.volume_id)
        case GCEDisk():
            zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_SEPARATOR)
            place = f"zones/{zones[0] or UNSPECIFIED}" if len(zones) == 1 else f"regions/{_gce_region(zones)}"
            return f"projects/{UNSPECIFIED}/{place}/disks/{disk.pd_name}"
        case AzureDisk():
            if disk.kind is not None and disk.kind.casefold() != "managed":
                raise Untranslatable(f"kind({disk.kind}) is not supported in csi migration")
            return disk.disk_uri
        case NamedDisk():
            return disk.volume_id


def _aws_handle(volume_id: str) -> str:
    if not volume_id.startswith("aws://"):
        return volume_id
    found = volume_id.removeprefix("aws://").partition("/")[2].strip("/")  # aws://zone/vol-1
    if not re.fullmatch("vol-[^/]*", found):
        wrong = f"Invalid format for AWS volume ({volume_id})"
        raise Untranslatable(f"failed to translate Kubernetes ID to EBS Volume ID {wrong}")
    return found


def _gce_region(zones: list[str]) -> str:
    for zone in zones:
        if zone.count("-") != 2:
            expected = "expected: {locale}-{region}-{zone}"
            wrong = f"zone in unexpected format, {expected}, got: {zone}"
            raise Untranslatable(f"failed to get region from zones: {wrong}")
    regions = {zone.rpartition("-")[0] for zone in zones}
    if len(regions) != 1:
        wrong = "multiple or no regions gotten from zones"
        raise Untranslatable(f"failed to get region from zones: {wrong}")
    return regions.pop()


def translated_affinity(volume: PersistentVolume, migration: Migration) -> NodeSelector | None:
    """Return the node affinity of a volume, with zones by the driver's node label."""
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity else None
    if not migration.topology_key:
        return required
    terms = _with_driver_zones(volume, required.node_selector_terms if required else (), migration.topology_key)
    return NodeSelector(terms) if terms or required else None


def _with_driver_zones(
    volume: PersistentVolume, terms: tuple[NodeSelectorTerm, ...], topology_key: str
) -> tuple[NodeSelectorTerm, ...]:
    labels = volume.metadata.labels
    keys = {expression.key for term in terms for expression in term.match_expressions}
    zone = next((key for found in (keys, labels) for key in (ZONE, BETA_ZONE) if key in found), ZONE)
    if _values(terms, zone):
        terms = _renamed(terms, zone, topology_key)
    elif zones := sorted({each.strip() for each in labels.get(zone, "").split(ZONE_SEPARATOR)} - {""}):
        added = NodeSelectorRequirement(topology_key, "In", tuple(zones))
        terms = tuple(
            replace(term, match_expressions=(*term.match_expressions, added)) for term in terms or (NodeSelectorTerm(),)
        )
    if zone == BETA_ZONE and _values(terms, BETA_REGION):
        terms = _renamed(terms, BETA_REGION, REGION)
    return terms


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(expression.values for term in terms for expression in term.match_expressions if expression.key == key)


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(each, key=new) if each.key == old else each for each in term.match_expressions
            ),
        )
        for term in terms
    )
