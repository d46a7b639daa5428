from typing import Any

import pytest

from pilotage.kinds.csi_migration import (
    MIGRATIONS,
    Untranslatable,
    driver_of,
    migration_of,
    translated,
    translated_affinity,
    translated_inline,
)
from pilotage.kinds.reach import reach_of_selector, reaches
from pilotage.model.volumes import CSIDisk
from pilotage.testing.objects import make_pod
from pilotage.testing.storage import claim_volumes, make_volume

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
EBS: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "disk"}}
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


@pytest.mark.parametrize(
    ("source", "labels", "disk"),
    [
        pytest.param(EBS, {}, CSIDisk("ebs.csi.aws.com", "vol-1"), id="Amazon"),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-2"}},
            {},
            CSIDisk("ebs.csi.aws.com", "vol-2"),
            id="Amazon, by address",
        ),
        pytest.param(
            GCE,
            {},
            CSIDisk("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk"),
            id="Google",
        ),
        pytest.param(
            GCE,
            {ZONE: "us-east1-a"},
            CSIDisk("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/us-east1-a/disks/disk"),
            id="Google, in a zone",
        ),
        pytest.param(
            GCE,
            {BETA_ZONE: "us-east1-a__us-east1-b"},
            CSIDisk("pd.csi.storage.gke.io", "projects/UNSPECIFIED/regions/us-east1/disks/disk"),
            id="Google, in a region",
        ),
        pytest.param({"azureDisk": {"diskURI": "uri"}}, {}, CSIDisk("disk.csi.azure.com", "uri"), id="Azure"),
        pytest.param(
            {"azureDisk": {"diskURI": "uri", "kind": "managed"}}, {}, CSIDisk("disk.csi.azure.com", "uri"), id="managed"
        ),
        pytest.param({"cinder": {"volumeID": "v"}}, {}, CSIDisk("cinder.csi.openstack.org", "v"), id="Cinder"),
        pytest.param({"portworxVolume": {"volumeID": "v"}}, {}, CSIDisk("pxd.portworx.com", "v"), id="Portworx"),
        pytest.param({}, {}, None, id="none of them"),
    ],
)
def test_handles(source: dict[str, Any], labels: dict[str, str], disk: CSIDisk | None) -> None:
    assert translated(make_volume("pv", labels=labels, **source)) == disk


@pytest.mark.parametrize(
    ("source", "labels", "complaint"),
    [
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/disk"}},
            {},
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://us-east-1a/disk)",
            id="no volume of Amazon",
        ),
        pytest.param(
            GCE,
            {ZONE: "a__b"},
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: a",
            id="no zones of Google",
        ),
        pytest.param(
            GCE,
            {ZONE: "us-east1-a__us-west1-a"},
            "failed to get region from zones: multiple or no regions gotten from zones",
            id="two regions",
        ),
        pytest.param(
            {"azureDisk": {"kind": "Dedicated"}},
            {},
            "kind(Dedicated) is not supported in csi migration",
            id="unmanaged",
        ),
    ],
)
def test_volumes_that_no_driver_can_serve(source: dict[str, Any], labels: dict[str, str], complaint: str) -> None:
    with pytest.raises(Untranslatable) as raised:
        translated(make_volume("pv", labels=labels, **source))
    assert str(raised.value).startswith(complaint)


def test_inline_volumes() -> None:
    inline: list[dict[str, Any]] = [
        GCE,
        {"azureFile": {"shareName": "s"}},
        {"vsphereVolume": {"volumePath": "p"}},
        {"emptyDir": {}},
    ]
    disk, files, sphere, scratch = make_pod(spec=claim_volumes(inline=inline)).spec.volumes
    unspecified = CSIDisk("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/disk")
    assert translated_inline(disk) == unspecified
    assert (driver_of(files), translated_inline(files)) == ("file.csi.azure.com", None)
    assert (driver_of(sphere), translated_inline(sphere)) == ("csi.vsphere.vmware.com", None)
    assert (driver_of(scratch), translated_inline(scratch)) == (None, None)


def terms(*expressions: tuple[str, str, list[str]]) -> list[dict[str, Any]]:
    found = [{"key": key, "operator": operator, "values": values} for key, operator, values in expressions]
    return [{"matchExpressions": found}]


@pytest.mark.parametrize(
    ("given", "labels", "nodes", "fits"),
    [
        pytest.param(terms((ZONE, "In", ["a"])), {}, {EBS_ZONE: "a"}, True, id="the driver's label instead"),
        pytest.param(terms((ZONE, "In", ["a"])), {}, {ZONE: "a"}, False, id="and no longer Kubernetes' own"),
        pytest.param(terms((BETA_ZONE, "In", ["a"])), {}, {EBS_ZONE: "a"}, True, id="for the old label too"),
        pytest.param(None, {ZONE: "a__b"}, {EBS_ZONE: "b"}, True, id="the zones that the volume has as labels"),
        pytest.param(None, {BETA_ZONE: "a"}, {EBS_ZONE: "b"}, False, id="not another zone"),
        pytest.param(terms(("disk", "Exists", [])), {ZONE: "a"}, {EBS_ZONE: "a"}, False, id="what else is asked stays"),
        pytest.param(
            terms(("disk", "Exists", [])), {ZONE: "a"}, {EBS_ZONE: "a", "disk": ""}, True, id="and zones are added"
        ),
        pytest.param(
            terms((ZONE, "In", ["a"])), {ZONE: "b"}, {EBS_ZONE: "a"}, True, id="the selector goes before labels"
        ),
        pytest.param(
            terms((BETA_ZONE, "In", ["a"]), (BETA_REGION, "In", ["r"])),
            {},
            {EBS_ZONE: "a", REGION: "r"},
            True,
            id="the old label of a region becomes the new one",
        ),
        pytest.param(None, {}, {}, True, id="nothing is asked"),
        pytest.param(None, {ZONE: "__"}, {}, True, id="zones that cannot be read"),
        pytest.param([], {}, {EBS_ZONE: "a"}, False, id="a selector without terms reaches nothing"),
        pytest.param([], {ZONE: "a"}, {EBS_ZONE: "a"}, True, id="unless zones are added"),
    ],
)
def test_zones(given: list[dict[str, Any]] | None, labels: dict[str, str], nodes: dict[str, str], fits: bool) -> None:
    volume = make_volume("pv", terms=given, labels=labels, **EBS)
    migration = migration_of(volume)
    assert migration == MIGRATIONS["aws_elastic_block_store"]
    assert reaches(reach_of_selector(translated_affinity(volume, migration)), nodes) is fits


def test_drivers_without_zones_keep_the_selector() -> None:
    volume = make_volume("pv", on={ZONE: ["a"]}, labels={ZONE: "b"}, cinder=None, portworxVolume={"volumeID": "v"})
    migration = migration_of(volume)
    assert migration is not None
    assert volume.spec.node_affinity is not None
    assert translated_affinity(volume, migration) == volume.spec.node_affinity.required
