from typing import Any

import pytest

from pilotage.config.catalogue import ExtensionPoint
from pilotage.framework.api.events import Action, Event, Resource
from pilotage.kinds.storage import StorageClass
from pilotage.model.pod import Pod
from pilotage.plugins.volumes.volume_binding import VolumeBinding
from pilotage.testing.objects import make_pod
from pilotage.testing.storage import (
    claim_volumes,
    make_capacity,
    make_claim,
    make_csi_driver,
    make_csi_node,
    make_storage_class,
)

AT = ("profiles", 0, "pluginConfig", 0, "args")
DEFAULTS = {
    "bindTimeoutSeconds": 600,
    "shape": [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}],
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, DEFAULTS, id="nothing is given"),
        pytest.param({"shape": []}, DEFAULTS, id="an empty shape is none"),
        pytest.param({"bindTimeoutSeconds": 0}, DEFAULTS | {"bindTimeoutSeconds": 0}, id="no time to bind"),
        pytest.param(
            {"shape": [{"utilization": 5}]},
            DEFAULTS | {"shape": [{"utilization": 5, "score": 0}]},
            id="a shape of one point",
        ),
    ],
)
def test_arguments(given: dict[str, Any], expected: dict[str, Any]) -> None:
    read = VolumeBinding.read_arguments(given, AT)
    assert read.value == expected
    assert not read.faults


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        pytest.param(
            {"bindTimeoutSeconds": -1},
            ["bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value"],
            id="a negative time",
        ),
        pytest.param(
            {"shape": [{"utilization": 5}, {"utilization": 5}, {"utilization": 4}]},
            ["shape[1].utilization: Invalid value: 5: values must be sorted in increasing order"],
            id="points that are not in order",
        ),
        pytest.param(
            {"bindTimeoutSeconds": -1, "shape": [{"utilization": -1, "score": 11}, {"utilization": 101, "score": -1}]},
            [
                "bindTimeoutSeconds: Invalid value: -1: invalid BindTimeoutSeconds, should not be a negative value",
                "shape[0].utilization: Invalid value: -1: not in valid range [0, 100]",
                "shape[0].score: Invalid value: 11: not in valid range [0, 10]",
                "shape[1].utilization: Invalid value: 101: not in valid range [0, 100]",
                "shape[1].score: Invalid value: -1: not in valid range [0, 10]",
            ],
            id="everything at once",
        ),
    ],
)
def test_wrong_arguments(given: dict[str, Any], texts: list[str]) -> None:
    faults = VolumeBinding.read_arguments(given, AT).faults
    assert [fault.text for fault in faults] == [f"profiles[0].pluginConfig[0].args.{text}" for text in texts]


def test_where_it_takes_part() -> None:
    assert VolumeBinding.points() == {
        ExtensionPoint.PRE_FILTER,
        ExtensionPoint.FILTER,
        ExtensionPoint.PRE_SCORE,
        ExtensionPoint.SCORE,
        ExtensionPoint.RESERVE,
        ExtensionPoint.PRE_BIND,
    }


def test_what_wakes_a_pod() -> None:
    both = Action.ADD | Action.UPDATE
    assert [(retry.resource, retry.action, retry.hint) for retry in VolumeBinding.retry_on] == [
        (Resource.STORAGE_CLASS, both, "class_changed"),
        (Resource.PERSISTENT_VOLUME_CLAIM, both, "claim_changed"),
        (Resource.PERSISTENT_VOLUME, both, None),
        (Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, None),
        (Resource.CSI_NODE, both, "csi_node_changed"),
        (Resource.CSI_DRIVER, Action.UPDATE, "driver_changed"),
        (Resource.CSI_STORAGE_CAPACITY, both, "capacity_changed"),
    ]


UPDATED = Event(Resource.EVERYTHING, Action.UPDATE)


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, make_storage_class("s"), True, id="new"),
        pytest.param(make_storage_class("s"), make_storage_class("s", allowed=[{"z": ["a"]}]), True, id="other nodes"),
        pytest.param(make_storage_class("s"), make_storage_class("s", provisioner="x"), False, id="anything else"),
    ],
)
def test_a_class_changed(old: StorageClass | None, new: StorageClass, helps: bool) -> None:
    assert VolumeBinding().class_changed(make_pod(), UPDATED, old, new) is helps


@pytest.mark.parametrize(
    ("name", "namespace", "helps"),
    [
        pytest.param("c", "default", True, id="the pod's"),
        pytest.param("pod-e", "default", True, id="the pod's ephemeral one"),
        pytest.param("d", "default", False, id="another"),
        pytest.param("c", "other", False, id="of another namespace"),
    ],
)
def test_a_claim_changed(name: str, namespace: str, helps: bool) -> None:
    pod = make_pod(spec=claim_volumes("c", ephemeral=["e"]))
    assert VolumeBinding().claim_changed(pod, UPDATED, None, make_claim(name, namespace=namespace)) is helps


def test_a_csi_node_changed() -> None:
    hint, plain, migrated = VolumeBinding().csi_node_changed, make_csi_node("n"), make_csi_node("n", migrated=["p"])
    assert hint(make_pod(), UPDATED, None, plain)
    assert hint(make_pod(), UPDATED, plain, migrated)
    assert not hint(make_pod(), UPDATED, migrated, make_csi_node("n", {"d": 1}, migrated=["p"]))


@pytest.mark.parametrize(
    ("pod", "before", "after", "helps"),
    [
        pytest.param(make_pod(spec=claim_volumes(inline=[{"csi": {"driver": "d"}}])), True, False, True, id="inline"),
        pytest.param(make_pod(spec=claim_volumes(inline=[{"csi": {"driver": "d"}}])), True, None, True, id="unset"),
        pytest.param(
            make_pod(spec=claim_volumes(inline=[{"csi": {"driver": "d"}}])), False, True, False, id="counts now"
        ),
        pytest.param(make_pod(spec=claim_volumes(inline=[{"csi": {"driver": "e"}}])), True, False, False, id="another"),
        pytest.param(make_pod(spec=claim_volumes("c")), True, False, False, id="claims are not thought of"),
    ],
)
def test_a_driver_changed(pod: Pod, before: bool | None, after: bool | None, helps: bool) -> None:
    old, new = (make_csi_driver("d", storage_capacity=counts) for counts in (before, after))
    assert VolumeBinding().driver_changed(pod, UPDATED, old, new) is helps


@pytest.mark.parametrize(
    ("old", "new", "helps"),
    [
        pytest.param(None, {}, True, id="new"),
        pytest.param({"capacity": "1Gi"}, {"capacity": "2Gi"}, True, id="more is left"),
        pytest.param({"capacity": "2Gi"}, {"capacity": "1Gi"}, False, id="less is left"),
        pytest.param({"capacity": "1Gi"}, {"capacity": "1024Mi"}, False, id="the same, written otherwise"),
        pytest.param({}, {"capacity": "1Gi"}, True, id="now it is told"),
        pytest.param({"capacity": "1Gi"}, {}, False, id="no longer told"),
        pytest.param({"capacity": "1Gi"}, {"capacity": "9Gi", "largest": "1Mi"}, False, id="smaller volumes only"),
    ],
)
def test_a_capacity_changed(old: dict[str, str] | None, new: dict[str, str], helps: bool) -> None:
    before = None if old is None else make_capacity("k", "s", capacity=old.get("capacity"), largest=old.get("largest"))
    after = make_capacity("k", "s", capacity=new.get("capacity"), largest=new.get("largest"))
    assert VolumeBinding().capacity_changed(make_pod(), UPDATED, before, after) is helps
