import pytest

from pilotage.kinds.devices import DeviceClass, DeviceClassSpec
from pilotage.model.metadata import Metadata
from pilotage.plugins.devices.dynamic_resources.device_classes import DeviceClasses, can_be_served
from pilotage.testing import FakeCluster

OLD, NEW = "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z"
GPU = "example.com/gpu"


def device_class(name: str, resource: str | None = None, created: str | None = OLD) -> DeviceClass:
    return DeviceClass(
        Metadata(name=name, creation_timestamp=created), spec=DeviceClassSpec(extended_resource_name=resource)
    )


@pytest.mark.parametrize(
    ("classes", "resource", "served_by"),
    [
        pytest.param((), GPU, None, id="no class"),
        pytest.param((device_class("gpu"),), GPU, None, id="a class that names no resource"),
        pytest.param((device_class("gpu", GPU),), GPU, "gpu", id="a class that names the resource"),
        pytest.param((device_class("gpu", GPU),), "example.com/nic", None, id="a class that names another"),
        pytest.param(
            (device_class("a", GPU, OLD), device_class("b", GPU, NEW)), GPU, "b", id="of two classes the newest"
        ),
        pytest.param(
            (device_class("b", GPU), device_class("a", GPU)), GPU, "a", id="of two as old the first by its name"
        ),
        pytest.param(
            (device_class("a", GPU, None), device_class("b", GPU, OLD)), GPU, "b", id="one that does not say when"
        ),
        pytest.param(
            (device_class("gpu"),), "deviceclass.resource.kubernetes.io/gpu", "gpu", id="the implicit name of a class"
        ),
        pytest.param(
            (device_class("a", GPU, OLD), device_class("b", GPU, NEW)),
            "deviceclass.resource.kubernetes.io/a",
            "a",
            id="a class keeps its implicit name when another one serves its resource",
        ),
        pytest.param((), "deviceclass.resource.kubernetes.io/gpu", None, id="an implicit name without a class"),
        pytest.param((device_class("gpu", "memory"),), "memory", None, id="what is no extended resource"),
    ],
)
def test_the_class_that_serves_a_resource(
    classes: tuple[DeviceClass, ...], resource: str, served_by: str | None
) -> None:
    assert DeviceClasses(FakeCluster(objects=classes).cache.objects).serving(resource) == served_by


def test_the_class_is_that_of_the_current_set() -> None:
    objects = FakeCluster(objects=(device_class("a", GPU, OLD),)).cache.objects
    classes = DeviceClasses(objects)
    assert classes.serving(GPU) == "a"
    objects.put(device_class("b", GPU, NEW))
    assert classes.serving(GPU) == "b"
    objects.drop(device_class("b"))
    assert classes.serving(GPU) == "a"


@pytest.mark.parametrize(
    ("resource", "can"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpu", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("requests.example.com/gpu", False),
        ("other.kubernetes.io/gpu", False),
    ],
)
def test_resources_that_a_class_can_serve(resource: str, can: bool) -> None:
    assert can_be_served(resource) is can
