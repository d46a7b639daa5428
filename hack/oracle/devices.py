"""One-line builders of the objects of device allocation."""

from typing import Any

from oracle.scenario import Manifest

RESOURCE = "resource.k8s.io/v1"
FINALIZER = "resource.kubernetes.io/delete-protection"
ADMIN_NAMESPACE = "admins"  # where claims may ask for access that is not counted
ADMIN_LABEL = {"resource.kubernetes.io/admin-access": "true"}


def device_class(name: str, *expressions: str, **spec: Any) -> Manifest:
    """A class of the devices that match all expressions."""
    return _resource("DeviceClass", name, {"selectors": selectors(*expressions), **spec})


def selectors(*expressions: str) -> list[Manifest]:
    """Expressions as classes and requests have them."""
    return [{"cel": {"expression": expression}} for expression in expressions]


def resource_slice(
    name: str,
    driver: str,
    pool: str,
    devices: list[Manifest],
    *,
    generation: int = 1,
    slices: int = 1,
    **spec: Any,
) -> Manifest:
    """A slice of a pool; where its devices are is said by the other fields."""
    made = {"name": pool, "generation": generation, "resourceSliceCount": slices}
    content = {"driver": driver, "pool": made, **spec}
    return _resource("ResourceSlice", name, content | ({"devices": devices} if devices else {}))


def taint_rule(name: str, selector: Manifest, taint: Manifest) -> Manifest:
    """A taint for all devices that match."""
    return _resource("DeviceTaintRule", name, {"deviceSelector": selector, "taint": taint})


def claim(name: str, requests: list[Manifest], *, namespace: str = "default", **spec: Any) -> Manifest:
    """A claim, with the fields that an API server adds."""
    devices = {"requests": requests} | {key: value for key, value in spec.items() if value}
    made = _resource("ResourceClaim", name, {"devices": devices})
    return made | {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"}}


def exactly(name: str, class_name: str, **fields: Any) -> Manifest:
    """A request for one kind of device."""
    return {"name": name, "exactly": _wanted(class_name, fields)}


def first_available(name: str, subrequests: list[Manifest]) -> Manifest:
    """A request for the first of several kinds."""
    return {"name": name, "firstAvailable": subrequests}


def subrequest(name: str, class_name: str, **fields: Any) -> Manifest:
    """One of the alternatives."""
    return {"name": name, **_wanted(class_name, fields)}


def allocated(made: Manifest, results: list[Manifest], node_selector: Manifest | None = None) -> Manifest:
    """The same claim with these devices."""
    allocation: Manifest = {"devices": {"results": results}}
    if node_selector:
        allocation["nodeSelector"] = node_selector
    metadata = made["metadata"] | {"finalizers": [FINALIZER]}
    return made | {"metadata": metadata, "status": {"allocation": allocation}}


def result(driver: str, pool: str, device: str, **fields: Any) -> Manifest:
    """One device of an allocation."""
    return {"request": "r0", "driver": driver, "pool": pool, "device": device, **fields}


def on_node(name: str) -> Manifest:
    """The selector of an allocation that one node alone can use."""
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def _wanted(class_name: str, fields: dict[str, Any]) -> Manifest:
    given = {key: value for key, value in fields.items() if value}
    if given.get("allocationMode", "ExactCount") == "ExactCount":
        given = {"allocationMode": "ExactCount", "count": 1} | given
    return {"deviceClassName": class_name, **given}


def _resource(kind: str, name: str, spec: Manifest) -> Manifest:
    return {"apiVersion": RESOURCE, "kind": kind, "metadata": {"name": name}, "spec": spec}
